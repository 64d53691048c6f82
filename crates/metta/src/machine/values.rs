//! What references mean: atoms as the machine holds them.
//!
//! Integers of 29 bits and symbols are compared as words. A float equals the integer of its value, as everywhere.

use super::code::TypeId;
use super::control::collected::CollectedResult;
use super::float_terms::FloatTerms;
use super::interned::Interned;
use super::memory::kept::{self, Kept, Size};
use super::normal_terms::NormalTerms;
use super::notes::Notes;
use super::open_data::OpenData;
use super::same_terms::SameTerms;
use super::words::{
    CHANGED_DATA, EMPTY, ERROR, EVALUATED_OPEN, EVALUATED_TERM, FALSE, FOREIGN, FUNCTION, INTEGER, NAMED, SYMBOL, TERM,
    TRUE, WELL_KNOWN, bytes_of, evaluated_term, is_always_normal, is_evaluated_term, is_plain_word, is_small,
    shape_key, small, term_of, truth, word,
};
use super::{Halt, Reason};
use crate::instructions::is_instruction_name;
use crate::limits::{FormSteps, Interrupt, LimitReached, Limits};
use crate::operation::Operation;
use region::{Full, Heap, Ref, Region, Reserved, Words, memory, tag};
use rustc_hash::{FxHashMap, FxHasher};
use space::{
    Atom, Grounded, Met, Number, Outcomes, SharedState, SharedTerms, Solution, Symbol, Term, Variable, VariableSource,
};
use std::hash::{Hash, Hasher};

/// A child of data, looked at.
pub(super) struct Looked {
    pub(super) value: Ref,
    pub(super) is_normal: bool,
}

/// The tables behind references, and the way between atoms and references.
pub(super) struct Values {
    pub(super) heap: Heap,
    pub(super) region: Region,
    symbols: Vec<Symbol>,
    symbol_index: FxHashMap<Symbol, u32>,
    /// Grounded constants of code, for ever.
    constants: Vec<Atom>,
    /// Their places, by hash.
    constant_index: FxHashMap<u64, Vec<u32>>,
    /// Grounded values made on the way.
    pub(super) foreign: Vec<Atom>,
    /// Variables that are known by name and number.
    pub(super) named: Vec<Variable>,
    /// About how many bytes values and variables made on the way took since garbage was collected.
    pub(super) beside: usize,
    /// Variables of forms.
    forms: Vec<Variable>,
    form_index: FxHashMap<Variable, u32>,
    pub(super) terms: SharedTerms,
    /// What the terms of the dictionary are as references, as far as they were asked for.
    pub(super) term_refs: Vec<Option<Ref>>,
    /// The floats of terms, which are numbers of the region.
    pub(super) floats: FloatTerms,
    /// The terms of symbols, as far as they were asked for.
    pub(super) symbol_terms: Vec<Term>,
    pub(super) interned: Interned,
    pub(super) kept: Kept,
    /// Which terms are in normal form as rules stand.
    pub(super) normal: NormalTerms,
    /// Whether the atoms of terms are marked as evaluated all through, as references are.
    pub(super) marks_terms: bool,
    /// Expressions in which no variable is bound.
    pub(super) open_data: OpenData,
    pub(super) found_same: SameTerms,
    /// What may be taken while references are made atoms.
    pub(super) ceiling: Ceiling,
}

/// How many references are made atoms before limits are looked at: a small expression that refers to its parts many times can
/// be a large atom.
const LEAVES_BETWEEN_LOOKS: u32 = 1 << 10;

/// How many steps a loop over data makes between two looks at the limits.
pub(super) const LOOKS_BETWEEN_LIMITS: usize = 1 << 10;

/// What ends the evaluation in the middle of a step.
#[derive(Clone, Default)]
pub(super) struct Ceiling {
    /// The count of the thread that is too much.
    count: Option<isize>,
    interrupt: Interrupt,
}

impl Ceiling {
    pub(super) fn of(limits: &Limits, form: &FormSteps) -> Self {
        let count = limits.held_bytes_max().map(|most| form.count_at(most));
        Self { count, interrupt: limits.interrupt.clone() }
    }

    /// For the results of the whole: what an evaluation has come to is kept whatever has ended it, as far as there is memory.
    pub(super) fn of_results(limits: &Limits, form: &FormSteps) -> Self {
        let count = limits.results_bytes_max().map(|most| form.count_at(most));
        Self { count, interrupt: Interrupt::default() }
    }

    pub(super) fn is_passed(&self) -> bool {
        self.interrupt.reason().is_some() || self.count.is_some_and(|count| memory::of_thread() > count)
    }

    /// Why the evaluation ends where it was passed. What was made by then may be gone.
    #[cold]
    pub(super) fn passed(&self) -> Halt {
        // The runner knows how much the limit is.
        Reason::Limit(self.interrupt.reason().unwrap_or(LimitReached::Heap(0))).into()
    }

    /// Looks whether it was passed.
    pub(super) fn look(&self) -> Result<(), Halt> {
        if self.is_passed() { Err(self.passed()) } else { Ok(()) }
    }
}

/// Where references are made atoms from.
pub(super) trait Leaves {
    /// Where the words of the heap lie.
    type Words: Words;
    /// Why no atom is made.
    type Error;

    fn heap(&self) -> &Heap<Self::Words>;

    /// What is no expression with children.
    fn leaf(&mut self, leaf: Ref) -> Atom;

    /// The atom of an expression, if it was made before.
    fn known(&self, _expression: Ref) -> Option<Atom> {
        None
    }

