//! The targets on their corpus, on the recorded exchanges, and on each of these with a byte spoilt or the end cut off.

use std::fs;
use std::path::{Path, PathBuf};

use super::{frame_event, list_pages, status_bodies};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of the folder, which there must be some of.
fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(here(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{folder} has only {} files", files.len());
    files
}

/// Runs the target on each file as it is, and on some that differ from it in a byte or lack their end.
fn replay(target: fn(&[u8]), files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        let run = |bytes: &[u8], how: &str| {
            let ran = std::panic::catch_unwind(|| target(bytes));
            assert!(ran.is_ok(), "{name} fails {how}");
        };
        run(bytes, "as it is");
        let mut state = bytes.len() as u64;
        for round in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut spoilt = bytes.clone();
            let at = (state >> 33) as usize % bytes.len().max(1);
            if round % 3 == 0 {
                spoilt.truncate(at);
            } else if let Some(byte) = spoilt.get_mut(at) {
                *byte = b"{}[]\",:\\\n\0\xff9"[(state >> 20) as usize % 12];
            }
            run(&spoilt, &format!("in round {round}"));
        }
    }
}

/// The body of a recorded answer: chunks stay where they are, which is one more kind of noise.
fn recorded() -> Vec<(String, Vec<u8>)> {
    let mut all = files("tests/wire", ".response");
    for (_, bytes) in &mut all {
        let end = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(0, |at| at + 4);
        bytes.drain(..end);
        bytes.truncate(16 << 10); // byte by byte through three representations: enough of each
    }
    all
}

#[test]
fn f_19_frame_event() {
    replay(frame_event, &files("../fuzz/corpus/frame_event", ""));
    replay(frame_event, &recorded());
}

#[test]
fn f_97_list_pages() {
    replay(list_pages, &files("../fuzz/corpus/list_pages", ""));
    replay(list_pages, &recorded());
}

#[test]
fn d_16_status_bodies() {
    replay(status_bodies, &files("../fuzz/corpus/status_bodies", ""));
    replay(status_bodies, &recorded());
}
