//! Blocking Kubernetes API client.
#![cfg_attr(not(test), expect(dead_code, reason = "what reads bodies comes before what sends requests"))]

mod buffer;
mod decode;
mod event;
mod frame;
mod item;
mod list;
mod scan;
mod text;

#[cfg(test)]
mod decode_tests;