    /// The atom of an expression was made, which has this size.
    fn made(&mut self, _expression: Ref, _atom: &space::Expression, _size: Size) {}

    /// Looks at the limits.
    fn look(&self) -> Result<(), Self::Error>;
}

/// The heap of the machine, while references are made atoms.
pub(super) struct Storing<'a> {
    values: &'a mut Values,
    scope: &'a mut Scope,
    source: &'a mut VariableSource,
}

impl Leaves for Storing<'_> {
    type Words = Reserved;
    type Error = Halt;

    #[inline]
    fn heap(&self) -> &Heap {
        &self.values.heap
    }

    fn leaf(&mut self, leaf: Ref) -> Atom {
        match leaf.tag() {
            tag::VARIABLE => {
                let variable = self.values.name_variable(leaf, self.source);
                self.scope.insert(variable.clone(), leaf);
                Atom::Variable(variable)
            }
            tag::EXPRESSION | tag::MARKED => Atom::unit(),
            _ => self.values.leaf_atom(leaf),
        }
    }

    fn known(&self, expression: Ref) -> Option<Atom> {
        self.values.kept.atom(expression)
    }

    fn made(&mut self, expression: Ref, atom: &space::Expression, size: Size) {
        if kept::is_plainly_ground(&self.values.heap, expression) {
            self.values.kept.keep(expression, atom, size);
        }
    }

    fn look(&self) -> Result<(), Halt> {
        self.values.ceiling.look()
    }
}

/// An expression whose children are being made atoms.
struct OpenAtom {
    expression: Ref,
    done: Vec<Atom>,
    /// Whether a bound variable occurs in it.
    is_bound: bool,
    size: Size,
}

impl OpenAtom {
    /// The expression, all of whose children are done.
    fn closed<L: Leaves>(self, leaves: &mut L) -> Atom {
        let Self { expression, done, is_bound, size } = self;
        let atom = space::Expression::new(done);
        let is_open = !is_bound && leaves.heap().note(expression) == EVALUATED_OPEN;
        let atom = if expression.tag() == tag::MARKED || is_open { atom.into_evaluated() } else { atom };
        leaves.made(expression, &atom, size);
        Atom::Expression(atom)
    }
}

/// What a reference is as an atom, bound variables replaced. Without recursion, however deep it is nested.
pub(super) fn atom_of<L: Leaves>(reference: Ref, leaves: &mut L) -> Result<Atom, L::Error> {
    let mut open: Vec<OpenAtom> = Vec::new();
    let mut met: Outcomes<(), (Atom, bool)> = Outcomes::default();
    let mut current = reference;
    let mut visited = 0_u32;
    loop {
        visited += 1;
        if visited.is_multiple_of(LEAVES_BETWEEN_LOOKS) {
            leaves.look()?;
        }
        let walked = leaves.heap().walk(current);
        if let Some(around) = open.last_mut().filter(|_| walked != current) {
            around.is_bound = true;
        }
        let length = if walked.is_expression() { leaves.heap().length(walked) } else { 0 };
        let again = if length > 0 { met.of(walked.bits() as usize) } else { None };
        let known = match again {
            Some((atom, is_bound)) => {
                if let Some(around) = open.last_mut().filter(|_| is_bound) {
                    around.is_bound = true;
                }
                Some(atom)
            }
            None if length > 0 => leaves.known(walked),
            None => None,
        };
        let mut made = if known.is_some() {
            if let Some(around) = open.last_mut() {
                around.size.add(Size::KNOWN);
            }
            known
        } else if length > 0 {
            let (done, size) = (Vec::with_capacity(length), Size::of_one(length));
            open.push(OpenAtom { expression: walked, done, is_bound: false, size });
            None
        } else {
            Some(leaves.leaf(walked))
        };
        loop {
            let Some(top) = open.last_mut() else { return Ok(made.expect("a leaf was stored")) };
            top.done.extend(made.take());
            if top.done.len() < leaves.heap().length(top.expression) {
                current = leaves.heap().child(top.expression, top.done.len());
                break;
            }
            let whole = open.pop().expect("an expression is open");
            if let Some(around) = open.last_mut() {
                around.is_bound |= whole.is_bound;
                around.size.add(whole.size);
            }
            let (place, is_bound) = (whole.expression.bits() as usize, whole.is_bound);
            let atom = whole.closed(leaves);
            met.keep(place, &(), &(atom.clone(), is_bound));
            made = Some(atom);
            if open.is_empty() {
                return Ok(made.expect("an expression was stored"));
            }
        }
    }
}

/// The number that a reference is, if it lies in a heap or in the reference itself.
pub(super) fn number_in(heap: &Heap<impl Words>, reference: Ref) -> Option<Number> {
    match reference.tag() {
        INTEGER => Some(Number::Int(word(reference))),
        tag::NUMBER => {
            let bits = heap.number_bits(reference);
            let is_float = reference.payload() & 1 == 1;
            Some(if is_float { Number::Float(f64::from_bits(bits)) } else { Number::Int(bits as i64) })
        }
        _ => None,
    }
}

/// Which variables of an atom are which variables of the heap.
pub(super) type Scope = FxHashMap<Variable, Ref>;

