//! Atoms: symbols, variables, expressions and grounded values.
//!
//! An atom is an immutable tree whose inner nodes are shared by reference counting. Two flags are computed once,
//! when a node is built: *ground* (no variable below) and *rigid* (ground, and no state or space below, so the
//! atom means the same for ever and may be interned).
//!
//! Invariants
//! - Equality is the equality of matching: numbers by value (`1` equals `1.0`), states by content, everything else
//!   by structure. The *evaluated* bit of an expression takes no part in it.
//! - Equal atoms have equal hashes.
//! - No operation here recurses on the native stack, [`Drop`] included.

use crate::grounded::Grounded;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A name. Cheap to clone; equal names are equal symbols.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Arc<str>);

impl Symbol {
    /// The symbol with this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A variable: the name it was written with, and a number that tells apart variables of one name.
///
/// Number 0 is a variable as it stands in the source; others were made fresh (`$x#18`). The number orders
/// variables by age: a smaller one is visible further out.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    name: Symbol,
    id: u64,
}

impl Hash for Variable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
        if self.id == 0 {
            self.name.hash(state);
        }
    }
}

impl Variable {
    /// The variable written `$name` in a source.
    pub fn new(name: &str) -> Self {
        Self { name: Symbol::new(name), id: 0 }
    }

    /// A variable of this name with a number of its own.
    pub fn with_id(name: Symbol, id: u64) -> Self {
        Self { name, id }
    }

    /// Its name, without the `$`.
    pub fn name(&self) -> &Symbol {
        &self.name
    }

    /// Its number; 0 for a variable as written.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// Where fresh variables come from: numbers in ascending order, never used twice.
#[derive(Debug, Default)]
pub struct VariableSource {
    last: u64,
}

impl VariableSource {
    /// A variable of this name that occurs nowhere else.
    pub fn fresh(&mut self, name: &Symbol) -> Variable {
        self.last += 1;
        Variable { name: name.clone(), id: self.last }
    }

    /// The number of the youngest variable handed out so far.
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// An atom: the one kind of value in MeTTa.
#[derive(Clone)]
pub enum Atom {
    /// A name.
    Symbol(Symbol),
    /// A variable, `$x`.
    Variable(Variable),
    /// A sequence of atoms, `(a b c)`.
    Expression(Expression),
    /// A value with behaviour of its own: number, string, space, state, native function.
    Grounded(Grounded),
}

impl Atom {
    /// A symbol.
    pub fn symbol(name: &str) -> Self {
        Self::Symbol(Symbol::new(name))
    }

    /// A variable as written in a source, without the `$`.
    pub fn variable(name: &str) -> Self {
        Self::Variable(Variable::new(name))
    }

    /// An expression of these children.
    pub fn expression(children: impl Into<Vec<Atom>>) -> Self {
        Self::Expression(Expression::new(children.into()))
    }

    /// The empty expression, `()`: the unit value.
    pub fn unit() -> Self {
        Self::expression([])
    }

    /// The children, when this is an expression.
    pub fn children(&self) -> Option<&[Atom]> {
        match self {
            Self::Expression(expression) => Some(expression.children()),
            _ => None,
        }
    }

    /// The name, when this is a symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self {
            Self::Symbol(symbol) => Some(symbol.as_str()),
            _ => None,
        }
    }

    /// Whether this is the symbol of that name.
    pub fn is_symbol(&self, name: &str) -> bool {
        self.as_symbol() == Some(name)
    }

    /// Whether no variable occurs in it.
    pub fn is_ground(&self) -> bool {
        match self {
            Self::Variable(_) => false,
            Self::Expression(expression) => expression.node.ground,
            Self::Symbol(_) => true,
            Self::Grounded(value) => !matches!(value, Grounded::Bindings(_)),
        }
    }

    /// Whether it is ground and holds no state or space: the atoms a space interns.
    pub fn is_rigid(&self) -> bool {
        match self {
            Self::Variable(_) => false,
            Self::Expression(expression) => expression.node.rigid,
            Self::Symbol(_) => true,
            Self::Grounded(value) => value.is_rigid(),
        }
    }

    /// The head, when this is a non-empty expression.
    pub fn head(&self) -> Option<&Atom> {
        self.children().and_then(<[Atom]>::first)
    }
}

impl From<Expression> for Atom {
    fn from(expression: Expression) -> Self {
        Self::Expression(expression)
    }
}

impl From<Variable> for Atom {
    fn from(variable: Variable) -> Self {
        Self::Variable(variable)
    }
}

impl<T: Into<Grounded>> From<T> for Atom {
    fn from(value: T) -> Self {
        Self::Grounded(value.into())
    }
}

/// An expression: a window on a shared node, so that taking the tail costs nothing.
#[derive(Clone)]
pub struct Expression {
    node: Arc<Node>,
    start: u32,
    evaluated: bool,
}

struct Node {
    children: Vec<Atom>,
    ground: bool,
    rigid: bool,
}

impl Expression {
    /// The expression of these children.
    pub fn new(children: Vec<Atom>) -> Self {
        let ground = children.iter().all(Atom::is_ground);
        let rigid = ground && children.iter().all(Atom::is_rigid);
        Self { node: Arc::new(Node { children, ground, rigid }), start: 0, evaluated: false }
    }

    /// Its children, first the head.
    pub fn children(&self) -> &[Atom] {
        &self.node.children[self.start as usize..]
    }

