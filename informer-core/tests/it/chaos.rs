//! Handlers that come, go, block and panic while the world changes, breaks and goes back in time: in the end every one of
//! them knows what the store holds, and the store what the source has.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::spawn;
use informer_core::{Delivery, HandlerOptions, Registration, SharedInformer};
use informer_testkit::{FakeSource, Gate, ManualClock, Recorder, TestObject, states, within};

use crate::support::{LONG, has_last, object};

/// A small generator; every round is told by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

struct Round {
    dice: Dice,
    source: FakeSource,
    clock: ManualClock,
    informer: SharedInformer<TestObject>,
    /// A handler that stays, and never blocks.
    witness: Recorder,
    handlers: Vec<(Recorder, Arc<Registration<TestObject>>)>,
    removed: Vec<Recorder>,
    gates: Vec<Gate>,
}

impl Round {
    fn new(seed: u64) -> Self {
        let (source, clock) = (FakeSource::new(), ManualClock::new());
        let mut dice = Dice(seed);
        let informer = SharedInformer::builder(source.clone())
            .clock(clock.clone())
            .queue_limit(1 + dice.roll(20) as usize)
            .streaming(dice.roll(2) == 0)
            .seed(seed)
            .build();
        let witness = Recorder::new();
        let resync = HandlerOptions::new().resync(Duration::from_secs(1));
        informer.add_event_handler_with(resync, witness.clone()).unwrap();
        Round {
            dice,
            witness,
            source,
            clock,
            informer,
            handlers: Vec::new(),
            removed: Vec::new(),
            gates: Vec::new(),
        }
    }

    fn add(&mut self) {
        let recorder = Recorder::new();
        match self.dice.roll(6) {
            0 | 1 => {
                let gate = Gate::new("a handler in chaos");
                recorder.block_at(1 + self.dice.roll(8) as usize, &gate);
                self.gates.push(gate);
            }
            2 => recorder.panic_at(1 + self.dice.roll(8) as usize),
            _ => {}
        }
        let delivery = [Delivery::Auto, Delivery::Auto, Delivery::Thread][self.dice.roll(3) as usize];
        let mut options = HandlerOptions::new().delivery(delivery);
        if self.dice.roll(3) == 0 {
            options = options.resync(Duration::from_millis(1000 + self.dice.roll(2000)));
        }
        let registration = self.informer.add_event_handler_with(options, recorder.clone()).unwrap();
        self.handlers.push((recorder, Arc::new(registration)));
    }

    fn change(&mut self) {
        let key = format!("default/{}", self.dice.roll(8));
        let (what, value) = (self.dice.roll(6), self.dice.roll(1000));
        self.source.edit(|world| match (world.get(&key), what) {
            (Some(_), 0 | 1) => drop(world.delete(&key)),
            (Some(_), 2) => {
                world.delete(&key);
                world.create(object(&key));
            }
            _ => drop(world.apply(object(&key).value(value))),
        });
    }

    fn step(&mut self) {
        match self.dice.roll(30) {
            0..=15 => self.change(),
            16 | 17 if self.handlers.len() < 8 => self.add(),
            18 if !self.handlers.is_empty() => {
                let at = self.dice.roll(self.handlers.len() as u64) as usize;
                let (recorder, registration) = self.handlers.swap_remove(at);
                registration.remove();
                self.removed.push(recorder);
            }
            19 | 20 if !self.gates.is_empty() => {
                let at = self.dice.roll(self.gates.len() as u64) as usize;
                self.gates.swap_remove(at).open();
            }
            21 => self.source.bookmark(),
            22 => self.source.close_watches(),
            23 => self.source.edit(|world| {
                world.close_watches();
                world.compact();
            }),
            24 => {
                // The history is lost and another one begins at lower versions.
                let backup = self.source.edit(|world| world.backup());
                (0..3).for_each(|_| self.change());
                self.source.edit(|world| {
                    world.close_watches();
                    world.restore(&backup);
                });
            }
            _ => self.clock.advance(Duration::from_millis(100 + self.dice.roll(400))),
        }
    }

    /// Everybody is let go on, and the last object comes: every handler hears of it.
    fn settle(&mut self, seed: u64) {
        self.gates.drain(..).for_each(|gate| gate.open());
        self.source.edit(|world| {
            world.close_watches(); // who has fallen behind lists
            world.skip_versions(1000); // beyond every history that was lost
            world.compact();
            world.create(object("other/last")); // in a list it stands behind all others
        });
        // Back-offs come one after the other. The witness is resynced every second, so there is always something to
        // move the clock to.
        while !has_last(&self.witness.records()) {
            self.clock.advance_to_next();
        }
        let stored = self.informer.store().list();
        let want = states(stored.iter().map(Arc::as_ref));
        assert_eq!(
            want,
            states(&self.source.objects()),
            "seed {seed}: the store is what the source has:\n{}",
            self.source.trace()
        );
        for (recorder, registration) in &self.handlers {
            recorder.wait_until("the last object", has_last);
            let synced = Arc::clone(registration);
            within("the sync", move || synced.wait_synced(LONG)).unwrap();
            assert_eq!(recorder.replay(), want, "seed {seed}:\n{}", recorder.trace());
        }
        assert_eq!(self.witness.replay(), want, "seed {seed}: {}", self.witness.trace());
        for recorder in &self.removed {
            let _ = recorder.replay(); // up to its removal it was told the truth
        }
    }
}

#[test]
fn i_20_i_21_d_2_whatever_happens_every_handler_ends_up_with_what_the_store_holds() {
    for seed in 0..150 {
        let mut round = Round::new(seed);
        (0..round.dice.roll(3)).for_each(|_| round.add());
        (0..round.dice.roll(6)).for_each(|_| round.change());
        round.informer.start().unwrap();
        // A second hand, so that changes come while others wait.
        let (source, clock) = (round.source.clone(), round.clock.clone());
        let other = spawn("another writer", move || {
            let mut dice = Dice(seed ^ 0xA5A5);
            for _ in 0..60 {
                let key = format!("other/{}", dice.roll(3));
                source.apply(object(&key).value(dice.roll(1000)));
                if dice.roll(4) == 0 {
                    clock.advance(Duration::from_millis(60));
                }
            }
        })
        .unwrap();
        (0..120).for_each(|_| round.step());
        other.join().unwrap();
        round.settle(seed);
        let informer = round.informer.clone();
        within("the end", move || {
            informer.stop();
            informer.join()
        })
        .unwrap();
    }
}