impl Values {
    pub(super) fn new(terms: SharedTerms) -> Result<Self, Full> {
        let mut heap = Heap::try_new()?;
        let region = heap.open();
        let mut values = Self {
            heap,
            region,
            symbols: Vec::new(),
            symbol_index: FxHashMap::default(),
            constants: vec![Atom::from(true), Atom::from(false)],
            constant_index: FxHashMap::default(),
            foreign: Vec::new(),
            named: Vec::new(),
            beside: 0,
            forms: Vec::new(),
            form_index: FxHashMap::default(),
            terms,
            term_refs: Vec::new(),
            floats: FloatTerms::default(),
            symbol_terms: Vec::new(),
            interned: Interned::default(),
            kept: Kept::default(),
            normal: NormalTerms::default(),
            marks_terms: false,
            open_data: OpenData::default(),
            found_same: SameTerms::new(),
            ceiling: Ceiling::default(),
        };
        for name in WELL_KNOWN {
            values.symbol(&Symbol::new(name));
        }
        Ok(values)
    }

    /// The reference of a symbol.
    pub(super) fn symbol(&mut self, symbol: &Symbol) -> Ref {
        if let Some(&index) = self.symbol_index.get(symbol) {
            return Ref::new(SYMBOL, index);
        }
        let index = u32::try_from(self.symbols.len()).expect("fewer than 2^29 symbols");
        self.symbols.push(symbol.clone());
        self.symbol_index.insert(symbol.clone(), index);
        Ref::new(SYMBOL, index)
    }

    /// The symbol of a reference.
    pub(super) fn symbol_of(&self, reference: Ref) -> &Symbol {
        &self.symbols[reference.payload() as usize]
    }

    /// The grounded value of a reference.
    pub(super) fn foreign_of(&self, reference: Ref) -> &Atom {
        let index = (reference.payload() >> 1) as usize;
        if reference.payload() & 1 == 0 { &self.constants[index] } else { &self.foreign[index] }
    }

    /// A grounded value as a constant of code.
    fn constant(&mut self, value: &Grounded) -> Ref {
        if let Grounded::Bool(value) = value {
            return truth(*value);
        }
        let hash = hash_of_constant(value);
        let with_hash = hash.and_then(|hash| self.constant_index.get(&hash));
        let is_it = |&&index: &&u32| is_same_constant(&self.constants[index as usize], value);
        if let Some(&index) = with_hash.and_then(|places| places.iter().find(is_it)) {
            return Ref::new(FOREIGN, index << 1);
        }
        let index = u32::try_from(self.constants.len()).expect("fewer than 2^28 constants");
        self.constants.push(Atom::Grounded(value.clone()));
        if let Some(hash) = hash {
            self.constant_index.entry(hash).or_default().push(index);
        }
        Ref::new(FOREIGN, index << 1)
    }

    /// A grounded value made on the way.
    pub(super) fn foreign(&mut self, value: Atom) -> Ref {
        if let Atom::Grounded(Grounded::Bool(value)) = value {
            return truth(value);
        }
        let index = u32::try_from(self.foreign.len()).expect("fewer than 2^28 values");
        self.beside += bytes_of(&value);
        self.foreign.push(value);
        Ref::new(FOREIGN, index << 1 | 1)
    }

    /// An integer.
    #[inline]
    pub(super) fn integer(&mut self, word: i64) -> Result<Ref, Full> {
        match small(word) {
            Some(reference) => Ok(reference),
            None => self.heap.number(&mut self.region, 0, word as u64),
        }
    }

    /// A float.
    #[inline]
    pub(super) fn float(&mut self, float: f64) -> Result<Ref, Full> {
        self.heap.number(&mut self.region, 1, float.to_bits())
    }

    /// A number.
    pub(super) fn number(&mut self, number: &Number) -> Result<Ref, Full> {
        match number {
            Number::Int(word) => self.integer(*word),
            Number::Float(float) => self.float(*float),
            Number::Big(_) => Ok(self.foreign(Atom::from(number.clone()))),
        }
    }

    /// The number of a reference, if it is one.
    pub(super) fn number_of(&self, reference: Ref) -> Option<Number> {
        match reference.tag() {
            FOREIGN => match self.foreign_of(reference) {
                Atom::Grounded(Grounded::Number(number)) => Some(number.clone()),
                _ => None,
            },
            _ => number_in(&self.heap, reference),
        }
    }

    /// The state that a value is.
    pub(super) fn state_of(&self, value: Ref) -> Option<&SharedState> {
        match (value.tag() == FOREIGN).then(|| self.foreign_of(value))? {
            Atom::Grounded(Grounded::State(state)) => Some(state),
            _ => None,
        }
    }

    /// Whether a child of data is its own result, as far as is plain to see: not what holds a variable, nor an error.
    #[inline]
    pub(super) fn is_normal(&self, child: Ref, notes: Notes) -> bool {
        is_always_normal(child)
            || match child.tag() {
                SYMBOL => child != EMPTY && child != ERROR,
                tag::EXPRESSION => notes.hold(self.heap.note(child)) || self.heap.length(child) == 0,
                TERM => self.is_normal_term(child),
                _ => false,
            }
    }

    /// Notes an expression as in normal form if all its children are; gives it marked as evaluated then.
    #[inline]
    pub(super) fn note_normal(&mut self, expression: Ref, notes: Notes) -> Ref {
        let children = self.heap.children(expression);
        if children.iter().all(|&child| self.is_normal(child, notes)) {
            self.heap.set_note(expression, notes.normal());
            return expression.marked();
        }
        expression
    }

