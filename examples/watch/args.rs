//! The command line.

use std::ffi::OsString;
use std::time::Duration;

use informer_examples::{Target, duration, text};
use lexopt::prelude::{Long, Short, Value};

const USAGE: &str = "\
usage: watch [options] RESOURCE

RESOURCE is spelled as for kubectl: pods, deploy, deployments.apps,
widgets.v1.example.com

{target}
  -n, --namespace NAME    by default the context's; with --demo all of them
  -A, --all-namespaces    all namespaces
  -l, --selector SEL      only objects with these labels
  --field-selector SEL    only objects with these fields
  --metadata-only         ask the server for metadata alone
  --lazy                  keep objects as compact JSON
  --resync DURATION       tell every object again each DURATION (at least 1s)
  --page-size N           objects a page of a list
  --no-streaming          list in pages, no streaming list
  --record FILE           keep what is read in FILE, to be played again
  --status DURATION       say each DURATION how it goes, and at the end
  --for DURATION          stop after that long; by default on SIGINT or SIGTERM
  -o, --output text|json  lines for a person, or one JSON object a line
  -h, --help              this text

DURATION is a number with a unit: 500ms, 30s, 5m, 1h

On a terminal, lines end with the window and have colour; NO_COLOR=1 keeps
them plain. Ends with 0 when stopped, 1 after a failure that waiting will not
mend, 2 when the options are wrong.";

pub(crate) fn usage() -> String {
    USAGE.replace("{target}", Target::USAGE)
}

/// What was asked for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Args {
    pub(crate) resource: String,
    pub(crate) target: Target,
    pub(crate) namespace: Option<String>,
    pub(crate) all_namespaces: bool,
    pub(crate) selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    pub(crate) metadata_only: bool,
    pub(crate) lazy: bool,
    pub(crate) resync: Option<Duration>,
    pub(crate) page_size: Option<u32>,
    pub(crate) no_streaming: bool,
    pub(crate) span: Option<Duration>,
    pub(crate) record: Option<String>,
    pub(crate) status: Option<Duration>,
    pub(crate) json: bool,
}

/// What a command line comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed {
    Run(Box<Args>),
    Help,
    Wrong(String),
}

pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Parsed {
    match read(words) {
        Ok(Some(args)) => Parsed::Run(Box::new(args)),
        Ok(None) => Parsed::Help,
        Err(error) => Parsed::Wrong(error.to_string()),
    }
}

fn read(words: impl IntoIterator<Item = OsString>) -> Result<Option<Args>, lexopt::Error> {
    let mut args = Args::default();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('n') | Long("namespace") => args.namespace = Some(text(&mut parser, "-n")?),
            Short('A') | Long("all-namespaces") => args.all_namespaces = true,
            Short('l') | Long("selector") => args.selector = Some(text(&mut parser, "-l")?),
            Long("field-selector") => args.field_selector = Some(text(&mut parser, "--field-selector")?),
            Long("metadata-only") => args.metadata_only = true,
            Long("lazy") => args.lazy = true,
            Long("resync") => {
                let period = span(&mut parser, "--resync")?;
                if !period.is_zero() && period < Duration::from_secs(1) {
                    return Err("--resync: the period is at least 1s, or 0 for none".into());
                }
                args.resync = Some(period).filter(|period| !period.is_zero());
            }
            Long("page-size") => {
                let size = text(&mut parser, "--page-size")?;
                let wrong = || format!("--page-size: {size:?} is not a number of 1 or more");
                args.page_size = Some(size.parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?);
            }
            Long("no-streaming") => args.no_streaming = true,
            Long("status") => {
                let period = span(&mut parser, "--status")?;
                if period < Duration::from_millis(100) {
                    return Err("--status: the period is at least 100ms".into());
                }
                args.status = Some(period);
            }
            Long("record") => args.record = Some(text(&mut parser, "--record")?),
            Long("for") => args.span = Some(span(&mut parser, "--for")?),
            Short('o') | Long("output") => {
                args.json = match text(&mut parser, "-o")?.as_str() {
                    "json" => true,
                    "text" => false,
                    other => return Err(format!("-o: {other:?} is neither text nor json").into()),
                }
            }
            Short('h') | Long("help") => return Ok(None),
            Value(word) if args.resource.is_empty() => {
                args.resource = word.into_string().map_err(|_| "RESOURCE is not text")?;
            }
            Value(word) => {
                return Err(format!("one RESOURCE only; {:?} is a second", word.to_string_lossy()).into());
            }
            Long(name) => {
                let name = name.to_owned();
                if !args.target.take(&name, &mut parser)? {
                    return Err(Long(&name).unexpected());
                }
            }
            other => return Err(other.unexpected()),
        }
    }
    if args.resource.is_empty() {
        return Err("name a RESOURCE, such as pods".into());
    }
    let clashes = [
        (args.namespace.is_some() && args.all_namespaces, "-n and -A"),
        (args.metadata_only && args.lazy, "--metadata-only and --lazy"),
    ];
    let clash = clashes.into_iter().find_map(|(clash, names)| clash.then_some(names));
    match clash.or_else(|| args.target.clash()) {
        Some(names) => Err(format!("{names} exclude each other").into()),
        None => Ok(Some(args)),
    }
}

fn span(parser: &mut lexopt::Parser, name: &str) -> Result<Duration, lexopt::Error> {
    let text = text(parser, name)?;
    let wrong = || format!("{name}: {text:?} is not a duration such as 500ms, 30s or 5m");
    Ok(duration(&text).ok_or_else(wrong)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Parsed {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_full_line_is_understood() {
        let Parsed::Run(args) = of("-o json -A -l app=x --resync 1m30s --page-size 50 --for 500ms pods")
        else {
            panic!("not understood")
        };
        assert!(args.json && args.all_namespaces);
        assert_eq!((args.resource.as_str(), args.selector.as_deref()), ("pods", Some("app=x")));
        assert_eq!(args.resync, Some(Duration::from_secs(90)));
        assert_eq!((args.page_size, args.span), (Some(50), Some(Duration::from_millis(500))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, part) in [
            ("", "RESOURCE"),
            ("pods nodes", "nodes"),
            ("--for ten pods", "--for: \"ten\""),
            ("--for 5 pods", "--for: \"5\""),
            ("--page-size 0 pods", "--page-size: \"0\""),
            ("-o yaml pods", "yaml"),
            ("-n a -A pods", "-n and -A"),
            ("--resync 10ms pods", "at least 1s"),
            ("--bogus pods", "--bogus"),
            ("--demo --server http://x pods", "--demo and --server"),
            ("--seed x pods", "--seed: \"x\""),
        ] {
            let Parsed::Wrong(text) = of(line) else { panic!("{line}: accepted") };
            assert!(text.contains(part), "{line}: {text}");
        }
        assert_eq!(of("-h"), Parsed::Help);
    }
}
