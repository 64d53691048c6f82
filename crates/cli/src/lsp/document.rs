//! A text that is open in an editor.

use crate::package;
use metroon::SystemWorld;
use metroon::editing::{Checked, check_source_in};
use metroon::run::{ModuleSearch, Source};
use metroon::syntax::{Diagnostic, NodeId, NodeKind, Parsed, Severity, Span, Visit, parse};
use serde_json::{Value, json};
use std::path::Path;

/// How a client counts the characters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
        }
    }
}

/// A text that is open, what was found in it, and the program that has read it.
pub(super) struct Document {
    pub(super) text: Text,
    pub(super) checked: Checked,
}

/// A text and its tree.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) parsed: Parsed,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// A word or a variable of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) name: String,
    pub(super) is_variable: bool,
    pub(super) span: Span,
}

impl Document {
    pub(super) fn new(uri: &str, text: String) -> Self {
        let path = path_of(uri);
        let directory = path.as_deref().and_then(|path| path.rsplit_once('/')).map_or("", |(directory, _)| directory);
        let source = Source { origin: uri, file: None, directory, text: &text, flaw: None };
        let package = path.as_deref().and_then(|path| package::around(Path::new(path)));
        let (search, wrong) = match package.transpose() {
            Ok(package) => (package.map(|package| package.modules).unwrap_or_default(), None),
            Err(wrong) => (ModuleSearch::default(), Some(wrong)),
        };
        let mut checked = check_source_in(SystemWorld::default(), &source, search);
        let of_package = wrong.map(|wrong| Diagnostic::warning("package", Span { start: 0, end: 0 }, wrong));
        checked.diagnostics.splice(0..0, of_package);
        Self { text: Text::new(text), checked }
    }

    /// What was found, as the protocol has it.
    pub(super) fn findings(&self, encoding: Encoding, uri: &str) -> Vec<Value> {
        self.checked.diagnostics.iter().map(|found| self.finding(found, encoding, uri)).collect()
    }

    fn finding(&self, found: &Diagnostic, encoding: Encoding, uri: &str) -> Value {
        let severity = match found.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Note => 3,
        };
        let message = match &found.help {
            Some(help) => format!("{}\n{help}", found.message),
            None => found.message.clone(),
        };
        let related = found.related.iter().map(|(span, words)| {
            json!({ "location": { "uri": uri, "range": self.text.range(*span, encoding) }, "message": words })
        });
        json!({
            "range": self.text.range(found.span, encoding),
            "severity": severity,
            "code": found.code,
            "source": "metroon",
            "message": message,
            "relatedInformation": related.collect::<Vec<_>>(),
        })
    }
}

