//! Types without a machine: values, a space with declarations, and a list of rules.

use super::kept_types::TypedData;
use super::rules::{FunctionTypes, Rule, Rules};
use super::signatures::{Formal, HeadKind};
use super::type_table::parse;
use super::{KnownTypes, TypeChecker, Types};
use crate::lowering::Form;
use crate::machine::code::{Callee, Slot, TypeId};
use crate::machine::halt::Halt;
use crate::machine::values::{Scope, Values};
use crate::names;
use region::{Ref, tag};
use space::{Atom, SharedSpace, SharedTerms, VariableSource};

/// Rules and declarations that nothing runs.
struct Program {
    types: Types,
    values: Values,
    space: SharedSpace,
    variables: VariableSource,
    rules: Vec<(Callee, Rule)>,
}

impl Program {
    /// A program of these declarations and rules.
    fn new(sources: &[&str]) -> Self {
        let terms = SharedTerms::default();
        let (mut types, values) = (Types::default(), Values::new(SharedTerms::clone(&terms)).expect("there is room"));
        types.has_types = true;
        let (space, variables) = (SharedSpace::new(1, "program", terms), VariableSource::default());
        let mut program = Self { types, values, space, variables, rules: Vec::new() };
        sources.iter().for_each(|source| program.add(source));
        program
    }

    fn add(&mut self, source: &str) {
        let atom = parse(source);
        if let Some([equal, call, body]) = atom.children()
            && *equal == names::equal()
        {
            let (head, patterns) = call.children().and_then(<[Atom]>::split_first).expect("it is a call");
            let head = self.values.constant_leaf(head).expect("it is a leaf");
            self.rules.push(((head, patterns.len() as Slot), (patterns.to_vec(), body.clone())));
        }
        self.space.add(&atom);
    }

    /// A value as the machine holds it.
    fn value(&mut self, source: &str) -> Ref {
        self.values.load(&parse(source), &mut Scope::default()).expect("there is room")
    }

    fn id(&mut self, source: &str) -> TypeId {
        self.types.ids.id(&parse(source)).expect("there is room")
    }

    fn callee(&mut self, name: &str, count: Slot) -> Callee {
        (self.values.constant_leaf(&Atom::symbol(name)).expect("it is a leaf"), count)
    }

    fn kind(&mut self, head: &str, arity: Slot) -> HeadKind {
        let (head, arity) = self.callee(head, arity);
        self.types().head_kind(head, usize::from(arity))
    }

    fn has_type(&mut self, value: &str, type_atom: &str) -> bool {
        let (value, type_id) = (self.value(value), self.id(type_atom));
        self.types().has_type(value, type_id, false)
    }

    /// The scheme of a value, as a type.
    fn scheme(&mut self, value: &str) -> Option<String> {
        let value = self.value(value);
        let scheme = self.types().scheme_of(value)?;
        Some(self.types.schemes.table.atom(scheme).to_string())
    }

    fn is_well_typed(&mut self, name: &str, count: Slot) -> bool {
        let callee = self.callee(name, count);
        FunctionTypes::new(self).is_well_typed(callee)
    }
}

impl Rules for Program {
    fn types(&mut self) -> TypeChecker<'_> {
        TypeChecker::new(&mut self.types, &mut self.values, &self.space, &mut self.variables)
    }

    fn rules_of(&mut self, callee: Callee) -> Option<Vec<Rule>> {
        Some(self.rules.iter().filter(|(called, _)| *called == callee).map(|(_, rule)| rule.clone()).collect())
    }

    fn rules_taking_no_numbers(&mut self, callee: Callee) -> Option<Vec<Rule>> {
        self.rules_of(callee)
    }

    fn has_rules(&mut self, callee: Callee) -> bool {
        self.rules.iter().any(|(called, _)| *called == callee)
    }

    fn may_change(&self) -> bool {
        false
    }

    fn is_tabled(&mut self, _head: Ref) -> bool {
        false
    }

    fn special_form(&mut self, name: &str, arity: usize) -> Option<Form> {
        (name == "if" && arity == 3).then_some(Form::If)
    }

    fn is_constructor(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        Ok(!self.has_rules((head, arity as Slot)))
    }

    fn makes_data(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        Ok(matches!(self.types().head_kind(head, arity), HeadKind::Untyped) && !self.has_rules((head, arity as Slot)))
    }
}

const LISTS: [&str; 5] = [
    "(: Nil (List $t))",
    "(: Cons (-> $t (List $t) (List $t)))",
    "(: one Number)",
    "(: word String)",
    "(: plus (-> Number Number Number))",
];

