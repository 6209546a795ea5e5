//! Who asks, and whether they may: bearer tokens, and what is open to everybody.
//!
//! Without tokens nobody has to say who they are. With them, who knows one may do everything, who says a wrong one
//! is sent away, and who says none may see that the server lives.

use std::fmt;

use super::about::PUBLIC;
use super::exchange::Call;
use super::status::{Details, Result, Status};

/// Bearer tokens and whose they are.
#[derive(Clone, Default)]
pub(super) struct Access {
    tokens: Vec<(String, String)>,
}

/// How many tokens there are, and not one of them.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("tokens", &self.tokens.len()).finish()
    }
}

impl Access {
    /// Lets in whoever says `token`, as `user`.
    pub(super) fn admit(&mut self, token: String, user: String) {
        self.tokens.push((token, user));
    }

    /// The first token of a user, or the very first of all.
    pub(super) fn token_of(&self, user: Option<&str>) -> Option<&str> {
        let found = self.tokens.iter().find(|(_, known)| user.is_none_or(|user| user == known));
        found.map(|(token, _)| &**token)
    }

    /// Whose a token is.
    pub(super) fn user_of(&self, token: &str) -> Option<&str> {
        self.tokens.iter().find(|(known, _)| known == token).map(|(_, user)| &**user)
    }

    /// Whether a user may do anything, which is to do everything.
    pub(super) fn may(&self, user: &str) -> bool {
        self.tokens.is_empty() || self.tokens.iter().any(|(_, known)| known == user)
    }

    /// Who asks; `None` where nobody has to say.
    ///
    /// # Errors
    /// 401 for a token that nobody has, 403 without one.
    pub(super) fn identify(&self, call: &Call) -> Result<Option<String>> {
        if self.tokens.is_empty() {
            return Ok(None);
        }
        let Some(credentials) = call.header("authorization") else {
            return anonymous(call).map(|()| None);
        };
        let said = credentials.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, said)) = said else {
            return anonymous(call).map(|()| None); // a scheme that is not spoken here says nothing
        };
        self.user_of(said.trim())
            .map(|user| Some(user.to_owned()))
            .ok_or_else(|| Status::new(401, "Unauthorized", "Unauthorized"))
    }
}

/// Whether someone who says nothing may ask this.
fn anonymous(call: &Call) -> Result<()> {
    let path = call.path.trim_end_matches('/');
    if PUBLIC.contains(&path) && call.method == "GET" {
        return Ok(());
    }
    let message = match Attributes::of(call) {
        Some(asked) => return Err(asked.forbidden("system:anonymous")),
        None => {
            let verb = call.method.to_lowercase();
            format!("forbidden: User \"system:anonymous\" cannot {verb} path {:?}", call.path)
        }
    };
    let mut status = Status::new(403, "Forbidden", message);
    status.details = Some(Details::default());
    status.of_rights = true;
    Err(status)
}

/// What is asked, as far as the path and the method tell; the resource need not exist.
struct Attributes<'a> {
    verb: &'static str,
    group: &'a str,
    namespace: &'a str,
    resource: &'a str,
    name: &'a str,
    subresource: &'a str,
}

impl<'a> Attributes<'a> {
    /// `None` for a path that is no resource's.
    fn of(call: &'a Call) -> Option<Self> {
        let segments: Vec<&str> = call.path.trim_matches('/').split('/').collect();
        let (group, rest) = match segments.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, part, ..] if !matches!(*part, "status" | "finalize") => {
                (*namespace, &rest[2..])
            }
            ["namespaces", namespace, ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let (resource, rest) = rest.split_first()?;
        let name = rest.first().copied().unwrap_or_default();
        let watch = call.parameter("watch").is_some_and(|watch| matches!(watch, "1" | "true"));
        let verb = match (&*call.method, name.is_empty()) {
            ("GET" | "HEAD", true) if watch => "watch",
            ("GET" | "HEAD", true) => "list",
            ("GET" | "HEAD", false) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "deletecollection",
            ("DELETE", false) => "delete",
            _ => "",
        };
        let subresource = rest.get(1).copied().unwrap_or_default();
        Some(Attributes { verb, group, namespace, resource, name, subresource })
    }