impl Text {
    pub(super) fn new(text: String) -> Self {
        let parsed = parse(&text);
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, parsed, lines }
    }

    /// A place as the protocol has it.
    pub(super) fn range(&self, span: Span, encoding: Encoding) -> Value {
        json!({ "start": self.position(span.start as usize, encoding), "end": self.position(span.end as usize, encoding) })
    }

    fn position(&self, offset: usize, encoding: Encoding) -> Value {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset).saturating_sub(1);
        let character = encoding.length(&self.text[self.lines[line]..offset]);
        json!({ "line": line, "character": character })
    }

    /// The end of the text.
    pub(super) fn whole(&self, encoding: Encoding) -> Value {
        json!({ "start": self.position(0, encoding), "end": self.position(self.text.len(), encoding) })
    }

    /// The offset of a position; that of the end of its line if it lies behind it.
    pub(super) fn offset(&self, position: &Value, encoding: Encoding) -> Option<usize> {
        let line = usize::try_from(position["line"].as_u64()?).ok()?;
        let wanted = usize::try_from(position["character"].as_u64()?).ok()?;
        let start = *self.lines.get(line)?;
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let mut length = 0;
        for (at, character) in self.text[start..end].char_indices() {
            if length >= wanted {
                return Some(start + at);
            }
            length += encoding.length(&self.text[start + at..start + at + character.len_utf8()]);
        }
        Some(end)
    }

    /// The word at an offset, or directly before it.
    pub(super) fn word_at(&self, offset: usize) -> Option<Word> {
        let offset = u32::try_from(offset).ok()?;
        let form = self.form_at(offset)?;
        let found = words(&self.parsed, form).filter(|word| word.span.start <= offset && offset <= word.span.end);
        found.last()
    }

    /// The node of the form around an offset.
    pub(super) fn form_at(&self, offset: u32) -> Option<NodeId> {
        let forms = self.parsed.tree.forms();
        let index = forms.partition_point(|form| form.span.end < offset);
        forms.get(index).filter(|form| form.span.start <= offset).map(|form| form.node)
    }

    /// The names of the modules and files that its forms import or include.
    pub(super) fn imported(&self) -> Vec<String> {
        let tree = &self.parsed.tree;
        let named = tree.forms().iter().filter_map(|form| {
            let words: Vec<&str> = tree
                .children(form.node)
                .map(|child| match tree.kind(child) {
                    NodeKind::Word(word) => word,
                    _ => "",
                })
                .collect();
            match words[..] {
                ["import!", _, name, ..] | ["include" | "mod-space!", name, ..] => Some(name.to_owned()),
                _ => None,
            }
        });
        named.collect()
    }

    /// The places of a word: of a variable in its form, of any other word in the whole text.
    pub(super) fn places_of(&self, wanted: &Word) -> Vec<Span> {
        let own = self.form_at(wanted.span.start);
        let forms = self.parsed.tree.forms().iter().map(|form| form.node);
        let forms = forms.filter(|form| !wanted.is_variable || Some(*form) == own);
        let same = |word: &Word| word.name == wanted.name && word.is_variable == wanted.is_variable;
        forms.flat_map(|form| words(&self.parsed, form)).filter(same).map(|word| word.span).collect()
    }

    /// Where a name is defined: the left sides of its rules, and the statements of its type and documentation.
    pub(super) fn definitions_of(&self, name: &str) -> Vec<Span> {
        let of = |form: &metroon::syntax::Form| self.defined_by(form.node).filter(|(known, _)| *known == name);
        let mut found: Vec<(bool, Span)> = self
            .parsed
            .tree
            .forms()
            .iter()
            .filter(|form| !form.bang)
            .filter_map(|form| {
                let (_, span) = of(form)?;
                Some((!self.is_rule(form.node), span))
            })
            .collect();
        // Rules come first: they say what it does.
        found.sort_by_key(|(is_other, span)| (*is_other, span.start));
        found.into_iter().map(|(_, span)| span).collect()
    }

    fn is_rule(&self, form: NodeId) -> bool {
        let head = self.parsed.tree.children(form).next();
        head.is_some_and(|head| self.parsed.tree.kind(head) == NodeKind::Word("="))
    }

    /// The name that a form defines, and where it stands.
    pub(super) fn defined_by(&self, form: NodeId) -> Option<(&str, Span)> {
        let tree = &self.parsed.tree;
        let NodeKind::Expression([head, subject, ..]) = tree.kind(form) else { return None };
        let NodeKind::Word("=" | ":" | "@doc") = tree.kind(*head) else { return None };
        let name = tree.children(*subject).next().unwrap_or(*subject);
        match tree.kind(name) {
            NodeKind::Word(word) => Some((word, tree.span(name))),
            _ => None,
        }
    }
}

/// The words and variables of a form, in the order of the text.
fn words(parsed: &Parsed, form: NodeId) -> impl Iterator<Item = Word> {
    parsed.tree.walk(form).filter_map(|visit| {
        let Visit::Leaf(leaf) = visit else { return None };
        let span = parsed.tree.span(leaf);
        match parsed.tree.kind(leaf) {
            NodeKind::Word(name) => Some(Word { name: name.to_owned(), is_variable: false, span }),
            NodeKind::Variable(name) => Some(Word { name: name.to_owned(), is_variable: true, span }),
            _ => None,
        }
    })
}

/// The URI of the file at a path.
pub(super) fn uri_of(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let escaped =
        path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("file://{}", escaped.collect::<String>())
}

/// The path of a file that a URI names.
pub(super) fn path_of(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = &path[path.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = if *first == b'%' { after.get(..2) } else { None };
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
