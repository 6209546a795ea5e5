//! An ordinary HTTP service, without an async runtime, that answers from a cache which an informer keeps fresh.
//!
//! ```text
//! cargo run --release --example embed -- --demo --listen 127.0.0.1:8080
//! curl 'http://127.0.0.1:8080/pods?node=node-1'
//! ```

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use informer_examples::{About, Program, say, spawn};
use informer_factory::{Error, ErrorKind, Index, Result, SharedInformer, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tiny_http::{Header, Response, Server};

/// A watch is silent for a minute at most; then a bookmark comes.
const STALE: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    About::new("embed", "Serves GET /pods, GET /pods?node=NAME and GET /healthz from a cache.")
        .options(&[("listen ADDRESS", "where to listen; by default a free port of 127.0.0.1")])
        .run(serve)
}

/// What the service answers from. Clones of an informer are the same informer.
struct Service {
    pods: SharedInformer<Pod>,
    by_node: Index<Pod, String>,
}

fn serve(program: &Program) -> Result<()> {
    let factory =
        SharedInformerFactory::builder(program.client.clone()).namespace(&program.namespace).build();
    let by_node = Index::new("by-node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone());
    let service = Service { pods: factory.informer(), by_node };
    service.pods.add_index(&service.by_node)?;
    factory.start()?; // and no wait: until the cache is full, /healthz says so

    let address = program.option("listen").unwrap_or("127.0.0.1:0");
    let http = Server::http(address).map_err(|error| {
        Error::new(ErrorKind::Config, format!("cannot listen on {address:?}")).with_source(error)
    })?;
    let http = Arc::new(http);
    let at = http.server_addr().to_ip();
    say!("listening on http://{}", at.map_or_else(|| address.to_owned(), |at| at.to_string()));
    let requests = Arc::clone(&http);
    let registration = service.pods.on_event(|_| {})?;
    let server = spawn("http", move || service.answer_all(&requests))?;

    if let (Some(_), Some(at)) = (&program.demo, at) {
        registration.wait_synced(Duration::from_secs(30))?;
        for path in ["/healthz", "/pods?node=node-1", "/pods?node=nowhere", "/nothing"] {
            say!("GET {path}: {}", ask(at, path).unwrap_or_else(|error| error.to_string()));
        }
    }
    program.wait();
    http.unblock(); // and `answer_all` ends
    let _ = server.join();
    factory.shutdown()?;
    say!("closed");
    Ok(())
}

impl Service {
    fn answer_all(&self, http: &Server) {
        for request in http.incoming_requests() {
            let (status, body) = self.answer(request.url());
            let json = Header::from_bytes("Content-Type", "application/json");
            let mut response = Response::from_string(body.to_string()).with_status_code(status);
            json.into_iter().for_each(|header| response.add_header(header));
            let _ = request.respond(response); // whoever asked may have gone
        }
    }

    /// Status and body for a target such as `/pods?node=node-1`. Never waits, and never asks the API server.
    fn answer(&self, target: &str) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let store = self.pods.store();
        let pods = match (path, query.strip_prefix("node=")) {
            ("/healthz", _) => return self.health(),
            ("/pods", Some(node)) => self.by_node.get(&store, node).unwrap_or_default(),
            ("/pods", None) => store.list(),
            _ => return (404, json!({"error": "there are /pods, /pods?node=NAME and /healthz"})),
        };
        let mut names: Vec<_> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
        names.sort_unstable();
        (200, json!({"pods": names, "version": store.resource_version()}))
    }

    /// Well means: the cache is full, and the server was heard of not long ago.
    fn health(&self) -> (u16, Value) {
        let status = self.pods.status();
        let heard = status.last_contact.is_some_and(|ago| ago < STALE);
        let error = status.last_error.map(|last| last.error.to_string());
        let body = json!({"synced": status.synced, "objects": status.objects, "last_error": error});
        (if status.synced && heard { 200 } else { 503 }, body)
    }
}

/// What `curl` would show.
fn ask(at: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at)?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {at}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok(format!("{} {body}", head.split(' ').nth(1).unwrap_or_default()))
}