    /// Whether a bound variable occurs in one of these expressions.
    pub(super) fn any_mentions_bound(&self, work: &mut Vec<Ref>, notes: Notes) -> bool {
        let (mut met, open_data) = (Met::default(), &self.open_data);
        let whole = work.first().copied().filter(|_| work.len() == 1);
        if whole.is_some_and(|whole| open_data.of(whole).is_some()) {
            return false;
        }
        let mut has_variables = false;
        while let Some(expression) = work.pop() {
            for &child in self.heap.children(expression) {
                match child.tag() {
                    tag::VARIABLE if self.heap.binding(child).is_some() => return true,
                    tag::VARIABLE => has_variables = true,
                    tag::EXPRESSION if !notes.hold(self.heap.note(child)) => match open_data.of(child) {
                        Some(known) => has_variables |= known,
                        None if met.is_new(child) => work.push(child),
                        None => {}
                    },
                    _ => {}
                }
            }
        }
        whole.into_iter().for_each(|whole| open_data.note(whole, has_variables));
        false
    }

    /// Whether an expression is data that is not what the program says.
    pub(super) fn is_changed_data(&self, value: Ref) -> bool {
        let value = self.heap.walk(value);
        value.tag() == tag::EXPRESSION && self.heap.note(value) == CHANGED_DATA
    }

    /// Whether a part of an expression is such data.
    pub(super) fn is_changed(&self, expression: Ref) -> bool {
        self.heap.children(expression).iter().any(|&child| self.is_changed_data(child))
    }

    /// Notes data that is not known to be in normal form: whether it is what the program says, `is_same` if it is written so that its own
    /// parts make it that.
    pub(super) fn note_open(&mut self, made: Ref, is_same: bool, is_changed: bool, notes: Notes) {
        let note = if is_changed || self.is_changed(made) {
            CHANGED_DATA
        } else if is_same && self.heap.children(made).iter().all(|&child| is_open_part(self, child, notes)) {
            EVALUATED_OPEN
        } else {
            0
        };
        self.heap.set_note(made, note);
    }

    /// What a value evaluates to as what nothing has typed, if its own word or its note says so.
    #[inline(always)]
    pub(super) fn plainly_normal(&self, value: Ref, notes: Notes) -> Option<Ref> {
        match value.tag() {
            _ if is_always_normal(value) => Some(value),
            SYMBOL if value != EMPTY => Some(value),
            tag::EXPRESSION if notes.hold(self.heap.note(value)) => Some(value.marked()),
            TERM if self.is_normal_term(value) => Some(evaluated_term(value)),
            _ => None,
        }
    }

    /// What a term evaluates to, if that is known: marked it is its own result whatever its type, else as what nothing has typed.
    #[inline(never)]
    pub(super) fn normal_as(&self, term: Ref, type_id: TypeId) -> Option<Ref> {
        match is_evaluated_term(term) {
            true => Some(term),
            false => (type_id == 0 && self.is_normal_term(term)).then(|| evaluated_term(term)),
        }
    }

    /// Whether a term is marked as evaluated, or known to be in normal form.
    pub(super) fn is_normal_term(&self, term: Ref) -> bool {
        is_evaluated_term(term) || self.normal.knows(term_of(term)) == Some(true)
    }

    /// What becomes a child of data, and whether it is in normal form; `None` if it is no value and needs to be evaluated.
    #[inline]
    pub(super) fn look(&self, child: Ref, notes: Notes, is_value: bool) -> Option<Looked> {
        let is_normal = self.is_normal(child, notes);
        if is_value || child.tag() == SYMBOL && child != EMPTY {
            return Some(Looked { value: child, is_normal });
        }
        match child.tag() {
            tag::EXPRESSION if is_normal => Some(Looked { value: child.marked(), is_normal }),
            TERM if is_normal => Some(Looked { value: evaluated_term(child), is_normal }),
            tag::VARIABLE if self.heap.binding(child).is_none() => Some(Looked { value: child, is_normal }),
            tag::VARIABLE => self.look_through(child, notes),
            tag::EXPRESSION if self.heap.note(child) == EVALUATED_OPEN && !holds_bound(self, child, notes) => {
                Some(Looked { value: child, is_normal: false })
            }
            _ => None,
        }
    }

    /// What a bound variable becomes as a child of data, and whether that is in normal form; `None` if its value needs to be evaluated.
    fn look_through(&self, variable: Ref, notes: Notes) -> Option<Looked> {
        let value = self.heap.walk(variable);
        if is_always_normal(value) { Some(Looked { value, is_normal: true }) } else { self.look(value, notes, false) }
    }

    /// Whether a variable bears the name it has in the form.
    pub(super) fn is_written(&self, variable: Ref) -> bool {
        let label = self.heap.label(variable);
        label >= NAMED && self.named[(label - NAMED) as usize].id() == 0
    }

    /// A new variable of this name.
    #[inline]
    pub(super) fn variable(&mut self, name: Ref) -> Result<Ref, Full> {
        self.heap.variable(&mut self.region, name.payload())
    }

    /// A new variable of the name of another.
    pub(super) fn variable_like(&mut self, other: Ref) -> Result<Ref, Full> {
        let label = self.heap.label(other);
        let name = match label >= NAMED {
            true => {
                let name = self.named[(label - NAMED) as usize].name().clone();
                self.symbol(&name).payload()
            }
            false => label,
        };
        self.heap.variable(&mut self.region, name)
    }

    /// The variable as atoms name it; it gets a number now if it has none.
    fn name_variable(&mut self, reference: Ref, source: &mut VariableSource) -> Variable {
        let label = self.heap.label(reference);
        if label >= NAMED {
            return self.named[(label - NAMED) as usize].clone();
        }
        let variable = source.fresh(&self.symbols[label as usize]);
        self.set_name(reference, variable.clone());
        variable
    }

