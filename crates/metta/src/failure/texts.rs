//! The texts that ran, and where in them rules and calls are written.
//!
//! 1. A text is kept when it begins to run, and parsed again when the first place in it is wanted.
//! 2. A rule that has reduced a call is one whose left side unifies with the call and whose right side comes to what was seen.
//! 3. The expression that an error is about is the part of the rule that comes to it with the rule's variables bound so; if arguments were
//!    evaluated on the way, the part that has its head and its length.
//!
//! A text that states a rule is kept once, however often it runs, as long as all of them have at most [`BYTES_MAX`] bytes: what others
//! state has no place. A text without rules, such as a question that a host asks, is kept while it is one of the last [`RECENT_MAX`].

use super::Place;
use crate::evaluate::TracedCall;
use crate::names;
use crate::program::Program;
use crate::program::modules::ModuleId;
use crate::reader::read_atom;
use crate::syntax::{self, Form, LineStarts, NodeId, NodeKind, Parsed, Span, SyntaxTree, Visit};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Bindings, Unifier, Variable, alpha_equivalent, substitute, variables};
use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The most bytes of texts that are kept.
const BYTES_MAX: usize = 16 << 20;

/// How many of the last texts are kept whatever they state: more than run inside each other.
const RECENT_MAX: usize = 64;

/// What a text takes beside its letters, in bytes.
const TEXT_OVERHEAD: usize = 256;

/// The texts that ran.
#[derive(Default)]
pub(crate) struct Texts {
    /// Those that state rules, each once, in the order in which they began first.
    texts: Vec<Rc<Text>>,
    /// What identifies each of them.
    known: FxHashSet<TextKey>,
    bytes: usize,
    /// Those that began last, the newest at the end.
    recent: VecDeque<Rc<Text>>,
    recent_bytes: usize,
}

/// A text that ran.
pub(crate) struct Text {
    origin: Arc<str>,
    text: Arc<str>,
    module: ModuleId,
    starts: Arc<LineStarts>,
    parsed: OnceCell<Parsed>,
    /// The rules by the word at the head of their left sides, and by the words at the heads of what is written in their right sides.
    by_name: OnceCell<RulesByWord>,
    by_part: OnceCell<RulesByWord>,
}

/// What a text is called, the text, and the module that it runs in.
type TextKey = (Arc<str>, Arc<str>, ModuleId);

/// The rules of each word, in their order; those without a word are listed under `None`.
type RulesByWord = FxHashMap<Option<String>, Vec<TextRule>>;

/// A rule of a text: its form by its number, its left and its right side.
#[derive(Clone, Copy)]
struct TextRule {
    form: usize,
    left: NodeId,
    body: NodeId,
}

/// A rule or a form in a text, with what its variables are.
pub(crate) struct Located {
    text: Rc<Text>,
    /// The whole form.
    pub(crate) whole: Span,
    /// The part that is evaluated.
    body: NodeId,
    /// A variable of its own for each of the rule.
    renamed: Vec<(Variable, Atom)>,
    bindings: Bindings,
}

impl Text {
    fn new((origin, text, module): TextKey, starts: &Arc<LineStarts>) -> Self {
        Self {
            origin,
            text,
            module,
            starts: Arc::clone(starts),
            parsed: OnceCell::new(),
            by_name: OnceCell::new(),
            by_part: OnceCell::new(),
        }
    }

