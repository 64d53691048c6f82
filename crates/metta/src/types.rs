//! The types of atoms: gradual, dependent, several at once.
//!
//! 1. A grounded atom carries its type; a symbol has the types declared by `(: symbol type)` and, through
//!    `(:< type supertype)`, their supertypes.
//! 2. An expression has every product of its children's types in which the head is not a function, the types declared
//!    for the expression itself, and for each function type of its head what that type makes of the arguments:
//!    the return type, or an error.
//! 3. An atom without a type has the type `%Undefined%`, which agrees with everything.
//!
//! Types are computed from the leaves up with an explicit stack. Types with variables are fresh at each use.

use crate::names::{self, error, is_metatype};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{
    Atom, Bindings, Expression, Grounded, SharedSpace, SpaceVersion, Symbol, Unifier, VariableSource, distinct_parts,
    make_fresh, variables,
};
use space::{Rewrite, Variable, rewrite};

/// How many types one expression may have: the product of its children's types grows fast.
pub const TYPES_PER_ATOM_MAX: usize = 4096;

/// How many types are looked up without asking first whether there are supertypes at all.
const TYPES_LOOKED_UP: usize = 4;

/// How many steps up `:<` is followed: with a variable, as in `(:< $t (List $t))`, it never ends.
pub const SUPERTYPE_LEVELS_MAX: usize = 64;

/// After how many expressions inside of one it is remembered what types they have: the same one may be met again and again.
const EXPRESSIONS_BEFORE_MEMORY: usize = 256;

/// If there are more expressions than this, all that was found in an evaluation is forgotten.
const TYPES_KEPT_MAX: usize = 1 << 16;

/// One type of an atom.
#[derive(Clone, Debug)]
pub struct AtomType {
    /// The type.
    pub atom: Atom,
    /// For an ill-typed application, the error to report instead.
    pub error: Option<Atom>,
}

impl AtomType {
    fn valid(atom: Atom) -> Self {
        Self { atom, error: None }
    }

    /// Whether this is the type of a well-typed atom.
    pub fn is_valid(&self) -> bool {
        self.error.is_none()
    }

    /// Whether it is a function type.
    pub fn is_function(&self) -> bool {
        is_function(&self.atom)
    }
}

/// Whether an atom is a function type: `(-> … result)`.
pub fn is_function(atom: &Atom) -> bool {
    atom.children().is_some_and(|children| children.len() > 1 && children[0].is_symbol(names::ARROW))
}

