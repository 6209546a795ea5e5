//! The `Authorization` header: sent, refreshed after a 401, never shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_core::{ListRequest, ListWatch as _, Result, Stop};
use informer_testkit::Transcript;
use k8s_openapi::api::core::v1::ConfigMap;
use ureq::http::{HeaderMap, HeaderValue};

use super::get;
use super::server::{Peer, Server};
use crate::client::{Authorize, Client, Connection};
use crate::{HttpListWatch, Recording};

/// A token that has a new number after each refresh.
#[derive(Default)]
struct Numbered(AtomicUsize);

impl Authorize for Numbered {
    fn header(&self) -> Result<Option<HeaderValue>> {
        let token = format!("Bearer hunter{}", self.0.load(Ordering::SeqCst));
        Ok(Some(HeaderValue::from_str(&token).unwrap()))
    }

    fn refresh(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn client(url: &str) -> Client {
    let mut headers = HeaderMap::new();
    headers.insert("impersonate-user", HeaderValue::from_static("jane"));
    let authorize: Arc<dyn Authorize> = Arc::new(Numbered::default());
    Client::connect(Connection { authorize: Some(authorize), headers, ..Connection::new(url).unwrap() })
}

const UNAUTHORIZED: &str = r#"{"kind":"Status","reason":"Unauthorized","message":"Unauthorized","code":401}"#;

#[test]
fn d_13_a_401_refreshes_the_credentials_once() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        for (token, status) in
            [(0, "401 Unauthorized"), (1, "200 OK"), (1, "401 Unauthorized"), (2, "401 Unauthorized")]
        {
            let request = peer.request();
            assert_eq!(request.header("authorization"), Some(format!("Bearer hunter{token}").as_str()));
            assert_eq!(request.header("impersonate-user"), Some("jane"));
            peer.answer(status, "", UNAUTHORIZED);
        }
    });
    let client = client(&server.url);
    get(&client, &Stop::new()).unwrap();
    let error = get(&client, &Stop::new()).unwrap_err();
    assert!(error.is_unauthorized());
    assert!(!format!("{error:?} {client:?}").contains("hunter"));
    server.join();
}

#[test]
fn without_credentials_a_401_is_final() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.answer("401 Unauthorized", "", UNAUTHORIZED);
        peer.until_closed();
    });
    let client = Client::from_url(&server.url).unwrap();
    assert!(get(&client, &Stop::new()).unwrap_err().is_unauthorized());
    drop(client);
    server.join();
}

#[test]
fn f_95_no_header_is_in_a_recording() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        for (status, body) in [
            ("401 Unauthorized", UNAUTHORIZED),
            (
                "200 OK",
                r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#,
            ),
            ("401 Unauthorized", UNAUTHORIZED),
            ("401 Unauthorized", UNAUTHORIZED),
        ] {
            assert!(peer.request().header("authorization").is_some());
            peer.answer(status, "X-From-Server: hunter\r\n", body);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let source =
        HttpListWatch::<ConfigMap>::new(&client(&server.url)).record(&Recording::create(&file).unwrap());
    let list = || source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new());
    list().unwrap();
    assert!(list().unwrap_err().is_unauthorized());
    drop(source);
    server.join();
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("ConfigMapList") && text.contains(r#""kind":"unauthorized""#), "{text}");
    for secret in ["hunter", "jane", "uthorization", "mpersonate", "X-From-Server"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}
