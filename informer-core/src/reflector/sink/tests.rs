//! Tests of the sinks.