    /// Names the unbound variables of a value that have no names yet, the oldest first: of two that become one outside of the
    /// machine, the one that was named first stays, as the older one does here.
    pub(super) fn name_by_age(&mut self, value: Ref, source: &mut VariableSource) {
        let (mut nameless, mut work, mut met) = (Vec::new(), vec![value], Met::default());
        while let Some(value) = work.pop() {
            let value = self.heap.walk(value);
            match value.tag() {
                tag::VARIABLE if self.heap.label(value) < NAMED => nameless.push(value),
                tag::EXPRESSION if met.is_new(value) => work.extend(self.heap.children(value)),
                _ => {}
            }
        }
        nameless.sort_unstable_by_key(|variable| variable.payload());
        nameless.into_iter().for_each(|variable| drop(self.name_variable(variable, source)));
    }

    fn set_name(&mut self, reference: Ref, variable: Variable) {
        let index = u32::try_from(self.named.len()).expect("fewer than 2^31 variables");
        self.beside += size_of::<Variable>();
        self.named.push(variable);
        self.heap.set_label(reference, NAMED + index);
    }

    /// The place of a variable of a form in the table of those.
    pub(super) fn form_variable(&mut self, variable: &Variable) -> u32 {
        if let Some(&known) = self.form_index.get(variable) {
            return known;
        }
        let index = self.forms.len() as u32;
        self.forms.push(variable.clone());
        self.form_index.insert(variable.clone(), index);
        index
    }

    /// A new cell for a variable of a form, which keeps its name.
    pub(super) fn make_form_variable(&mut self, index: u32) -> Result<Ref, Full> {
        let reference = self.heap.variable(&mut self.region, 0)?;
        self.set_name(reference, self.forms[index as usize].clone());
        Ok(reference)
    }

    /// The head of an interned compound, if it is a symbol that is known here.
    pub(super) fn term_head(&self, term: Ref) -> Option<Ref> {
        let terms = self.terms.read().expect("no panic while terms are locked");
        let head = *terms.children(term_of(term))?.first()?;
        if let Some(known) = self.known_term(head) {
            return Some(known).filter(|known| known.tag() == SYMBOL);
        }
        match terms.atom(head) {
            Atom::Symbol(symbol) => self.symbol_index.get(symbol).map(|&index| Ref::new(SYMBOL, index)),
            _ => None,
        }
    }

    /// The head of an interned compound, if it was met before, and its length.
    pub(super) fn shape_of_term(&self, term: Ref) -> Option<(Ref, usize)> {
        let terms = self.terms.read().expect("no panic while terms are locked");
        let children = terms.children(term_of(term))?;
        let head = *children.first()?;
        let head = match terms.children(head) {
            Some(inside) if !inside.is_empty() => {
                (head.number() < EVALUATED_TERM).then(|| Ref::new(TERM, head.number()))?
            }
            _ => self.known_term(head)?,
        };
        Some((head, children.len()))
    }

    /// Whether a value is the code of a function.
    pub(super) fn is_function(&self, value: Ref) -> bool {
        if value.tag() == TERM {
            return self.is_function_term(value);
        }
        let children = if value.is_expression() { self.heap.children(value) } else { &[] };
        let [head, body] = *children else { return false };
        let body = self.heap.walk(body);
        self.heap.walk(head) == FUNCTION && (body.is_expression() || body.tag() == TERM)
    }

    #[inline(never)]
    fn is_function_term(&self, value: Ref) -> bool {
        if is_evaluated_term(value) {
            return false;
        }
        let term = term_of(value);
        let terms = self.terms.read().expect("no panic while terms are locked");
        match terms.children(term) {
            Some(&[head, body]) if terms.children(body).is_some() => match self.known_term(head) {
                Some(known) => known == FUNCTION,
                None => crate::instructions::is_function(terms.atom(term)),
            },
            _ => false,
        }
    }

    /// Whether an interned compound may have a shape.
    pub(super) fn term_shape(&self, term: Ref, length: u32, head: Option<Ref>) -> bool {
        let terms = self.terms.read().expect("no panic while terms are locked");
        let found = terms.children(term_of(term)).map_or(0, <[Term]>::len);
        drop(terms);
        let is_symbol = head.is_some_and(|head| head.tag() == SYMBOL);
        found == length as usize && (!is_symbol || self.term_head(term) == head)
    }

    /// An atom of code: a leaf that is the same for ever. `None` for variables and expressions.
    pub(super) fn constant_leaf(&mut self, atom: &Atom) -> Option<Ref> {
        match atom {
            Atom::Symbol(symbol) => Some(self.symbol(symbol)),
            Atom::Grounded(Grounded::Number(Number::Int(word))) if small(*word).is_some() => small(*word),
            Atom::Grounded(value) => Some(self.constant(value)),
            Atom::Variable(_) | Atom::Expression(_) => None,
        }
    }

    fn leaf(&mut self, atom: &Atom, scope: &mut Scope) -> Result<Ref, Full> {
        match atom {
            Atom::Symbol(symbol) => Ok(self.symbol(symbol)),
            Atom::Variable(variable) => self.variable_of(variable, scope),
            Atom::Grounded(Grounded::Number(number)) => self.number(number),
            Atom::Grounded(_) => Ok(self.foreign(atom.clone())),
            Atom::Expression(_) => self.heap.expression(&mut self.region, &[]),
        }
    }

