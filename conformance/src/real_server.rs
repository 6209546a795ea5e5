//! [`RealServer`]: a real kube-apiserver on a real etcd, in a process of its own, for as long as the value lives.
//!
//! Nothing here polls: the server says on its standard output when it is ready, and its end is waited for.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use informer_core::sync;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Names the kubeconfig of another cluster to test against.
const KUBECONFIG: &str = "INFORMER_TEST_KUBECONFIG";

/// How long the server may take to become ready; it takes 3 seconds. A net for a hang, not a wait.
const READY: Duration = Duration::from_secs(120);

/// Exit status of `build.sh` where there is no Go.
const NO_GO: i32 = 3;

/// Why there is no server.
#[derive(Debug)]
pub enum StartError {
    /// This machine cannot build it; the suite goes on without it and says so.
    Unavailable {
        /// What is missing.
        reason: String,
    },
    /// It should have worked.
    Failed {
        /// What went wrong, with the end of the server's log where there is one.
        reason: String,
    },
}

/// The cluster to test against.
#[derive(Debug)]
pub enum Cluster {
    /// A server of our own.
    Own(RealServer),
    /// The one that `INFORMER_TEST_KUBECONFIG` names.
    Other {
        /// Its kubeconfig.
        kubeconfig: PathBuf,
    },
}

/// A real API server on loopback, with data, certificates and kubeconfigs in a temporary folder.
///
/// It has RBAC, CRDs, streaming lists and server-side apply, and none of the controllers; see
/// `conformance/real-server/README.md`. Dropping it ends it and removes the folder.
#[derive(Debug)]
pub struct RealServer {
    process: Option<Process>, // ended before the folder goes
    dir: TempDir,
    binary: PathBuf,
    flags: Vec<OsString>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    url: String,
}

impl Cluster {
    /// The cluster that `INFORMER_TEST_KUBECONFIG` names, or a server of our own.
    ///
    /// # Errors
    /// Those of [`RealServer::start`].
    ///
    /// # Blocking
    /// As [`RealServer::start`].
    pub fn from_env() -> Result<Self, StartError> {
        Cluster::from_env_with([] as [&str; 0])
    }

    /// As [`from_env`](Cluster::from_env); a server of our own gets further flags of kube-apiserver, as
    /// `--watch-cache=false`.
    ///
    /// # Errors
    /// Those of [`RealServer::start`].
    ///
    /// # Blocking
    /// As [`RealServer::start`].
    pub fn from_env_with(flags: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, StartError> {
        match std::env::var_os(KUBECONFIG).filter(|path| !path.is_empty()) {
            Some(path) => Ok(Cluster::Other { kubeconfig: path.into() }),
            None => RealServer::start_with(flags).map(Cluster::Own),
        }
    }

    /// The kubeconfig of someone who may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        match self {
            Cluster::Own(server) => server.admin_kubeconfig(),
            Cluster::Other { kubeconfig } => kubeconfig.clone(),
        }
    }

    /// The server, if it is ours to restart.
    pub fn own(&mut self) -> Option<&mut RealServer> {
        match self {
            Cluster::Own(server) => Some(server),
            Cluster::Other { .. } => None,
        }
    }
}

impl RealServer {
    /// Builds the server if need be, and starts it.
    ///
    /// # Errors
    /// [`StartError::Unavailable`] without Go, [`StartError::Failed`] for everything else.
    ///
    /// # Blocking
    /// About 3 seconds; about 4 minutes the first time on a machine, while it is built.
    pub fn start() -> Result<Self, StartError> {
        RealServer::start_with([] as [&str; 0])
    }

    /// Whether [`start`](RealServer::start) would take seconds: there is Go, and the server has been built.
    ///
    /// # Blocking
    /// While a shell looks for it.
    #[must_use]
    pub fn is_built() -> bool {
        build(&["--built"]).is_ok()
    }

    /// As [`start`](RealServer::start), with further flags of kube-apiserver, as `--watch-cache=false`.
    ///
    /// # Errors
    /// Those of [`start`](RealServer::start).
    ///
    /// # Blocking
    /// As [`start`](RealServer::start).
    pub fn start_with(flags: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, StartError> {
        let binary = build(&[])?;
        let dir = tempfile::Builder::new()
            .prefix("informer-real-server-")
            .tempdir()
            .map_err(failed("a temporary folder"))?;
        let flags = flags.into_iter().map(Into::into).collect();
        let mut server = RealServer { process: None, dir, binary, flags };
        server.run(&[])?;
        Ok(server)
    }

    /// `https://127.0.0.1:PORT`; the port stays the same over restarts. Empty if a restart failed.
    #[must_use]
    pub fn url(&self) -> &str {
        self.process.as_ref().map_or("", |process| &process.url)
    }

    /// Whether it was started with this further flag.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// Kubeconfig with the client certificate of a cluster administrator.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.dir.path().join("admin.kubeconfig")
    }

