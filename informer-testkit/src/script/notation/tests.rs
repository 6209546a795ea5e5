//! The grammar, and what is said of texts that do not follow it.

use super::*;

fn wrong(text: &str) -> String {
    Script::parse(text).unwrap_err().to_string()
}

#[test]
fn mistakes_are_told_with_their_line_and_cause() {
    for (text, message) in [
        ("C> LIST\nS> 200", "line 2: \"S> 200\" begins with neither C> nor S<"),
        ("\nS< 200", "line 2: S< comes before the first C>"),
        ("C> LIST", "line 1: LIST has no answer: no S< follows it"),
        ("C>", "line 1: C> names no request"),
        ("C> list S< 200", "line 1: \"list\" is no request"),
        ("C> GET S< 200", "line 1: GET needs a path: GET /version"),
        ("C> LIST rv S< 200", "line 1: \"rv\" is no condition"),
        ("C> LIST xx S< 200", "line 1: \"x\" is no number that fits here"),
        ("C> LIST S< ", "line 1: \"\" has an empty place between commas"),
        ("C> LIST S< 99", "line 1: 99 is no status"),
        ("C> LIST S< 200(3)", "line 1: 200 is the head of a watch and has no arguments"),
        ("C> LIST S< 429(x)", "line 1: \"x\" is no number that fits here"),
        ("C> LIST S< list(10)", "line 1: list(10) should be list(version;name@version,…)"),
        ("C> LIST S< list(10;a)", "line 1: \"a\" should be name@version"),
        ("C> LIST S< list(10;", "line 1: \"list(10;\" lacks a )"),
        ("C> LIST S< list)", "line 1: \"list)\" has a ) too many"),
        ("C> WATCH S< 200, ev(ADD,a,u,1)", "line 1: \"ADD\" is not ADDED, MODIFIED or DELETED"),
        ("C> WATCH S< 200, ev(ADDED,a)", "line 1: \"ev(ADDED,a)\" should be ev(TYPE,name,uid,version)"),
        ("C> WATCH S< 200, wait(20)", "line 1: \"20\" is no duration such as 20s"),
        ("C> WATCH S< 200, FIN, RST", "line 1: \"RST\" comes after the end of the answer"),
        ("kind Pod", "line 1: \"kind Pod\" should be a kind and its version: kind Pod v1"),
    ] {
        assert_eq!(wrong(text), message, "{text}");
    }
    assert_eq!(Script::parse("C> LIST\nS< no").unwrap_err().line(), 2);
}

#[test]
fn conditions_and_counts_are_read() {
    let text = "C> LIST rv=1 limit=5 -continue #2 x3 S< 500 // thrice\nC> WATCH initial x* S< 200, STALL";
    let script = Script::parse(text).unwrap();
    let progress = script.begin();
    assert_eq!(progress.missing(), ["LIST rv=1 limit=5 no continue connection 2 (0 of 3)"]);
}

#[test]
fn durations_have_units() {
    for (text, millis) in [("5ms", 5), ("20s", 20_000), ("2m", 120_000), ("1h", 3_600_000)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(millis)));
    }
    assert!(duration("99999999999999999h").is_err());
    assert!(duration("s").is_err());
}
