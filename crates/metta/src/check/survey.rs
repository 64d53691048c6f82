//! What a text consists of: its rules, and which of its parts are evaluated, matched, or left as they are.
//!
//! A part has a [`Role`]. Where a call has one, those of its arguments follow from its head: by a table for forms that bind variables, by
//! the type of the function for others. The walk has a stack of its own.

use crate::instructions::is_instruction_name;
use crate::names;
use crate::operation::Operation;
use crate::program::Program;
use crate::program::modules::ModuleId;
use crate::reader::read_atom;
use crate::syntax::{Form, NodeId, NodeKind, SyntaxTree, Visit};
use crate::tokenizer::Tokenizer;
use crate::types::{self, AtomType, Declarations};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, SharedSpace, Symbol};
use std::cell::RefCell;

/// What is done with a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is evaluated.
    Evaluated,
    /// It is matched: its variables get values.
    Pattern,
    /// It is taken as it is.
    Raw,
    /// Pairs of a pattern and a value, as `let*` has them.
    Bindings,
    /// Pairs of a pattern and a body, as `case` has them.
    Branches,
    /// One pair of either.
    Pair,
    /// Its elements are evaluated, each for itself.
    Items,
}

use Role::{Bindings, Branches, Evaluated, Items, Pair, Pattern, Raw};

/// What the arguments of a form are.
fn roles_of(head: &str) -> Option<&'static [Role]> {
    Some(match head {
        "if" => &[Evaluated, Evaluated, Evaluated],
        "let" => &[Pattern, Evaluated, Evaluated],
        "let*" => &[Bindings, Evaluated],
        "case" | "switch" => &[Evaluated, Branches],
        "match" => &[Evaluated, Pattern, Evaluated],
        "unify" => &[Evaluated, Pattern, Evaluated, Evaluated],
        "chain" => &[Evaluated, Pattern, Evaluated],
        "map-atom" | "filter-atom" => &[Evaluated, Pattern, Evaluated],
        "foldl-atom" => &[Evaluated, Evaluated, Pattern, Pattern, Evaluated],
        "function" | "return" | "eval" | "collapse" | "once" | "has-result" | "count-results" | "transaction" => {
            &[Evaluated]
        }
        "limit" => &[Evaluated, Evaluated],
        "if-error" => &[Raw, Evaluated, Evaluated],
        "superpose" => &[Items],
        "sealed" => &[Pattern, Evaluated],
        "bind!" => &[Pattern, Evaluated],
        "=" | ":" | ":<" | "->" | "Error" | "quote" | "noeval" | "get-type" | "import!" | "pragma!" => &[],
        _ => return None,
    })
}

/// Where a text imports a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Import {
    /// In a form of its own.
    Form,
    /// Inside a form, such as an assertion.
    Inside,
}

/// A rule of the text.
pub(super) struct RuleForm {
    pub(super) form: Form,
    pub(super) left: NodeId,
    /// The evaluated and other parts of its right side.
    pub(super) parts: Vec<(NodeId, Role)>,
}

/// A text with what is known of its words.
pub(super) struct Survey<'a> {
    pub(super) tree: &'a SyntaxTree,
    pub(super) words: Tokenizer,
    /// What the words of the text mean.
    meanings: FxHashMap<&'a str, Atom>,
    /// The atoms of the nodes, by their numbers: a part of an atom is not read again.
    atoms: Vec<Option<Atom>>,
    pub(super) space: SharedSpace,
    declarations: RefCell<Declarations>,
    pub(super) rules: Vec<RuleForm>,
    /// The names for which the text states rules, with the numbers of their arguments.
    pub(super) stated: FxHashSet<(&'a str, usize)>,
    /// The modules that the text imports, and where.
    imports: FxHashMap<&'a str, Import>,
    /// The parts of the forms after `!`.
    pub(super) asked: Vec<(NodeId, Role)>,
    /// How many arguments the rules of each name take.
    pub(super) known: FxHashMap<String, FxHashSet<usize>>,
    /// How many rules there are for each name and number of arguments.
    counts: FxHashMap<(String, usize), usize>,
    /// Words that stand for data: in facts, in patterns, in what is left as it is.
    pub(super) data: FxHashSet<&'a str>,
    /// Words that patterns have: in `match`, in the left sides of rules, in what is left as it is.
    pub(super) matched: FxHashSet<&'a str>,
    /// Whether some pattern of a `match` is a variable, or begins with one.
    pub(super) matches_anything: bool,
    /// Whether some rule may reduce anything.
    pub(super) is_open: bool,
    /// Whether the text is minimal MeTTa, of which little can be said.
    pub(super) is_minimal: bool,
}

