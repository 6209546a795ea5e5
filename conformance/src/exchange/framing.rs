//! Heads of answers, and bodies without their framing.

use std::io::{self, BufRead, BufReader, Read};

use super::Reply;

/// Reads the head of an answer; its body is to come.
pub(super) fn read_head(mut reader: BufReader<Box<dyn Read + Send>>) -> io::Result<Reply> {
    let status_line = line(&mut reader)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| invalid(&format!("no status line: {status_line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = line(&mut reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid(&format!("no header: {line:?}")))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let value = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    let chunked = value("Transfer-Encoding").is_some_and(|(_, value)| value == "chunked");
    let length = value("Content-Length").and_then(|(_, value)| value.parse::<u64>().ok());
    let body: Box<dyn BufRead + Send> = match length {
        _ if chunked => Box::new(BufReader::new(Chunks { reader, left: 0, state: State::First })),
        Some(length) => Box::new(reader.take(length)),
        None => Box::new(reader),
    };
    Ok(Reply { status, headers, body })
}

/// The body inside chunked framing.
struct Chunks<R> {
    reader: R,
    /// Of the chunk that is being read.
    left: usize,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    First,
    Later,
    Over,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && self.state != State::Over && !out.is_empty() {
            if self.state == State::Later {
                line(&mut self.reader)?;
            }
            self.state = State::Later;
            let size = line(&mut self.reader)?;
            self.left = usize::from_str_radix(size.trim(), 16)
                .map_err(|_| invalid(&format!("no size of a chunk: {size:?}")))?;
            if self.left == 0 {
                self.state = State::Over;
            }
        }
        if self.left == 0 {
            return Ok(0);
        }
        let room = out.len().min(self.left);
        let count = self.reader.read(&mut out[..room])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count;
        Ok(count)
    }
}

/// One line, without its end.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