    fn key(&self) -> TextKey {
        (Arc::clone(&self.origin), Arc::clone(&self.text), self.module)
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| syntax::parse(&self.text))
    }

    fn tree(&self) -> &SyntaxTree {
        &self.parsed().tree
    }

    fn form(&self, rule: TextRule) -> &Form {
        &self.tree().forms()[rule.form]
    }

    /// The rules whose left sides have this word at their heads.
    fn rules_named(&self, name: Option<&str>) -> &[TextRule] {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = RulesByWord::default();
            for rule in rules_of(self.tree()) {
                by_name.entry(head_word(self.tree(), rule.left).map(str::to_owned)).or_default().push(rule);
            }
            by_name
        });
        by_name.get(&name.map(str::to_owned)).map_or(&[], Vec::as_slice)
    }

    /// The rules in whose right sides something is written with this word at its head.
    fn rules_that_write(&self, head: Option<&str>) -> &[TextRule] {
        let by_part = self.by_part.get_or_init(|| {
            let mut by_part = RulesByWord::default();
            for rule in rules_of(self.tree()) {
                let nodes = nodes_of(self.tree(), rule.body);
                let heads: BTreeSet<Option<&str>> = nodes.map(|node| head_word(self.tree(), node)).collect();
                for head in heads {
                    by_part.entry(head.map(str::to_owned)).or_default().push(rule);
                }
            }
            by_part
        });
        by_part.get(&head.map(str::to_owned)).map_or(&[], Vec::as_slice)
    }

    /// A place in it.
    pub(crate) fn place(&self, span: Span) -> Place {
        Place { origin: Arc::clone(&self.origin), text: Arc::clone(&self.text), span, starts: Arc::clone(&self.starts) }
    }
}

impl Texts {
    /// Keeps a text of which a piece begins to run in a module, as it was read.
    pub(crate) fn add(&mut self, origin: &str, piece: &SyntaxTree, module: ModuleId) {
        let text = piece.shared_text();
        let bytes = text.len() + TEXT_OVERHEAD;
        if bytes > BYTES_MAX {
            return;
        }
        let kept = match self.newest(&text) {
            Some(known) => Rc::clone(known),
            None => self.add_recent((Arc::from(origin), text, module), piece),
        };
        if self.bytes + bytes <= BYTES_MAX && rules_of(piece).next().is_some() && self.known.insert(kept.key()) {
            self.bytes += bytes;
            self.texts.push(kept);
        }
    }

    fn add_recent(&mut self, key: TextKey, piece: &SyntaxTree) -> Rc<Text> {
        let kept = Rc::new(Text::new(key, piece.line_starts()));
        self.recent_bytes += kept.text.len() + TEXT_OVERHEAD;
        self.recent.push_back(Rc::clone(&kept));
        while self.recent.len() > RECENT_MAX || self.recent_bytes > BYTES_MAX {
            let Some(oldest) = self.recent.pop_front() else { break };
            self.recent_bytes -= oldest.text.len() + TEXT_OVERHEAD;
        }
        kept
    }

    /// A text that began to run, with this content.
    fn newest(&self, text: &Arc<str>) -> Option<&Rc<Text>> {
        self.recent.iter().rev().find(|known| Arc::ptr_eq(&known.text, text))
    }

    /// A place in a text that began to run.
    pub(crate) fn place_in(&self, text: &Arc<str>, offset: u32) -> Option<Place> {
        Some(self.newest(text)?.place(Span { start: offset, end: offset }))
    }

    /// The rule that has reduced a call to a body: the first that may have done so, if what it comes to is not told exactly.
    pub(crate) fn rule_of(&self, call: &TracedCall, program: &mut Program) -> Option<Located> {
        let name = word_of(call.call.head().unwrap_or(&call.call));
        let mut first = None;
        for text in &self.texts {
            for &rule in text.rules_named(name.as_deref()) {
                let Some(found) = located(text, rule, &call.call, program) else { continue };
                let seen = found.bindings.resolve(&call.body);
                if alpha_equivalent(&found.atom_of(found.body, program), &seen) {
                    return Some(found);
                }
                first.get_or_insert(found);
            }
        }
        first
    }

    /// Where a rule for a call is written that makes another call: the place of that call in it, or the first rule if none shows it.
    pub(crate) fn place_of_call_by(&self, caller: &Atom, called: &Atom, program: &mut Program) -> Option<Place> {
        let name = word_of(caller.head().unwrap_or(caller));
        let mut first = None;
        for text in &self.texts {
            for &rule in text.rules_named(name.as_deref()) {
                let Some(found) = located(text, rule, caller, program) else { continue };
                if let Some(place) = found.part_like(called, program) {
                    return Some(place);
                }
                first.get_or_insert_with(|| found.place());
            }
        }
        first
    }