impl<'a> Survey<'a> {
    pub(super) fn new(program: &mut Program, module: ModuleId, tree: &'a SyntaxTree) -> Self {
        let words = program.tokenizer_of(module).cloned().unwrap_or_default();
        let space = program.space_of(module).cloned().unwrap_or_else(|| program.top_space());
        let (atoms, meanings) = read_all(tree, &words);
        let declarations = RefCell::new(Declarations::of(&space, program.variables()));
        let mut survey = Self {
            tree,
            words,
            meanings,
            atoms,
            space,
            declarations,
            rules: Vec::new(),
            stated: FxHashSet::default(),
            imports: FxHashMap::default(),
            asked: Vec::new(),
            known: FxHashMap::default(),
            data: FxHashSet::default(),
            matched: FxHashSet::default(),
            matches_anything: false,
            counts: FxHashMap::default(),
            is_open: false,
            is_minimal: program.is_minimal(),
        };
        survey.find_known(program);
        survey.find_imports();
        let mut raw: FxHashMap<String, Option<Vec<bool>>> = FxHashMap::default();
        for form in tree.forms() {
            survey.add_form(form, program, &mut raw);
        }
        survey
    }

    /// The names that have rules, in the program and all that it imports, and those of rules that are written anywhere in the text.
    fn find_known(&mut self, program: &mut Program) {
        let source = program.variables();
        let [left, right] = ["left", "right"].map(|name| source.fresh(&Symbol::new(name)));
        let rule = Atom::expression([names::equal(), Atom::from(left.clone()), Atom::from(right)]);
        for solution in self.space.query(&rule, source) {
            let side = solution.iter().find(|(bound, _)| *bound == left).map(|(_, value)| value);
            match side.map(|side| (side, side.head().and_then(Atom::as_symbol))) {
                Some((side, Some(name))) => {
                    let arguments = side.children().map_or(0, |children| children.len() - 1);
                    self.known.entry(name.to_owned()).or_default().insert(arguments);
                    *self.counts.entry((name.to_owned(), arguments)).or_default() += 1;
                }
                Some((Atom::Symbol(_) | Atom::Grounded(_), None)) => {}
                _ => self.is_open = true,
            }
        }
        for form in self.tree.forms() {
            for visit in self.tree.walk(form.node) {
                let Visit::Open(node) = visit else { continue };
                if let NodeKind::Expression(&[head, left, _]) = self.tree.kind(node)
                    && self.tree.kind(head) == NodeKind::Word(names::EQUAL)
                    && let Some((name, arguments)) = self.call(left)
                {
                    self.known.entry(name.to_owned()).or_default().insert(arguments.len());
                }
            }
        }
    }

    fn add_form(&mut self, form: &Form, program: &mut Program, raw: &mut FxHashMap<String, Option<Vec<bool>>>) {
        match self.tree.kind(form.node) {
            NodeKind::Expression(&[head, left, right])
                if !form.bang && self.tree.kind(head) == NodeKind::Word(names::EQUAL) =>
            {
                self.tree.children(left).skip(1).for_each(|argument| self.add_matched(argument));
                let role = if self.is_left_as_it_is(left, right, program) { Raw } else { Evaluated };
                let parts = self.parts((right, role), program, raw);
                self.stated.extend(self.call(left).map(|(name, arguments)| (name, arguments.len())));
                self.rules.push(RuleForm { form: *form, left, parts });
            }
            _ if form.bang => {
                let parts = self.parts((form.node, Evaluated), program, raw);
                self.asked.extend(parts);
            }
            _ => self.add_data(form.node),
        }
    }

    /// Whether what a rule comes to is not evaluated, since its type is `Atom`. A `function` is run all the same.
    fn is_left_as_it_is(&self, left: NodeId, right: NodeId, program: &mut Program) -> bool {
        let Some((name, arguments)) = self.call(left) else { return false };
        if self.call(right).is_some_and(|(head, _)| is_instruction_name(head)) {
            return false;
        }
        let types = self.types_of(&self.meaning(name), program);
        let parts: Vec<_> =
            types.iter().filter(|found| found.is_function()).map(|found| types::function_parts(&found.atom)).collect();
        let is_atom = |result: &Atom| result.is_symbol("Atom");
        let mut fitting = parts.iter().filter(|(formals, _)| formals.len() == arguments.len()).peekable();
        fitting.peek().is_some() && fitting.all(|(_, result)| is_atom(result))
    }

