//! What the machine knows of types, and when it is out of date.
//!
//! Types are those of [`crate::types`]; what is asked again and again is kept until a type, a subtype or the rule of a
//! special form changes. Rules and types are counted by the spaces that hold them ([`classify`]); the machine looks at the
//! counts after everything that may have changed them.

use super::classes::{CHANGER, RULE, SHAPE, WHOLE_TYPE};
use super::code::TypeId;
use super::kept_types;
use super::open_data::Lack;
use super::values::{LOOKS_BETWEEN_LIMITS, Scope};
use super::words::{COMPOUND, EMPTY, FALSE, FOREIGN, INTEGER, SYMBOL, TERM, TRUE, is_lasting};
use super::{Machine, Running};
use crate::names;
use crate::operation::Operation;
use crate::types;
use region::{Ref, tag};
use space::{Atom, Bindings, SharedSpace, make_fresh};
use std::borrow::Cow;
use std::rc::Rc;

/// The heads of the expressions for which the library declares a type, as it does for `(@kind function)`, each with its number of
/// arguments. A test compares them with the library.
const LIBRARY_WHOLE_TYPES: [(&str, usize); 1] = [("@kind", 1)];

/// How a call of a head is evaluated.
#[derive(Clone, Debug)]
pub(super) enum HeadKind {
    /// The head has no function type: a tuple.
    Untyped,
    /// One function type that takes all arguments as they stand.
    Raw { result: TypeId },
    /// One function type without variables.
    Typed(Signature),
    /// One function type with variables.
    Parametric(Atom),
    /// Anything else.
    Other,
}

/// A function type without variables, or with one only as its result.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) formals: Rc<[Formal]>,
    /// `None` when it is what is expected.
    pub(super) result: Option<TypeId>,
}

impl Signature {
    /// That of a function which takes all its arguments as they stand.
    pub(super) fn raw(count: usize, result: TypeId) -> Self {
        Self { formals: std::iter::repeat_n(Formal::Raw, count).collect(), result: Some(result) }
    }
}

/// What nothing says of the arguments of a function without types.
pub(super) fn untyped(count: usize) -> Cow<'static, [Formal]> {
    const FEW: &[Formal] = &[Formal::Typed(0); 16];
    FEW.get(..count).map_or_else(|| vec![Formal::Typed(0); count].into(), Cow::Borrowed)
}

/// What a function type says of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Formal {
    /// It is taken as it stands.
    Raw,
    /// Taken as it stands if it is an expression.
    Expression,
    /// Evaluated to this type.
    Typed(TypeId),
}

/// How many heads are near, and how many are remembered of those that an answer holds of.
const NEAR: usize = 32;
const ON_WAY_MAX: usize = NEAR + usize::BITS as usize;

