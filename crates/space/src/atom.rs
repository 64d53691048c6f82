//! Atoms: symbols, variables, expressions and grounded values.
//!
//! An atom is an immutable tree whose inner nodes are shared by reference counting. Two properties are computed once,
//! when a node is built: *ground* (no variable below) and *rigid* (ground, and no state or space below, so the
//! atom means the same for ever and may be interned). A node keeps the child from which on they hold, so that they
//! are known of each tail as well.
//!
//! Invariants
//! - Equality is the equality of matching: numbers by value (`1` equals `1.0`), states by content, everything else
//!   by structure. The *evaluated* bit of an expression takes no part in it.
//! - Equal atoms have equal hashes.
//! - Comparing and hashing look into each shared part once ([`crate::sharing`]).
//! - No operation here recurses on the native stack, [`Drop`] included.

use crate::grounded::{Grounded, SharedState};
use crate::sharing::{EXPRESSIONS_BEFORE_MEMORY, Met, Outcomes};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// One way in which a pattern matched: values for its variables, fully resolved, in the order of the variables.
pub type Solution = Vec<(Variable, Atom)>;

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

    /// Leaves out the numbers up to this one, which another process has handed out.
    pub fn advance_to(&mut self, last: u64) {
        self.last = self.last.max(last);
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
            Self::Expression(expression) => expression.is_ground(),
            Self::Symbol(_) => true,
            Self::Grounded(value) => !matches!(value, Grounded::Bindings(_)),
        }
    }

    /// Whether it is ground and holds no state or space: the atoms a space interns.
    pub fn is_rigid(&self) -> bool {
        match self {
            Self::Variable(_) => false,
            Self::Expression(expression) => expression.start >= expression.node.rigid_from,
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
    /// From this child on all children are ground.
    ground_from: u32,
    /// From this child on all children are rigid.
    rigid_from: u32,
    /// The term it has in the dictionary that interned it last, see [`CachedTerm`]; or that it has none, see [`ABSENT`].
    term: AtomicU64,
}

/// Is set if a dictionary looked for an expression in vain. In the place of the term is the length it had: it holds the expression only if
/// it has grown since. So what is built in layers, each of which is looked for, is not walked again for each layer.
const ABSENT: u64 = 1 << 63;

/// A term and the dictionary that gave it, packed into a word: zero while there is none.
///
/// It spares the walk over an expression that was interned before. Only the dictionary that wrote it believes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CachedTerm {
    pub(crate) dictionary: u32,
    pub(crate) term: u32,
}