    /// The parts of something, each with its role, from the outside in.
    fn parts(
        &mut self,
        root: (NodeId, Role),
        program: &mut Program,
        raw: &mut FxHashMap<String, Option<Vec<bool>>>,
    ) -> Vec<(NodeId, Role)> {
        let mut parts = Vec::new();
        let mut pending = vec![root];
        while let Some((node, role)) = pending.pop() {
            parts.push((node, role));
            match role {
                Pattern | Raw => self.add_matched(node),
                Evaluated => self.arguments(node, program, raw, &mut pending),
                _ => {
                    let inner = |index: usize| match role {
                        Bindings | Branches => Pair,
                        Pair if index == 0 => Pattern,
                        _ => Evaluated,
                    };
                    let children = self.tree.children(node).enumerate();
                    pending.extend(children.map(|(index, child)| (child, inner(index))).rev());
                }
            }
        }
        parts
    }

    /// What becomes of the children of an expression that is evaluated.
    fn arguments(
        &mut self,
        node: NodeId,
        program: &mut Program,
        raw: &mut FxHashMap<String, Option<Vec<bool>>>,
        pending: &mut Vec<(NodeId, Role)>,
    ) {
        let Some((head, arguments)) = self.call(node) else {
            pending.extend(self.tree.children(node).map(|child| (child, Evaluated)).rev());
            return;
        };
        if head == "match" || head == "get-atoms" {
            self.matches_anything |= arguments.get(1).is_none_or(|pattern| self.is_open_pattern(*pattern));
        }
        let table = roles_of(head).or(head.starts_with("assert").then_some(&[]));
        if let Some(roles) = table {
            let role = |index: usize| roles.get(index).copied().unwrap_or(Raw);
            pending.extend(arguments.iter().enumerate().map(|(index, child)| (*child, role(index))).rev());
            return;
        }
        let raw = &*raw.entry(head.to_owned()).or_insert_with(|| self.raw_arguments(head, program));
        let role = |index: usize| match raw {
            Some(raw) if raw.get(index).copied().unwrap_or(false) => Raw,
            _ => Evaluated,
        };
        pending.extend(arguments.iter().enumerate().map(|(index, child)| (*child, role(index))).rev());
    }

    /// Which arguments a function takes as they are; `None` if it has no type.
    fn raw_arguments(&self, head: &str, program: &mut Program) -> Option<Vec<bool>> {
        let types = self.types_of(&self.meaning(head), program);
        let mut raw = Vec::new();
        for found in types.iter().filter(|found| found.is_function()) {
            let (formals, _) = types::function_parts(&found.atom);
            raw.resize(raw.len().max(formals.len()), false);
            for (position, formal) in formals.iter().enumerate() {
                raw[position] |= names::is_metatype(formal);
            }
        }
        (!raw.is_empty()).then_some(raw)
    }

    /// Notes what is matched with facts, or may be.
    fn add_matched(&mut self, node: NodeId) {
        self.add_data(node);
        for visit in self.tree.walk(node) {
            if let Visit::Leaf(leaf) = visit
                && let NodeKind::Word(word) = self.tree.kind(leaf)
            {
                self.matched.insert(word);
            }
        }
    }

    /// Whether a pattern may match anything: it is a variable, begins with one, or has such a part if it is a conjunction.
    fn is_open_pattern(&self, pattern: NodeId) -> bool {
        match self.tree.kind(pattern) {
            NodeKind::Variable(_) => true,
            NodeKind::Expression([head, parts @ ..]) => match self.tree.kind(*head) {
                NodeKind::Word(",") => parts.iter().any(|part| self.is_open_pattern(*part)),
                NodeKind::Word(_) => false,
                _ => true,
            },
            _ => false,
        }
    }

    /// Notes the modules that the text imports.
    fn find_imports(&mut self) {
        let tree = self.tree;
        for form in tree.forms() {
            for visit in tree.walk(form.node) {
                let Visit::Open(node) = visit else { continue };
                let Some(("import!", &[_, name])) = self.call(node) else { continue };
                let NodeKind::Word(module) = tree.kind(name) else { continue };
                let found = if form.bang && node == form.node { Import::Form } else { Import::Inside };
                let known = self.imports.entry(module).or_insert(found);
                if found == Import::Form {
                    *known = found;
                }
            }
        }
    }