impl Running<'_> {
    /// Looks whether rules or types have changed.
    pub(super) fn refresh(&mut self) {
        self.take_changed_states();
        let tabling = self.session.tables.version();
        let changes = self.m.code.watched_changes.iter().map(|counts| counts.sum_from(RULE)).sum();
        if self.m.code.changes_seen == Some(changes) && self.m.code.tabling == tabling {
            return;
        }
        self.m.code.changes_seen = Some(changes);
        let mut sums = [0; space::CLASSES];
        for counts in &self.m.code.watched_changes {
            for (sum, count) in sums.iter_mut().zip(counts.by_class()) {
                *sum += count;
            }
        }
        if sums[RULE..] == self.m.code.class_counts[RULE..] && self.m.code.tabling == tabling {
            return;
        }
        self.m.code.tabling = tabling;
        let is_shape = sums[SHAPE..] != self.m.code.class_counts[SHAPE..];
        self.m.code.class_counts = sums;
        if !self.m.code.is_exact && self.has_any(CHANGER) {
            self.m.code.is_exact = true;
        }
        self.m.type_cache.has_whole_types = self.m.code.is_exact || self.has_any(WHOLE_TYPE);
        self.m.type_cache.has_types = self.has_any(SHAPE);
        if is_shape {
            let space = self.space.clone();
            self.m.watch(&space);
        }
        self.m.next_version(is_shape);
    }

    /// Whether something of a class was ever in the spaces in which rules and types are looked up, the library apart.
    fn has_any(&self, class: usize) -> bool {
        let library = self.session.program.library_space();
        self.m.code.watched.iter().any(|space| !space.is_same(&library) && space.changes()[class] > 0)
    }

    /// Whether an expression with this head and number of arguments may have a type declared for the whole. An unbound variable may
    /// be any head.
    pub(super) fn may_have_whole_type(&mut self, head: Ref, arity: usize) -> bool {
        if !self.m.type_cache.has_whole_types {
            return self.library_has_whole_type(head, arity);
        }
        let is_known = matches!(head.tag(), SYMBOL | FOREIGN) && is_lasting(head);
        let head = if is_known { head } else { COMPOUND };
        if let Some(&known) = self.m.type_cache.whole_types.get(&(head, arity)) {
            return known;
        }
        // Of any other head nothing is known.
        let known = (head != COMPOUND).then(|| self.m.values.leaf_atom(head));
        let source = self.session.program.variables();
        let mut children = vec![known.unwrap_or_else(|| Atom::Variable(source.fresh(names::asked())))];
        children.extend((0..arity).map(|_| Atom::Variable(source.fresh(names::asked()))));
        let wanted = Atom::Variable(source.fresh(names::asked()));
        let query = Atom::expression([Atom::symbol(names::HAS_TYPE), Atom::expression(children), wanted]);
        let may_have = !self.space.query(&query, source).is_empty();
        self.m.type_cache.whole_types.insert((head, arity), may_have);
        may_have
    }

    /// Whether the library declares a type for expressions with this head and number of arguments.
    fn library_has_whole_type(&self, head: Ref, arity: usize) -> bool {
        let is_head = |name: &str| match head.tag() {
            tag::VARIABLE => true,
            SYMBOL => self.m.values.symbol_of(head).as_str() == name,
            _ => false,
        };
        LIBRARY_WHOLE_TYPES.iter().any(|&(name, count)| count == arity && is_head(name))
    }

    /// Whether no expression with this value as its head and this number of arguments has a type.
    pub(super) fn makes_open(&mut self, head: Ref, arity: usize) -> bool {
        self.is_open(head) && !self.may_have_whole_type(head, arity)
    }

    /// The only type of an atom, which may be `%Undefined%`; `None` if it has several, or an error.
    pub(super) fn only_type(&mut self, atom: &Atom) -> Option<Atom> {
        let mut found = types::types_of(&self.space, atom, self.session.program.variables());
        let only = found.pop().filter(|only| found.is_empty() && only.is_valid())?;
        Some(only.atom)
    }

    /// What the only function type of a head says of results, if that has no variable.
    pub(super) fn declared_result(&mut self, head: Ref) -> Option<TypeId> {
        if let Some(&known) = self.m.type_cache.schemes.declared.get(&head) {
            return known;
        }
        let atom = self.m.values.leaf_atom(head);
        let declared = self.only_type(&atom).filter(types::is_function).and_then(|function| {
            let (_, result) = types::function_parts(&function);
            if result.is_ground() { self.m.code.type_id(result) } else { None }
        });
        if is_lasting(head) {
            self.m.type_cache.schemes.declared.insert(head, declared);
        }
        declared
    }

    /// How calls of a head with `arity` arguments are evaluated.
    pub(super) fn head_kind(&mut self, head: Ref, arity: usize) -> HeadKind {
        if head.tag() == tag::VARIABLE || matches!(head.tag(), INTEGER | tag::NUMBER) {
            return HeadKind::Untyped;
        }
        if !matches!(head.tag(), SYMBOL | FOREIGN) {
            return HeadKind::Other;
        }
        if let Some(known) = self.m.type_cache.heads.get(&(head, arity)) {
            return known.clone();
        }
        let atom = self.m.values.leaf_atom(head);
        let kind = match self.kind_of(&atom, arity) {
            // As a head `Empty` is no result; code looks for that only where there is no function type.
            HeadKind::Raw { .. } | HeadKind::Typed(_) | HeadKind::Parametric(_) if head == EMPTY => HeadKind::Other,
            kind => kind,
        };
        if is_lasting(head) {
            self.m.type_cache.heads.insert((head, arity), kind.clone());
        }
        kind
    }

    fn kind_of(&mut self, head: &Atom, arity: usize) -> HeadKind {
        // With `(: $any Thing)` whatever there is has a type: that is left to the interpreter.
        if !self.has_no_type(COMPOUND) {
            return HeadKind::Other;
        }
        let found = types::types_of(&self.space, head, self.session.program.variables());
        if found.iter().all(|found| found.is_valid() && !found.is_function()) {
            return if Operation::of(head).is_some() { HeadKind::Other } else { HeadKind::Untyped };
        }
        let [only] = found.as_slice() else { return HeadKind::Other };
        if !only.is_valid() || !only.is_function() {
            return HeadKind::Other;
        }
        if !only.atom.is_ground() {
            // With variables in its result alone it may do as it is.
            return match self.kind_of_type(&only.atom, arity) {
                HeadKind::Other if types::function_parts(&only.atom).0.len() == arity => {
                    HeadKind::Parametric(only.atom.clone())
                }
                known => known,
            };
        }
        self.kind_of_type(&only.atom, arity)
    }

    pub(super) fn kind_of_type(&mut self, function: &Atom, arity: usize) -> HeadKind {
        let (formals, result) = types::function_parts(function);
        if formals.len() != arity {
            return HeadKind::Other;
        }
        let Some(result) = self.result_of(result, formals) else { return HeadKind::Other };
        let formals: Option<Rc<[Formal]>> = formals.iter().map(|formal| self.formal_of(formal)).collect();
        match (formals, result) {
            (None, _) => HeadKind::Other,
            (Some(formals), Some(result)) if formals.iter().all(|formal| *formal == Formal::Raw) => {
                HeadKind::Raw { result }
            }
            (Some(formals), result) => HeadKind::Typed(Signature { formals, result }),
        }
    }

    /// The type of the result as evaluation expects it; `None` if that depends on the arguments.
    fn result_of(&mut self, result: &Atom, formals: &[Atom]) -> Option<Option<TypeId>> {
        match result {
            Atom::Variable(_) if formals.iter().all(|formal| formal.is_ground()) => Some(None),
            Atom::Symbol(name) if [names::SYMBOL, names::VARIABLE, names::GROUNDED].contains(&name.as_str()) => None,
            ground if ground.is_ground() => self.m.code.type_id(ground).map(Some),
            _ => None,
        }
    }

    fn formal_of(&mut self, formal: &Atom) -> Option<Formal> {
        match formal {
            Atom::Symbol(name) => match name.as_str() {
                names::ATOM => Some(Formal::Raw),
                names::EXPRESSION => Some(Formal::Expression),
                names::SYMBOL | names::VARIABLE | names::GROUNDED => None,
                _ => self.m.code.type_id(formal).map(Formal::Typed),
            },
            _ if formal.is_ground() => self.m.code.type_id(formal).map(Formal::Typed),
            _ => None,
        }
    }

    /// Whether a result of one type may stand where another is expected.
    pub(super) fn agrees_statically(&mut self, actual: TypeId, expected: TypeId) -> bool {
        if actual == 0 || expected == 0 || actual == expected {
            return true;
        }
        let (actual, expected) = (self.type_atom(actual), self.type_atom(expected));
        !types::agree(&actual, &expected, &Bindings::default(), self.session.program.variables()).is_empty()
    }

    /// Whether a result of one type may stand where another is expected, both inside a type: there `Atom` is a type like any other.
    pub(super) fn agrees_deeply(&mut self, actual: TypeId, expected: TypeId) -> bool {
        if actual == 0 || expected == 0 || actual == expected {
            return true;
        }
        let (actual, expected) = (self.type_atom(actual), self.type_atom(expected));
        !types::agree_deeply(&actual, &expected, &Bindings::default(), self.session.program.variables()).is_empty()
    }

    /// A type of the table, its variables renamed apart.
    pub(super) fn type_atom(&mut self, type_id: TypeId) -> Atom {
        let found = &self.m.code.types[usize::from(type_id)];
        if found.is_ground() { found.clone() } else { make_fresh(found, &[], self.session.program.variables()) }
    }

    /// Whether a value is of a type in one way, which binds nothing. What is asked of a symbol or constant is kept.
    pub(super) fn has_type(&mut self, value: Ref, type_id: TypeId, is_deep: bool) -> bool {
        if type_id == 0 {
            return true;
        }
        match value.tag() {
            INTEGER | tag::NUMBER => return type_id == self.m.type_cache.number_type,
            tag::VARIABLE => return true,
            TERM => return self.term_has_type(value, type_id, is_deep),
            tag::EXPRESSION | tag::MARKED if self.expression_has_type(value, type_id, is_deep) => return true,
            _ => {}
        }
        if value == TRUE || value == FALSE {
            return type_id == self.m.type_cache.bool_type;
        }
        let is_kept = matches!(value.tag(), SYMBOL | FOREIGN) && is_lasting(value);
        if let Some(&known) = self.m.type_cache.typed.get(&(value, type_id, is_deep)).filter(|_| is_kept) {
            return known;
        }
        if self.m.is_state_of(value, type_id) {
            return true;
        }
        let mut scope = Scope::default();
        let atom = self.m.values.store_whole(value, &mut scope, self.session.program.variables());
        let has = self.atom_has_type(&atom, type_id, is_deep);
        if is_kept {
            self.m.type_cache.typed.insert((value, type_id, is_deep), has);
        }
        has
    }

    /// Whether an atom is of a type in one way, which binds nothing.
    pub(super) fn atom_has_type(&mut self, atom: &Atom, type_id: TypeId, is_deep: bool) -> bool {
        let expected = self.type_atom(type_id);
        if !atom.is_ground() || !expected.is_ground() || types::accepts_raw(&expected, atom) {
            return false;
        }
        let found = types::types_of(&self.space, atom, self.session.program.variables());
        found.iter().all(types::AtomType::is_valid)
            && found.iter().any(|found| {
                let source = self.session.program.variables();
                let agree = if is_deep { types::agree_deeply } else { types::agree };
                !agree(&expected, &found.atom, &Bindings::default(), source).is_empty()
            })
    }

    /// Whether a leaf of code has a type.
    pub(super) fn leaf_has_type(&mut self, atom: &Atom, leaf: Ref, type_id: TypeId, is_deep: bool) -> bool {
        if type_id == 0 {
            return true;
        }
        if let Some(&known) = self.m.type_cache.typed.get(&(leaf, type_id, is_deep)) {
            return known;
        }
        let has = self.atom_has_type(atom, type_id, is_deep);
        self.m.type_cache.typed.insert((leaf, type_id, is_deep), has);
        has
    }

    /// Whether two values have types that agree, as `==` asks for.
    pub(super) fn have_one_type(&mut self, left: Ref, right: Ref) -> bool {
        let is_number = |m: &Machine, value: Ref| value.tag() == INTEGER || m.values.number_of(value).is_some();
        let is_bool = |value: Ref| value == TRUE || value == FALSE;
        is_number(&self.m, left) && is_number(&self.m, right)
            || is_bool(left) && is_bool(right)
            || self.is_open(left) && self.is_plain(right)
            || self.is_open(right) && self.is_plain(left)
            || self.share_a_type(left, right)
    }

    /// Whether the types of a value hold no error.
    pub(super) fn is_plain(&mut self, value: Ref) -> bool {
        self.has_no_type_error(value)
    }

    /// Whether a head has rules for `count` arguments.
    pub(super) fn has_rules(&mut self, head: Ref, count: super::code::Slot) -> bool {
        let known = self.m.code.known_function(head, count, 0);
        if let Some(known) = known.filter(|known| known.version == self.m.code.version) {
            return !matches!(known.kind, super::code::Kind::Constructor);
        }
        if let Some(&known) = self.m.type_cache.ruled.get(&(head, count)) {
            return known;
        }
        let has_rules = self.rules_of(head, count).is_none_or(|rules| !rules.is_empty());
        self.m.type_cache.ruled.insert((head, count), has_rules);
        has_rules
    }

    /// Whether an expression with this value as its head is a tuple.
    pub(super) fn makes_a_tuple(&mut self, head: Ref, arity: usize) -> bool {
        match head.tag() {
            SYMBOL => matches!(self.head_kind(head, arity), HeadKind::Untyped) && head != super::words::ERROR,
            tag::VARIABLE | INTEGER | tag::NUMBER => true,
            tag::EXPRESSION | tag::MARKED | TERM => self.is_open(head),
            _ => false,
        }
    }

    /// Whether a value has no type at all, so that it agrees with every type.
    pub(super) fn is_open(&mut self, value: Ref) -> bool {
        match value.tag() {
            SYMBOL => self.has_no_type(value),
            tag::VARIABLE => true,
            tag::EXPRESSION | tag::MARKED | TERM => self.is_open_expression(value),
            _ => false,
        }
    }

    /// Whether an expression has no type: it has those that are declared for it, and those that its head makes, if that has any.
    fn is_open_expression(&mut self, whole: Ref) -> bool {
        self.lacks(whole, Lack::Type)
    }

    /// Whether an expression has none of these types. What was found is remembered, since a tuple may be headed by the one that is asked
    /// about before it or after it.
    pub(super) fn lacks(&mut self, whole: Ref, lack: Lack) -> bool {
        let mut on_way = ([EMPTY; ON_WAY_MAX], 0);
        let lacks = self.lacks_by_heads(whole, lack, &mut on_way);
        if let Some(lacks) = lacks {
            let (on_way, count) = on_way;
            on_way[..count].iter().rev().for_each(|&value| self.m.rooms.open_data.note_lack(value, lack, lacks));
        }
        lacks == Some(true)
    }

    /// See [`lacks`](Self::lacks); `None` if the memory does not suffice to find out. On the way are heads of which the answer holds as well:
    /// the first ones, and fewer of those that are farther away.
    fn lacks_by_heads(
        &mut self,
        mut value: Ref,
        lack: Lack,
        (on_way, count): &mut ([Ref; ON_WAY_MAX], usize),
    ) -> Option<bool> {
        let mut looks = 0_usize;
        loop {
            looks += 1;
            if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && self.m.values.ceiling.is_passed() {
                return None;
            }
            if let Some(lacks) = self.m.rooms.open_data.lacks(value.unmarked(), lack) {
                return Some(lacks);
            }
            if looks < NEAR || looks.is_power_of_two() {
                on_way[*count] = value.unmarked();
                *count += 1;
            }
            let (head, arity) = match value.tag() {
                TERM => match self.m.values.shape_of_term(value) {
                    Some((head, length)) => (head, length - 1),
                    None => return Some(false),
                },
                _ => match self.m.values.heap.children(value) {
                    [] => return Some(true),
                    &[head, ref arguments @ ..] => (self.m.values.heap.walk(head), arguments.len()),
                },
            };
            let class = if matches!(head.tag(), SYMBOL | FOREIGN) { head } else { COMPOUND };
            if self.may_have_whole_type(class, arity) {
                return Some(false);
            }
            match (head.tag(), lack) {
                (tag::EXPRESSION | tag::MARKED | TERM, _) => value = head,
                (SYMBOL, Lack::Type) => return Some(self.has_no_type(head)),
                (SYMBOL | FOREIGN, Lack::FunctionType) => {
                    return Some(matches!(self.head_kind(head, arity), HeadKind::Untyped));
                }
                (INTEGER | tag::NUMBER, Lack::FunctionType) => return Some(true),
                _ => return Some(false),
            }
        }
    }

    fn has_no_type(&mut self, symbol: Ref) -> bool {
        if let Some(&known) = self.m.type_cache.typed.get(&(symbol, TypeId::MAX, false)) {
            return known;
        }
        let atom = self.m.values.leaf_atom(symbol);
        let found = types::types_of(&self.space, &atom, self.session.program.variables());
        let is_open = found.iter().all(|found| found.atom.is_symbol(names::UNDEFINED));
        self.m.type_cache.typed.insert((symbol, TypeId::MAX, false), is_open);
        is_open
    }
}