impl Expression {
    /// The expression of these children.
    pub fn new(children: Vec<Atom>) -> Self {
        let ground_from = after_last(&children, |child| !child.is_ground());
        let rigid_from = after_last(&children, |child| !child.is_rigid());
        let node = Node { children, ground_from, rigid_from, term: AtomicU64::new(0) };
        Self { node: Arc::new(node), start: 0, evaluated: false }
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

    /// Whether no variable occurs in it.
    pub fn is_ground(&self) -> bool {
        self.start >= self.node.ground_from
    }

    /// All children but the first, in constant time; `None` for `()`.
    pub fn tail(&self) -> Option<Self> {
        let start = self.start.checked_add(1)?;
        (!self.is_empty()).then(|| Self { node: Arc::clone(&self.node), start, evaluated: false })
    }

    /// Whether the evaluator has marked it as needing no further evaluation.
    pub fn is_evaluated(&self) -> bool {
        self.evaluated
    }

    /// This expression, marked as evaluated.
    pub fn into_evaluated(mut self) -> Self {
        self.evaluated = true;
        self
    }

    /// The term that a dictionary (never numbered 0) left here when it interned this very expression.
    pub(crate) fn known(&self) -> Option<CachedTerm> {
        let word = self.node.term.load(Relaxed);
        let is_term = self.start == 0 && word != 0 && word & ABSENT == 0;
        is_term.then_some(CachedTerm { dictionary: (word >> 32) as u32, term: word as u32 })
    }

    /// Whether a dictionary of this length has left here that nothing in it matches this very expression.
    pub(crate) fn is_absent(&self, dictionary: u32, length: usize) -> bool {
        let word = self.node.term.load(Relaxed);
        let is_of_dictionary = word & ABSENT != 0 && ((word & !ABSENT) >> 32) as u32 == dictionary;
        self.start == 0 && is_of_dictionary && length <= word as u32 as usize
    }

    /// Leaves that nothing in a dictionary of this length matches this expression, if no term is known.
    pub(crate) fn set_absent(&self, dictionary: u32, length: usize) {
        let word = self.node.term.load(Relaxed);
        let length = u32::try_from(length).expect("a dictionary holds fewer than 2^32 terms");
        if self.start == 0 && (word == 0 || word & ABSENT != 0) {
            self.node.term.store(ABSENT | u64::from(dictionary) << 32 | u64::from(length), Relaxed);
        }
    }

    /// Leaves the term that a dictionary has given to this expression.
    pub(crate) fn set_known(&self, known: CachedTerm) {
        if self.start == 0 {
            self.node.term.store(u64::from(known.dictionary) << 32 | u64::from(known.term), Relaxed);
        }
    }

    /// Where its children lie: what tells it from any other that is alive and has children.
    pub fn place(&self) -> usize {
        self.children().as_ptr() as usize
    }

    /// Whether both are one and the same in memory: a look that tells equal for certain, and different not at all.
    pub fn shares_storage(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.start == other.start
    }
}

/// The position after the last child of which `is` holds; 0 if there is none.
fn after_last(children: &[Atom], is: impl Fn(&Atom) -> bool) -> u32 {
    let position = children.iter().rposition(is).map_or(0, |last| last + 1);
    u32::try_from(position).expect("an expression has fewer than 2^32 children")
}

impl Drop for Node {
    fn drop(&mut self) {
        free(std::mem::take(&mut self.children));
    }
}

/// Frees an atom as [`free`] does.
pub(crate) fn free_one(atom: Atom) {
    if owns_more(&atom) {
        free(vec![atom]);
    }
}

/// Frees atoms and all that only they hold with a work list, so that depth costs heap and not native stack.
pub(crate) fn free(mut work: Vec<Atom>) {
    if !work.iter().any(owns_more) {
        return;
    }
    while let Some(atom) = work.pop() {
        match atom {
            Atom::Expression(expression) => {
                if let Some(mut node) = Arc::into_inner(expression.node) {
                    work.append(&mut node.children);
                }
            }
            Atom::Grounded(Grounded::State(state)) => work.extend(state.into_value()),
            Atom::Grounded(Grounded::Space(space)) => space.free_into(&mut work),
            Atom::Grounded(Grounded::Bindings(solution)) => {
                work.extend(Arc::into_inner(solution).into_iter().flatten().map(|(_, value)| value));
            }
            _ => {}
        }
    }
}

fn owns_more(atom: &Atom) -> bool {
    use Grounded::{Bindings, Space, State};
    matches!(atom, Atom::Expression(_) | Atom::Grounded(State(_) | Space(_) | Bindings(_)))
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
        (Atom::Grounded(Grounded::Bindings(left)), Atom::Grounded(Grounded::Bindings(right))) => {
            let names_agree =
                left.len() == right.len() && left.iter().zip(&**right).all(|(left, right)| left.0 == right.0);
            return if names_agree { Shallow::Compare } else { Shallow::Different };
        }
        (Atom::Symbol(left), Atom::Symbol(right)) => left == right,
        (Atom::Variable(left), Atom::Variable(right)) => left == right,
        (Atom::Grounded(left), Atom::Grounded(right)) => left.equals_leaf(right),
        _ => false,
    };
    if same { Shallow::Same } else { Shallow::Different }
}

/// States and expressions that one comparison takes to be equal, since it has begun to compare them: so states that hold
/// each other in a circle are looked into once, and so are shared expressions. A forest in which each points to another of its class.
#[derive(Default)]
struct Classes {
    towards: FxHashMap<usize, usize>,
    /// What is named by where it lies stays alive.
    held: Vec<(Atom, Atom)>,
    expressions: usize,
}

impl Classes {
    /// Puts two states into one class; `false` when they were in one already.
    fn join_states(&mut self, left: &SharedState, right: &SharedState) -> bool {
        let atom = |state: &SharedState| Atom::Grounded(Grounded::State(state.clone()));
        self.join((left.address(), right.address()), || (atom(left), atom(right)))
    }

    /// Puts two expressions into one class; `false` when they were in one already. The first ones are in none.
    fn join_expressions(&mut self, left: &Expression, right: &Expression) -> bool {
        self.expressions += 1;
        self.expressions <= EXPRESSIONS_BEFORE_MEMORY
            || self.join((left.place(), right.place()), || (left.clone().into(), right.clone().into()))
    }

    fn join(&mut self, (left, right): (usize, usize), both: impl FnOnce() -> (Atom, Atom)) -> bool {
        let (from, to) = (self.root(left), self.root(right));
        if from == to {
            return false;
        }
        self.towards.insert(from, to);
        self.held.push(both());
        true
    }

