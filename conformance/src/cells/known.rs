//! Differences that are meant, each with its reason.

use super::difference::Difference;

/// A difference that is meant.
#[derive(Debug)]
pub(crate) struct Known {
    /// What the name of the cell has in it.
    pub(crate) cells: &'static str,
    /// What the place has in it.
    pub(crate) place: &'static str,
    /// Why it is meant.
    pub(crate) reason: &'static str,
}

/// All of them. The first that fits is the reason.
#[rustfmt::skip] // a table
pub(crate) static KNOWN: &[Known] = &[
    Known { cells: "", place: "/description", reason: "what columns mean is Kubernetes' own prose, and clients print none of it" },
    Known { cells: "/protobuf", place: "", reason: PROTOBUF },
    Known { cells: "/table-beta", place: "", reason: "the beta of a table says the same under an older version; kubectl asks for both, and for v1 first" },
    Known { cells: "accept/", place: "/body/message", reason: "the message lists what is spoken: YAML and protobuf are not" },
    Known { cells: "/v1/componentstatuses", place: "", reason: "it asks the other components of a cluster how they are; there are none" },
    Known { cells: "", place: "/resources/widgets/storageVersionHash", reason: "a digest that only storage migration looks at" },
    Known { cells: "/batch/v1/jobs/", place: "", reason: "labels and selector of a Job are made from its uid by code of its own" },
    Known { cells: "/v1/persistentvolume", place: "finalizers", reason: "a finalizer that only a controller takes away, and there is none" },
    Known { cells: "review/who-am-i", place: "/userInfo/uid", reason: "users are names here, and have no uid" },
    Known { cells: "review/may-i-all", place: "Rules/", reason: "rights are not bound one by one here: who may do anything may do everything, which is said once" },
    Known { cells: "exchanges", place: "/41-patch-apply", reason: APPLY },
    Known { cells: "exchanges", place: "/42-patch-apply-conflict", reason: APPLY },
    Known { cells: "exchanges", place: "/53-version/body", reason: ITSELF },
    Known { cells: "exchanges", place: "/54-readyz/body", reason: ITSELF },
    Known { cells: "/apps/v1/daemonsets/", place: "annotations", reason: ROLLING },
    Known { cells: "/apps/v1/daemonsets/", place: "f:metadata", reason: ROLLING },
];

const PROTOBUF: &str =
    "protobuf is read and not written: JSON where both are accepted, 406 where it is alone";
const APPLY: &str = "no server-side apply: 415, and no object of it later";
const ITSELF: &str = "what a server says of itself: it is another one, built otherwise, of other parts";
const ROLLING: &str =
    "a count of changes of the template that has been deprecated since there are generations";

/// Which of them says why a cell differs there; `None`: it should not.
pub(crate) fn reason(cell: &str, difference: &Difference) -> Option<usize> {
    KNOWN.iter().position(|known| cell.contains(known.cells) && difference.place.contains(known.place))
}
