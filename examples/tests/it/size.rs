//! An example that grows is no example any more.

/// Lines that are neither blank nor a comment.
#[test]
fn every_plain_example_has_under_120_lines() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for entry in package.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines =
                text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
            let count = lines.count();
            assert!(count < 120, "{}: {count} lines", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
}
