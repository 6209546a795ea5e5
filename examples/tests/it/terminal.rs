//! How it looks in a terminal of 80 columns: no line wraps, and only a terminal has colour.

use std::io::Read as _;
use std::os::fd::OwnedFd;

use informer_testkit::within;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::command_of;

/// What an example prints to a terminal that is `columns` wide, line by line.
fn in_terminal(name: &str, args: &str, columns: u16, variables: &[(&str, &str)]) -> Vec<String> {
    let window = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&window).unwrap();
    unlockpt(&window).unwrap();
    let path = ptsname(&window, Vec::new()).unwrap().into_string().unwrap();
    let terminal: OwnedFd = std::fs::File::options().read(true).write(true).open(path).unwrap().into();
    tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let mut command = command_of(name, args);
    command.env("TERM", "xterm").envs(variables.iter().copied()).stdout(terminal);
    let mut child = command.spawn().unwrap();
    drop(command); // with its handle on the terminal: the last one is the child's
    let text = within("the end of the program", move || {
        let mut bytes = Vec::new();
        // A terminal that the last program has left is an error and not an end.
        let _ = std::fs::File::from(window).read_to_end(&mut bytes);
        assert!(child.wait().unwrap().success());
        String::from_utf8(bytes).unwrap()
    });
    text.lines().map(str::to_owned).collect()
}

fn without_colour(line: &str) -> String {
    let mut pieces = line.split("\u{1b}[");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |line, piece| line + piece.split_once('m').unwrap().1)
}

#[test]
fn no_line_is_longer_than_the_window_and_words_have_colour() {
    let lines = in_terminal("watch", "--demo --for 2s pods", 80, &[]);
    assert!(lines.iter().any(|line| line.starts_with("\u{1b}[32mADDED\u{1b}[0m     shop/")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("\u{1b}[33mUPDATED\u{1b}[0m   ")), "{lines:#?}");
    let plain: Vec<_> = lines.iter().map(|line| without_colour(line)).collect();
    assert!(plain.iter().all(|line| line.chars().count() <= 80), "{plain:#?}");
    assert!(plain.iter().any(|line| line.ends_with('…')), "nothing was cut: {plain:#?}");
}

#[test]
fn a_window_may_be_narrow_or_want_no_colour() {
    let lines = in_terminal("watch", "--demo --for 1s pods", 40, &[("NO_COLOR", "1")]);
    assert!(lines.iter().all(|line| line.chars().count() <= 40 && !line.contains('\u{1b}')), "{lines:#?}");
    let lines = in_terminal("watch", "--demo --for 1s -o json pods", 40, &[]);
    assert!(lines.iter().all(|line| line.ends_with('}') && !line.contains('\u{1b}')), "{lines:#?}");
    let lines = in_terminal("watch", "--demo --for 1s pods", 80, &[("TERM", "dumb")]);
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:#?}");
}

#[test]
fn a_window_of_unknown_width_has_80_columns_or_what_columns_says() {
    let lines = in_terminal("watch", "--demo --for 1s pods", 0, &[("NO_COLOR", "1"), ("COLUMNS", "")]);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert!(lines.iter().any(|line| line.chars().count() > 60), "{lines:#?}");
    let lines = in_terminal("watch", "--demo --for 1s pods", 0, &[("NO_COLOR", "1"), ("COLUMNS", "33")]);
    assert!(lines.iter().all(|line| line.chars().count() <= 33), "{lines:#?}");
}

#[test]
fn the_plain_examples_fit_too() {
    for name in ["list_by_index", "graceful_stop", "embed", "custom_resource", "controller"] {
        let lines = in_terminal(name, "--demo --for 1s", 80, &[]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{name}: {lines:#?}");
    }
}
