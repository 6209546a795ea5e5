//! A watch stream, cut anywhere. What must hold is in `informer-http/src/fuzz`.

#![no_main]

use k8s_openapi as _; // it chooses the version

libfuzzer_sys::fuzz_target!(|data: &[u8]| informer_http::fuzz::frame_event(data));