    fn root(&mut self, place: usize) -> usize {
        let mut root = place;
        while let Some(&next) = self.towards.get(&root) {
            root = next;
        }
        if root != place {
            self.towards.insert(place, root);
        }
        root
    }
}

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
    let mut classes = Classes::default();
    while let Some((left, right)) = pairs.pop() {
        let agree = match (&left, &right) {
            (Atom::Expression(left), Atom::Expression(right)) => {
                !classes.join_expressions(left, right)
                    || compare_all(left.children().iter().zip(right.children()), &mut pairs)
            }
            (Atom::Grounded(Grounded::Bindings(left)), Atom::Grounded(Grounded::Bindings(right))) => {
                compare_all(left.iter().zip(&**right).map(|(left, right)| (&left.1, &right.1)), &mut pairs)
            }
            (Atom::Grounded(Grounded::State(left)), Atom::Grounded(Grounded::State(right))) => {
                !classes.join_states(left, right) || compare_all([(&left.value(), &right.value())], &mut pairs)
            }
            _ => unreachable!("only expressions, states and bindings are compared deeply"),
        };
        if !agree {
            return false;
        }
    }
    true
}

/// Compares pairs as far as a look tells, and puts off those that need more; `false` when a pair differs.
fn compare_all<'a>(found: impl IntoIterator<Item = (&'a Atom, &'a Atom)>, pairs: &mut Vec<(Atom, Atom)>) -> bool {
    found.into_iter().all(|(left, right)| match compare_shallow(left, right) {
        Shallow::Same => true,
        Shallow::Different => false,
        Shallow::Compare => {
            pairs.push((left.clone(), right.clone()));
            true
        }
    })
}

impl Hash for Atom {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut work = Vec::new();
        let mut next = Some(self);
        let (mut expressions, mut digests) = (0, Outcomes::default());
        while let Some(atom) = next {
            match atom {
                Atom::Expression(expression) if !expression.is_empty() => {
                    expressions += 1;
                    if expressions > EXPRESSIONS_BEFORE_MEMORY {
                        digest(expression, &mut digests).hash(hasher);
                    } else {
                        expression.len().hash(hasher);
                        work.extend(expression.children());
                    }
                }
                leaf => hash_leaf(leaf, hasher),
            }
            next = work.pop();
        }
    }
}

fn hash_leaf(leaf: &Atom, hasher: &mut impl Hasher) {
    match leaf {
        Atom::Symbol(symbol) => symbol.hash(hasher),
        Atom::Variable(variable) => variable.hash(hasher),
        Atom::Grounded(value) => value.hash_leaf(hasher),
        Atom::Expression(expression) => expression.len().hash(hasher),
    }
}

/// A number that is the same for equal expressions, made of those of its parts, so that a shared part is looked into once.
fn digest(whole: &Expression, known: &mut Outcomes<Expression, u64>) -> u64 {
    let begun = |expression: &Expression| {
        let mut hasher = FxHasher::default();
        expression.len().hash(&mut hasher);
        hasher
    };
    if let Some(digest) = known.of(whole.place()) {
        return digest;
    }
    let mut open = vec![(whole, 0, begun(whole))];
    loop {
        let (expression, next, hasher) = open.last_mut().expect("an expression is open");
        match expression.children().get(*next) {
            Some(Atom::Expression(inside)) if !inside.is_empty() => {
                *next += 1;
                match known.of(inside.place()) {
                    Some(digest) => hasher.write_u64(digest),
                    None => open.push((inside, 0, begun(inside))),
                }
            }
            Some(leaf) => {
                *next += 1;
                hash_leaf(leaf, hasher);
            }
            None => {
                let digest = hasher.finish();
                known.keep(expression.place(), expression, &digest);
                open.pop();
                match open.last_mut() {
                    Some((_, _, around)) => around.write_u64(digest),
                    None => return digest,
                }
            }
        }
    }
}

/// Whether two atoms are equal up to a one-to-one renaming of variables.
pub fn alpha_equivalent(left: &Atom, right: &Atom) -> bool {
    let mut forth: HashMap<&Variable, &Variable> = HashMap::new();
    let mut back: HashMap<&Variable, &Variable> = HashMap::new();
    let mut agree =
        |left, right| *forth.entry(left).or_insert(right) == right && *back.entry(right).or_insert(left) == left;
    let mut pairs = vec![(left, right)];
    let mut met = Met::default();
    while let Some((left, right)) = pairs.pop() {
        match (left, right) {
            (Atom::Variable(left), Atom::Variable(right)) if agree(left, right) => {}
            (Atom::Variable(_), Atom::Variable(_)) => return false,
            (Atom::Grounded(Grounded::Bindings(left)), Atom::Grounded(Grounded::Bindings(right))) => {
                let both = left.iter().zip(&**right);
                if left.len() != right.len() || !both.clone().all(|(left, right)| agree(&left.0, &right.0)) {
                    return false;
                }
                pairs.extend(both.map(|(left, right)| (&left.1, &right.1)));
            }
            (Atom::Expression(left), Atom::Expression(right)) => {
                if left.len() != right.len() {
                    return false;
                }
                // What a pair says of variables, it says each time.
                if met.is_new((left.place(), right.place())) {
                    pairs.extend(left.children().iter().zip(right.children()));
                }
            }
            _ if left == right => {}
            _ => return false,
        }
    }
    true
}
