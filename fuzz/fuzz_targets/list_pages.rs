//! A page of a list, cut anywhere. What must hold is in `informer-http/src/fuzz`.

#![no_main]

use k8s_openapi as _; // it chooses the version

libfuzzer_sys::fuzz_target!(|data: &[u8]| informer_http::fuzz::list_pages(data));
