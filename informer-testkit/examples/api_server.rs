//! An API server to try things on: `cargo run -p informer-testkit --features tls --example api_server -- KUBECONFIG`.
//!
//! Writes the kubeconfig, says where it listens, and ends with its standard input. `--tls` and `--token TOKEN` before
//! the file do what they say.

use std::io::{self, Read as _, Write as _};

use informer_testkit::ApiServer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = ApiServer::builder();
    let mut kubeconfig = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        builder = match &*argument {
            "--tls" => builder.tls(true),
            "--token" => builder.token(arguments.next().ok_or("--token needs a token")?, "admin"),
            _ => {
                kubeconfig = Some(argument);
                builder
            }
        };
    }
    let server = builder.start()?;
    let kubeconfig = kubeconfig.ok_or("the name of the kubeconfig to write is missing")?;
    server.write_kubeconfig(&kubeconfig)?;
    writeln!(io::stdout(), "ready {}", server.url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
