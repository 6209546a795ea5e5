//! What follows a list: its pages, its versions, its failures (R-7 to R-20, P, F-26, F-28, F-29, F-31).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::settings::{EMPTY_PAGES, INTERNAL, PAGE_RESTARTS};
use super::{Aftermath, Machine, Pages, Plan, Step, Verdict};
use crate::error::{Error, ErrorKind, Stage};
use crate::key::KeyRef;
use crate::list_watch::{ListEnd, ListRequest};
use crate::version;

/// A page that has been read whole.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) end: &'a ListEnd,
    /// How many items it has.
    pub(crate) items: usize,
    /// The key of the first one, if it can be read.
    pub(crate) first: Option<KeyRef<'a>>,
}

/// Why a list will not end, as far as can be told.
const SAME_TOKEN: &str = "the server answered the same continue token twice; the list would never end";
const SAME_PAGE: &str =
    "the server answered a page that begins as an earlier one did; the list would never end";
const NO_ITEMS: &str = "the server answered 100 pages in a row without an item, each with a continue token; the list would never end";

impl Machine {
    pub(super) fn first_page(&mut self) -> Step {
        self.stream.skip = false;
        self.asked = self.list_at();
        self.pages.begin();
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
        if fresh {
            String::new()
        } else if self.version.is_empty() && !self.unavailable {
            "0".to_owned()
        } else {
            self.known_version()
        }
    }

    /// The version at hand, or `""`, the most recent state, if there is none that a list could be held to: of a server
    /// that lists at `0`, a list at `0` might be older than what the cache has (F-29).
    pub(super) fn known_version(&self) -> String {
        if self.unavailable || self.version == "0" { String::new() } else { self.version.clone() }
    }

    fn limit(&self) -> Option<u32> {
        let cached = !self.asked.is_empty() && self.asked != "0";
        match self.settings.page_size {
            _ if self.pages.whole => None,                   // P-4
            Some(size) => Some(size),
            None if cached && !self.pages.paginated => None,
            None => Some(500),
        }
    }

    /// A page has been read whole. For a refusal, the second answer is how long it is until the next request.
    pub(crate) fn page(&mut self, page: &Page<'_>) -> (Verdict, Aftermath) {
        let end = page.end;
        let version = self.pages.version.get_or_insert_with(|| end.resource_version.clone()).clone(); // P-3
        let verdict = match (&end.continue_token, self.pages.endless(page)) {
            (Some(_), Some(text)) => Verdict::Refuse(Error::new(ErrorKind::Decode, text).at(Stage::List)),
            (Some(token), None) => {
                self.pages.paginated |= self.asked == "0";
                self.plan = Plan::Page(token.clone());
                return (Verdict::More, Aftermath::default());
            }
            (None, _) => self.complete(&version),
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
        let continued = !self.pages.tokens.is_empty();
        if error.is_gone() && continued {
            // D6: start afresh, bounded; the inconsistent token is never used.
            self.pages.restarts += 1;
            if self.pages.restarts <= PAGE_RESTARTS {
                self.plan = Plan::List;
                self.stream.skip = true;
                return Aftermath::default();
            }
            // The pages take longer than the server remembers: only a list in one piece can be had.
            self.pages.whole = true;
        } else if !self.asked.is_empty() && refuses_version(error, continued) {
            return self.list_afresh(); // once more at "", at once
        }
        self.pages.restarts = 0;
        self.count_internal(error);
        self.retry_list(error.retry_after())
    }

    /// A server that cannot read the version may also say so with a 500. Then there is no other way to be rid of it.
    fn count_internal(&mut self, error: &Error) {
        let counts = error.kind() == ErrorKind::Internal && !self.asked.is_empty() && self.asked != "0";
        self.pages.internal = if counts { self.pages.internal + 1 } else { 0 };
        self.unavailable |= self.pages.internal >= INTERNAL;
    }

    /// The probe has answered with the version of the server's present state.
    pub(crate) fn probed(&mut self, version: &str) -> Aftermath {
        self.watch.forget_quiet();
        self.plan = Plan::Watch;
        if !version::goes_back(version, &self.version) {
            return Aftermath::default();
        }
        // All informers of a server find out at the same time after its restart, so each waits for a time of its own. It is
        // a short one: the server has just answered.
        self.list_afresh();
        self.backoff.reset();
        self.pause(None).with(
            ErrorKind::NotComparable,
            "the server's present state is older than this cache: its history was replaced; listing afresh",
        )
    }

    /// The probe has failed: the question is still open.
    pub(crate) fn probe_failed(&mut self, error: &Error) -> Aftermath {
        self.suspect();
        self.retry_watch(error.retry_after())
    }

    /// The list under way is complete, and this is its version.
    pub(super) fn complete(&mut self, version: &str) -> Verdict {
        let text = if version.is_empty() {
            "the server answered a list without a resourceVersion; there is nothing to watch from".to_owned()
        } else if self.asked.is_empty() {
            // Only a list at "" may lower the version (F-29).
            let lowered = version::goes_back(version, &self.version);
            self.accept(version);
            return Verdict::Accept { lowered };
        } else if version::goes_back(version, &self.version) {
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
        self.pages.internal = 0;
        self.pages.whole = false;
        self.watch.fruitless = 0;
        self.plan = Plan::Watch;
    }
}

/// Whether a list was refused for the version that it asked for, or may have been: the server has forgotten it, has not
/// reached it, or cannot read it, as after a change of what serves the resource. What is wrong with a
/// continuation is its token.
fn refuses_version(error: &Error, continued: bool) -> bool {
    let unread = matches!(error.kind(), ErrorKind::BadRequest | ErrorKind::Invalid);
    error.is_gone() || error.is_too_large_version() || unread && !continued
}

impl Pages {
    /// A new list begins.
    fn begin(&mut self) {
        self.version = None;
        self.tokens.clear();
        self.firsts.clear();
        self.empty = 0;
    }

    /// Why the list would never end, if `page` shows that. No key comes twice in a list, so a page that begins as an
    /// earlier one is that page again, whatever its token says.
    fn endless(&mut self, page: &Page<'_>) -> Option<&'static str> {
        let new = |seen: &mut HashSet<u64>, hash: u64| seen.insert(hash);
        let token = page.end.continue_token.as_ref()?;
        self.empty = if page.items == 0 { self.empty + 1 } else { 0 };
        if !new(&mut self.tokens, hash(token)) {
            Some(SAME_TOKEN)
        } else if !page.first.is_none_or(|first| new(&mut self.firsts, hash(first))) {
            Some(SAME_PAGE)
        } else {
            (self.empty >= EMPTY_PAGES).then_some(NO_ITEMS)
        }
    }
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
