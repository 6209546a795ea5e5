//! The messages that are understood: for each kind, what its fields are called in JSON, by number.

/// The field of a message.
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) is: Is,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Is {
    Text,
    Texts,
    /// Left out where it is 0.
    Number,
    /// Told even where it is 0: it was sent for a reason.
    Pointer,
    Flag,
    Time,
    IntOrString,
    /// A text in a message of its own.
    Quantity,
    TextMap,
    BytesMap,
    One(&'static [Field]),
    Many(&'static [Field]),
}

use Is::{BytesMap, Flag, IntOrString, Many, Number, One, Pointer, Quantity, Text, TextMap, Texts, Time};

const fn field(number: u64, name: &'static str, is: Is) -> Field {
    Field { number, name, is }
}

const METADATA: Field = field(1, "metadata", One(OBJECT_META));

static OBJECT_META: &[Field] = &[
    field(1, "name", Text),
    field(2, "generateName", Text),
    field(3, "namespace", Text),
    field(5, "uid", Text),
    field(6, "resourceVersion", Text),
    field(7, "generation", Number),
    field(8, "creationTimestamp", Time),
    field(11, "labels", TextMap),
    field(12, "annotations", TextMap),
    field(13, "ownerReferences", Many(OWNER)),
    field(14, "finalizers", Texts),
];
static OWNER: &[Field] = &[
    field(1, "kind", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(5, "apiVersion", Text),
    field(6, "controller", Flag),
    field(7, "blockOwnerDeletion", Flag),
];
static NAMESPACE: &[Field] = &[
    METADATA,
    field(2, "spec", One(&[field(1, "finalizers", Texts)])),
    field(3, "status", One(&[field(1, "phase", Text)])),
];
static CONFIG_MAP: &[Field] =
    &[METADATA, field(2, "data", TextMap), field(3, "binaryData", BytesMap), field(4, "immutable", Flag)];
static SECRET: &[Field] = &[
    METADATA,
    field(2, "data", BytesMap),
    field(3, "type", Text),
    field(4, "stringData", TextMap),
    field(5, "immutable", Flag),
];
static SERVICE_ACCOUNT: &[Field] = &[METADATA];
static SERVICE: &[Field] =
    &[METADATA, field(2, "spec", One(SERVICE_SPEC)), field(3, "status", One(SERVICE_STATUS))];
static SERVICE_SPEC: &[Field] = &[
    field(1, "ports", Many(SERVICE_PORT)),
    field(2, "selector", TextMap),
    field(3, "clusterIP", Text),
    field(4, "type", Text),
    field(5, "externalIPs", Texts),
    field(7, "sessionAffinity", Text),
    field(10, "externalName", Text),
];
static SERVICE_STATUS: &[Field] = &[field(1, "loadBalancer", One(&[]))];
static SERVICE_PORT: &[Field] = &[
    field(1, "name", Text),
    field(2, "protocol", Text),
    field(3, "port", Number),
    field(4, "targetPort", IntOrString),
    field(5, "nodePort", Number),
];
static DEPLOYMENT: &[Field] =
    &[METADATA, field(2, "spec", One(DEPLOYMENT_SPEC)), field(3, "status", One(&[]))];
static DEPLOYMENT_SPEC: &[Field] = &[
    field(1, "replicas", Pointer),
    field(2, "selector", One(LABEL_SELECTOR)),
    field(3, "template", One(POD)),
    field(4, "strategy", One(&[field(1, "type", Text)])),
    field(5, "minReadySeconds", Number),
    field(6, "revisionHistoryLimit", Pointer),
    field(7, "paused", Flag),
    field(9, "progressDeadlineSeconds", Pointer),
];
static LABEL_SELECTOR: &[Field] = &[
    field(1, "matchLabels", TextMap),
    field(
        2,
        "matchExpressions",
        Many(&[field(1, "key", Text), field(2, "operator", Text), field(3, "values", Texts)]),
    ),
];
/// Templates of Pods too.
static POD: &[Field] = &[METADATA, field(2, "spec", One(POD_SPEC)), field(3, "status", One(&[]))];
static POD_SPEC: &[Field] = &[
    field(2, "containers", Many(CONTAINER)),
    field(3, "restartPolicy", Text),
    field(4, "terminationGracePeriodSeconds", Pointer),
    field(6, "dnsPolicy", Text),
    field(7, "nodeSelector", TextMap),
    field(8, "serviceAccountName", Text),
    field(10, "nodeName", Text),
    field(14, "securityContext", One(&[])),
    field(19, "schedulerName", Text),
];
static CONTAINER: &[Field] = &[
    field(1, "name", Text),
    field(2, "image", Text),
    field(3, "command", Texts),
    field(4, "args", Texts),
    field(5, "workingDir", Text),
    field(6, "ports", Many(CONTAINER_PORT)),
    field(7, "env", Many(&[field(1, "name", Text), field(2, "value", Text)])),
    field(8, "resources", One(&[])),
    field(13, "terminationMessagePath", Text),
    field(14, "imagePullPolicy", Text),
];
static CONTAINER_PORT: &[Field] = &[
    field(1, "name", Text),
    field(2, "hostPort", Number),
    field(3, "containerPort", Number),
    field(4, "protocol", Text),
    field(5, "hostIP", Text),
];
static DELETE_OPTIONS: &[Field] = &[
    field(1, "gracePeriodSeconds", Pointer),
    field(2, "preconditions", One(&[field(1, "uid", Text), field(2, "resourceVersion", Text)])),
    field(3, "orphanDependents", Flag),
    field(4, "propagationPolicy", Text),
    field(5, "dryRun", Texts),
];

static AUTOSCALER: &[Field] =
    &[METADATA, field(2, "spec", One(AUTOSCALER_SPEC)), field(3, "status", One(AUTOSCALER_STATUS))];
static AUTOSCALER_SPEC: &[Field] = &[
    SCALED,
    field(2, "minReplicas", Pointer),
    field(3, "maxReplicas", Number),
    field(4, "metrics", Many(METRIC)),
];
static OLD_AUTOSCALER: &[Field] =
    &[METADATA, field(2, "spec", One(OLD_AUTOSCALER_SPEC)), field(3, "status", One(AUTOSCALER_STATUS))];
static OLD_AUTOSCALER_SPEC: &[Field] = &[
    SCALED,
    field(2, "minReplicas", Pointer),
    field(3, "maxReplicas", Number),
    field(4, "targetCPUUtilizationPercentage", Pointer),
];
static AUTOSCALER_STATUS: &[Field] =
    &[field(3, "currentReplicas", Number), field(4, "desiredReplicas", Number)];
const SCALED: Field = field(
    1,
    "scaleTargetRef",
    One(&[field(1, "kind", Text), field(2, "name", Text), field(3, "apiVersion", Text)]),
);
static METRIC: &[Field] = &[
    field(1, "type", Text),
    field(4, "resource", One(&[field(1, "name", Text), field(2, "target", One(METRIC_TARGET))])),
];
static METRIC_TARGET: &[Field] = &[
    field(1, "type", Text),
    field(2, "value", Quantity),
    field(3, "averageValue", Quantity),
    field(4, "averageUtilization", Pointer),
];
static ACCESS: &[Field] =
    &[METADATA, field(2, "spec", One(ACCESS_SPEC)), field(3, "status", One(ACCESS_STATUS))];
static ACCESS_SPEC: &[Field] = &[
    field(1, "resourceAttributes", One(RESOURCE_ATTRIBUTES)),
    field(2, "nonResourceAttributes", One(&[field(1, "path", Text), field(2, "verb", Text)])),
    field(3, "user", Text),
    field(4, "groups", Texts),
    field(6, "uid", Text),
];
static RESOURCE_ATTRIBUTES: &[Field] = &[
    field(1, "namespace", Text),
    field(2, "verb", Text),
    field(3, "group", Text),
    field(4, "version", Text),
    field(5, "resource", Text),
    field(6, "subresource", Text),
    field(7, "name", Text),
];
static ACCESS_STATUS: &[Field] = &[field(1, "allowed", Flag), field(4, "denied", Flag)];
static RULES: &[Field] = &[
    METADATA,
    field(2, "spec", One(&[field(1, "namespace", Text)])),
    field(3, "status", One(&[field(3, "incomplete", Flag)])),
];
static WHO: &[Field] = &[METADATA, field(2, "status", One(&[field(1, "userInfo", One(USER))]))];
static TOKEN: &[Field] = &[
    METADATA,
    field(2, "spec", One(&[field(1, "token", Text), field(2, "audiences", Texts)])),
    field(3, "status", One(&[field(1, "authenticated", Flag), field(2, "user", One(USER))])),
];
static USER: &[Field] = &[field(1, "username", Text), field(2, "uid", Text)];

/// The fields of a kind; `None` for one that is not understood.
pub(super) fn of(version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "Namespace" => NAMESPACE,
        "ConfigMap" => CONFIG_MAP,
        "Secret" => SECRET,
        "ServiceAccount" => SERVICE_ACCOUNT,
        "Service" => SERVICE,
        "Deployment" => DEPLOYMENT,
        "Pod" => POD,
        "HorizontalPodAutoscaler" if version == "autoscaling/v1" => OLD_AUTOSCALER,
        "HorizontalPodAutoscaler" => AUTOSCALER,
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => ACCESS,
        "SelfSubjectRulesReview" => RULES,
        "SelfSubjectReview" => WHO,
        "TokenReview" => TOKEN,
        "DeleteOptions" => DELETE_OPTIONS,
        _ => return None,
    })
}
