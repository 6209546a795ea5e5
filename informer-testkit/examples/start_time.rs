//! How long an API server takes from its start to its first answer, and to stop: medians of 200, in microseconds.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use informer_core::{Clock as _, SystemClock};
use informer_testkit::ApiServer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for _ in 0..200 {
        let began = SystemClock.now();
        let server = ApiServer::start()?;
        let address = server.url().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        assert!(answer.contains("kube-system"), "{answer}");
        let answered = SystemClock.now();
        server.stop();
        rows.push([answered - began, SystemClock.now() - answered].map(|took| took.as_micros()));
    }
    for (column, name) in ["start to first answer", "stop"].into_iter().enumerate() {
        rows.sort_by_key(|row| row[column]);
        let (median, worst) = (rows[rows.len() / 2][column], rows[rows.len() - 1][column]);
        writeln!(io::stdout(), "{name}: median {median} µs, worst {worst} µs")?;
    }
    Ok(())
}
