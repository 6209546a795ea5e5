//! watch
fn main() {}
