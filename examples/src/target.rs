//! [`Target`]: which cluster a program works on, as its command line says.

use std::path::PathBuf;

use informer_factory::{Client, Config, Environment, Kubeconfig, KubeconfigOptions, Result};

use crate::demo::Demo;

/// The options that choose a cluster; every example has them.
#[derive(Debug, Default, PartialEq)]
pub struct Target {
    /// A cluster inside the program.
    pub demo: bool,
    /// Which of its lives.
    pub seed: u64,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    server: Option<String>,
}

/// A client, and the cluster itself if it is one of our own: it ends when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// Speaks to the cluster.
    pub client: Client,
    /// The cluster of `--demo`.
    pub demo: Option<Demo>,
}

impl Target {
    /// Its options, for the usage.
    pub const USAGE: &'static str = "  \
  --demo                  a small cluster inside this program, with life in it
  --seed N                another life of it
  --kubeconfig FILE       the kubeconfig; by default kubectl's, or the pod's own
  --context NAME          a context of it; by default the current one
  --server URL            a server without credentials, instead of a kubeconfig";

    /// Takes in the option `--name`, if it is one of these.
    ///
    /// # Errors
    /// The value is missing or wrong.
    pub fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<bool, lexopt::Error> {
        match name {
            "demo" => self.demo = true,
            "seed" => {
                let seed = text(parser, "--seed")?;
                self.seed = seed.parse().map_err(|_| format!("--seed: {seed:?} is not a whole number"))?;
            }
            "kubeconfig" => self.kubeconfig = Some(parser.value()?.into()),
            "context" => self.context = Some(text(parser, "--context")?),
            "server" => self.server = Some(text(parser, "--server")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Two options that do not go together.
    #[must_use]
    pub fn clash(&self) -> Option<&'static str> {
        let clashes = [
            (self.server.is_some() && self.kubeconfig.is_some(), "--server and --kubeconfig"),
            (self.server.is_some() && self.context.is_some(), "--server and --context"),
            (self.demo && self.server.is_some(), "--demo and --server"),
            (self.demo && self.kubeconfig.is_some(), "--demo and --kubeconfig"),
            (self.demo && self.context.is_some(), "--demo and --context"),
        ];
        clashes.into_iter().find_map(|(clash, names)| clash.then_some(names))
    }

    /// The cluster that is meant. That of `--demo` is started, and said on standard error how to join in.
    ///
    /// # Errors
    /// There is no such configuration, or no server can be started.
    pub fn connect(&self) -> Result<Cluster> {
        if self.demo {
            let demo = Demo::start(self.seed)?;
            demo.invite();
            return Ok(Cluster { client: Client::from_url(demo.url())?, demo: Some(demo) });
        }
        if let Some(url) = &self.server {
            return Ok(Cluster { client: Client::from_url(url)?, demo: None });
        }
        let mut options = KubeconfigOptions::new();
        if let Some(context) = &self.context {
            options = options.context(context);
        }
        let config = match &self.kubeconfig {
            Some(path) => Config::from_kubeconfig(&Kubeconfig::read(path)?, &options)?,
            None => Config::infer_with(&options, &Environment::process())?,
        };
        Ok(Cluster { client: Client::new(&config)?, demo: None })
    }
}

/// The value of an option, as text.
///
/// # Errors
/// There is none, or it is not Unicode.
pub fn text(parser: &mut lexopt::Parser, name: &str) -> Result<String, lexopt::Error> {
    parser.value()?.into_string().map_err(|_| format!("{name}: the value is not text").into())
}