fn lists(more: &[&str]) -> Program {
    Program::new(&[&LISTS, more].concat())
}

#[test]
fn a_head_is_called_by_its_only_function_type() {
    let mut program = lists(&["(: both (-> Number A))", "(: both (-> String A))", "(: hold (-> Atom Atom))"]);
    let number = program.id("Number");
    match program.kind("plus", 2) {
        HeadKind::Typed(signature) => {
            assert_eq!(&*signature.formals, [Formal::Typed(number); 2]);
            assert_eq!(signature.result, Some(number));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(program.kind("plus", 3), HeadKind::Other), "it takes two");
    assert!(matches!(program.kind("Cons", 2), HeadKind::Parametric(_)));
    assert!(matches!(program.kind("hold", 1), HeadKind::Raw { .. }));
    assert!(matches!(program.kind("both", 1), HeadKind::Other), "it has two types");
    assert!(matches!(program.kind("unknown", 1), HeadKind::Untyped));
    assert!(matches!(program.kind("one", 1), HeadKind::Untyped), "it is no function");
}

#[test]
fn the_scheme_of_data_is_its_only_type() {
    let mut program = lists(&["(: two Number)", "(: two String)"]);
    assert_eq!(program.scheme("(Cons one (Cons one Nil))").as_deref(), Some("(List Number)"));
    assert_eq!(program.scheme("(Cons (Cons word Nil) Nil)").as_deref(), Some("(List (List String))"));
    assert_eq!(program.scheme("(Cons one (Cons word Nil))"), None, "it has a type error");
    assert_eq!(program.scheme("(Cons two Nil)"), None, "it has two types");
    assert_eq!(program.scheme("(unknown one)").as_deref(), Some(names::UNDEFINED));
    assert!(program.has_type("(Cons one Nil)", "(List Number)"));
    assert!(!program.has_type("(Cons one Nil)", "(List String)"));
    assert!(program.has_type("(Cons unknown Nil)", "(List String)"), "what has no type agrees with every type");
}

#[test]
fn what_was_found_out_holds_until_types_change() {
    let mut program = lists(&[]);
    assert!(matches!(program.kind("late", 1), HeadKind::Untyped));
    let late = program.value("(late one)");
    assert!(program.types().is_open(late));
    program.add("(: late (-> Number (List Number)))");
    assert!(matches!(program.kind("late", 1), HeadKind::Untyped) && program.types().is_open(late));
    program.types.forget(true, std::iter::empty());
    assert!(matches!(program.kind("late", 1), HeadKind::Typed(_)) && !program.types().is_open(late));
    assert_eq!(program.scheme("(late one)").as_deref(), Some("(List Number)"));
}

#[test]
fn data_is_noted_with_its_type() {
    let mut program = lists(&[]);
    let (list, lists) = (program.id("(List Number)"), program.id("(List String)"));
    let made = program.value("(Cons one Nil)");
    assert_eq!(program.types.own_result(&program.values, made, 0), None);
    program.types().note_made(made);
    assert_eq!(program.types.own_result(&program.values, made, 0), Some(made.marked()));
    assert_eq!(made.marked().tag(), tag::MARKED);
    // A note tells of a type whose scheme was asked for.
    assert!(program.types().is_normal_to(made, list) && !program.types().is_normal_to(made, lists));
    assert!(program.types.is_told(&program.values, made, list));
    assert!(!program.types.is_told(&program.values, made, lists));
    program.types.forget(false, std::iter::empty());
    assert!(!program.types.is_told(&program.values, made, list), "rules have changed");
}

#[test]
fn a_function_is_well_typed_if_its_rules_and_all_that_they_call_are() {
    let mut program = lists(&[
        "(: length (-> (List $t) Number))",
        "(= (length Nil) one)",
        "(= (length (Cons $head $tail)) (plus one (length $tail)))",
        "(: wrong (-> Number Number))",
        "(= (wrong $number) word)",
        "(: calls-wrong (-> Number Number))",
        "(= (calls-wrong $number) (plus $number (wrong $number)))",
        "(: either (-> Bool $t $t $t))",
        "(= (either $is $then $else) (if $is $then $else))",
        "(: narrow (-> $t Number))",
        "(= (narrow $any) $any)",
    ]);
    assert!(program.is_well_typed("plus", 2));
    assert!(program.is_well_typed("length", 1));
    assert!(program.is_well_typed("either", 3));
    assert!(!program.is_well_typed("wrong", 1));
    assert!(!program.is_well_typed("calls-wrong", 1));
    assert!(!program.is_well_typed("narrow", 1), "a declared variable stands for every type");
    assert!(!program.is_well_typed("unknown", 1), "it has no type");
}

#[test]
fn a_call_is_evaluated_by_what_its_arguments_say() {
    let mut program = lists(&["(: make (-> Number $t))"]);
    let (list, number) = (program.id("(List Number)"), program.id("Number"));
    let (call, (head, count)) = (program.value("(Cons one Nil)"), program.callee("Cons", 2));
    let HeadKind::Parametric(function) = program.types().head_kind(head, usize::from(count)) else {
        panic!("its type has variables");
    };
    let found = FunctionTypes::new(&mut program).instance_of_call(call, head, &function, 0);
    let Ok(Some((signature, KnownTypes::Inferred))) = found else { panic!("all is known") };
    assert_eq!(&*signature.formals, [Formal::Typed(number), Formal::Typed(list)]);
    assert_eq!(signature.result, Some(list));
    let wrong = program.value("(Cons one (Cons word Nil))");
    let found = FunctionTypes::new(&mut program).instance_of_call(wrong, head, &function, 0);
    assert!(matches!(found, Ok(None)), "an argument has a type error");
}

#[test]
fn an_evaluation_says_a_type_if_all_of_its_ends_do() {
    let mut program = lists(&[
        "(: told (-> Number (List $t)))",
        "(= (told $number) (Cons one Nil))",
        "(: lost (-> Number (List $t)))",
        "(= (lost $number) (any))",
        "(: any (-> %Undefined%))",
        "(: mixed (-> Number (List $t)))",
        "(= (mixed one) (Cons one Nil))",
        "(= (mixed $number) (any))",
    ]);
    let mut flow = |source: &str| {
        let value = program.value(source);
        let flow = FunctionTypes::new(&mut program).type_flow(value).unwrap_or_else(|_| panic!("there is room"));
        (flow.is_said(), flow.depends())
    };
    assert_eq!(flow("(told one)"), (true, false));
    assert_eq!(flow("(lost one)"), (false, false));
    assert_eq!(flow("(mixed one)"), (true, true));
}

#[test]
fn the_first_function_type_that_takes_the_arguments_applies() {
    let mut program = lists(&["(: both (-> Number A))", "(: both (-> String B))", "(: both (-> Number C))"]);
    let [number, string, a, b, c] = ["Number", "String", "A", "B", "C"].map(|name| program.id(name));
    let mut applied = |call: &str, expected: TypeId| {
        let call = program.value(call);
        let found = program.types().applicable(call, expected).unwrap_or_else(|_| panic!("there is room"));
        found.map(|signature| (signature.formals.to_vec(), signature.result))
    };
    assert_eq!(applied("(both one)", 0), Some((vec![Formal::Typed(number)], Some(a))));
    assert_eq!(applied("(both one)", c), Some((vec![Formal::Typed(number)], Some(c))));
    assert_eq!(applied("(both word)", 0), Some((vec![Formal::Typed(string)], Some(b))));
    assert_eq!(applied("(both word)", a), None, "no type with this result takes a text");
    assert_eq!(applied("(both one word)", 0), None, "no type takes two arguments");
}

#[test]
fn code_keeps_the_note_of_data_by_the_types_of_its_children() {
    let mut program = lists(&[]);
    let mut typed = TypedData::new(None, None);
    let (one, other) = (program.value("(Cons one Nil)"), program.value("(Cons one Nil)"));
    let note = program.types().note_of_made(one, &mut typed);
    assert!(note.is_some_and(|note| program.types.notes.hold(note)));
    assert_eq!(program.types().note_of_made(other, &mut typed), note);
    let words = program.value("(Cons word Nil)");
    assert_ne!(program.types().note_of_made(words, &mut typed), note, "it is of another type");
    let wrong = program.value("(Cons one (Cons word Nil))");
    assert_eq!(program.types().note_of_made(wrong, &mut typed), None, "an argument has a type error");
    program.types.forget(false, std::iter::once(&mut typed));
    assert_ne!(program.types().note_of_made(one, &mut typed), note, "rules have changed");
}

#[test]
fn what_is_known_takes_no_numbers_of_variables() {
    let mut program = lists(&["(: first (-> (List $t) $t))", "(= (first (Cons $head $tail)) $head)"]);
    let mut ask = || {
        let before = program.variables.last();
        assert!(matches!(program.kind("first", 1), HeadKind::Parametric(_)));
        assert_eq!(program.scheme("(Cons (first (Cons one Nil)) Nil)").as_deref(), Some("(List Number)"));
        assert!(program.is_well_typed("first", 1));
        program.variables.last() - before
    };
    assert!(ask() > 0, "declarations are asked for");
    assert_eq!(ask(), 0);
}
