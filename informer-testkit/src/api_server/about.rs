//! What the server tells of itself: version, health, and the list of its paths.

use serde_json::json;

use super::exchange::{Call, Whole};
use super::resource::Registry;
use super::status::Status;

/// The release whose behaviour this is.
pub(super) const VERSION: &str = "v1.37.0";

/// Paths that nobody has to say their name for.
pub(super) const PUBLIC: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// Answers these paths; `None` for every other path.
pub(super) fn answer(call: &Call, registry: &Registry) -> Option<Whole> {
    let path = match call.path.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    let answer = match path {
        "/" => {
            let groups = registry.resources().iter().filter(|resource| !resource.group.is_empty());
            let groups = groups.flat_map(|resource| {
                [format!("/apis/{}", resource.group), format!("/apis/{}", resource.api_version())]
            });
            let fixed = ["/api", "/api/v1", "/apis", "/openapi/v3"].into_iter().chain(PUBLIC);
            let mut paths: Vec<String> = fixed.map(str::to_owned).chain(groups).collect();
            paths.sort();
            paths.dedup();
            document(&json!({ "paths": paths }))
        }
        "/version" => document(&json!({
            "major": "1",
            "minor": "37",
            "gitVersion": format!("{VERSION}+informer-testkit"),
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "rustc",
            "platform": platform(),
        })),
        "/healthz" | "/livez" | "/readyz" => {
            let verbose = call.parameter("verbose").is_some();
            let name = &path[1..];
            text(if verbose { format!("[+]ping ok\n{name} check passed\n") } else { "ok".to_owned() })
        }
        _ => return None,
    };
    Some(if call.method == "GET" { answer } else { Status::method_not_allowed().answer() })
}

fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)
}

fn document(document: &serde_json::Value) -> Whole {
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Whole { status: 200, headers, body: format!("{document:#}").into_bytes() }
}

fn text(body: String) -> Whole {
    let headers = vec![
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
    ];
    Whole { status: 200, headers, body: body.into_bytes() }
}
