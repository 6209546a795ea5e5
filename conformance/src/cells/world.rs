//! [`World`]: what both servers hold when they are asked, and what each of them calls it.
//!
//! A seed gives namespaces, names, values and the order of creation, so that nothing can be answered from memory of
//! another run. Both servers get the same world; versions and tokens differ, so questions name them by their role:
//! `{old}` stands for whatever version the server gave then.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use super::side::Side;
use crate::exchange::{Answer, Ask, Peer};

/// A version that no server reaches.
pub(crate) const FUTURE: &str = "999999999999";

/// The two collections that every question about versions is asked of.
pub(crate) const KINDS: [Kind; 2] = [
    Kind { word: "configmap", facts: "", resource: "configmaps", root: "/api/v1" },
    Kind { word: "custom", facts: "w", resource: "widgets", root: "/apis/example.com/v1" },
];

/// A kind of object to ask about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// In the names of cells.
    pub(crate) word: &'static str,
    /// What the names of its facts begin with.
    pub(crate) facts: &'static str,
    resource: &'static str,
    root: &'static str,
}

impl Kind {
    /// The collection in the world's namespace.
    pub(crate) fn collection(&self) -> String {
        format!("{}/namespaces/{{ns}}/{}", self.root, self.resource)
    }

    /// The collection in every namespace.
    pub(crate) fn everywhere(&self) -> String {
        format!("{}/{}", self.root, self.resource)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// What the placeholders of questions stand for.
    facts: BTreeMap<String, String>,
    /// Every version that is known, with what it is called.
    versions: BTreeMap<u64, String>,
    names: Vec<String>,
}

impl World {
    /// Fills a server.
    pub(crate) fn make(side: &dyn Side, seed: u64) -> io::Result<World> {
        let mut dice = Dice(seed);
        let names = dice.names(5);
        let namespace = format!("cells-{}", dice.word());
        let facts = BTreeMap::from([("ns".to_owned(), namespace), ("future".to_owned(), FUTURE.to_owned())]);
        let mut world = World { facts, versions: BTreeMap::new(), names };
        for (at, name) in world.names.clone().into_iter().enumerate() {
            world.facts.insert(format!("name{at}"), name);
        }
        let peer = side.peer();
        world.write(
            &peer,
            "POST",
            "/api/v1/namespaces",
            &json!({"metadata": {"name": world.facts["ns"]}}),
        )?;
        super::samples::make(&mut world, &peer)?;
        super::furniture::make(&mut world, &peer)?;
        for kind in KINDS {
            world.fill(&peer, kind, &mut dice)?;
        }
        // Something newer than all that is asked about, or a watch from there has nothing to tell in a bookmark.
        for kind in KINDS {
            let elsewhere = kind.collection().replace("{ns}", "default");
            let object = json!({"metadata": {"name": dice.word(), "labels": {"n": "9"}}});
            world.write(&peer, "POST", &elsewhere, &object)?;
        }
        Ok(world)
    }

