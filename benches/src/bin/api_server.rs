//! What an API server costs: `cargo run --release -p informer-benches --bin api_server -- [PODS [BYTES [PATCHES [WATCHES]]]]`.
//!
//! Pods are created, listed and patched over HTTP while watches are open. CPU is that of the server alone.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_core::sync::{JoinHandle, spawn};
use informer_core::{Clock as _, SystemClock};
use informer_testkit::ApiServer;
use rustix::time::{ClockId, clock_gettime};

type Failure = Box<dyn std::error::Error>;

/// Nanoseconds that clients on threads of their own have used.
static CLIENTS: AtomicU64 = AtomicU64::new(0);

const PODS: &str = "/api/v1/namespaces/default/pods";

fn main() -> Result<(), Failure> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let number = |at: usize, fallback: usize| numbers.get(at).copied().unwrap_or(fallback);
    let (pods, bytes, patches, watches) =
        (number(0, 10_000), number(1, 10_000), number(2, 5_000), number(3, 10));

    let server = ApiServer::start()?;
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut client = Client::new(&address)?;
    client.ask("GET", "/api/v1/namespaces", "")?;
    say(&format!("idle: {} KB", resident()?))?;

    let padding = "x".repeat(bytes.saturating_sub(700));
    measured(&format!("{pods} creations of {bytes} bytes"), pods, || {
        for index in 0..pods {
            let body = format!(
                "{{\"metadata\":{{\"name\":\"pod-{index:05}\",\"labels\":{{\"app\":\"a{}\"}},\"annotations\":{{\"padding\":\"{padding}\"}}}},\
                 \"spec\":{{\"containers\":[{{\"name\":\"c\",\"image\":\"nginx\"}}]}}}}",
                index % 10
            );
            client.ask("POST", PODS, &body)?;
        }
        Ok(())
    })?;
    for _ in 0..3 {
        measured("list", 1, || client.ask("GET", PODS, "").map(|_| ()))?;
    }
    measured("list in pages of 500", 1, || {
        let mut next = String::new();
        loop {
            let page = client.ask("GET", &format!("{PODS}?limit=500&continue={next}"), "")?;
            let text = String::from_utf8_lossy(&page[..page.len().min(600)]).into_owned();
            match text.split_once("\"continue\":\"") {
                Some((_, rest)) => rest.split('"').next().unwrap_or_default().clone_into(&mut next),
                None => return Ok(()),
            }
        }
    })?;
    measured("streaming list", 1, || {
        let query =
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        watch(&address, query, pods + 1)?.join().map_err(|_| "the watch panicked".into())
    })?;

    for watches in [1, watches] {
        let list = client.ask("GET", &format!("{PODS}?limit=1"), "")?;
        let text = String::from_utf8_lossy(&list[..200]).into_owned();
        let version = text.split_once("\"resourceVersion\":\"").and_then(|(_, rest)| rest.split('"').next());
        let query = format!("watch=1&resourceVersion={}", version.unwrap_or_default());
        measured(&format!("{patches} patches, {watches} watches"), patches, || {
            let open: Vec<_> =
                (0..watches).map(|_| watch(&address, &query, patches)).collect::<Result<_, _>>()?;
            for index in 0..patches {
                let body = format!("{{\"metadata\":{{\"labels\":{{\"turn\":\"{watches}-{index}\"}}}}}}");
                client.ask("PATCH", &format!("{PODS}/pod-{:05}", index % pods), &body)?;
            }
            open.into_iter().try_for_each(|one| one.join().map_err(|_| "a watch panicked".into()))
        })?;
        measured(&format!("{patches} events from history"), patches, || {
            watch(&address, &query, patches)?.join().map_err(|_| "the watch panicked".into())
        })?;
    }
    server.stop();
    Ok(())
}

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(address: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client(BufReader::with_capacity(1 << 16, stream)))
    }

    fn send(&mut self, method: &str, target: &str, body: &str) -> Result<(), Failure> {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: h\r\nUser-Agent: load/1\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        Ok(())
    }

    /// The head of the answer; its length, if it has one.
    fn head(&mut self) -> Result<Option<usize>, Failure> {
        let (mut line, mut length) = (String::new(), None);
        self.0.read_line(&mut line)?;
        if !line.contains(" 20") {
            return Err(format!("not answered: {line}").into());
        }
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            if line.trim().is_empty() {
                return Ok(length);
            }
            if let Some(text) = line.strip_prefix("Content-Length: ") {
                length = Some(text.trim().parse()?);
            }
        }
    }

    fn chunk(&mut self, into: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        let from = into.len();
        into.resize(from + size + 2, 0);
        self.0.read_exact(&mut into[from..])?;
        into.truncate(from + size);
        Ok(size > 0)
    }

    fn ask(&mut self, method: &str, target: &str, body: &str) -> Result<Vec<u8>, Failure> {
        self.send(method, target, body)?;
        let mut answer = Vec::new();
        match self.head()? {
            Some(length) => {
                answer.resize(length, 0);
                self.0.read_exact(&mut answer)?;
            }
            None => while self.chunk(&mut answer)? {},
        }
        Ok(answer)
    }
}

/// A watch that is open once this returns, and is read until it has told so many lines.
fn watch(address: &str, query: &str, lines: usize) -> Result<JoinHandle<()>, Failure> {
    let mut client = Client::new(address)?;
    client.send("GET", &format!("{PODS}?{query}"), "")?;
    client.head()?;
    let thread = spawn("client", move || {
        let (mut seen, mut chunk) = (0, Vec::new());
        while seen < lines {
            chunk.clear();
            if !client.chunk(&mut chunk).expect("the watch goes on") {
                panic!("the watch ended after {seen} lines");
            }
            seen += chunk.iter().filter(|byte| **byte == b'\n').count();
        }
        let mine = u64::try_from(cpu(ClockId::ThreadCPUTime).as_nanos()).unwrap_or_default();
        CLIENTS.fetch_add(mine, Ordering::Relaxed);
    })?;
    Ok(thread)
}

fn measured(what: &str, times: usize, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let (began, cpu) = (SystemClock.now(), server_cpu());
    work()?;
    let (took, cpu) = (SystemClock.now() - began, server_cpu().saturating_sub(cpu));
    let each = cpu.as_nanos() / times.max(1) as u128 / 1000;
    say(&format!("{what}: {took:.1?}, CPU {cpu:.1?} ({each} µs each), {} KB", resident()?))
}

/// The CPU time of the process without this thread and those of the clients that have ended.
fn server_cpu() -> Duration {
    let clients = Duration::from_nanos(CLIENTS.load(Ordering::Relaxed));
    cpu(ClockId::ProcessCPUTime).saturating_sub(cpu(ClockId::ThreadCPUTime)).saturating_sub(clients)
}

fn cpu(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

fn resident() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse().unwrap_or_default())
}

fn say(line: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
