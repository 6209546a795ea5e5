//! The parameters of lists and watches, read and checked as a real server does.

use super::exchange::Call;
use super::status::{Cause, Result, Status};

/// How `resourceVersion` is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Exact,
    NotOlderThan,
}

/// The parameters of a list or a watch.
#[derive(Clone, Debug)]
pub(super) struct ListOptions {
    pub(super) resource_version: String,
    pub(super) version_match: Option<Match>,
    /// 0: none.
    pub(super) limit: usize,
    /// Empty: none.
    pub(super) next: String,
    pub(super) bookmarks: bool,
    pub(super) initial_events: bool,
    pub(super) timeout_seconds: Option<u64>,
}

impl ListOptions {
    /// Reads the parameters.
    pub(super) fn parse(call: &Call) -> Result<Self> {
        let text = |name: &str| call.parameter(name).unwrap_or_default().to_owned();
        let watch = flag(call, "watch");
        // What is no number is seen before what makes no sense.
        let limit = number(call, "limit")?.unwrap_or_default();
        let timeout = number(call, "timeoutSeconds")?;
        let resource_version = text("resourceVersion");
        let next = text("continue");
        let initial_events = call.parameter("sendInitialEvents").filter(|value| !value.is_empty());
        let mut named = text("resourceVersionMatch");
        let mut faults = Vec::new();
        // A watch from nowhere is a streaming list that did not say so.
        let from_nowhere = initial_events.is_none() && matches!(resource_version.as_str(), "" | "0");
        let told = initial_events.is_some() || watch && from_nowhere && named.is_empty();
        if told && initial_events.is_none() {
            "NotOlderThan".clone_into(&mut named);
        }
        check_match(watch, &named, &resource_version, &next, told, &mut faults);
        if !faults.is_empty() {
            return Err(Status::invalid_kind("meta.k8s.io", "ListOptions", "", faults));
        }
        let version_match = match named.as_str() {
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            _ => None,
        };
        Ok(ListOptions {
            resource_version,
            version_match,
            limit: usize::try_from(limit).unwrap_or_default(),
            next,
            bookmarks: flag(call, "allowWatchBookmarks"),
            initial_events: from_nowhere || initial_events.is_some_and(truth),
            timeout_seconds: timeout.and_then(|seconds| u64::try_from(seconds).ok()),
        })
    }
}

/// Appends what is wrong with how a version is to be matched, in the order in which a real server tells it.
fn check_match(watch: bool, named: &str, version: &str, next: &str, initial: bool, faults: &mut Vec<Cause>) {
    const FIELD: &str = "resourceVersionMatch";
    let forbid = |why: &str| Cause::forbidden(FIELD, why);
    let paged = || forbid("resourceVersionMatch is forbidden when continue is provided");
    if watch {
        if initial && named != "NotOlderThan" {
            faults.push(forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if named.is_empty() {
            return;
        }
        if !initial {
            faults.push(forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if named != "NotOlderThan" {
            faults.push(Cause::unsupported(FIELD, named, "\"NotOlderThan\""));
        }
        if !next.is_empty() {
            faults.push(paged());
        }
        return;
    }
    if !named.is_empty() {
        if version.is_empty() {
            faults.push(forbid("resourceVersionMatch is forbidden unless resourceVersion is provided"));
        }
        if !next.is_empty() {
            faults.push(paged());
        }
        if !matches!(named, "Exact" | "NotOlderThan") {
            faults.push(Cause::unsupported(FIELD, named, "\"Exact\", \"NotOlderThan\", \"\""));
        }
        if named == "Exact" && version == "0" {
            faults.push(forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
        }
    }
    if initial {
        faults.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
}

/// The version that a parameter names, if it is a number.
pub(super) fn version(text: &str) -> std::result::Result<u64, String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: value out of range"))
    } else {
        Err(format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
    }
}

/// Whether a flag is given: anything but `0` and `false` means yes.
pub(super) fn flag(call: &Call, name: &str) -> bool {
    call.parameter(name).is_some_and(truth)
}

fn truth(value: &str) -> bool {
    !matches!(value, "0" | "false" | "False" | "FALSE" | "f" | "F")
}

fn number(call: &Call, name: &str) -> Result<Option<i64>> {
    match call.parameter(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let range = matches!(error.kind(), PosOverflow | NegOverflow);
            let why = if range { "value out of range" } else { "invalid syntax" };
            Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        }),
    }
}

/// Refuses a write whose parameters make no sense; `kind` is what a real server calls them.
pub(super) fn check_write(call: &Call, kind: &str) -> Result<()> {
    let mut faults = Vec::new();
    let dry: Vec<&str> = call.parameters("dryRun").collect();
    check_dry(&dry, &mut faults);
    let validation = call.parameter("fieldValidation").unwrap_or_default();
    if !["", "Ignore", "Strict", "Warn"].contains(&validation) {
        faults.push(Cause::unsupported("fieldValidation", validation, r#""", "Ignore", "Strict", "Warn""#));
    }
    refuse(kind, faults)
}

/// A dry run that is another than the one there is would be taken for none, and write.
pub(super) fn check_dry(told: &[&str], faults: &mut Vec<Cause>) {
    if !told.iter().all(|value| *value == "All") {
        let message = format!("Unsupported value: {told:?}: supported values: \"All\"");
        faults.push(Cause { reason: "FieldValueNotSupported", message, field: "dryRun".to_owned() });
    }
}

/// Refuses options of `kind` with faults.
pub(super) fn refuse(kind: &str, faults: Vec<Cause>) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(Status::invalid_kind("meta.k8s.io", kind, "", faults)) }
}