/// The types of an atom in a space; `%Undefined%` when none is known.
pub fn types_of(space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<AtomType> {
    or_undefined(known_types(space, atom, None, &mut Remembered::default(), source))
}

/// The types by which a call is evaluated: those of its head.
pub(crate) fn types_of_head(space: &SharedSpace, call: &[Atom], source: &mut VariableSource) -> Vec<AtomType> {
    undeclared_type(call).map_or_else(|| types_of(space, &call[0], source), |found| vec![found])
}

/// The types that were found in one evaluation: what grows step by step is asked about at each step. They hold as long as the space and its imports do not change.
#[derive(Default)]
pub(crate) struct TypeMemory {
    version: Option<SpaceVersion>,
    found: Remembered,
}

impl TypeMemory {
    /// As [`types_of`].
    pub(crate) fn types_of(&mut self, space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<AtomType> {
        if !matches!(atom, Atom::Expression(_)) {
            return types_of(space, atom, source);
        }
        let is_known = self.version.as_ref().is_some_and(|version| version.is_that_of(space));
        if !is_known || self.found.types.len() > TYPES_KEPT_MAX {
            self.found = Remembered { expressions: EXPRESSIONS_BEFORE_MEMORY, ..Remembered::default() };
            self.version = Some(SpaceVersion::of(space));
        }
        or_undefined(known_types(space, atom, None, &mut self.found, source))
    }

    /// As [`types_of_head`].
    pub(crate) fn types_of_head(
        &mut self,
        space: &SharedSpace,
        call: &[Atom],
        source: &mut VariableSource,
    ) -> Vec<AtomType> {
        undeclared_type(call).map_or_else(|| self.types_of(space, &call[0], source), |found| vec![found])
    }
}

/// The types of an atom, `%Undefined%` if none is known.
fn or_undefined(types: Vec<AtomType>) -> Vec<AtomType> {
    if types.is_empty() { vec![AtomType::valid(names::undefined())] } else { types }
}

/// `collapse-bind` with a number has a type that is not declared, so that `get-type` gives for the name what it gives in Hyperon.
fn undeclared_type(call: &[Atom]) -> Option<AtomType> {
    let [head, _, _] = call else { return None };
    let types = || [names::ARROW, "Atom", "Number", "Expression"].map(Atom::symbol);
    head.is_symbol("collapse-bind").then(|| AtomType::valid(Atom::expression(types())))
}

/// The errors of an atom that has no valid type.
pub fn type_errors(space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Option<Vec<Atom>> {
    types_of(space, atom, source).into_iter().map(|found| found.error).collect()
}

/// What a space declares, looked up once: for many questions about a space that does not change meanwhile.
///
/// Most spaces declare types of names only, and few supertypes. Then an expression has no declared type, and each symbol is looked up
/// once.
pub(crate) struct Declarations {
    /// The symbols that have types.
    subjects: FxHashSet<Symbol>,
    /// The types without variables of the symbols that were asked about.
    ground: FxHashMap<Symbol, Vec<Atom>>,
    /// The heads of the expressions that have types, and whether there are others than names among them.
    heads: FxHashSet<Symbol>,
    has_other_heads: bool,
    /// Whether a variable has a type, and so everything.
    has_open: bool,
    has_supertypes: bool,
}

impl Declarations {
    pub(crate) fn of(space: &SharedSpace, source: &mut VariableSource) -> Self {
        let (mut subjects, mut heads) = (FxHashSet::default(), FxHashSet::default());
        let (mut has_other_heads, mut has_open) = (false, false);
        for subject in subjects_of(space, names::HAS_TYPE, source) {
            match subject {
                Some(Atom::Symbol(name)) => drop(subjects.insert(name)),
                // Native functions and other values carry their types.
                Some(Atom::Grounded(_)) => {}
                Some(Atom::Expression(expression)) => match expression.children().first() {
                    Some(Atom::Symbol(name)) => drop(heads.insert(name.clone())),
                    _ => has_other_heads = true,
                },
                Some(Atom::Variable(_)) | None => has_open = true,
            }
        }
        let has_supertypes = !subjects_of(space, names::SUBTYPE, source).is_empty();
        Self { subjects, ground: FxHashMap::default(), heads, has_other_heads, has_open, has_supertypes }
    }

    /// As [`types_of`].
    pub(crate) fn types_of(&mut self, space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<AtomType> {
        or_undefined(known_types(space, atom, Some(self), &mut Remembered::default(), source))
    }

    /// As [`type_errors`].
    pub(crate) fn type_errors(
        &mut self,
        space: &SharedSpace,
        atom: &Atom,
        source: &mut VariableSource,
    ) -> Option<Vec<Atom>> {
        self.types_of(space, atom, source).into_iter().map(|found| found.error).collect()
    }

    /// The declared types of an atom.
    fn declared(&mut self, space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<Atom> {
        let may_have_some = self.has_open
            || match atom {
                Atom::Symbol(name) => self.subjects.contains(name),
                Atom::Expression(expression) => match expression.children().first() {
                    Some(Atom::Symbol(name)) => self.has_other_heads || self.heads.contains(name),
                    _ => self.has_other_heads || !self.heads.is_empty(),
                },
                Atom::Variable(_) | Atom::Grounded(_) => true,
            };
        if !may_have_some {
            return Vec::new();
        }
        let Atom::Symbol(name) = atom else { return declared_in(space, atom, source) };
        if let Some(known) = self.ground.get(name) {
            return known.clone();
        }
        let found = declared_in(space, atom, source);
        if found.iter().all(|type_atom| variables(type_atom).is_empty()) {
            self.ground.insert(name.clone(), found.clone());
        }
        found
    }
}

/// What stands second in the statements `(relation $X $Y)` of a space.
fn subjects_of(space: &SharedSpace, relation: &str, source: &mut VariableSource) -> Vec<Option<Atom>> {
    let [subject, object] = [source.fresh(names::asked()), source.fresh(names::asked())];
    let query = Atom::expression([Atom::symbol(relation), Atom::Variable(subject.clone()), Atom::Variable(object)]);
    let value = |solution: Vec<(Variable, Atom)>| solution.into_iter().find(|(bound, _)| *bound == subject);
    space.query(&query, source).into_iter().map(|solution| value(solution).map(|(_, value)| value)).collect()
}

/// An expression whose children's types are being found.
struct OpenTyping<'a> {
    atom: &'a Atom,
    children: &'a [Atom],
    types: Vec<Vec<AtomType>>,
}

impl<'a> OpenTyping<'a> {
    /// The child whose types are still to be found. What a head without types is applied to needs none: large data
    /// is not looked into.
    fn next_child(&self) -> Option<&'a Atom> {
        let head_has_none = self.types.first().is_some_and(Vec::is_empty);
        if head_has_none { None } else { self.children.get(self.types.len()) }
    }
}

/// The types of expressions inside of an atom whose types are being found, by where their children lie.
///
/// A program may make an atom of which each part holds the one before it twice. It is small in memory, but has as many expressions inside as
/// a tree. Types with variables are not remembered: they are fresh at each use.
#[derive(Default)]
struct Remembered {
    expressions: usize,
    /// With the expressions, so that no other comes to lie at their places.
    types: FxHashMap<usize, (Atom, Vec<AtomType>)>,
}

impl Remembered {
    /// What is known of an expression that is met.
    fn met(&mut self, children: &[Atom]) -> Option<Vec<AtomType>> {
        self.expressions += 1;
        if self.types.is_empty() {
            return None;
        }
        self.types.get(&(children.as_ptr() as usize)).map(|(_, types)| types.clone())
    }

    fn found(&mut self, expression: &Atom, children: &[Atom], types: &[AtomType]) {
        if self.expressions > EXPRESSIONS_BEFORE_MEMORY && types.iter().all(|found| found.atom.is_ground()) {
            self.types.insert(children.as_ptr() as usize, (expression.clone(), types.to_vec()));
        }
    }
}

/// The types that are known of an atom; empty when none is.
fn known_types(
    space: &SharedSpace,
    atom: &Atom,
    mut declarations: Option<&mut Declarations>,
    remembered: &mut Remembered,
    source: &mut VariableSource,
) -> Vec<AtomType> {
    let mut open: Vec<OpenTyping<'_>> = Vec::new();
    let mut current = atom;
    loop {
        let mut found = match current {
            Atom::Expression(expression) if !expression.is_empty() => {
                let known = remembered.met(expression.children());
                if known.is_none() {
                    open.push(OpenTyping { atom: current, children: expression.children(), types: Vec::new() });
                }
                known
            }
            leaf => Some(leaf_types(space, leaf, declarations.as_deref_mut(), source)),
        };
        loop {
            if let Some(types) = found.take() {
                match open.last_mut() {
                    Some(parent) => parent.types.push(types),
                    None => return types,
                }
            }
            let top = open.last().expect("an expression is open");
            if let Some(child) = top.next_child() {
                current = child;
                break;
            }
            let complete = open.pop().expect("an expression is open");
            let types = expression_types(space, &complete, declarations.as_deref_mut(), source);
            remembered.found(complete.atom, complete.children, &types);
            found = Some(types);
        }
    }
}

fn leaf_types(
    space: &SharedSpace,
    atom: &Atom,
    declarations: Option<&mut Declarations>,
    source: &mut VariableSource,
) -> Vec<AtomType> {
    match atom {
        Atom::Symbol(_) => declared_types(space, atom, declarations, source).into_iter().map(AtomType::valid).collect(),
        Atom::Grounded(value) => match grounded_type(value) {
            type_atom if type_atom.is_symbol(names::UNDEFINED) => Vec::new(),
            type_atom => vec![AtomType::valid(make_fresh(&type_atom, &[], source))],
        },
        Atom::Variable(_) | Atom::Expression(_) => Vec::new(),
    }
}

/// The type a grounded atom carries.
pub fn grounded_type(value: &Grounded) -> Atom {
    match value {
        Grounded::Bool(_) => Atom::symbol(names::BOOL),
        Grounded::Number(_) => Atom::symbol(names::NUMBER),
        Grounded::Text(_) => Atom::symbol(names::STRING),
        Grounded::Space(space) => match space.matcher() {
            Some(matcher) => matcher.type_atom(),
            None => Atom::symbol(names::SPACE_TYPE),
        },
        Grounded::State(state) => state.type_atom().clone(),
        Grounded::Bindings(_) => names::undefined(),
        Grounded::Host(value) => value.type_atom(),
    }
}

/// The types declared for an atom, and their supertypes.
fn declared_types(
    space: &SharedSpace,
    atom: &Atom,
    declarations: Option<&mut Declarations>,
    source: &mut VariableSource,
) -> Vec<Atom> {
    match declarations {
        Some(declarations) => declarations.declared(space, atom, source),
        None => declared_in(space, atom, source),
    }
}

fn declared_in(space: &SharedSpace, atom: &Atom, source: &mut VariableSource) -> Vec<Atom> {
    let mut types = second_of(space, names::HAS_TYPE, atom, source);
    types.retain(|found| !found.is_symbol(names::UNDEFINED));
    add_supertypes(space, &mut types, source);
    types
}

/// What stands third in the statements `(relation atom $X)` of a space.
fn second_of(space: &SharedSpace, relation: &str, atom: &Atom, source: &mut VariableSource) -> Vec<Atom> {
    let wanted = source.fresh(names::asked());
    let query = Atom::expression([Atom::symbol(relation), atom.clone(), Atom::Variable(wanted.clone())]);
    let solutions = space.query(&query, source).into_iter();
    let values = solutions.filter_map(|solution| solution.into_iter().find(|(bound, _)| *bound == wanted));
    values.map(|(_, value)| value).collect()
}

/// Adds the supertypes of some types, level by level.
///
/// An expression may have thousands of types, and most spaces declare no supertypes: then none of them is looked up.
fn add_supertypes(space: &SharedSpace, types: &mut Vec<Atom>, source: &mut VariableSource) {
    if types.len() > TYPES_LOOKED_UP && subjects_of(space, names::SUBTYPE, source).is_empty() {
        return;
    }
    let mut level = 0..types.len();
    for _ in 0..SUPERTYPE_LEVELS_MAX {
        for next in level.clone() {
            if types.len() >= TYPES_PER_ATOM_MAX {
                return;
            }
            for supertype in second_of(space, names::SUBTYPE, &types[next], source) {
                if !types.contains(&supertype) {
                    types.push(supertype);
                }
            }
        }
        level = level.end..types.len();
    }
}

fn expression_types(
    space: &SharedSpace,
    expression: &OpenTyping<'_>,
    declarations: Option<&mut Declarations>,
    source: &mut VariableSource,
) -> Vec<AtomType> {
    let (head, arguments) = expression.types.split_first().expect("the expression has a head");
    let undeclared = undeclared_type(expression.children).map(|found| vec![found]);
    let head = undeclared.as_ref().unwrap_or(head);
    let mut types = tuple_types(head, arguments);
    let may_have_supertypes = declarations.as_ref().is_none_or(|declarations| declarations.has_supertypes);
    types.extend(declared_types(space, expression.atom, declarations, source));
    if may_have_supertypes {
        add_supertypes(space, &mut types, source);
    }
    let mut found: Vec<AtomType> = types.into_iter().map(AtomType::valid).collect();
    for function in head.iter().filter(|found| found.is_function()) {
        apply_function_type(expression, &function.atom, arguments, &mut found, source);
        found.truncate(TYPES_PER_ATOM_MAX);
    }
    found
}

/// Every product of the children's types in which the head is no function.
///
/// A product is a type of the last child and the product before it that it follows, so each child costs what is added.
fn tuple_types(head: &[AtomType], arguments: &[Vec<AtomType>]) -> Vec<Atom> {
    let heads = head.iter().filter(|found| !found.is_function()).map(|found| (0, &found.atom));
    let mut products: Vec<Vec<(usize, &Atom)>> = vec![heads.collect()];
    for types in arguments {
        let before = products.last().map_or(0, Vec::len);
        let longer = (0..before).flat_map(|product| types.iter().map(move |found| (product, &found.atom)));
        products.push(longer.take(TYPES_PER_ATOM_MAX).collect());
    }
    let last = products.last().map_or(0, Vec::len);
    let whole = |mut product: usize| {
        let mut children = Vec::with_capacity(products.len());
        for child in products.iter().rev() {
            let (before, found) = child[product];
            children.push(found.clone());
            product = before;
        }
        children.reverse();
        Atom::expression(children)
    };
    (0..last).map(whole).collect()
}

/// Applies a function type to arguments of these types: its return type for each way in which they agree, or the
/// error of the first argument that does not.
fn apply_function_type(
    expression: &OpenTyping<'_>,
    function: &Atom,
    arguments: &[Vec<AtomType>],
    found: &mut Vec<AtomType>,
    source: &mut VariableSource,
) {
    let (formals, result) = function_parts(function);
    let ill_typed = |message| AtomType { atom: function.clone(), error: Some(error(expression.atom.clone(), message)) };
    if formals.len() != arguments.len() {
        found.push(ill_typed(Atom::symbol(names::INCORRECT_NUMBER_OF_ARGUMENTS)));
        return;
    }
    let mut alternatives = vec![Bindings::default()];
    for (position, (formal, actuals)) in formals.iter().zip(arguments).enumerate() {
        let argument = &expression.children[position + 1];
        if actuals.is_empty() || formal.is_symbol(names::UNDEFINED) || accepts_raw(formal, argument) {
            continue;
        }
        let mut next = Vec::new();
        // Two arguments with thousands of types each would be compared in millions of ways.
        for bindings in &alternatives {
            if next.len() >= TYPES_PER_ATOM_MAX {
                break;
            }
            next.extend(actuals.iter().flat_map(|actual| agree_deeply(&actual.atom, formal, bindings, source)));
        }
        if next.is_empty() {
            let messages = actuals.iter().map(|actual| bad_argument(position + 1, formal.clone(), actual.atom.clone()));
            found.extend(messages.map(ill_typed));
            return;
        }
        next.truncate(TYPES_PER_ATOM_MAX);
        alternatives = next;
    }
    found.extend(alternatives.iter().map(|bindings| AtomType::valid(bindings.resolve(result))));
}

/// The message of an ill-typed argument; positions count from 1.
pub fn bad_argument(position: usize, expected: Atom, actual: Atom) -> Atom {
    let position = Atom::from(space::Number::from(position));
    Atom::expression([Atom::symbol(names::BAD_ARG_TYPE), position, expected, actual])
}

/// The argument types and the return type of a function type.
pub fn function_parts(function: &Atom) -> (&[Atom], &Atom) {
    let children = function.children().expect("a function type is an expression");
    let (result, formals) = children[1..].split_last().expect("a function type has a result");
    (formals, result)
}

/// A function type with what is known of its variables put in.
///
/// The first argument of a function whose result holds its type, as in `(-> $t (List $t) (List $t))`, is evaluated even if the
/// variable stands for a metatype, and nothing is known of the result then: `(Cons (map-atom …) Nil)` is a list of what the call
/// comes to. Other arguments whose type stands for a metatype are taken as they stand.
pub fn instantiated(function: &Atom, bindings: &Bindings) -> Expression {
    let Atom::Expression(known) = bindings.resolve(function) else { unreachable!("a function type is an expression") };
    let (formals, result) = function_parts(function);
    match formals.first() {
        Some(first @ Atom::Variable(variable))
            if is_metatype(&bindings.resolve(first)) && variables(result).contains(variable) =>
        {
            let open = |found: &Variable| match found == variable {
                true => Rewrite::Replace(names::undefined()),
                false => Rewrite::Keep,
            };
            let result = rewrite(result, open).unwrap_or_else(|| result.clone());
            let mut children = known.children().to_vec();
            children[1] = names::undefined();
            *children.last_mut().expect("a function type has a result") = bindings.resolve(&result);
            Expression::new(children)
        }
        _ => known,
    }
}

/// Whether a type says how something is taken, or is in part unknown.
pub(crate) fn says_how(found: &Atom) -> bool {
    distinct_parts(found).any(|part| is_metatype(part) || part.is_symbol(names::UNDEFINED))
}

/// Whether an argument type is a metatype that takes this argument as it stands.
pub fn accepts_raw(formal: &Atom, argument: &Atom) -> bool {
    formal.is_symbol(names::ATOM) || formal.is_symbol(names::metatype(argument))
}

/// Whether two types agree, and how: either is `%Undefined%` or `Atom`, or they unify, `%Undefined%` inside them with
/// anything.
pub fn agree(left: &Atom, right: &Atom, bindings: &Bindings, source: &mut VariableSource) -> Vec<Bindings> {
    let is_open = |side: &Atom| side.is_symbol(names::UNDEFINED) || side.is_symbol(names::ATOM);
    if is_open(left) || is_open(right) {
        return vec![bindings.clone()];
    }
    let found = unify_under(left, right, bindings, source);
    if found.is_empty() { agree_deeply(left, right, bindings, source) } else { found }
}

/// Whether two types unify, with `%Undefined%` agreeing at any depth. A variable that agrees with it becomes it.
pub(crate) fn agree_deeply(
    left: &Atom,
    right: &Atom,
    bindings: &Bindings,
    source: &mut VariableSource,
) -> Vec<Bindings> {
    let mut open = Vec::new();
    let left = open_undefined(&bindings.resolve(left), &mut open, source);
    let right = open_undefined(&bindings.resolve(right), &mut open, source);
    let mut found = unify_under(&left, &right, bindings, source);
    for bindings in &mut found {
        for variable in &open {
            if let Atom::Variable(last) = bindings.walk(variable).clone() {
                bindings.bind(last, names::undefined());
            }
        }
    }
    found
}

fn unify_under(left: &Atom, right: &Atom, bindings: &Bindings, source: &mut VariableSource) -> Vec<Bindings> {
    let mut unifier = Unifier::under(bindings.clone(), source);
    if unifier.unify(left, right) { unifier.finish() } else { Vec::new() }
}

/// The type with a fresh variable, noted in `open`, in place of each `%Undefined%`.
fn open_undefined(type_atom: &Atom, open: &mut Vec<Atom>, source: &mut VariableSource) -> Atom {
    enum TypePart<'a> {
        Visit(&'a Atom),
        Close(usize),
    }
    let mut work = vec![TypePart::Visit(type_atom)];
    let mut done: Vec<Atom> = Vec::new();
    while let Some(part) = work.pop() {
        match part {
            TypePart::Visit(atom) if atom.is_symbol(names::UNDEFINED) => {
                let variable = Atom::Variable(source.fresh(names::asked()));
                open.push(variable.clone());
                done.push(variable);
            }
            TypePart::Visit(Atom::Expression(expression)) => {
                work.push(TypePart::Close(expression.len()));
                work.extend(expression.children().iter().rev().map(TypePart::Visit));
            }
            TypePart::Visit(leaf) => done.push(leaf.clone()),
            TypePart::Close(length) => {
                let children = done.split_off(done.len() - length);
                done.push(Atom::Expression(Expression::new(children)));
            }
        }
    }
    done.pop().expect("the walk leaves the whole")
}
