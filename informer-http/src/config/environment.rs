//! [`Environment`]: the variables and folders that a configuration is inferred from.
//!
//! Nothing else in the crate reads the process environment, so a test can state one of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What a program finds around it: environment variables, a home folder, the folder of a service account.
///
/// ```
/// use informer_http::{Config, Environment};
///
/// // An empty environment has no configuration in it.
/// let error = Config::infer_in(&Environment::empty()).unwrap_err();
/// assert!(error.to_string().contains("KUBECONFIG is not set"));
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    variables: Variables,
    home: Option<PathBuf>,
    service_account: PathBuf,
}

#[derive(Clone)]
enum Variables {
    Process,
    These(BTreeMap<String, OsString>),
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn process() -> Self {
        Environment {
            variables: Variables::Process,
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            service_account: PathBuf::from(SERVICE_ACCOUNT),
        }
    }

    /// An environment without any variable and without a home folder.
    #[must_use]
    pub fn empty() -> Self {
        Environment {
            variables: Variables::These(BTreeMap::new()),
            home: None,
            service_account: PathBuf::from(SERVICE_ACCOUNT),
        }
    }

    /// The same environment with `name` set to `value`; the first call on [`process`](Environment::process)
    /// takes a copy of the variables.
    #[must_use]
    pub fn with_var(mut self, name: &str, value: impl Into<OsString>) -> Self {
        let mut these = match self.variables {
            Variables::These(these) => these,
            Variables::Process => std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .collect(),
        };
        these.insert(name.to_owned(), value.into());
        self.variables = Variables::These(these);
        self
    }

    /// The same environment with another home folder, where `.kube/config` is looked for.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The same environment with another folder in place of `/var/run/secrets/kubernetes.io/serviceaccount`.
    #[must_use]
    pub fn with_service_account_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.service_account = dir.into();
        self
    }

    /// The variable `name`, unless it is empty.
    pub(crate) fn os_var(&self, name: &str) -> Option<OsString> {
        let value = match &self.variables {
            Variables::Process => std::env::var_os(name),
            Variables::These(these) => these.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The variable `name`, if it is text and not blank.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        let value = self.os_var(name)?.into_string().ok()?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(crate) fn service_account(&self) -> &Path {
        &self.service_account
    }
}

impl Default for Environment {
    /// The same as [`Environment::process`].
    fn default() -> Self {
        Environment::process()
    }
}

impl std::fmt::Debug for Variables {
    /// Names only: values of other programs' variables are none of our business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Variables::Process => f.write_str("Process"),
            Variables::These(these) => f.debug_set().entries(these.keys()).finish(),
        }
    }
}
