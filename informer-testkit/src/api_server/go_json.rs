//! What is wrong with a text that should be JSON, in the words of a real server, which is written in Go.

/// The first thing that is wrong. Meant for texts of which it is known that something is.
pub(super) fn fault(text: &[u8]) -> String {
    let mut scanner = Scanner { text, at: 0 };
    match scanner.document() {
        Err(why) => why,
        Ok(()) => "json: cannot unmarshal into Go value".to_owned(),
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// Inside what a scanner is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Array,
    Object,
}

type Checked = Result<(), String>;

impl Scanner<'_> {
    /// Depth is kept on the heap: nothing that is sent can end the stack.
    fn document(&mut self) -> Checked {
        let mut open: Vec<Inside> = Vec::new();
        let mut value = true; // whether a value is due, or what comes after one
        loop {
            self.space();
            if value {
                match self.peek("looking for beginning of value")? {
                    b'{' => {
                        self.at += 1;
                        self.space();
                        if self.peek("looking for beginning of object key string")? == b'}' {
                            self.at += 1;
                            value = false;
                        } else {
                            self.key()?;
                            open.push(Inside::Object);
                        }
                        continue;
                    }
                    b'[' => {
                        self.at += 1;
                        self.space();
                        if self.peek("looking for beginning of value")? == b']' {
                            self.at += 1;
                            value = false;
                        } else {
                            open.push(Inside::Array);
                        }
                        continue;
                    }
                    _ => self.scalar()?,
                }
                value = false;
                continue;
            }
            let Some(inside) = open.last().copied() else {
                return match self.text.get(self.at) {
                    None => Ok(()),
                    Some(_) => Err(self.unexpected("after top-level value")),
                };
            };
            let after =
                if inside == Inside::Array { "after array element" } else { "after object key:value pair" };
            match (self.peek(after)?, inside) {
                (b',', Inside::Array) => {
                    self.at += 1;
                    value = true;
                }
                (b',', Inside::Object) => {
                    self.at += 1;
                    self.space();
                    self.key()?;
                    value = true;
                }
                (b']', Inside::Array) | (b'}', Inside::Object) => {
                    self.at += 1;
                    open.pop();
                }
                _ => return Err(self.unexpected(after)),
            }
        }
    }

    fn key(&mut self) -> Checked {
        if self.peek("looking for beginning of object key string")? != b'"' {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        self.string()?;
        self.space();
        if self.peek("after object key")? != b':' {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    fn scalar(&mut self) -> Checked {
        match self.text[self.at] {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str) -> Checked {
        for expected in word.bytes() {
            if self.peek("")? != expected {
                let why = format!("in literal {word} (expecting {})", quoted(expected));
                return Err(self.unexpected(&why));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Checked {
        if self.text[self.at] == b'-' {
            self.at += 1;
            if !self.peek("")?.is_ascii_digit() {
                return Err(self.unexpected("in numeric literal"));
            }
        }
        let rest = self.text[self.at..].iter();
        self.at += rest.take_while(|b| b.is_ascii_digit() || b".eE+-".contains(b)).count();
        Ok(())
    }

    fn string(&mut self) -> Checked {
        self.at += 1;
        loop {
            match self.peek("")? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    if !b"\"\\/bfnrtu".contains(&self.peek("")?) {
                        return Err(self.unexpected("in string escape code"));
                    }
                    self.at += 1;
                }
                0..=0x1f => return Err(self.unexpected("in string literal")),
                _ => self.at += 1,
            }
        }
    }

    fn space(&mut self) {
        let rest = self.text[self.at..].iter();
        self.at += rest.take_while(|b| b" \t\r\n".contains(b)).count();
    }

    fn peek(&self, _why: &str) -> Result<u8, String> {
        self.text.get(self.at).copied().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn unexpected(&self, why: &str) -> String {
        let byte = self.text.get(self.at).copied().unwrap_or_default();
        format!("invalid character {} {why}", quoted(byte))
    }
}

fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => format!("'{}'", char::from(byte).escape_default()),
    }
}
