//! What a `serde_json` error may say: where and what kind, never the content of an object.
//!
//! Objects hold secrets, and serde quotes the value that it did not expect; errors end up in logs.

use serde_json::error::Category;

use crate::error::{Error, ErrorKind};

/// The core error of a text that does not decode as `what`, without anything of the text in it.
///
/// Says where: line and column in the decoded text. Names of fields and of types are said, values are not.
///
/// ```
/// use informer_core::decode_error;
/// let cause = serde_json::from_str::<u8>(r#""hunter2""#).unwrap_err();
/// let error = decode_error("a number", &cause);
/// assert_eq!(error.to_string(), "a number does not decode: invalid type: string, expected u8 at line 1 column 9");
/// ```
#[must_use]
pub fn decode_error(what: &str, cause: &serde_json::Error) -> Error {
    let (line, column) = (cause.line(), cause.column());
    let why = match cause.classify() {
        Category::Data => data(&cause.to_string()),
        Category::Eof => "the text ends too early".to_owned(),
        // The texts of syntax errors are serde_json's own and quote nothing.
        Category::Syntax | Category::Io => {
            let text = cause.to_string();
            text.split_once(" at line ").map_or("it is not JSON", |(text, _)| text).to_owned()
        }
    };
    let message = if line == 0 {
        format!("{what} does not decode: {why}")
    } else {
        format!("{what} does not decode: {why} at line {line} column {column}")
    };
    Error::new(ErrorKind::Decode, message)
}

/// Keeps of serde's text what comes from the type, drops what comes from the value.
fn data(text: &str) -> String {
    const FOUND: [&str; 12] = [
        "boolean",
        "integer",
        "floating point",
        "character",
        "string",
        "byte array",
        "unit value",
        "null",
        "Option value",
        "sequence",
        "map",
        "newtype struct",
    ];
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    for field in ["missing field `", "duplicate field `"] {
        // The names of a type's own fields.
        if let Some(rest) = text.strip_prefix(field)
            && let Some(name) = rest.strip_suffix('`')
            && !name.contains('`')
        {
            return text.to_owned();
        }
    }
    for wrong in ["invalid type: ", "invalid value: "] {
        // The last ", expected " is the real one or lies within it, so what follows comes from the type.
        if let Some(rest) = text.strip_prefix(wrong)
            && let Some(found) = FOUND.iter().find(|found| rest.starts_with(**found))
            && let Some((_, expected)) = rest.rsplit_once(", expected ")
        {
            return format!("{wrong}{found}, expected {expected}");
        }
    }
    "it does not fit the type".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Sample {
        number: u8,
        #[serde(default)]
        choice: Option<Choice>,
    }

    #[derive(Debug, Deserialize)]
    enum Choice {}

    fn message(text: &str) -> String {
        decode_error("x", &serde_json::from_str::<Sample>(text).unwrap_err()).to_string()
    }

    #[test]
    fn no_value_is_ever_quoted() {
        for text in [
            r#"{"number":"hunter2"}"#,
            r#"{"number":"hunter2, expected hunter2"}"#,
            r#"{"number":1,"choice":"hunter2"}"#,
            r#"{"number":"hunter2 at line 3"}"#,
            "{hunter2",
            "{\"number\":hunter2}",
            r#""hunter2""#,
        ] {
            let message = message(text);
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn what_the_type_says_is_kept() {
        assert_eq!(message("{}"), "x does not decode: missing field `number` at line 1 column 2");
        let twice = message(r#"{"number":1,"number":2}"#);
        assert!(twice.contains("duplicate field `number`"), "{twice}");
        assert_eq!(
            message(r#"{"number":"#),
            "x does not decode: the text ends too early at line 1 column 10"
        );
        let wide = message(r#"{"number":300}"#);
        assert!(wide.starts_with("x does not decode: invalid value: integer, expected u8"), "{wide}");
    }
}
