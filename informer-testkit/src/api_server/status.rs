//! [`Status`]: what a refused request is answered with, in the words and the field order of a real server.
//!
//! Every message here was seen in a recorded exchange or comes from the same source text. They go to the client that
//! sent the request, so they may quote what it sent.

use serde::Serialize;

use super::exchange::Whole;
use super::resource::Resource;

/// What an operation gives, or the status that refuses it.
pub(super) type Result<T> = std::result::Result<T, Box<Status>>;

/// The body of a refusal, or of a deletion.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) details: Option<Details>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) code: u16,
    /// Not a status at all, but the text of a path that leads nowhere.
    #[serde(skip)]
    plain: bool,
    /// A matter of rights: another part of a real server says so, with a header more.
    #[serde(skip)]
    pub(super) of_rights: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Metadata {
    #[serde(skip_serializing_if = "String::is_empty", rename = "continue")]
    next: String,
}

/// What a status is about.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) causes: Vec<Cause>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) retry_after_seconds: u16,
}

/// One of several reasons.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cause {
    pub(super) reason: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl Cause {
    /// A value that cannot be: `value` as it is to be quoted.
    pub(super) fn invalid(field: &str, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Cause { reason: "FieldValueInvalid", message, field: field.to_owned() }
    }

    /// A value that is missing.
    pub(super) fn required(field: &str, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Cause { reason: "FieldValueRequired", message, field: field.to_owned() }
    }

    /// A value that must not be there.
    pub(super) fn forbidden(field: &str, why: &str) -> Self {
        Cause { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.to_owned() }
    }

    /// A value that is none of those known.
    pub(super) fn unsupported(field: &str, value: &str, known: &str) -> Self {
        let message = format!("Unsupported value: {value:?}: supported values: {known}");
        Cause { reason: "FieldValueNotSupported", message, field: field.to_owned() }
    }
}

