//! An API server in the process of the test.

mod body;
mod builtin;
mod convert;
mod create;
mod custom;
mod defaults;
mod delete;
mod engine;
mod exchange;
mod get;
mod go_json;
mod list;
mod managed;
mod merge_keys;
mod moment;
mod names;
mod options;
mod patch;
mod representation;
mod resource;
mod route;
mod scale;
mod selector;
mod status;
mod store;
mod table;
mod token;
mod update;
mod watch;

#[cfg(test)]
mod tests;
