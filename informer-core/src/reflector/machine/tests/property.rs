//! Whatever the outcomes are, requests keep their distance and the version its direction.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// Outcomes of everything, by number.
fn any_outcome(step: &Step, pick: u16, version: u64) -> String {
    let errors = [
        "410",
        "too-large",
        "429",
        "500",
        "503",
        "504",
        "403",
        "404",
        "401",
        "422",
        "400",
        "refused",
        "network",
        "tls",
        "decode",
        "panic",
        "429+3",
        "500+3",
        "410+3",
        "503+3",
    ];
    let error = errors[usize::from(pick / 32) % errors.len()];
    // Versions wander: mostly up, at times down.
    let to =
        if pick.is_multiple_of(7) { version.saturating_sub(5) } else { version + u64::from(pick % 3) }.max(1);
    match step {
        Step::Wait(_) => String::new(),
        Step::Probe(_) if pick.is_multiple_of(2) => error.to_owned(),
        Step::Probe(_) => format!("list {to}"),
        Step::List { .. } => match pick % 8 {
            0..4 => error.to_owned(),
            4 => format!("page {to} c{} of k{}", pick % 5, pick % 11),
            5 => "list".to_owned(),
            _ => format!("list {to}"),
        },
        Step::Watch(request) => {
            let streamed = if request.initial_events && pick.is_multiple_of(3) {
                format!("streamed {to} ")
            } else {
                String::new()
            };
            if !streamed.is_empty() {
                return format!("{streamed}closed 0.1s");
            }
            let up = version + u64::from(pick % 3);
            match pick % 16 {
                0..3 => format!("refuse {error}"),
                3..6 => format!("error {error} 0s"),
                6 => "closed 0s".to_owned(),
                7 => format!("events 1 closed 0s to {up}"),
                8 => "silent 0s".to_owned(),
                9 => "events 1 back".to_owned(),
                10 if pick.is_multiple_of(5) => "head 5s closed 0s".to_owned(),
                10 => "events 1 unidentified".to_owned(),
                11 => "events 1 late".to_owned(),
                12 => "headless silent 0s".to_owned(),
                13 => format!("bookmark closed 0.5s to {up}"),
                14 => "headless closed 0s".to_owned(),
                _ => format!("events 2 error {error} 0.5s to {up}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// F-13 and D7: whatever the server does, as long as nothing lasts, there is a delay after a few requests; and the
    /// version goes back only by a list at `""`.
    #[test]
    fn d_6_f_13_no_outcomes_make_a_hot_loop(streaming: bool, seed: u64, picks in proptest::collection::vec((any::<u16>(), 1usize..16), 1..40)) {
        let mut drive = Drive::seeded(settings(streaming), seed);
        let (mut requests, mut pages) = (0, 0);
        let mut asked = String::new();
        let mut trace = Vec::new();
        // Servers repeat themselves.
        for pick in picks.into_iter().flat_map(|(pick, times)| std::iter::repeat_n(pick, times)) {
            let step = drive.machine.next(drive.now);
            match &step {
                Step::Wait(delay) => {
                    prop_assert!(*delay >= Duration::from_secs(1));
                    prop_assert_eq!(drive.after.delay, Some(*delay), "the delay that was told");
                    (requests, pages) = (0, 0);
                }
                Step::List { first: false, .. } => pages += 1,
                Step::List { request, .. } => {
                    requests += 1;
                    asked.clone_from(&request.resource_version);
                    prop_assert!(asked != "0" || drive.machine.version().is_empty(), "0 only at first");
                }
                Step::Watch(request) => {
                    requests += 1;
                    if request.initial_events {
                        asked.clone_from(&request.resource_version);
                    } else {
                        prop_assert!(drive.machine.has_listed());
                        prop_assert_eq!(&request.resource_version, drive.machine.version());
                    }
                }
                Step::Probe(_) => requests += 1,
            }
            let before: u64 = drive.machine.version().parse().unwrap_or(0);
            let outcome = any_outcome(&step, pick, before);
            trace.push(format!("{} -> {outcome}", drive.render(&step)));
            drive.lowered = false;
            drive.after = Aftermath::default();
            drive.apply(&step, &outcome);
            let now: u64 = drive.machine.version().parse().unwrap_or(0);
            prop_assert!(before <= now || drive.lowered && asked.is_empty(), "{before} to {now}: {trace:#?}");
            prop_assert!(requests <= 10, "{requests} requests without a delay: {trace:#?}");
            prop_assert!(pages <= 60);
        }
    }
}
