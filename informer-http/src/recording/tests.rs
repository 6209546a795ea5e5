//! The format: what is read, and what is said of files that are wrong.

use super::line::KINDS;
use super::*;

const FIRST: &str = "{\"informer_recording\":1}\n";
const WATCH: &str = concat!(
    r#"{"at":5,"n":0,"watch":{"source":0,"of":"configmaps","resource_version":"7","timeout_ms":300000,"idle_ms":90000}}"#,
    "\n"
);
const OPENED: &str = "{\"at\":6,\"n\":0,\"opened\":true}\n";

fn read(lines: &[&str]) -> Result<load::Recorded, String> {
    load::read(lines.concat().as_bytes())
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let early = "{\"at\":4,\"n\":0,\"end\":true}\n";
    let end = "{\"at\":7,\"n\":0,\"end\":true}\n";
    let text = "{\"at\":7,\"n\":0,\"text\":\"s3cret\"}\n";
    for (lines, cause) in [
        (&[""][..], "line 1: the file is empty"),
        (&["{\"informer"], "line 1: the file ends within its first line"),
        (&["hello\n"], "line 1: is not that of a recording: {\"informer_recording\":1}"),
        (
            &["{\"informer_recording\":2}\n"],
            "line 1: is version 2 of the format; this library reads version 1",
        ),
        (&[FIRST, OPENED], "line 2: exchange 0 has not begun"),
        (&[FIRST, WATCH, WATCH], "line 3: exchange 0 begins a second time"),
        (&[FIRST, WATCH, text], "line 3: exchange 0 has a body before its answer"),
        (&[FIRST, WATCH, OPENED, OPENED], "line 4: exchange 0 is answered a second time"),
        (&[FIRST, WATCH, OPENED, end, text], "line 5: exchange 0 goes on after its end"),
        (&[FIRST, WATCH, OPENED, early], "line 4: exchange 0 goes back in time"),
        (
            &[FIRST, WATCH, OPENED, "{\"at\":7,\"n\":0,\"base64\":\"s3cret!\"}\n"],
            "line 4: exchange 0 has bytes that are no base64",
        ),
        (
            &[FIRST, WATCH, "{\"at\":7,\"n\":0,\"failed\":{\"kind\":\"s3cret\",\"message\":\"\"}}\n"],
            "line 3: exchange 0 has an error of a kind that is not known",
        ),
        (
            &[FIRST, WATCH, OPENED, "{\"at\":7,\"n\":0,\"withheld\":5}\n"],
            "line 4: exchange 0 has a body that was withheld, since it holds Secrets; it cannot be played",
        ),
    ] {
        assert_eq!(read(lines).unwrap_err(), cause, "{lines:?}");
    }
    for line in [
        "s3cret\n",
        "{\"at\":\"s3cret\"}\n",
        "{\"at\":1,\"n\":0,\"s3cret\":1}\n",
        "{\"at\":6,\"n\":0,\"opened\":true,\"s3cret\":1}\n",
        "\n",
        "\u{0}\n",
    ] {
        let error = read(&[FIRST, line]).unwrap_err();
        assert!(error.starts_with("line 2: ") && !error.contains("s3cret"), "{error}");
    }
    let long = format!("{{\"at\":1,{}}}\n", " ".repeat(line::LONGEST));
    assert_eq!(read(&[FIRST, &long]).unwrap_err(), "line 2: is longer than 1048576 bytes");
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_there() {
    let body = "{\"at\":7,\"n\":0,\"text\":\"a\"}\n{\"at\":8,\"n\":0,\"base64\":\"/w==\"}\n{\"at\":9,\"n\":0,\"end\":true}\n";
    let whole = [FIRST, WATCH, OPENED, body].concat();
    for end in FIRST.len()..whole.len() {
        let recorded = load::read(&whole.as_bytes()[..end]).unwrap();
        let lines = whole[..end].matches('\n').count();
        let parts: usize = recorded.exchanges.iter().map(|exchange| 1 + exchange.parts.len()).sum();
        assert_eq!(parts, lines - 1, "cut at {end}");
        assert_eq!(recorded.cut, !whole[..end].ends_with('\n'));
    }
    let full = "{\"at\":9,\"n\":0,\"full\":true}\n";
    let recorded = read(&[FIRST, WATCH, full, "whatever follows\n"]).unwrap();
    assert!(recorded.cut && recorded.exchanges.len() == 1);
}

#[test]
fn errors_come_back_as_they_were() {
    let gone: informer_core::kube_core::Status = serde_json::from_str(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"old","reason":"Expired","code":410}"#,
    )
    .unwrap();
    let mut errors: Vec<_> = KINDS.iter().map(|kind| Error::new(*kind, "as told")).collect();
    errors.push(Error::from_status(gone));
    errors.push(
        Error::new(ErrorKind::TooManyRequests, "slow").with_retry_after(std::time::Duration::from_secs(3)),
    );
    for error in errors {
        let text = serde_json::to_string(&Failing::new(&error)).unwrap();
        let again = serde_json::from_str::<Failing<'_>>(&text).unwrap().error().unwrap();
        assert_eq!(
            (again.kind(), again.to_string(), again.retry_after(), again.status()),
            (error.kind(), error.to_string(), error.retry_after(), error.status())
        );
    }
}

mod any_bytes {
    use proptest::prelude::*;

    proptest! {
        /// No file makes it panic, and what is wrong has a line.
        #[test]
        fn never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..300, byte: u8) {
            let mut file = [super::FIRST, super::WATCH, super::OPENED].concat().into_bytes();
            let len = file.len();
            file[at % len] = byte;
            file.extend(bytes);
            if let Err(error) = super::load::read(&file[..]) {
                prop_assert!(error.starts_with("line "), "{}", error);
            }
        }
    }
}
