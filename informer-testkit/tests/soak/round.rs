//! [`Round`]: a server, a proxy that spoils what passes, and informers, for as long as a number of faults lasts; then
//! peace, in which everything must come right.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Mutex;
use informer_core::{Clock as _, HandlerOptions, SharedInformer};
use informer_http::{Client, HttpListWatch};
use informer_testkit::{ApiServer, Deadline, Gate, ManualClock, Recorder, states, within};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::plan::{Dice, Kind, Plan, Ticket, answer};
use crate::proxy::Proxy;
use crate::source::{Ledger, Paced, SILENCE};

/// How many informers run at once.
const MEMBERS: usize = 8;
/// How many objects there may be.
const OBJECTS: u64 = 14;
/// Requests in a row without a wait: after a list its watch, once a short watch, once a list that had to be asked for
/// again in another way, and so on; each of them is bounded by itself, and so are all together.
const MOST_FREE: u32 = 8;
/// How many steps a wish for an older history waits for others: everybody has to notice one, which takes its time.
const GATHERED: u32 = 3;
/// After so many steps without a fault somebody begins anew.
const IDLE: u32 = 4;
/// An empty server's first objects are all below this version.
const FLOOR: u64 = 60;

/// What a round has come to.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) requests: u64,
    pub(crate) waits: u64,
    pub(crate) most_free: u32,
    pub(crate) informers: u32,
    pub(crate) events: usize,
    pub(crate) restarts: u32,
}

pub(crate) struct Round {
    seed: u64,
    dice: Dice,
    plan: Arc<Plan>,
    clock: ManualClock,
    server: ApiServer,
    proxy: Proxy,
    client: Client,
    members: Vec<Member>,
    alive: BTreeSet<String>,
    /// The server has an older history, and not everybody has noticed: nothing changes until then. Versions are all
    /// that tells histories apart; if the new one came to a version of the old one, nobody could tell.
    calm: bool,
    /// Connections that wait for an older history, and for how many steps the first has.
    older: Vec<Ticket>,
    waited: u32,
    /// How many faults had struck by the last step, and for how many steps none has since.
    idle: (u32, u32),
    sum: Sum,
}

/// An informer with its handlers: one that just listens, one that stands still at times, one that panics at times.
struct Member {
    informer: SharedInformer<ConfigMap>,
    handlers: [Recorder; 3],
    gates: Vec<Gate>,
    ledger: Arc<Mutex<Ledger>>,
}

impl Member {
    fn start(client: &Client, clock: &ManualClock, dice: &mut Dice) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let inner = HttpListWatch::new(client).list_silence(SILENCE);
        let source = Paced { inner, clock: clock.clone(), ledger: Arc::clone(&ledger) };
        let (told, time) = (Arc::clone(&ledger), clock.clone());
        let mut builder = SharedInformer::builder(source)
            .clock(clock.clone())
            .seed(dice.roll(u64::MAX >> 33))
            .queue_limit(1 + dice.roll(30) as usize)
            .streaming(dice.roll(2) == 0)
            .on_error(move |report| told.lock().reported(report, time.now()));
        if dice.roll(2) == 0 {
            builder = builder.page_size(3);
        }
        let informer = builder.build();
        let handlers = [Recorder::new(), Recorder::new(), Recorder::new()];
        let gate = Gate::new("a slow handler");
        handlers[1].block_at(1 + dice.roll(20) as usize, &gate);
        handlers[2].panic_at(1 + dice.roll(20) as usize);
        let resync = HandlerOptions::new().resync(Duration::from_secs(5));
        informer.add_event_handler_with(resync, handlers[0].clone()).unwrap();
        informer.add_event_handler(handlers[1].clone()).unwrap();
        informer.add_event_handler(handlers[2].clone()).unwrap();
        informer.start().unwrap();
        Member { informer, handlers, gates: vec![gate], ledger }
    }

    fn version(&self) -> Option<u64> {
        self.informer.store().resource_version().parse().ok()
    }

    /// Stops it, and looks at what it did.
    fn end(self, seed: u64, sum: &mut Sum) {
        self.gates.iter().for_each(Gate::open);
        self.informer.stop();
        let informer = self.informer.clone();
        within("the join of an informer", move || informer.join()).unwrap();
        for handler in &self.handlers {
            let _ = handler.replay(); // up to its end it was told the truth
            sum.events += handler.len();
        }
        let ledger = self.ledger.lock();
        assert_eq!(ledger.early, 0, "seed {seed}: requests came before they were due");
        assert!(
            ledger.most_free <= MOST_FREE,
            "seed {seed}: {} requests in a row without a wait",
            ledger.most_free
        );
        sum.requests += ledger.requests;
        sum.waits += ledger.waits;
        sum.most_free = sum.most_free.max(ledger.most_free);
        sum.informers += 1;
    }
}