    /// The heap's variable for a variable of atoms, made if need be.
    pub(super) fn variable_of(&mut self, variable: &Variable, scope: &mut Scope) -> Result<Ref, Full> {
        if let Some(&known) = scope.get(variable) {
            return Ok(known);
        }
        let reference = self.heap.variable(&mut self.region, 0)?;
        self.set_name(reference, variable.clone());
        scope.insert(variable.clone(), reference);
        Ok(reference)
    }

    /// An atom in the heap.
    pub(super) fn load(&mut self, atom: &Atom, scope: &mut Scope) -> Result<Ref, Full> {
        struct OpenValue<'a> {
            atom: &'a space::Expression,
            done: Vec<Ref>,
            size: Size,
        }
        let mut open: Vec<OpenValue<'_>> = Vec::new();
        let mut met: Outcomes<(), Ref> = Outcomes::default();
        let mut current = atom;
        loop {
            let mut made = match current {
                Atom::Expression(expression) if !expression.is_empty() => {
                    let place = expression.place();
                    let again = met.of(place | usize::from(expression.is_evaluated()));
                    let known = again.or_else(|| self.kept.reference(expression));
                    if known.is_none() {
                        let (done, size) = (Vec::with_capacity(expression.len()), Size::of_one(expression.len()));
                        open.push(OpenValue { atom: expression, done, size });
                    } else if let Some(around) = open.last_mut() {
                        around.size.add(Size::KNOWN);
                    }
                    known
                }
                leaf => Some(self.leaf(leaf, scope)?),
            };
            loop {
                let Some(top) = open.last_mut() else { return Ok(made.expect("a leaf was loaded")) };
                top.done.extend(made.take());
                if let Some(child) = top.atom.children().get(top.done.len()) {
                    current = child;
                    break;
                }
                let whole = self.heap.expression(&mut self.region, &top.done)?;
                let is_evaluated = top.atom.is_evaluated() && top.done.first() != Some(&ERROR);
                let is_ground = top.atom.is_ground();
                let is_marked = is_evaluated && is_ground;
                if is_evaluated && !is_marked {
                    self.heap.set_note(whole, EVALUATED_OPEN);
                }
                let whole = if is_marked { whole.marked() } else { whole };
                let place = top.atom.place();
                met.keep(place | usize::from(top.atom.is_evaluated()), &(), &whole);
                made = Some(whole);
                let size = top.size;
                if is_ground {
                    self.kept.keep(whole, top.atom, size);
                }
                open.pop();
                match open.last_mut() {
                    Some(around) => around.size.add(size),
                    None => return Ok(whole),
                }
            }
        }
    }

    /// What the reference is as an atom, bound variables replaced. Each variable met is noted in `scope`.
    ///
    /// # Errors
    /// It takes too much memory, or too long.
    pub(super) fn store(
        &mut self,
        reference: Ref,
        scope: &mut Scope,
        source: &mut VariableSource,
    ) -> Result<Atom, Halt> {
        atom_of(reference, &mut Storing { values: self, scope, source })
    }

    /// What the reference is as an atom, bound variables replaced, whatever the limits are: for what must be known.
    pub(super) fn store_whole(&mut self, reference: Ref, scope: &mut Scope, source: &mut VariableSource) -> Atom {
        let ceiling = std::mem::take(&mut self.ceiling);
        let stored = self.store(reference, scope, source);
        self.ceiling = ceiling;
        let Ok(atom) = stored else { unreachable!("nothing limits it") };
        atom
    }

    /// A symbol, an interned term, a grounded value or a number.
    pub(super) fn leaf_atom(&self, leaf: Ref) -> Atom {
        match leaf.tag() {
            SYMBOL => Atom::Symbol(self.symbols[leaf.payload() as usize].clone()),
            TERM => self.term_atom(leaf),
            FOREIGN => self.foreign_of(leaf).clone(),
            _ => Atom::from(self.number_of(leaf).expect("what is left is a number")),
        }
    }

    /// The variable with this label, if it has a name of its own.
    pub(super) fn name_of_label(&self, label: u32) -> Option<&Variable> {
        self.named.get(label.checked_sub(NAMED)? as usize)
    }

    /// How many children an expression of the heap or an interned compound has.
    pub(super) fn width(&self, value: Ref, terms: &space::Terms) -> usize {
        if value.tag() != TERM {
            return self.heap.length(value);
        }
        terms.children(term_of(value)).map_or(0, <[Term]>::len)
    }

    /// A child of an expression of the heap or of an interned compound. Nothing is made for it but a number that is not small.
    pub(super) fn part(&mut self, value: Ref, index: usize, terms: &space::Terms) -> Result<Ref, Full> {
        if value.tag() != TERM {
            return Ok(self.heap.child(value, index));
        }
        let children = terms.children(term_of(value)).expect("only compounds are kept as terms");
        let child = self.term(children[index], terms)?;
        Ok(if is_evaluated_term(value) { Self::as_evaluated(child) } else { child })
    }

    /// The children of an interned compound, one level deep, as an expression of the heap.
    pub(super) fn open_term(&mut self, reference: Ref) -> Result<Ref, Full> {
        let terms = SharedTerms::clone(&self.terms);
        let terms = terms.read().expect("no panic while terms are locked");
        let term = term_of(reference);
        let children = terms.children(term).expect("only compounds are kept as terms");
        let is_evaluated = is_evaluated_term(reference);
        let opened = self.heap.reserve(&mut self.region, children.len())?;
        for (place, &child) in children.iter().enumerate() {
            let child = self.term(child, &terms)?;
            self.heap.set_child(opened, place, if is_evaluated { Self::as_evaluated(child) } else { child });
        }
        if self.normal.knows(term) == Some(true) {
            self.heap.set_note(opened, self.normal.note());
        }
        Ok(if is_evaluated { opened.marked() } else { opened })
    }

    /// A term of the dictionary.
    pub(super) fn term(&mut self, term: Term, terms: &space::Terms) -> Result<Ref, Full> {
        let index = term.number() as usize;
        if let Some(Some(known)) = self.term_refs.get(index) {
            return Ok(*known);
        }
        let is_compound = terms.children(term).is_some_and(|children| !children.is_empty());
        // The atom of a compound is not made here: most are never asked for.
        let reference = if is_compound && term.number() < EVALUATED_TERM {
            Ref::new(TERM, term.number())
        } else {
            match terms.atom(term) {
                Atom::Grounded(Grounded::Number(Number::Int(word))) if small(*word).is_some() => {
                    small(*word).expect("it is small")
                }
                Atom::Symbol(symbol) => self.symbol(symbol),
                Atom::Grounded(Grounded::Number(number)) => {
                    if let Number::Float(float) = number {
                        self.floats.put(term, *float);
                    }
                    return self.number(number);
                }
                Atom::Grounded(value) => self.constant(value),
                atom => return self.load(atom, &mut Scope::default()),
            }
        };
        if self.term_refs.len() <= index {
            self.term_refs.resize(index + 1, None);
        }
        self.term_refs[index] = Some(reference);
        Ok(reference)
    }
}

