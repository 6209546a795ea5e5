//! [`Shape`]: how many members each array and object of a JSON text has, found in one pass before decoding it.
//!
//! It only makes hints: text that is not JSON gives a useless shape and is refused by the decoder. Counts never exceed
//! the length of the text.

use crate::json::plain_end;

/// The arrays and objects of one text, in the order they begin.
#[derive(Debug, Default)]
pub(super) struct Shape {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// How many members it has.
    members: u32,
    /// Which member of the node round it this is.
    slot: u32,
    /// The first node that begins after this one ends.
    next: u32,
}

/// A place in a shape: a node, or one of which nothing is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'s> {
    shape: Option<&'s Shape>,
    node: u32,
}

/// Goes along the members of a node as the decoder does.
///
/// Right whatever the decoder does with the members in between: each is looked up by its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'s> {
    shape: Option<&'s Shape>,
    at: u32,
    end: u32,
    slot: u32,
}

impl Shape {
    pub(super) fn of(text: &str) -> Self {
        struct Open {
            node: u32,
            commas: u32,
            empty: bool,
        }
        let Ok(_) = u32::try_from(text.len()) else { return Shape::default() };
        let bytes = text.as_bytes();
        // A Pod has an array or object for about every thirty bytes.
        let mut nodes: Vec<Node> = Vec::with_capacity(bytes.len() / 32 + 1);
        let mut open: Vec<Open> = Vec::with_capacity(16);
        let mut top = Open { node: 0, commas: 0, empty: true };
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    top.empty = false;
                    at = string_end(bytes, at);
                }
                b'{' | b'[' => {
                    top.empty = false;
                    let node = nodes.len() as u32; // at most one for each byte
                    nodes.push(Node { members: 0, slot: top.commas, next: 0 });
                    open.push(std::mem::replace(&mut top, Open { node, commas: 0, empty: true }));
                }
                b'}' | b']' => {
                    let Some(outer) = open.pop() else { break };
                    let next = nodes.len() as u32;
                    if let Some(node) = nodes.get_mut(top.node as usize) {
                        node.members = if top.empty { 0 } else { top.commas + 1 };
                        node.next = next;
                    }
                    top = outer;
                }
                b',' => top.commas += 1,
                b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => top.empty = false,
            }
        }
        Shape { nodes }
    }

    /// The outermost value.
    pub(super) fn root(&self) -> Place<'_> {
        Place { shape: Some(self), node: 0 }
    }
}

impl<'s> Place<'s> {
    pub(super) fn unknown() -> Self {
        Place { shape: None, node: 0 }
    }

    fn node(self) -> Option<Node> {
        self.shape?.nodes.get(self.node as usize).copied()
    }

    /// How many members there are, if that is known.
    pub(super) fn count(self) -> Option<usize> {
        self.node().map(|node| node.members as usize)
    }

    pub(super) fn members(self) -> Members<'s> {
        match self.node() {
            Some(node) => Members { shape: self.shape, at: self.node + 1, end: node.next, slot: 0 },
            None => Members { shape: None, at: 0, end: 0, slot: 0 },
        }
    }
}

impl<'s> Members<'s> {
    /// The place of the next member; unknown if it is neither an array nor an object.
    pub(super) fn next(&mut self) -> Place<'s> {
        let slot = self.slot;
        self.slot += 1;
        let place = Place { shape: self.shape, node: self.at };
        match place.node() {
            Some(node) if self.at < self.end && node.slot == slot => {
                self.at = node.next;
                place
            }
            _ => Place::unknown(),
        }
    }
}

/// The place after the closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(text: &str) -> Vec<u32> {
        Shape::of(text).nodes.iter().map(|node| node.members).collect()
    }

    #[test]
    fn members_are_counted_in_the_order_of_the_text() {
        assert_eq!(counts(r#"{"a":[1,2,3],"b":{},"c":[ ],"d":["x,y","\"]"]}"#), [4, 3, 0, 0, 2]);
        assert_eq!(counts("[[],[[1]]]"), [2, 0, 1, 1]);
        assert_eq!(counts("7"), [0u32; 0]);
    }

    #[test]
    fn members_are_found_by_number_whatever_was_skipped() {
        let shape = Shape::of(r#"[0,[[],[]],2,[1,2,3]]"#);
        let mut members = shape.root().members();
        let found: Vec<_> = (0..5).map(|_| members.next().count()).collect();
        assert_eq!(found, [None, Some(2), None, Some(3), None]);
    }

    proptest! {
        #[test]
        fn any_text_has_a_shape_no_larger_than_itself(text in "[\\[\\]{},:\" a\\\\]{0,40}") {
            let total: usize = counts(&text).iter().map(|&count| count as usize).sum();
            prop_assert!(total <= text.len());
            let mut members = Shape::of(&text).nodes.len();
            let shape = Shape::of(&text);
            let mut walk = shape.root().members();
            while members > 0 {
                walk.next();
                members -= 1;
            }
        }
    }
}