    /// Whether the text imports a module: in a form of its own, or inside another one.
    pub(super) fn import_of(&self, module: &str) -> Option<Import> {
        self.imports.get(module).copied()
    }

    /// How many rules of the program and its imports there are for a name with this number of arguments.
    pub(super) fn rule_count(&self, name: &str, arguments: usize) -> usize {
        self.counts.get(&(name.to_owned(), arguments)).copied().unwrap_or(0)
    }

    fn add_data(&mut self, node: NodeId) {
        for visit in self.tree.walk(node) {
            if let Visit::Leaf(leaf) = visit
                && let NodeKind::Word(word) = self.tree.kind(leaf)
            {
                self.data.insert(word);
            }
        }
    }

    /// An expression whose head is a word, with its arguments.
    pub(super) fn call(&self, node: NodeId) -> Option<(&'a str, &'a [NodeId])> {
        match self.tree.kind(node) {
            NodeKind::Expression([head, arguments @ ..]) => match self.tree.kind(*head) {
                NodeKind::Word(word) => Some((word, arguments)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an expression whose head is a variable is inside: what its type is depends on the value.
    pub(super) fn has_open_calls(&self, node: NodeId) -> bool {
        self.tree.walk(node).any(|visit| match visit {
            Visit::Open(inner) => {
                let head = self.tree.children(inner).next();
                head.is_some_and(|head| matches!(self.tree.kind(head), NodeKind::Variable(_)))
            }
            _ => false,
        })
    }

    /// What a word means, if it is a native function.
    pub(super) fn is_native(&self, word: &str) -> bool {
        match self.meanings.get(word) {
            Some(known) => Operation::of(known).is_some(),
            None => Operation::of(&self.words.atom(word)).is_some(),
        }
    }

    /// What a word means.
    pub(super) fn meaning(&self, word: &str) -> Atom {
        self.meanings.get(word).cloned().unwrap_or_else(|| self.words.atom(word))
    }

    pub(super) fn atom(&self, node: NodeId) -> Atom {
        let known = self.atoms.get(node.index()).cloned().flatten();
        known.unwrap_or_else(|| read_atom(self.tree, node, &self.words))
    }

    /// The types of an atom in the space of the text.
    pub(super) fn types_of(&self, atom: &Atom, program: &mut Program) -> Vec<AtomType> {
        self.declarations.borrow_mut().types_of(&self.space, atom, program.variables())
    }

    /// The errors of an atom that has no valid type.
    pub(super) fn type_errors(&self, atom: &Atom, program: &mut Program) -> Option<Vec<Atom>> {
        self.declarations.borrow_mut().type_errors(&self.space, atom, program.variables())
    }

    /// All parts that are evaluated, of rules and of forms after `!`.
    pub(super) fn evaluated(&self) -> impl Iterator<Item = NodeId> {
        let parts = self.rules.iter().flat_map(|rule| &rule.parts).chain(&self.asked);
        parts.filter(|(_, role)| *role == Evaluated).map(|(node, _)| *node)
    }
}

/// The atoms of all nodes of the forms, and what their words mean: each is read once.
fn read_all<'a>(tree: &'a SyntaxTree, words: &Tokenizer) -> (Vec<Option<Atom>>, FxHashMap<&'a str, Atom>) {
    let count = tree.forms().last().map_or(0, |form| form.node.index() + 1);
    let (mut atoms, mut meanings) = (vec![None; count], FxHashMap::default());
    for visit in tree.forms().iter().flat_map(|form| tree.walk(form.node)) {
        let (node, atom) = match visit {
            Visit::Open(_) => continue,
            Visit::Close(node) => {
                let parts = tree.children(node).map(|child| atoms[child.index()].clone().unwrap_or_else(Atom::unit));
                (node, Atom::expression(parts.collect::<Vec<_>>()))
            }
            Visit::Leaf(leaf) => match tree.kind(leaf) {
                NodeKind::Word(word) => (leaf, meanings.entry(word).or_insert_with(|| words.atom(word)).clone()),
                _ => (leaf, read_atom(tree, leaf, words)),
            },
        };
        atoms[node.index()] = Some(atom);
    }
    (atoms, meanings)
}
