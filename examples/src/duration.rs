//! [`duration`]: `500ms`, `30s`, `1m30s`, as the command lines of the examples spell it.

use std::time::Duration;

/// Reads a number with a unit (`500ms`, `30s`, `5m`, `1h`), several in a row (`1m30s`), or `0`.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = None;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_ends = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let seconds = match &rest[..unit_ends] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = &rest[unit_ends..];
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_duration_is_refused() {
        for (text, millis) in [("500ms", 500), ("0.3s", 300), ("1m30s", 90_000), ("1h", 3_600_000), ("0", 0)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "ten", "s", "1.2.3s", "5d", "-1s", "99999999999999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