impl Status {
    /// A refusal without details.
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Status {
            kind: "Status",
            api_version: "v1",
            metadata: Metadata::default(),
            status: "Failure",
            message: message.into(),
            reason,
            details: None,
            code,
            plain: false,
            of_rights: false,
        })
    }

    fn about(code: u16, reason: &'static str, resource: &Resource, name: &str, message: String) -> Box<Self> {
        let mut status = Status::new(code, reason, message);
        status.details = Some(Details {
            name: name.to_owned(),
            group: resource.group.to_string(),
            kind: resource.plural.to_string(),
            ..Details::default()
        });
        status
    }

    /// The answer to a deletion of an object that is gone.
    pub(super) fn deleted(resource: &Resource, name: &str, uid: &str) -> Box<Self> {
        let mut status = Status::about(0, "", resource, name, String::new());
        status.status = "Success";
        if let Some(details) = &mut status.details {
            uid.clone_into(&mut details.uid);
        }
        status
    }

    /// A path that leads nowhere.
    pub(super) fn no_page() -> Box<Self> {
        let mut status = Status::new(404, "NotFound", "404 page not found");
        status.plain = true;
        status
    }

    /// A request that makes no sense.
    pub(super) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Status::new(400, "BadRequest", message)
    }

    /// A method that the path does not have.
    pub(super) fn method_not_allowed() -> Box<Self> {
        let message = "the server does not allow this method on the requested resource";
        Status::generic(405, "MethodNotAllowed", message)
    }

    /// An object that is not there.
    pub(super) fn not_found(resource: &Resource, name: &str) -> Box<Self> {
        let message = format!("{} {name:?} not found", resource.full_name());
        Status::about(404, "NotFound", resource, name, message)
    }

    /// An object that is there already.
    pub(super) fn already_exists(resource: &Resource, name: &str) -> Box<Self> {
        let message = format!("{} {name:?} already exists", resource.full_name());
        Status::about(409, "AlreadyExists", resource, name, message)
    }

    /// A write that came too late.
    pub(super) fn conflict(resource: &Resource, name: &str, why: &str) -> Box<Self> {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.full_name());
        Status::about(409, "Conflict", resource, name, message)
    }

    /// A deletion whose precondition does not hold. It names the kind, where others name the resource.
    pub(super) fn precondition(resource: &Resource, name: &str, why: &str) -> Box<Self> {
        let kind = if resource.group.is_empty() {
            resource.kind.to_string()
        } else {
            format!("{}.{}", resource.kind, resource.group)
        };
        let message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
        let mut status = Status::about(409, "Conflict", resource, name, message);
        if let Some(details) = &mut status.details {
            details.kind = resource.kind.to_string();
        }
        status
    }

    /// Something that may not be done now.
    pub(super) fn forbidden(resource: &Resource, name: &str, why: &str, causes: Vec<Cause>) -> Box<Self> {
        let message = format!("{} {name:?} is forbidden: {why}", resource.full_name());
        let mut status = Status::about(403, "Forbidden", resource, name, message);
        if let Some(details) = &mut status.details {
            details.causes = causes;
        }
        status
    }

    /// An object with values that cannot be.
    pub(super) fn invalid(resource: &Resource, name: &str, causes: Vec<Cause>) -> Box<Self> {
        Status::invalid_kind(&resource.group, &resource.kind, name, causes)
    }

    /// The same, for what is no object of ours.
    pub(super) fn invalid_kind(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Box<Self> {
        let dot = if group.is_empty() { "" } else { "." };
        let told: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let told = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{kind}{dot}{group} {name:?} is invalid: {told}");
        let mut status = Status::new(422, "Invalid", message);
        status.details = Some(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..Details::default()
        });
        status
    }

    /// A list at a version that is no more.
    pub(super) fn list_too_old() -> Box<Self> {
        Status::new(410, "Expired", "The resourceVersion for the provided list is too old.")
    }

    /// A page of a list whose version is no more, with the token for the rest as it is now.
    pub(super) fn continue_too_old(token: String) -> Box<Self> {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a \
             new list without the continue parameter, or use the continue token in this response to retrieve the \
             remainder of the results. Continuing with the provided token results in an inconsistent list - objects \
             that were created, modified, or deleted between the time the first chunk was returned and now may show \
             up in the list.";
        let mut status = Status::new(410, "Expired", message);
        status.metadata.next = token;
        status
    }

    /// A watch from a version that is no more.
    pub(super) fn watch_too_old(version: u64, floor: u64) -> Box<Self> {
        Status::new(410, "Expired", format!("too old resource version: {version} ({floor})"))
    }

    /// A version that is not there yet.
    pub(super) fn too_large(version: u64, current: u64) -> Box<Self> {
        let message = format!("Timeout: Too large resource version: {version}, current: {current}");
        let mut status = Status::new(504, "Timeout", message);
        let message = "Too large resource version".to_owned();
        status.details = Some(Details {
            causes: vec![Cause { reason: "ResourceVersionTooLarge", message, field: String::new() }],
            retry_after_seconds: 1,
            ..Details::default()
        });
        status
    }

    /// A body of a kind that is not understood.
    pub(super) fn unsupported_media_type(known: &str) -> Box<Self> {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {known}"
        );
        Status::new(415, "UnsupportedMediaType", message)
    }

    /// A refusal that has an empty `details`, as those that a real server makes from a status code alone.
    fn generic(code: u16, reason: &'static str, message: &str) -> Box<Self> {
        let mut status = Status::new(code, reason, message);
        status.details = Some(Details::default());
        status
    }

    /// A path below a group that is served, and that leads nowhere.
    pub(super) fn no_resource() -> Box<Self> {
        Status::generic(404, "NotFound", "the server could not find the requested resource")
    }

    /// A patch of a kind that is not understood.
    pub(super) fn unsupported_patch() -> Box<Self> {
        Status::generic(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// A JSON patch that does not fit the object.
    pub(super) fn unfit_patch() -> Box<Self> {
        Status::generic(422, "Invalid", "the server rejected our request due to an error in our request")
    }

    /// An answer of a kind that is not spoken; of `several` objects there might be a stream.
    pub(super) fn not_acceptable(several: bool) -> Box<Self> {
        let stream = if several { ", application/json;stream=watch" } else { "" };
        let message = format!("406: Not Acceptable\n\nAvailable representations: application/json{stream}");
        Status::generic(406, "NotAcceptable", &message)
    }

    /// A form that JSON does not have.
    pub(super) fn no_such_form() -> Box<Self> {
        let message = "only the following media types are accepted: application/json";
        Status::new(406, "NotAcceptable", message)
    }

    /// As bytes.
    pub(super) fn body(&self) -> Vec<u8> {
        if self.plain {
            return b"404 page not found".to_vec();
        }
        serde_json::to_vec(self).expect("a status has nothing that JSON cannot hold")
    }

    /// As an answer.
    pub(super) fn answer(&self) -> Whole {
        let mut headers = vec![("Cache-Control", "no-cache, private".to_owned())];
        let media = if self.plain { "text/plain; charset=utf-8" } else { "application/json" };
        headers.push(("Content-Type", media.to_owned()));
        if self.plain || self.of_rights {
            headers.push(("X-Content-Type-Options", "nosniff".to_owned()));
        }
        let retry = self.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        if retry > 0 {
            headers.push(("Retry-After", retry.to_string()));
        }
        let status = if self.code == 0 { 200 } else { self.code };
        let mut body = self.body();
        body.push(b'\n');
        Whole { status, headers, body }
    }
}