    fn forbidden(&self, user: &str) -> Box<Status> {
        let Attributes { verb, group, namespace, resource, name, subresource } = self;
        let (dot, slash) =
            (if group.is_empty() { "" } else { "." }, if subresource.is_empty() { "" } else { "/" });
        let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        let place = match *namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        let message = format!(
            "{resource}{dot}{group}{named} is forbidden: User {user:?} cannot {verb} resource \
             \"{resource}{slash}{subresource}\" in API group {group:?} {place}"
        );
        let mut status = Status::new(403, "Forbidden", message);
        let (name, group) = ((*name).to_owned(), (*group).to_owned());
        status.details = Some(Details { name, group, kind: (*resource).to_owned(), ..Details::default() });
        status.of_rights = true;
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, target: &str, authorization: Option<&str>) -> Call {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = authorization.map(|value| ("Authorization".to_owned(), value.to_owned()));
        Call {
            method: method.to_owned(),
            path: path.to_owned(),
            query: crate::http::queries(query),
            headers: headers.into_iter().collect(),
            ..Call::default()
        }
    }

    fn access() -> Access {
        let mut access = Access::default();
        access.admit("secret".to_owned(), "jane".to_owned());
        access
    }

    #[test]
    fn a_token_says_who_asks() {
        let ask = |authorization| access().identify(&call("GET", "/api/v1/pods", Some(authorization)));
        assert_eq!(ask("Bearer secret").unwrap().as_deref(), Some("jane"));
        assert_eq!(ask("bearer  secret").unwrap().as_deref(), Some("jane"));
        let status = ask("Bearer other").unwrap_err();
        assert_eq!((status.code, &*status.message), (401, "Unauthorized"));
        for nothing in ["Bearer", "Basic secret", "secret", ""] {
            let status = ask(nothing).unwrap_err();
            assert_eq!(status.code, 403, "{nothing:?} says nothing: {}", status.message);
        }
        assert_eq!(Access::default().identify(&call("GET", "/api/v1/pods", Some("Bearer x"))).unwrap(), None);
        assert!(!format!("{:?}", access()).contains("secret"));
    }

    #[test]
    fn who_says_nothing_is_told_what_they_may_not() {
        for (method, target, want) in [
            ("GET", "/version", ""),
            ("GET", "/readyz?verbose", ""),
            ("GET", "/apis", "forbidden: User \"system:anonymous\" cannot get path \"/apis\""),
            (
                "GET",
                "/api/v1/namespaces/wire/configmaps",
                "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in API group \
                 \"\" in the namespace \"wire\"",
            ),
            (
                "GET",
                "/api/v1/pods?watch=1",
                "pods is forbidden: User \"system:anonymous\" cannot watch resource \"pods\" in API group \"\" at the \
                 cluster scope",
            ),
            (
                "PUT",
                "/api/v1/nodes/a/status",
                "nodes \"a\" is forbidden: User \"system:anonymous\" cannot update resource \"nodes/status\" in API \
                 group \"\" at the cluster scope",
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/x/deployments",
                "deployments.apps is forbidden: User \"system:anonymous\" cannot deletecollection resource \
                 \"deployments\" in API group \"apps\" in the namespace \"x\"",
            ),
            (
                "GET",
                "/api/v1/namespaces/x",
                "namespaces \"x\" is forbidden: User \"system:anonymous\" cannot get resource \"namespaces\" in API \
                 group \"\" in the namespace \"x\"",
            ),
        ] {
            let outcome = access().identify(&call(method, target, None));
            assert_eq!(
                outcome.err().map(|status| status.message.clone()).unwrap_or_default(),
                want,
                "{target}"
            );
        }
    }
}
