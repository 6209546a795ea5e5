//! [`Life`]: what happens in the demo's cluster, and when.
//!
//! Pure: it is asked for the next step and told nothing. Equal seeds give equal histories.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::cast::{self, APPS, App, NODES, PodStatus, TEAMS};
use super::random::Random;

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Creates an object of a resource, spelled as for kubectl.
    Create(&'static str, Value),
    /// Merges into the object `namespace/name`.
    Patch(&'static str, String, Value),
    /// Merges into its status.
    PatchStatus(&'static str, String, Value),
    /// Deletes it.
    Delete(&'static str, String),
}

/// Writes that come together, and how long after the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Since the beginning.
    pub at: Duration,
    /// In order.
    pub changes: Vec<Change>,
}

/// A small cluster without a server: Pods that come, run, crash and go, and settings that change.
#[derive(Debug)]
pub struct Life {
    random: Random,
    /// By millisecond, and by number for those of the same one.
    agenda: BTreeMap<(u64, u64), Task>,
    now: u64,
    next: u64,
    pods: BTreeMap<u64, Pod>,
    teams: Vec<&'static str>,
    palette: bool,
    changes: Vec<Change>,
}

#[derive(Debug)]
enum Task {
    Pod(u64),
    Job,
    Settings,
    Palette,
    Teams,
}

#[derive(Debug)]
struct Pod {
    /// `None`: of a job, which ends by itself.
    app: Option<&'static App>,
    namespace: &'static str,
    name: String,
    phase: Phase,
    node: usize,
    restarts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Pending,
    Creating,
    Started,
    Ready,
    Crashed,
    Done,
}

const JOB_IMAGE: &str = "registry.example.com/report:3.2";

impl Life {
    /// The life of `seed`, and what there is at its beginning.
    #[must_use]
    pub fn new(seed: u64) -> (Self, Vec<Change>) {
        let mut life = Life {
            random: Random::seeded(seed),
            agenda: BTreeMap::new(),
            now: 0,
            next: 0,
            pods: BTreeMap::new(),
            teams: Vec::new(),
            palette: false,
            changes: Vec::new(),
        };
        life.begin();
        let beginning = std::mem::take(&mut life.changes);
        (life, beginning)
    }

    /// What happens next. There is no end to it.
    pub fn step(&mut self) -> Step {
        // Every task puts a successor of some task on the agenda, so it is never empty.
        while self.changes.is_empty() {
            let Some(((at, _), task)) = self.agenda.pop_first() else { break };
            self.now = at;
            match task {
                Task::Pod(id) => self.pod(id),
                Task::Job => self.job(),
                Task::Settings => self.settings(),
                Task::Palette => self.toggle_palette(),
                Task::Teams => self.come_or_go(),
            }
        }
        Step { at: Duration::from_millis(self.now), changes: std::mem::take(&mut self.changes) }
    }

    fn begin(&mut self) {
        for (number, name) in NODES.into_iter().enumerate() {
            self.create("nodes", cast::node(name));
            self.changes.push(Change::PatchStatus("nodes", name.to_owned(), cast::node_status(number + 1)));
        }
        for name in ["shop", "media", "batch"] {
            self.create("namespaces", cast::namespace(name));
        }
        self.team(TEAMS[0]);
        let data = json!({"greeting": "hello", "limit": "10"});
        self.create(
            "configmaps",
            cast::config_map("shop", "settings", &json!({cast::SOURCE: "true"}), &data),
        );
        self.create(
            "configmaps",
            cast::config_map("media", "codecs", &json!({}), &json!({"default": "av1"})),
        );
        for app in &APPS {
            self.create("deployments.apps", cast::deployment(app));
            for number in 0..app.replicas {
                let id = self.new_pod(Some(app));
                if number == 0 && app.name == "web" {
                    self.later(250, Task::Pod(id)); // somebody is on the way in
                    continue;
                }
                self.place(id);
                self.set(id, Phase::Ready);
                let later = self.random.between(400, 6_000);
                self.later(later, Task::Pod(id));
            }
            self.count_ready(app);
        }
        self.later(700, Task::Job);
        self.later(500, Task::Settings);
        self.later(900, Task::Palette);
        self.later(1_200, Task::Teams);
    }

    fn create(&mut self, resource: &'static str, object: Value) {
        self.changes.push(Change::Create(resource, object));
    }

    fn later(&mut self, millis: u64, task: Task) {
        self.agenda.insert((self.now + millis, self.next), task);
        self.next += 1;
    }

    fn new_pod(&mut self, app: Option<&'static App>) -> u64 {
        let id = self.next;
        self.next += 1;
        let pod = match app {
            Some(app) => {
                let name = format!("{}-6d5b8-{}", app.name, self.random.suffix(5));
                self.create("pods", cast::pod(app.namespace, &name, app.name, app.image, "Always"));
                Pod {
                    app: Some(app),
                    namespace: app.namespace,
                    name,
                    phase: Phase::Pending,
                    node: 0,
                    restarts: 0,
                }
            }
            None => {
                let name = format!("report-{}", self.random.suffix(5));
                self.create("pods", cast::pod("batch", &name, "report", JOB_IMAGE, "Never"));
                Pod { app: None, namespace: "batch", name, phase: Phase::Pending, node: 0, restarts: 0 }
            }
        };
        self.pods.insert(id, pod);
        id
    }

    /// Gives the Pod a node: what a scheduler does.
    fn place(&mut self, id: u64) {
        let node = self.random.between(0, NODES.len() as u64 - 1) as usize;
        let Some(pod) = self.pods.get_mut(&id) else { return };
        pod.node = node;
        self.changes.push(Change::Patch("pods", pod.key(), json!({"spec": {"nodeName": NODES[node]}})));
    }

    /// Says what a kubelet would say.
    fn set(&mut self, id: u64, phase: Phase) {
        let Some(pod) = self.pods.get_mut(&id) else { return };
        pod.phase = phase;
        let ip = format!("10.0.{}.{}", pod.node + 1, 10 + id % 200);
        let (word, state) = match phase {
            Phase::Pending | Phase::Creating => ("Pending", ("waiting", "ContainerCreating")),
            Phase::Started | Phase::Ready => ("Running", ("running", "")),
            Phase::Crashed => ("Running", ("waiting", "CrashLoopBackOff")),
            Phase::Done => ("Succeeded", ("terminated", "Completed")),
        };
        let status = PodStatus {
            phase: word,
            app: pod.app.map_or("report", |app| app.name),
            image: pod.app.map_or(JOB_IMAGE, |app| app.image),
            ip: (word != "Pending").then_some(ip.as_str()),
            ready: phase == Phase::Ready,
            restarts: pod.restarts,
            state,
        };
        self.changes.push(Change::PatchStatus("pods", pod.key(), status.patch()));
    }

    /// The next thing in the life of a Pod.
    fn pod(&mut self, id: u64) {
        let Some(pod) = self.pods.get_mut(&id) else { return };
        let app = pod.app;
        let (next, wait) = match pod.phase {
            Phase::Pending => {
                self.place(id);
                (Phase::Creating, (300, 1_100))
            }
            Phase::Creating => (Phase::Started, (300, 900)),
            Phase::Started if app.is_some() => (Phase::Ready, (1_500, 8_000)),
            Phase::Started => (Phase::Done, (900, 2_000)),
            Phase::Crashed => (Phase::Started, (300, 700)),
            Phase::Ready if pod.restarts < 3 && self.random.chance(60) => {
                pod.restarts += 1;
                (Phase::Crashed, (800, 2_500))
            }
            Phase::Ready | Phase::Done => return self.end(id),
        };
        let was_ready = self.pods.get(&id).is_some_and(|pod| pod.phase == Phase::Ready);
        self.set(id, next);
        if let Some(app) = app.filter(|_| was_ready != (next == Phase::Ready)) {
            self.count_ready(app);
        }
        let wait = self.random.between(wait.0, wait.1);
        self.later(wait, Task::Pod(id));
    }

    /// A Pod goes; a Deployment gets another one.
    fn end(&mut self, id: u64) {
        let Some(pod) = self.pods.remove(&id) else { return };
        self.changes.push(Change::Delete("pods", pod.key()));
        if let Some(app) = pod.app {
            let id = self.new_pod(Some(app));
            self.count_ready(app);
            let wait = self.random.between(200, 600);
            self.later(wait, Task::Pod(id));
        }
    }

    fn count_ready(&mut self, app: &App) {
        let ready = |pod: &&Pod| pod.app.is_some_and(|of| of.name == app.name) && pod.phase == Phase::Ready;
        let ready = self.pods.values().filter(ready).count() as u64;
        let key = format!("{}/{}", app.namespace, app.name);
        self.changes.push(Change::PatchStatus("deployments.apps", key, cast::deployment_status(app, ready)));
    }

    fn job(&mut self) {
        let id = self.new_pod(None);
        self.later(200, Task::Pod(id));
        let wait = self.random.between(1_200, 2_600);
        self.later(wait, Task::Job);
    }

    fn settings(&mut self) {
        let greeting = self.random.pick(&["hello", "welcome", "good morning", "moin"]).copied();
        let data = json!({"greeting": greeting, "limit": self.random.between(5, 50).to_string()});
        self.changes.push(Change::Patch("configmaps", "shop/settings".to_owned(), json!({"data": data})));
        let wait = self.random.between(900, 2_000);
        self.later(wait, Task::Settings);
    }

    /// A second ConfigMap to be copied, which comes and goes.
    fn toggle_palette(&mut self) {
        self.palette = !self.palette;
        if self.palette {
            let labels = json!({cast::SOURCE: "true"});
            let colour = self.random.pick(&["amber", "teal", "plum"]).copied();
            let data = json!({"accent": colour});
            self.create("configmaps", cast::config_map("media", "palette", &labels, &data));
        } else {
            self.changes.push(Change::Delete("configmaps", "media/palette".to_owned()));
        }
        let wait = self.random.between(1_500, 4_000);
        self.later(wait, Task::Palette);
    }

    fn team(&mut self, name: &'static str) {
        self.create("namespaces", cast::team(name));
        self.teams.push(name);
    }

    /// A namespace comes, or one goes.
    fn come_or_go(&mut self) {
        let absent: Vec<_> = TEAMS.into_iter().filter(|name| !self.teams.contains(name)).collect();
        let leave = absent.is_empty() || (2 <= self.teams.len() && self.random.chance(50));
        if leave {
            let at = self.random.between(1, self.teams.len() as u64 - 1) as usize; // the first one stays
            let name = self.teams.remove(at);
            self.changes.push(Change::Delete("namespaces", name.to_owned()));
        } else if let Some(name) = self.random.pick(&absent).copied() {
            self.team(name);
        }
        let wait = self.random.between(1_500, 4_000);
        self.later(wait, Task::Teams);
    }
}

impl Pod {
    fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(seed: u64, steps: usize) -> (Vec<Change>, Vec<Step>) {
        let (mut life, beginning) = Life::new(seed);
        let steps = (0..steps).map(|_| life.step()).collect();
        (beginning, steps)
    }

    #[test]
    fn equal_seeds_give_equal_histories() {
        assert_eq!(history(7, 500), history(7, 500));
        assert_ne!(history(7, 500).1, history(8, 500).1);
    }

    /// What is written must be there: a stranger's first look should not meet errors.
    #[test]
    fn only_what_is_there_is_written_and_nothing_is_created_twice() {
        for seed in 0..20 {
            let (beginning, steps) = history(seed, 2_000);
            let mut there = std::collections::BTreeSet::new();
            for change in beginning.into_iter().chain(steps.into_iter().flat_map(|step| step.changes)) {
                match change {
                    Change::Create(resource, object) => {
                        let meta = &object["metadata"];
                        let name = meta["name"].as_str().unwrap();
                        let key = match meta["namespace"].as_str() {
                            Some(namespace) => format!("{namespace}/{name}"),
                            None => name.to_owned(),
                        };
                        assert!(there.insert((resource, key)), "seed {seed}: {resource} {name}, twice");
                    }
                    Change::Patch(resource, key, _) | Change::PatchStatus(resource, key, _) => {
                        assert!(there.contains(&(resource, key)), "seed {seed}: {resource} is not there");
                    }
                    Change::Delete(resource, key) => {
                        assert!(there.remove(&(resource, key)), "seed {seed}: {resource} is not there");
                    }
                }
            }
        }
    }

    #[test]
    fn a_viewer_sees_five_to_ten_changes_of_pods_a_second() {
        for seed in 0..20 {
            let (_, steps) = history(seed, 2_000);
            let pods = steps.iter().flat_map(|step| &step.changes).filter(|change| {
                let (Change::Create(resource, _)
                | Change::Patch(resource, ..)
                | Change::PatchStatus(resource, ..)
                | Change::Delete(resource, _)) = change;
                *resource == "pods"
            });
            let rate = pods.count() as f64 / steps.last().unwrap().at.as_secs_f64();
            assert!((5.0..10.0).contains(&rate), "seed {seed}: {rate} a second");
        }
    }
}