    /// Where the first rule of a function is written.
    pub(crate) fn first_rule_of(&self, name: &str) -> Option<Place> {
        self.texts.iter().find_map(|text| {
            let &rule = text.rules_named(Some(name)).first()?;
            Some(text.place(text.form(rule).span))
        })
    }

    /// Where a rule is written, whatever its variables are called there.
    pub(crate) fn place_of_rule(&self, rule: &Atom, program: &Program) -> Option<Place> {
        let name = rule.children().and_then(|parts| word_of(parts.get(1)?.head()?));
        self.texts.iter().find_map(|text| {
            let words = program.tokenizer_of(text.module)?;
            let is_it = |form: &Form| alpha_equivalent(&read_atom(text.tree(), form.node, words), rule);
            let mut named = text.rules_named(name.as_deref()).iter().map(|&rule| text.form(rule));
            Some(text.place(named.find(|form| is_it(form))?.span))
        })
    }

    /// The names that the texts have rules for.
    pub(crate) fn rule_names(&self) -> FxHashSet<String> {
        let of = |text: &Rc<Text>| {
            let names = rules_of(text.tree()).filter_map(|rule| head_word(text.tree(), rule.left));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        self.texts.iter().flat_map(of).collect()
    }

    /// A form of the text that began to run last with this content.
    pub(crate) fn form(&self, text: &Arc<str>, form: &Form) -> Option<Located> {
        let (text, body) = (Rc::clone(self.newest(text)?), form.node);
        Some(Located { text, whole: form.span, body, renamed: Vec::new(), bindings: Bindings::default() })
    }

    /// The rules in which an expression is written that may have come to this one, with their names. Two are enough to know that it is
    /// not the only one.
    pub(crate) fn rules_with(&self, wanted: &Atom, program: &Program) -> Vec<(String, Located, Place)> {
        let (mut found, head) = (Vec::new(), word_of(wanted.head().unwrap_or(wanted)));
        for text in &self.texts {
            for &rule in text.rules_that_write(head.as_deref()) {
                let place = Located {
                    text: Rc::clone(text),
                    whole: text.form(rule).span,
                    body: rule.body,
                    renamed: Vec::new(),
                    bindings: Bindings::default(),
                };
                if let Some(written) = place.part_like(wanted, program) {
                    let name = head_word(text.tree(), rule.left).unwrap_or_default().to_owned();
                    found.push((name, place, written));
                }
                if found.len() > 1 {
                    return found;
                }
            }
        }
        found
    }
}

impl Located {
    /// Where the whole rule or form is.
    pub(crate) fn place(&self) -> Place {
        self.text.place(self.whole)
    }

    /// Where the part of it is that is evaluated.
    pub(crate) fn body_place(&self) -> Place {
        self.text.place(self.text.tree().span(self.body))
    }

    /// The part of it that comes to exactly this.
    pub(crate) fn part_equal_to(&self, wanted: &Atom, program: &Program) -> Option<Place> {
        let mut nodes = self.nodes_like(wanted);
        let node = nodes.find(|node| {
            let atom = self.atom_of(*node, program);
            atom == *wanted || alpha_equivalent(&atom, wanted)
        })?;
        Some(self.text.place(self.text.tree().span(node)))
    }

    /// The part of it that has the same head and length and may come to this when its arguments are evaluated.
    pub(crate) fn part_like(&self, wanted: &Atom, program: &Program) -> Option<Place> {
        let mut nodes = self.nodes_like(wanted);
        let node = nodes.find(|node| may_come_to(&self.atom_of(*node, program), wanted))?;
        Some(self.text.place(self.text.tree().span(node)))
    }

    /// The parts with the head and the length of an atom.
    fn nodes_like(&self, wanted: &Atom) -> impl Iterator<Item = NodeId> {
        let (head, length) = (word_of(wanted.head().unwrap_or(wanted)), wanted.children().map(<[Atom]>::len));
        let tree = self.text.tree();
        let patterns = if names::is_error(wanted) { error_patterns(tree, self.body) } else { Vec::new() };
        nodes_of(tree, self.body).filter(move |&node| {
            if patterns.contains(&node) {
                return false;
            }
            let same_length = match tree.kind(node) {
                NodeKind::Expression(children) => Some(children.len()) == length,
                _ => length.is_none(),
            };
            same_length && head_word(tree, node) == head.as_deref()
        })
    }