    /// Makes versions before now ones that nobody remembers, and one more change of each kind.
    ///
    /// Facts get `compacted` and `expired`, a token of then.
    pub(crate) fn forget(&mut self, side: &mut dyn Side) -> io::Result<()> {
        for kind in KINDS {
            for (new, old) in [("compacted", "old"), ("expired", "next")] {
                let fact = self.facts[&format!("{}{old}", kind.facts)].clone();
                self.facts.insert(format!("{}{new}", kind.facts), fact);
            }
        }
        let [maps, widgets] = KINDS;
        side.forget(&self.resolve(&maps.collection()), &self.facts["compacted"])?;
        let peer = side.peer();
        let list = self.resolve(&widgets.collection());
        wait_served(&peer, &list)?;
        for kind in KINDS {
            let expired = Ask::get(format!("{}?continue={{{}expired}}", kind.collection(), kind.facts));
            let refusal: Value = serde_json::from_slice(&self.ask(&peer, &expired)?.body)?;
            let rest = refusal["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            self.facts.insert(format!("{}rest", kind.facts), rest);
            let object = format!("{}/{{name0}}", kind.collection());
            self.merge(&peer, &object, &json!({"metadata": {"annotations": {"after": "all"}}}))?;
        }
        // A consistent list brings what is cached up to date, or one at version 0 would be of a moment ago.
        for kind in KINDS {
            self.ask(&peer, &Ask::get(kind.collection()))?;
        }
        Ok(())
    }

    /// Five objects, of which some change and one goes: `{old}` is before that, `{current}` after it, `{next}` the
    /// token of a first page of then.
    fn fill(&mut self, peer: &Peer, kind: Kind, dice: &mut Dice) -> io::Result<()> {
        let collection = kind.collection();
        wait_served(peer, &self.resolve(&collection))?;
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        dice.shuffle(&mut order);
        let mut last = String::new();
        for at in order {
            let name = &self.names[at];
            let mut object = json!({"metadata": {"name": name, "labels": {"n": (at % 2).to_string()}}});
            match kind.word {
                "configmap" => object["data"] = json!({"k": dice.word(), name.clone(): dice.word()}),
                _ => object["spec"] = json!({"size": dice.below(90) + 1, "color": dice.word()}),
            }
            last = self.write(peer, "POST", &collection, &object)?;
        }
        let page = self.ask(peer, &Ask::get(format!("{collection}?limit=2")))?;
        let page: Value = serde_json::from_slice(&page.body)?;
        let next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        self.facts.insert(format!("{}old", kind.facts), last);
        self.facts.insert(format!("{}next", kind.facts), next);
        self.merge(peer, &format!("{collection}/{{name3}}"), &json!({"metadata": {"labels": {"n": "7"}}}))?;
        self.write(peer, "DELETE", &format!("{collection}/{{name4}}"), &Value::Null)?;
        let last = self.merge(
            peer,
            &format!("{collection}/{{name1}}"),
            &json!({"metadata": {"annotations": {"a": "b"}}}),
        )?;
        self.facts.insert(format!("{}current", kind.facts), last);
        Ok(())
    }

    /// A text with its placeholders resolved.
    pub(crate) fn resolve(&self, text: &str) -> String {
        self.facts
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// A question as this server has to be asked it.
    pub(crate) fn resolved(&self, ask: &Ask) -> Ask {
        let body = match std::str::from_utf8(&ask.body) {
            Ok(text) => self.resolve(text).into_bytes(),
            Err(_) => ask.body.clone(),
        };
        Ask { target: self.resolve(&ask.target), body, ..ask.clone() }
    }

    fn ask(&self, peer: &Peer, ask: &Ask) -> io::Result<Answer> {
        peer.ask(&self.resolved(ask))
    }

    fn merge(&mut self, peer: &Peer, target: &str, patch: &Value) -> io::Result<String> {
        self.done(peer, &Ask::send("PATCH", target, "application/merge-patch+json", patch.to_string()))
    }

    /// Writes, and gives the version that the object has then.
    pub(crate) fn write(
        &mut self,
        peer: &Peer,
        method: &str,
        target: &str,
        body: &Value,
    ) -> io::Result<String> {
        let bytes = if body.is_null() { String::new() } else { typed(target, body).to_string() };
        self.done(peer, &Ask::send(method, target, "application/json", bytes))
    }

    /// Asks for what must work.
    pub(crate) fn done(&mut self, peer: &Peer, ask: &Ask) -> io::Result<String> {
        let answer = self.ask(peer, ask)?;
        let text = String::from_utf8_lossy(&answer.body);
        if answer.status >= 300 {
            return Err(io::Error::other(format!("{} {}: {} {text}", ask.method, ask.target, answer.status)));
        }
        let body: Value = serde_json::from_slice(&answer.body)?;
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        self.learn(&version);
        Ok(version)
    }

    /// Takes in a version that the server has given.
    pub(crate) fn learn(&mut self, version: &str) {
        if let Ok(number) = version.parse() {
            let name = format!("<v{}>", self.versions.len() + 1);
            self.versions.entry(number).or_insert(name);
        }
    }

    /// What a version is called. One between two that are known is a change elsewhere: here nothing has changed since
    /// the first of them.
    pub(crate) fn called(&self, version: &str) -> Option<String> {
        if version == FUTURE || version.is_empty() {
            return None;
        }
        let number: u64 = version.parse().ok()?;
        let known = self.versions.range(..=number).next_back();
        Some(known.map_or_else(|| "<before>".to_owned(), |(_, name)| name.clone()))
    }
}

/// The body with the kind that a path of custom resources asks for.
fn typed(target: &str, body: &Value) -> Value {
    let mut body = body.clone();
    if target.starts_with("/apis/example.com/") && body.get("kind").is_none() {
        body["kind"] = "Widget".into();
        body["apiVersion"] = "example.com/v1".into();
    }
    body
}

/// Waits until a collection is served: the server takes a moment to know a definition that it has stored.
pub(crate) fn wait_served(peer: &Peer, collection: &str) -> io::Result<()> {
    // A watch of what is always there, that ends by itself, is what there is to wait with.
    let pause = Ask::get("/api/v1/namespaces?watch=1&timeoutSeconds=1&labelSelector=none%3Dsuch");
    for _ in 0..60 {
        if peer.ask(&Ask::get(collection))?.status == 200 {
            return Ok(());
        }
        peer.ask(&pause)?;
    }
    Err(io::Error::other(format!("{collection} is not served after a minute")))
}

/// Numbers that look random, from a seed.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64, whose steps are published.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % end.max(1) as u64).unwrap_or_default()
    }

    /// A word that may be a name.
    pub(crate) fn word(&mut self) -> String {
        (0..5).map(|_| char::from(b"bcdfghjklmnpqrstvwxz"[self.below(20)])).collect()
    }

    /// Names in their order.
    fn names(&mut self, count: usize) -> Vec<String> {
        let mut names: Vec<String> = (0..count).map(|_| self.word()).collect();
        names.sort();
        names
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
