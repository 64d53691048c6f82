//! Trees from YAML, as far as cassettes use it: no tag makes an object, and what aliases repeat is limited.

use super::{DOCUMENT, NODE_BYTES, Node, ParseDocumentError, twice};
use crate::limits::{MemoryBudget, ReadOptions};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use granit_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::HashMap;

/// How many bytes of memory aliases, and what they stand for, may come to.
const ALIASED_BYTES_MAX: usize = 64 << 20;

/// What wrote the base64 may have left its padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads one document of YAML. Nesting is limited by the parser.
///
/// # Errors
/// What is wrong, with line and column; or that more would come of it than is allowed.
pub(crate) fn from_yaml(bytes: &[u8], options: ReadOptions) -> Result<Node, ParseDocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no UTF-8 at byte {}", error.valid_up_to()))?;
    let mut builder = TreeBuilder::new(options);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| place(error.info(), error.marker()))?;
        builder.take(event).map_err(|unread| match unread {
            ParseDocumentError::Malformed(what) => ParseDocumentError::Malformed(place(what, &span.start)),
            too_much => too_much,
        })?;
    }
    Ok(builder.root.ok_or_else(|| "there is nothing in it".to_owned())?)
}

fn place(what: impl std::fmt::Display, marker: &granit_parser::Marker) -> String {
    format!("{what} at line {} column {}", marker.line(), marker.col() + 1)
}

/// A list or map whose end has not been seen.
struct OpenCollection {
    node: Node,
    /// The name of the member that comes next.
    name: Option<String>,
    anchor: usize,
}

/// What an anchor names, and what copying it costs.
struct AnchoredNode {
    node: Node,
    bytes: usize,
}

/// What a node takes in memory with all that is in it.
fn memory_bytes(node: &Node) -> usize {
    NODE_BYTES
        + match node {
            Node::Null | Node::Bool(_) | Node::Number(_) => 0,
            Node::Text(text) | Node::Plain(text) => text.len(),
            Node::Bytes(bytes) => bytes.len(),
            Node::List(list) => list.iter().map(memory_bytes).sum(),
            Node::Map(members) => members.iter().map(|(name, node)| name.len() + memory_bytes(node)).sum(),
        }
}

/// Makes a tree of events. The stack is its own, so nesting costs no native stack.
struct TreeBuilder {
    open: Vec<OpenCollection>,
    anchored: HashMap<usize, AnchoredNode>,
    root: Option<Node>,
    room: MemoryBudget,
    room_for_aliases: MemoryBudget,
}

impl TreeBuilder {
    fn new(options: ReadOptions) -> Self {
        let room = MemoryBudget::new(options.most());
        let room_for_aliases = MemoryBudget::new(ALIASED_BYTES_MAX.min(options.most()));
        Self { open: Vec::new(), anchored: HashMap::new(), root: None, room, room_for_aliases }
    }

    fn take(&mut self, event: Event<'_>) -> Result<(), ParseDocumentError> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                Err("a second document begins; keep one document in a file".to_owned().into())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.room.take(text.len(), DOCUMENT)?;
                let node = scalar(text.into_owned(), style, tag.as_deref())?;
                self.close(node, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), &["seq", "python/tuple", "python/list"])?;
                self.begin(Node::List(Vec::new()), anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), &["map", "python/dict"])?;
                self.begin(Node::Map(Vec::new()), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(OpenCollection { node, anchor, .. }) = self.open.pop() else {
                    return Err("an end without a beginning".to_owned().into());
                };
                if let Some(name) = members(&node).and_then(twice) {
                    return Err(format!("the map that ends here has {name:?} twice; remove one of them").into());
                }
                self.close(node, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, node: Node, anchor: usize) -> Result<(), ParseDocumentError> {
        if matches!(self.open.last(), Some(OpenCollection { node: Node::Map(_), name: None, .. })) {
            return Err("a name of a map must be a text".to_owned().into());
        }
        self.open.push(OpenCollection { node, name: None, anchor });
        Ok(())
    }

    fn alias(&mut self, anchor: usize) -> Result<(), ParseDocumentError> {
        // An alias within what it names has no anchor yet.
        let Some(AnchoredNode { bytes, .. }) = self.anchored.get(&anchor) else {
            return Err("an alias stands in what it stands for".to_owned().into());
        };
        self.count_copy(*bytes)?;
        let node = self.anchored[&anchor].node.clone();
        self.place(node)
    }

    fn count_copy(&mut self, bytes: usize) -> Result<(), ParseDocumentError> {
        self.room.take(bytes, DOCUMENT)?;
        let room = &mut self.room_for_aliases;
        room.take(bytes, DOCUMENT).map_err(|_| {
            let most = room.most();
            format!("aliases repeat more than {most} bytes of memory; write out what they stand for").into()
        })
    }

    /// A node that is whole.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), ParseDocumentError> {
        if anchor != 0 {
            let bytes = memory_bytes(&node);
            self.count_copy(bytes)?;
            self.anchored.insert(anchor, AnchoredNode { node: node.clone(), bytes });
        }
        self.room.take(NODE_BYTES, DOCUMENT)?;
        self.place(node)
    }

    fn place(&mut self, node: Node) -> Result<(), ParseDocumentError> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection { node: Node::List(list), .. }) => list.push(node),
            Some(OpenCollection { node: Node::Map(members), name, .. }) => match (name.take(), node) {
                (Some(name), node) => members.push((name, node)),
                (None, Node::Plain(merge)) if merge == "<<" => {
                    return Err("`<<` is not read; write out the members of the other map".to_owned().into());
                }
                (None, Node::Text(text) | Node::Plain(text)) => *name = Some(text),
                (None, _) => return Err("a name of a map must be a text".to_owned().into()),
            },
            Some(_) => unreachable!("only lists and maps are open"),
        }
        Ok(())
    }
}

fn members(node: &Node) -> Option<&[(String, Node)]> {
    if let Node::Map(members) = node { Some(members) } else { None }
}

/// What a scalar is. The tags are those that PyYAML and Psych write for texts, bytes and simple values.
fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>) -> Result<Node, String> {
    let Some(tag) = tag else {
        return Ok(if style == ScalarStyle::Plain { Node::Plain(text) } else { Node::Text(text) });
    };
    match suffix(tag) {
        Some("binary") => {
            let base64: String = text.split_ascii_whitespace().collect();
            BASE64.decode(base64).map(Node::Bytes).map_err(|error| format!("no base64: {error}"))
        }
        Some("" | "str" | "python/str" | "python/unicode") => Ok(Node::Text(text)),
        Some("null" | "bool" | "int" | "float" | "timestamp" | "python/none" | "python/int") => Ok(Node::Plain(text)),
        _ => Err(unknown(tag)),
    }
}

fn check_tag(tag: Option<&Tag>, known: &[&str]) -> Result<(), String> {
    match tag {
        Some(tag) if !suffix(tag).is_some_and(|suffix| known.contains(&suffix)) => Err(unknown(tag)),
        _ => Ok(()),
    }
}

/// `binary` of `!!binary`, and of `!binary`, as Psych writes it.
fn suffix(tag: &Tag) -> Option<&str> {
    tag.core_suffix().or_else(|| {
        let tag = [tag.handle(), tag.suffix()];
        match tag {
            ["!" | "tag:yaml.org,2002:", suffix] => Some(suffix),
            ["", "!"] => Some(""),
            _ => None,
        }
    })
}

fn unknown(tag: &Tag) -> String {
    format!("the tag `{tag}` makes an object of another program; put in what it stands for")
}