    /// A part of it as an atom, with what is known of its variables.
    fn atom_of(&self, node: NodeId, program: &Program) -> Atom {
        let Some(words) = program.tokenizer_of(self.text.module) else { return Atom::unit() };
        let mut atom = read_atom(self.text.tree(), node, words);
        for (variable, own) in &self.renamed {
            atom = substitute(&atom, variable, own);
        }
        self.bindings.resolve(&atom)
    }
}

/// The errors that stand first in pairs: those are patterns of branches, since no error is a function.
fn error_patterns(tree: &SyntaxTree, body: NodeId) -> Vec<NodeId> {
    let pairs = tree.walk(body).filter_map(|visit| match visit {
        Visit::Open(node) => match tree.kind(node) {
            NodeKind::Expression(&[first, _]) => Some(first),
            _ => None,
        },
        _ => None,
    });
    pairs.filter(|first| head_word(tree, *first) == Some("Error")).collect()
}

/// The rules that a tree states.
fn rules_of(tree: &SyntaxTree) -> impl Iterator<Item = TextRule> {
    tree.forms().iter().enumerate().filter_map(|(number, form)| match tree.kind(form.node) {
        NodeKind::Expression(&[head, left, body]) if !form.bang => {
            (tree.kind(head) == NodeKind::Word(names::EQUAL)).then_some(TextRule { form: number, left, body })
        }
        _ => None,
    })
}

/// A node and all that it has.
fn nodes_of(tree: &SyntaxTree, node: NodeId) -> impl Iterator<Item = NodeId> {
    tree.walk(node).filter_map(|visit| match visit {
        Visit::Open(node) | Visit::Leaf(node) => Some(node),
        _ => None,
    })
}

/// A rule whose left side unifies with a call.
fn located(text: &Rc<Text>, rule: TextRule, call: &Atom, program: &mut Program) -> Option<Located> {
    let words = program.tokenizer_of(text.module)?;
    let form = text.form(rule);
    let whole = read_atom(text.tree(), form.node, words);
    let mut left = read_atom(text.tree(), rule.left, words);
    let source = program.variables();
    let renamed: Vec<(Variable, Atom)> =
        variables(&whole).into_iter().map(|one| (one.clone(), Atom::Variable(source.fresh(one.name())))).collect();
    for (variable, own) in &renamed {
        left = substitute(&left, variable, own);
    }
    let mut unifier = Unifier::under(Bindings::default(), source);
    if !unifier.unify(&left, call) {
        return None;
    }
    let bindings = unifier.finish().into_iter().next()?;
    Some(Located { text: Rc::clone(text), whole: form.span, body: rule.body, renamed, bindings })
}

/// The word at the head of an expression, or the word that a node is.
fn head_word(tree: &SyntaxTree, node: NodeId) -> Option<&str> {
    let head = tree.children(node).next().unwrap_or(node);
    match tree.kind(head) {
        NodeKind::Word(word) => Some(word),
        _ => None,
    }
}

/// The word that an atom is written as, if it is written as one.
fn word_of(atom: &Atom) -> Option<String> {
    match atom {
        Atom::Symbol(_) | Atom::Grounded(_) => Some(atom.to_string()),
        Atom::Variable(_) | Atom::Expression(_) => None,
    }
}

/// Whether an expression may be this one when its arguments are evaluated: variables and calls may be anything.
fn may_come_to(written: &Atom, wanted: &Atom) -> bool {
    match (written.children(), wanted.children()) {
        (Some([_, written @ ..]), Some([_, wanted @ ..])) => {
            let agrees = |(written, wanted): (&Atom, &Atom)| {
                matches!(written, Atom::Variable(_) | Atom::Expression(_)) || written == wanted
            };
            written.len() == wanted.len() && written.iter().zip(wanted).all(agrees)
        }
        _ => written == wanted,
    }
}