impl Machine {
    /// Whether a value is a state of exactly this type.
    pub(super) fn is_state_of(&self, value: Ref, type_id: TypeId) -> bool {
        self.values.state_of(value).is_some_and(|state| *state.type_atom() == self.code.types[usize::from(type_id)])
    }

    /// What results are evaluated to, given the type that is declared: `Expression` would otherwise end the evaluation as
    /// `Atom` does.
    pub(super) fn evaluated_as(&self, declared: TypeId) -> TypeId {
        if declared == self.type_cache.expression_type { 0 } else { declared }
    }

    /// The spaces in which rules and types are looked up.
    pub(super) fn watch(&mut self, space: &SharedSpace) {
        self.code.watched = std::iter::once(space.clone()).chain(space.imports()).collect();
        self.code.watched_changes = self.code.watched.iter().map(SharedSpace::change_counts).collect();
        self.code.changes_seen = None;
    }

    /// From now on rules may change while a form is evaluated.
    #[cold]
    pub(super) fn be_exact(&mut self) {
        self.code.is_exact = true;
        self.next_version(true);
    }

    /// Rules have changed; or types, too.
    pub(super) fn next_version(&mut self, is_shape: bool) {
        self.code.version += 1;
        self.type_cache.ruled.clear();
        self.type_cache.have_many_rules.clear();
        self.type_cache.schemes.noted.clear();
        self.type_cache.well_typed.clear();
        self.type_cache.tree_recursions.clear();
        self.type_cache.flows.clear();
        // The code of a frame that was entered long before keeps notes, too.
        let kept = self.code.data.iter_mut().filter_map(|data| data.typed.as_deref_mut());
        let kept = kept.chain([&mut self.type_cache.closed]);
        if kept_types::next_range(&mut self.type_cache.notes, kept) {
            self.values.heap.clear_notes();
        }
        self.values.normal.advance(self.type_cache.notes.normal());
        if is_shape {
            self.code.type_epoch += 1;
            self.rooms.open_data.forget();
            self.type_cache.heads.clear();
            self.type_cache.compound_ruled.clear();
            self.type_cache.typed.clear();
            self.type_cache.schemes.clear();
            self.type_cache.only_types.clear();
            self.type_cache.whole_types.clear();
            self.type_cache.special.clear();
        }
    }
}
