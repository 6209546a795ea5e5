//! What follows a list: its pages, its versions, its failures (R-7 to R-20, P, F-26, F-28, F-29, F-31).

use super::settings::PAGE_RESTARTS;
use super::{Aftermath, Machine, Plan, Step, Verdict};
use crate::error::{Error, ErrorKind, Stage};
use crate::list_watch::{ListEnd, ListRequest};
use crate::version;

impl Machine {
    pub(super) fn first_page(&mut self) -> Step {
        self.stream.skip = false;
        self.asked = self.list_at();
        self.pages.version = None;
        self.pages.token.clear();
        let request =
            ListRequest { resource_version: self.asked.clone(), limit: self.limit(), continue_token: None };
        Step::List { request, first: true }
    }

    pub(super) fn next_page(&self, token: String) -> Step {
        // P-2: a continuation carries neither version nor match.
        let request =
            ListRequest { resource_version: String::new(), limit: self.limit(), continue_token: Some(token) };
        Step::List { request, first: false }
    }

    fn list_at(&self) -> String {
        let fresh = self.version.is_empty() && self.settings.consistent_start; // F-29
        if self.unavailable || fresh {
            String::new()
        } else if self.version.is_empty() {
            "0".to_owned()
        } else {
            self.version.clone()
        }
    }

    fn limit(&self) -> Option<u32> {
        let cached = !self.asked.is_empty() && self.asked != "0";
        match self.settings.page_size {
            Some(size) => Some(size),
            None if cached && !self.pages.paginated => None,
            None => Some(500),
        }
    }

    /// A page has been read whole. For a refusal, the second answer is how long it is until the next request.
    pub(crate) fn page(&mut self, end: &ListEnd) -> (Verdict, Aftermath) {
        let version = self.pages.version.get_or_insert_with(|| end.resource_version.clone()).clone(); // P-3
        let verdict = match &end.continue_token {
            Some(token) if *token == self.pages.token => {
                let text =
                    "the server answered the same continue token twice; the list would never end".to_owned();
                Verdict::Refuse(Error::new(ErrorKind::Decode, text).at(Stage::List))
            }
            Some(token) => {
                self.pages.paginated |= self.asked == "0";
                self.pages.token.clone_from(token);
                self.plan = Plan::Page(token.clone());
                return (Verdict::More, Aftermath::default());
            }
            None => self.complete(&version),
        };
        self.pages.restarts = 0;
        let after = if matches!(verdict, Verdict::Refuse(_)) { self.refused() } else { Aftermath::default() };
        (verdict, after)
    }

    /// The list just accepted had items without a readable key (D8): what it lacks may still be there, so it is asked
    /// for again, at the back-off's pace.
    pub(crate) fn incomplete(&mut self) -> Aftermath {
        self.retry_list(None).with(
            ErrorKind::Decode,
            "an object of the list has no readable key; nothing is taken as deleted, and it is listed again",
        )
    }

    /// A list, or a page of one, has failed.
    pub(crate) fn list_failed(&mut self, error: &Error) -> Aftermath {
        let continued = !self.pages.token.is_empty();
        if error.is_gone() && continued {
            // D6: start afresh, bounded; the inconsistent token is never used.
            self.pages.restarts += 1;
            if self.pages.restarts <= PAGE_RESTARTS {
                self.plan = Plan::List;
                self.stream.skip = true;
                return Aftermath::default();
            }
        } else if (error.is_gone() || error.is_too_large_version()) && !self.asked.is_empty() {
            return self.list_afresh(); // once more at "", at once
        }
        self.pages.restarts = 0;
        self.retry_list(error.retry_after())
    }

    /// The probe has answered with the version of the server's present state.
    pub(crate) fn probed(&mut self, version: &str) {
        self.watch.quiet = 0;
        self.plan = Plan::Watch;
        if version::below(version, &self.version) {
            self.list_afresh();
        }
    }

    /// The probe has failed.
    pub(crate) fn probe_failed(&mut self, error: &Error) -> Aftermath {
        self.watch.quiet = 0;
        self.retry_watch(error.retry_after())
    }

    /// The list under way is complete, and this is its version.
    pub(super) fn complete(&mut self, version: &str) -> Verdict {
        let text = if version.is_empty() {
            "the server answered a list without a resourceVersion; there is nothing to watch from".to_owned()
        } else if self.asked.is_empty() {
            // Only a list at "" may lower the version (F-29).
            let lowered = version::below(version, &self.version);
            self.accept(version);
            return Verdict::Accept { lowered };
        } else if version::below(version, &self.version) {
            format!(
                "the server answered version {version}, older than {} which this cache has; asking for the most recent state",
                self.version
            )
        } else if self.expired.as_deref() == Some(version) {
            format!(
                "the server answered version {version}, from which it serves no watch; asking for the most recent state"
            )
        } else {
            self.accept(version);
            return Verdict::Accept { lowered: false };
        };
        let kind = if version.is_empty() { ErrorKind::Decode } else { ErrorKind::NotComparable };
        Verdict::Refuse(Error::new(kind, text).at(Stage::List))
    }

    /// The complete list cannot be used: the most recent state is asked for at once, and after a delay if that was it.
    pub(super) fn refused(&mut self) -> Aftermath {
        if self.asked.is_empty() { self.retry_list(None) } else { self.list_afresh() }
    }

    fn accept(&mut self, version: &str) {
        if self.version != version {
            self.watch.fruitless_lists = 0;
        }
        version.clone_into(&mut self.version);
        self.listed = true;
        self.unavailable = false;
        self.expired = None;
        self.watch.fruitless = 0;
        self.plan = Plan::Watch;
    }
}
