//! What comes over a connection to the API server. What must hold is in `informer-testkit/src/api_server/http/fuzz.rs`.

#![no_main]

use k8s_openapi as _; // it chooses the version

libfuzzer_sys::fuzz_target!(|data: &[u8]| informer_testkit::fuzz::api_requests(data));