impl Round {
    pub(crate) fn start(seed: u64, plan: &Arc<Plan>) -> Self {
        let clock = ManualClock::new();
        let server = ApiServer::builder().clock(clock.clone()).start().unwrap();
        let address = server.url().strip_prefix("http://").unwrap().parse().unwrap();
        let proxy = Proxy::start(plan, address);
        let client = Client::from_url(&format!("http://{}", proxy.addr)).unwrap();
        let mut round = Round {
            seed,
            dice: Dice(seed),
            plan: Arc::clone(plan),
            clock,
            server,
            proxy,
            client,
            members: Vec::new(),
            alive: BTreeSet::new(),
            calm: false,
            older: Vec::new(),
            waited: 0,
            idle: (0, 0),
            sum: Sum::default(),
        };
        // Above the versions that an empty server begins with.
        while round.newest() <= FLOOR {
            round.change();
        }
        plan.start(seed);
        (0..MEMBERS).for_each(|_| round.join());
        round
    }

    fn join(&mut self) {
        let member = Member::start(&self.client, &self.clock, &mut self.dice);
        self.members.push(member);
    }

    fn change(&mut self) {
        let name = format!("c-{}", self.dice.roll(OBJECTS));
        let key = format!("default/{name}");
        let data = json!({ "data": { "k": self.dice.roll(1000).to_string(), "é": "😀 \"}{\\" } });
        let outcome = match (self.alive.contains(&name), self.dice.roll(5)) {
            (true, 0) => {
                self.alive.remove(&name);
                self.server.delete("configmaps", &key)
            }
            (true, _) => self.server.merge_patch("configmaps", &key, &data).map(drop),
            (false, _) => self.create(&name),
        };
        outcome.unwrap();
    }

    fn create(&mut self, name: &str) -> informer_core::Result<()> {
        self.alive.insert(name.to_owned());
        let object = json!({ "metadata": { "name": name }, "data": { "k": "0" } });
        self.server.create("configmaps", object).map(drop)
    }

    fn objects(&self) -> Vec<ConfigMap> {
        let objects = self.server.list("configmaps").unwrap();
        objects.into_iter().map(|object| serde_json::from_value(object).unwrap()).collect()
    }

    fn newest(&self) -> u64 {
        let versions = self.objects().into_iter().filter_map(|object| object.metadata.resource_version);
        versions.filter_map(|version| version.parse().ok()).max().unwrap_or(0)
    }

    /// Restarts the server as a connection wishes. Where the new history could not be told from the old one, not now.
    fn restart(&mut self, kind: Kind) -> bool {
        if kind == Kind::Newer {
            self.server.restart().unwrap();
            self.sum.restarts += 1;
            return true;
        }
        if self.calm
            || self.members.iter().any(|member| member.version().is_some_and(|version| version <= FLOOR))
        {
            return false;
        }
        self.server.restart_empty().unwrap();
        self.sum.restarts += 1;
        self.alive.clear();
        (0..5).for_each(|at| self.create(&format!("c-{at}")).unwrap());
        assert!(self.newest() < FLOOR, "the new history begins below the old one");
        self.calm = true;
        self.plan.hush(true); // the sooner it is over
        true
    }

    /// Slow handlers go on.
    fn open_gates(&mut self) {
        for member in &mut self.members {
            member.gates.drain(..).for_each(|gate| gate.open());
        }
    }