    /// Kubeconfig with a bearer token of the same rights.
    #[must_use]
    pub fn token_kubeconfig(&self) -> PathBuf {
        self.dir.path().join("token.kubeconfig")
    }

    /// Kubeconfig of a user who may do nothing.
    #[must_use]
    pub fn nobody_kubeconfig(&self) -> PathBuf {
        self.dir.path().join("nobody.kubeconfig")
    }

    /// The server's own log, of all its starts.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }

    /// Kills the server and starts it again at the same address, with its objects and certificates.
    ///
    /// As a crash would: a server that is asked to end waits a minute for open watches.
    ///
    /// # Errors
    /// [`StartError::Failed`] if it does not come back.
    ///
    /// # Blocking
    /// Until the old process has ended and the new one is ready.
    pub fn restart_keep(&mut self) -> Result<(), StartError> {
        self.restart(&["-keep"])
    }

    /// As [`restart_keep`](RealServer::restart_keep), but without its objects: versions start again from the bottom.
    ///
    /// # Errors
    /// [`StartError::Failed`] if it does not come back.
    ///
    /// # Blocking
    /// As [`restart_keep`](RealServer::restart_keep).
    pub fn restart_empty(&mut self) -> Result<(), StartError> {
        self.restart(&[])
    }

    /// As [`restart_keep`](RealServer::restart_keep), but with a new authority and new certificates.
    ///
    /// # Errors
    /// [`StartError::Failed`] if it does not come back.
    ///
    /// # Blocking
    /// As [`restart_keep`](RealServer::restart_keep).
    pub fn restart_new_ca(&mut self) -> Result<(), StartError> {
        self.restart(&["-keep", "-new-ca"])
    }

    fn restart(&mut self, options: &[&str]) -> Result<(), StartError> {
        let port = self.url().rsplit_once(':').map_or("0", |(_, port)| port).to_owned();
        if let Some(mut process) = self.process.take() {
            let _ = process.child.kill(); // if it has ended by itself, all the better
        }
        self.run(&[options, &["-port", &port]].concat())
    }

    fn run(&mut self, options: &[&str]) -> Result<(), StartError> {
        let log =
            File::options().create(true).append(true).open(self.log()).map_err(failed("the server's log"))?;
        let mut command = Command::new(&self.binary);
        command.arg("-dir").arg(self.dir.path()).args(options).arg("--").args(&self.flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(failed("start of the server"))?;
        let stdout = child.stdout.take();
        let mut process = Process { child, url: String::new() }; // from here on it is ended, whatever happens
        let (ready, said) = mpsc::channel();
        // The thread keeps the pipe open, and ends with the server.
        let reader = sync::spawn("informer-real-server", move || {
            for line in
                stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()).map_while(Result::ok)
            {
                if let Some(url) = line.strip_prefix("ready ") {
                    let _ = ready.send(url.to_owned()); // nobody listens after the first one
                }
            }
        });
        reader.map_err(failed("a thread"))?;
        match said.recv_timeout(READY) {
            Ok(url) => {
                process.url = url;
                self.process = Some(process);
                Ok(())
            }
            Err(why) => {
                drop(process);
                let what = match why {
                    RecvTimeoutError::Disconnected => "the server ended before it was ready".to_owned(),
                    RecvTimeoutError::Timeout => format!("the server was not ready after {READY:?}"),
                };
                Err(StartError::Failed { reason: format!("{what}; its log ends:\n{}", tail(&self.log())) })
            }
        }
    }
}

impl Drop for Process {
    /// SIGTERM, as a service manager would, and the wait for the end.
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // It cannot be another process: the child has not been waited for.
        let asked = pid.map(|pid| kill_process(pid, Signal::TERM));
        if !matches!(asked, Some(Ok(()))) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Unavailable { reason } => write!(f, "no real API server here: {reason}"),
            StartError::Failed { reason } => write!(f, "the real API server failed: {reason}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Runs `build.sh`: the path of the binary.
fn build(options: &[&str]) -> Result<PathBuf, StartError> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("real-server").join("build.sh");
    let output = Command::new("sh")
        .arg(&script)
        .args(options)
        .stdin(Stdio::null())
        .output()
        .map_err(failed("build.sh"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())),
        Some(NO_GO) => Err(StartError::Unavailable { reason: said }),
        _ => Err(StartError::Failed { reason: format!("build.sh ended with {}: {said}", output.status) }),
    }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> StartError {
    move |error| StartError::Failed { reason: format!("{what}: {error}") }
}

/// The last lines of the file.
fn tail(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