    /// How many children it has.
    pub fn len(&self) -> usize {
        self.children().len()
    }

    /// Whether it is `()`.
    pub fn is_empty(&self) -> bool {
        self.children().is_empty()
    }

    /// All children but the first, in constant time; `None` for `()`.
    ///
    /// The flags of the tail are those of the whole, which errs on the side of work, not of answers.
    pub fn tail(&self) -> Option<Self> {
        let start = self.start.checked_add(1)?;
        (!self.is_empty()).then(|| Self { node: Arc::clone(&self.node), start, evaluated: false })
    }

    /// Whether the evaluator has marked it as needing no further evaluation.
    pub fn is_evaluated(&self) -> bool {
        self.evaluated
    }

    /// The same expression, marked as evaluated.
    pub fn into_evaluated(mut self) -> Self {
        self.evaluated = true;
        self
    }

    fn shares_storage(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.start == other.start
    }
}

impl Drop for Node {
    /// Frees nested expressions with a work list, so that depth costs heap and not native stack.
    fn drop(&mut self) {
        if !self.children.iter().any(owns_more) {
            return;
        }
        let mut work = std::mem::take(&mut self.children);
        while let Some(atom) = work.pop() {
            match atom {
                Atom::Expression(expression) => {
                    if let Some(mut node) = Arc::into_inner(expression.node) {
                        work.append(&mut node.children);
                    }
                }
                Atom::Grounded(Grounded::State(state)) => work.extend(state.into_value()),
                _ => {}
            }
        }
    }
}

fn owns_more(atom: &Atom) -> bool {
    matches!(atom, Atom::Expression(_) | Atom::Grounded(Grounded::State(_)))
}

/// What a pair of atoms says before their children are compared.
enum Shallow {
    Different,
    Same,
    Compare,
}

fn compare_shallow(left: &Atom, right: &Atom) -> Shallow {
    let same = match (left, right) {
        (Atom::Expression(left), Atom::Expression(right)) => {
            return match () {
                () if left.shares_storage(right) => Shallow::Same,
                () if left.len() != right.len() => Shallow::Different,
                () => Shallow::Compare,
            };
        }
        (Atom::Grounded(Grounded::State(left)), Atom::Grounded(Grounded::State(right))) => {
            return if left.is_same(right) { Shallow::Same } else { Shallow::Compare };
        }
        (Atom::Symbol(left), Atom::Symbol(right)) => left == right,
        (Atom::Variable(left), Atom::Variable(right)) => left == right,
        (Atom::Grounded(left), Atom::Grounded(right)) => left.equals_leaf(right),
        _ => false,
    };
    if same { Shallow::Same } else { Shallow::Different }
}

/// How many pairs of states one comparison looks into before it takes states to be different: states that hold
/// each other in a circle would otherwise be compared for ever.
const STATES_COMPARED_MAX: usize = 10_000;

impl PartialEq for Atom {
    fn eq(&self, other: &Self) -> bool {
        match compare_shallow(self, other) {
            Shallow::Same => true,
            Shallow::Different => false,
            Shallow::Compare => equal_deep(self.clone(), other.clone()),
        }
    }
}

impl Eq for Atom {}

fn equal_deep(left: Atom, right: Atom) -> bool {
    let mut pairs = vec![(left, right)];
    let mut states = 0;
    while let Some((left, right)) = pairs.pop() {
        match (&left, &right) {
            (Atom::Expression(left), Atom::Expression(right)) => {
                for (left, right) in left.children().iter().zip(right.children()) {
                    match compare_shallow(left, right) {
                        Shallow::Same => {}
                        Shallow::Different => return false,
                        Shallow::Compare => pairs.push((left.clone(), right.clone())),
                    }
                }
            }
            (Atom::Grounded(Grounded::State(left)), Atom::Grounded(Grounded::State(right))) => {
                states += 1;
                let (left, right) = (left.value(), right.value());
                match compare_shallow(&left, &right) {
                    Shallow::Same => {}
                    Shallow::Compare if states <= STATES_COMPARED_MAX => pairs.push((left, right)),
                    _ => return false,
                }
            }
            _ => unreachable!("only expressions and states are compared deeply"),
        }
    }
    true
}

impl Hash for Atom {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut work = vec![self];
        while let Some(atom) = work.pop() {
            match atom {
                Atom::Symbol(symbol) => symbol.hash(hasher),
                Atom::Variable(variable) => variable.hash(hasher),
                Atom::Grounded(value) => value.hash_leaf(hasher),
                Atom::Expression(expression) => {
                    expression.len().hash(hasher);
                    work.extend(expression.children());
                }
            }
        }
    }
}

/// Whether two atoms are equal up to a one-to-one renaming of variables.
pub fn alpha_equivalent(left: &Atom, right: &Atom) -> bool {
    let mut forth = HashMap::new();
    let mut back = HashMap::new();
    let mut pairs = vec![(left, right)];
    while let Some((left, right)) = pairs.pop() {
        match (left, right) {
            (Atom::Variable(left), Atom::Variable(right)) => {
                let agree = *forth.entry(left).or_insert(right) == right && *back.entry(right).or_insert(left) == left;
                if !agree {
                    return false;
                }
            }
            (Atom::Expression(left), Atom::Expression(right)) => {
                if left.len() != right.len() {
                    return false;
                }
                pairs.extend(left.children().iter().zip(right.children()));
            }
            _ if left == right => {}
            _ => return false,
        }
    }
    true
}