/// Whether a child of data is its own result as long as none of its variables is bound.
fn is_open_part(values: &Values, child: Ref, notes: Notes) -> bool {
    match child.tag() {
        tag::VARIABLE => true,
        tag::EXPRESSION if values.heap.note(child) == EVALUATED_OPEN => true,
        _ => values.is_normal(child, notes),
    }
}

/// Whether a bound variable occurs in an expression.
#[inline(never)]
pub(super) fn holds_bound(values: &Values, expression: Ref, notes: Notes) -> bool {
    let open_data = &values.open_data;
    open_data.of(expression).is_none() && open_data.look_into(expression, |work| values.any_mentions_bound(work, notes))
}

/// A hash of a constant that can be found again.
fn hash_of_constant(value: &Grounded) -> Option<u64> {
    let mut hasher = FxHasher::default();
    match value {
        Grounded::Host(value) => (0_u8, value.identity()).hash(&mut hasher),
        Grounded::Text(text) => (1_u8, &**text).hash(&mut hasher),
        // Serial numbers are those of a program, and its atoms may hold spaces and states of others.
        Grounded::Space(space) => (2_u8, space.address()).hash(&mut hasher),
        Grounded::State(state) if !state.is_frozen() => (3_u8, state.address()).hash(&mut hasher),
        Grounded::Number(Number::Float(float)) => (4_u8, float.to_bits()).hash(&mut hasher),
        Grounded::Number(Number::Int(integer)) => (5_u8, integer).hash(&mut hasher),
        Grounded::Number(Number::Big(integer)) => (6_u8, &**integer).hash(&mut hasher),
        Grounded::Bool(_) | Grounded::State(_) | Grounded::Bindings(_) => return None,
    }
    Some(hasher.finish())
}

/// Whether a constant that was kept is this one, of those that have a hash.
fn is_same_constant(kept: &Atom, value: &Grounded) -> bool {
    let Atom::Grounded(kept) = kept else { return false };
    match (kept, value) {
        (Grounded::Host(kept), Grounded::Host(value)) => kept.identity() == value.identity(),
        (Grounded::Text(kept), Grounded::Text(value)) => kept == value,
        (Grounded::Space(kept), Grounded::Space(value)) => {
            kept.address() == value.address() && kept.name() == value.name()
        }
        (Grounded::State(kept), Grounded::State(value)) => kept.address() == value.address(),
        (Grounded::Number(Number::Float(kept)), Grounded::Number(Number::Float(value))) => {
            kept.to_bits() == value.to_bits()
        }
        (Grounded::Number(Number::Int(kept)), Grounded::Number(Number::Int(value))) => kept == value,
        (Grounded::Number(Number::Big(kept)), Grounded::Number(Number::Big(value))) => kept == value,
        _ => false,
    }
}