    fn is_settled(&self) -> bool {
        let want = states(&self.objects());
        self.members.iter().all(|member| {
            let stored = member.informer.store().list();
            states(stored.iter().map(Arc::as_ref)) == want
        })
    }

    /// Time goes on: at once to what somebody waits for, if an informer waits.
    fn tick(&self) {
        self.plan.pause(Duration::from_millis(1));
        let next =
            self.members.iter().filter_map(|member| member.informer.status().last_error?.next_attempt).min();
        self.clock.advance(next.unwrap_or(Duration::from_millis(20)));
    }

    fn step(&mut self) {
        while let Some((kind, ticket)) = self.plan.wanted() {
            if kind == Kind::Older {
                self.older.push(ticket);
            } else {
                let done = self.restart(kind);
                answer(&ticket, done);
            }
        }
        self.waited = if self.older.is_empty() { 0 } else { self.waited + 1 };
        if self.waited > GATHERED || self.older.len() >= 4 {
            let done = self.restart(Kind::Older);
            self.older.drain(..).for_each(|ticket| answer(&ticket, done));
        }
        if self.calm {
            self.calm = self.dice.roll(3) != 0 || !self.is_settled(); // a look costs more than a step
            self.plan.hush(self.calm);
        } else {
            (0..self.dice.roll(2)).for_each(|_| self.change());
        }
        let strikes = self.plan.strikes();
        self.idle = (strikes, if self.idle.0 == strikes { self.idle.1 + 1 } else { 0 });
        match self.dice.roll(60) {
            0..=5 => self.open_gates(),
            // Where everybody watches in peace nothing begins, and what strikes at beginnings would wait for long.
            roll if !self.calm && (roll == 6 || IDLE < self.idle.1) => {
                self.idle.1 = 0;
                let at = self.dice.roll(MEMBERS as u64) as usize;
                let member = self.members.swap_remove(at);
                member.end(self.seed, &mut self.sum);
                self.join();
            }
            _ => {}
        }
        self.tick();
    }

    /// Goes on until so many faults have struck, or for so long.
    pub(crate) fn run(&mut self, faults: u32, limit: Duration) {
        let (until, enough) = (Deadline::after(limit), self.plan.strikes() + faults);
        while self.plan.strikes() < enough && !until.has_passed() {
            self.step();
        }
    }

    /// No fault comes any more: stores become equal to the server, and what handlers were told to the stores.
    pub(crate) fn settle(mut self) -> Sum {
        self.plan.end();
        while let Some((_, ticket)) = self.plan.wanted() {
            answer(&ticket, false);
        }
        self.older.drain(..).for_each(|ticket| answer(&ticket, false));
        self.open_gates();
        let net = Deadline::new();
        while self.calm {
            self.calm = !self.is_settled();
            self.tick();
            assert!(!net.has_passed(), "{}", self.picture("the older history was not noticed"));
        }
        self.create("last").unwrap();
        let told = |handler: &Recorder| handler.records().iter().any(|record| record.key.name() == "last");
        while !(self.is_settled() && self.members.iter().all(|member| member.handlers.iter().all(told))) {
            self.tick();
            assert!(!net.has_passed(), "{}", self.picture("stores and server differ"));
        }
        let want = states(&self.objects());
        for member in std::mem::take(&mut self.members) {
            for handler in &member.handlers {
                assert_eq!(handler.replay(), want, "seed {}: a handler:\n{}", self.seed, handler.trace());
            }
            member.end(self.seed, &mut self.sum);
        }
        self.proxy.stop();
        self.server.stop();
        self.sum
    }

    fn picture(&self, what: &str) -> String {
        let members: Vec<_> = self
            .members
            .iter()
            .map(|member| {
                let told: Vec<_> = member.handlers.iter().map(Recorder::len).collect();
                format!("{} (handlers told {told:?})", member.informer.status())
            })
            .collect();
        format!(
            "seed {}: {what}; the server is at {} with {:?}:\n{}\nalarms {:?}\n{}",
            self.seed,
            self.newest(),
            self.alive,
            members.join("\n"),
            self.clock.alarms(),
            self.plan.table()
        )
    }
}
