//! Of volumes, and of what provides them.

use serde_json::{Value, json};

use super::default;

/// What nobody has to say.
pub(super) fn fill(plural: &str, value: &mut Value) {
    match plural {
        "persistentvolumes" => {
            spec(
                value,
                &[("persistentVolumeReclaimPolicy", json!("Retain")), ("volumeMode", json!("Filesystem"))],
            );
        }
        "persistentvolumeclaims" => spec(value, &[("volumeMode", json!("Filesystem"))]),
        "storageclasses" => {
            default(value, "reclaimPolicy", "Delete".into());
            default(value, "volumeBindingMode", "Immediate".into());
        }
        "csidrivers" => spec(
            value,
            &[
                ("attachRequired", json!(true)),
                ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
                ("podInfoOnMount", json!(false)),
                ("preventPodSchedulingIfMissing", json!(false)),
                ("requiresRepublish", json!(false)),
                ("seLinuxMount", json!(false)),
                ("storageCapacity", json!(false)),
                ("volumeLifecycleModes", json!(["Persistent"])),
            ],
        ),
        _ => {}
    }
}

fn spec(value: &mut Value, fields: &[(&str, Value)]) {
    if let Some(spec) = value.get_mut("spec") {
        for (field, fallback) in fields {
            default(spec, field, fallback.clone());
        }
    }
}

/// Notes when a volume came to its phase, if nobody has yet.
pub(super) fn transition(value: &mut Value, time: &str) {
    if let Some(status) = value.get_mut("status").filter(|status| status.get("phase").is_some()) {
        default(status, "lastPhaseTransitionTime", time.into());
    }
}