impl Values {
    /// What the switch looks a value up by; `None` if it may be anything.
    #[inline]
    pub(super) fn switch_key(&self, value: Ref) -> Option<u64> {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED => {
                let (length, head) = self.heap.shape(value);
                (length > 0 && is_plain_word(head)).then(|| shape_key(length as u32, head))
            }
            tag::VARIABLE | tag::NUMBER | TERM => None,
            // What is no truth value may equal another constant.
            FOREIGN if value != TRUE && value != FALSE => None,
            _ => Some(u64::from(value.bits())),
        }
    }

    /// Whether a value is an instruction, or a `function`.
    pub(super) fn is_code(&mut self, value: Ref, only_function: bool) -> Result<bool, Halt> {
        if only_function {
            return Ok(self.is_function(value));
        }
        if !value.is_expression() && value.tag() != TERM {
            return Ok(false);
        }
        let value = self.opened(value)?;
        let Some(&head) = self.heap.children(value).first() else { return Ok(false) };
        let head = self.heap.walk(head);
        Ok(head.tag() == SYMBOL && is_instruction_name(self.symbol_of(head).as_str()))
    }

    /// A result of the interpreter or of a native function, with what it binds.
    pub(super) fn load_result(
        &mut self,
        solution: Solution,
        atom: &Atom,
        scope: &mut Scope,
    ) -> Result<CollectedResult, Halt> {
        let mut bound = Vec::new();
        for (variable, value) in solution {
            let value = self.load(&value, scope)?;
            if let Some(&variable) = scope.get(&variable) {
                bound.push((variable, value));
            }
        }
        Ok(CollectedResult { value: self.load(atom, scope)?, bound })
    }

    /// The bytes of the heap, and beside it, that something is in.
    pub(super) fn bytes_live(&self) -> usize {
        self.heap.bytes_live() + self.beside
    }

    /// Whether two leaves are equal: numbers by value, states by content.
    pub(super) fn equal_leaves(&self, left: Ref, right: Ref) -> bool {
        if left == right {
            return true;
        }
        if is_small(left) && is_small(right) || left.tag() == SYMBOL || right.tag() == SYMBOL {
            return false;
        }
        match (self.number_of(left), self.number_of(right)) {
            (Some(left), Some(right)) => left == right,
            (None, None) if left.tag() == FOREIGN && right.tag() == FOREIGN => {
                self.foreign_of(left) == self.foreign_of(right)
            }
            _ => false,
        }
    }

    /// The space that a value is.
    pub(super) fn space_of(&self, value: Ref) -> Option<&space::SharedSpace> {
        match (value.tag() == FOREIGN).then(|| self.foreign_of(value))? {
            Atom::Grounded(Grounded::Space(space)) => Some(space),
            _ => None,
        }
    }

    /// Whether a value is an integer that fits no word.
    pub(super) fn is_big(&self, value: Ref) -> bool {
        value.tag() == FOREIGN && self.number_of(value).is_some()
    }

    /// A compound as an expression of the heap.
    pub(super) fn opened(&mut self, value: Ref) -> Result<Ref, Full> {
        if value.tag() == TERM { self.open_term(value) } else { Ok(value) }
    }

    /// Whether a value is an error. The word may be what a variable stands for.
    #[inline]
    pub(super) fn is_error(&self, value: Ref) -> bool {
        if value.is_expression() {
            let first = self.heap.children(value).first();
            return first.is_some_and(|&first| first == ERROR || first.is_variable() && self.stands_for_error(first));
        }
        value.tag() == TERM && !is_evaluated_term(value) && self.term_head(value) == Some(ERROR)
    }

    #[cold]
    fn stands_for_error(&self, variable: Ref) -> bool {
        self.heap.walk(variable) == ERROR
    }

    /// Whether no other result hides an error.
    pub(super) fn is_never_hidden(&mut self, error: Ref) -> bool {
        let mut scope = Scope::default();
        let atom = self.store_whole(error, &mut scope, &mut VariableSource::default());
        crate::names::is_never_hidden(&atom)
    }

    pub(super) fn is_operation(&self, head: Ref) -> bool {
        head.tag() == FOREIGN && Operation::of(self.foreign_of(head)).is_some()
    }

    /// Whether a value holds no unbound variable.
    pub(super) fn is_ground(&self, value: Ref, notes: Notes) -> bool {
        let (mut work, mut met) = (vec![value], Met::default());
        while let Some(value) = work.pop() {
            let value = self.heap.walk(value);
            match value.tag() {
                tag::VARIABLE => return false,
                tag::EXPRESSION if !notes.hold(self.heap.note(value)) && met.is_new(value) => {
                    work.extend(self.heap.children(value));
                }
                _ => {}
            }
        }
        true
    }

    /// Whether a list is in normal form, or would be if another element stood first.
    #[inline]
    pub(super) fn is_normal_tail(&self, tail: Ref, notes: Notes) -> bool {
        let heap = &self.heap;
        heap.length(tail) == 0 || notes.hold(heap.note(tail))
    }

    /// An expression that came to itself: marked, or noted if it holds variables.
    #[inline]
    pub(super) fn evaluated(&mut self, call: Ref, notes: Notes, looked_at_max: usize) -> Ref {
        if notes.hold(self.heap.note(call)) {
            return call.marked();
        }
        match self.is_ground_or_open(call, notes, looked_at_max) {
            Some(true) => call.marked(),
            Some(false) => {
                self.heap.set_note(call, EVALUATED_OPEN);
                call
            }
            None => call,
        }
    }

    /// Whether an expression is ground; `None` if it holds bound variables or is large.
    #[inline(never)]
    fn is_ground_or_open(&self, call: Ref, notes: Notes, mut budget: usize) -> Option<bool> {
        let (mut work, mut is_ground) = (vec![call], true);
        while let Some(expression) = work.pop() {
            for &child in self.heap.children(expression) {
                match child.tag() {
                    tag::VARIABLE if self.heap.binding(child).is_some() => return None,
                    tag::VARIABLE => is_ground = false,
                    tag::EXPRESSION if !notes.hold(self.heap.note(child)) => match self.open_data.of(child) {
                        Some(has_variables) => is_ground &= !has_variables,
                        None => work.push(child),
                    },
                    _ => {}
                }
                budget = budget.checked_sub(1)?;
            }
        }
        self.open_data.note(call, !is_ground);
        Some(is_ground)
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget_given_back(&mut self) {
        self.found_same.forget();
        self.open_data.forget();
        self.interned.forget();
        self.kept.forget();
    }
}
