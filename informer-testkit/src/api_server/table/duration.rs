//! Ages as kubectl prints them: the two greatest units at most, fewer the older.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// The age of what happened at `then`, a timestamp of an object; `<unknown>` where it has none.
pub(super) fn age(then: &Value, now: Timestamp) -> String {
    match then.as_str().map(str::parse::<Timestamp>) {
        None => "<unknown>".to_owned(),
        Some(Err(_)) => "<invalid>".to_owned(),
        Some(Ok(then)) => human(now.as_second().saturating_sub(then.as_second())),
    }
}

/// `2m5s`, `3h`, `4d6h`; client-go's `HumanDuration`.
pub(super) fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |great: i64, unit: char, rest: i64, small: char| {
        if rest == 0 { format!("{great}{unit}") } else { format!("{great}{unit}{rest}{small}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(), // clocks differ
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, 'd', hours % 24, 'h'),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        for (seconds, want) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (8 * 86_400, "8d"),
            (729 * 86_400, "729d"),
            (731 * 86_400, "2y1d"),
            (3000 * 86_400, "8y"),
            (i64::MAX, "292471208677y"),
        ] {
            assert_eq!(human(seconds), want, "{seconds}");
        }
        let now: Timestamp = "2026-11-30T18:05:51Z".parse().unwrap();
        assert_eq!(age(&"2026-11-30T18:05:48Z".into(), now), "3s");
        assert_eq!(age(&"2026-11-30T18:05:48.123456Z".into(), now), "3s");
        assert_eq!(age(&Value::Null, now), "<unknown>");
        assert_eq!(age(&"yesterday".into(), now), "<invalid>");
    }
}
