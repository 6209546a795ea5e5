//! An API server in the process of the test.

mod builtin;
mod exchange;
mod http;
mod resource;
mod table;
