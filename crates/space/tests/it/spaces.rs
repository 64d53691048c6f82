//! Spaces as programs hold them: imports, conjunctions, and spaces inside spaces.

use crate::atoms::{Base, atom, expression, variable};
use space::{Atom, Grounded, HostMatcher, Number, SharedSpace, Solution, Terms, VariableSource, conjunction};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn spaces<const N: usize>() -> [SharedSpace; N] {
    let terms = Terms::shared();
    std::array::from_fn(|number| SharedSpace::new(number as u64, format!("&{number}"), terms.clone()))
}

fn base_of(space: &SharedSpace) -> Base {
    Base { space: space.clone(), source: VariableSource::default() }
}

/// `(in <space>)`
fn inside(space: &SharedSpace) -> Atom {
    expression([Atom::symbol("in"), space.clone().into()])
}

#[test]
fn solutions_of_a_conjunction_come_in_the_order_of_its_patterns() {
    let mut base = Base::of(&["(p 2)", "(p 1)", "(q b)", "(q a)", "(r 1 a)", "(r 2 a)", "(r 2 b)"]);
    assert_eq!(base.answers("(, (p $x) (q $y))", "($x $y)"), ["(2 b)", "(2 a)", "(1 b)", "(1 a)"]);
    assert_eq!(base.answers("(, (p $x) (q $y) (r $x $y))", "($x $y)"), ["(2 b)", "(2 a)", "(1 a)"]);
    assert_eq!(base.answers("(, (r $x $y) (r $y $z))", "$x"), [""; 0]);
}

#[test]
fn a_conjunction_of_nothing_holds_once_and_a_failed_one_never() {
    let mut base = Base::of(&["(p 1)"]);
    assert_eq!(base.answers("(,)", "holds"), ["holds"]);
    assert_eq!(base.answers("(, (p $x))", "$x"), ["1"]);
    assert_eq!(base.answers("(, (p $x) (q $x))", "$x"), [""; 0]);
    assert!(conjunction(&atom("(; a)")).is_none() && conjunction(&atom(",")).is_none());
    assert_eq!(conjunction(&atom("(, a b)")).map(<[Atom]>::len), Some(2));
}

#[test]
fn a_conjunction_joins_through_rules() {
    let mut base = Base::of(&["(likes $anyone icecream)", "(likes sam $x)", "(person ann)", "(person sam)"]);
    assert_eq!(
        base.answers("(, (person $p) (likes $p $what))", "($p $what)"),
        ["(ann icecream)", "(sam icecream)", "(sam $_0)"]
    );
    assert_eq!(base.answers("(, (likes $p $w) (person $p))", "($p $w)").len(), 3);
}

#[test]
fn imports_answer_after_the_space_itself_in_order_and_not_through_others() {
    let [own, first, second, far] = spaces();
    for (space, name) in [(&second, "second"), (&own, "own"), (&first, "first"), (&far, "far")] {
        space.add(&expression([Atom::symbol("from"), Atom::symbol(name)]));
    }
    second.import(&far);
    own.import(&first);
    own.import(&second);
    own.import(&first);
    own.import(&own);
    let mut base = base_of(&own);
    assert_eq!(base.answers("(from $x)", "$x"), ["own", "first", "second"]);
    assert_eq!(base.answers("(, (from $x) (from second))", "$x").len(), 3);
    assert_eq!(base.contents(), ["(from own)"]);
    assert_eq!((own.len(), own.imports().len()), (1, 2));
    assert!(!own.remove(&atom("(from first)")), "removal does not reach imports");
}

#[test]
fn a_view_without_imports_is_of_the_same_atoms() {
    let module = SharedSpace::new(1, "(module top)", Terms::shared()).with_bare_name("(atoms of top)");
    let view = module.without_imports();
    assert!(view.without_imports().is_same(&view), "what has no name without imports is its own view");
    module.add(&atom("late"));
    assert_eq!(view.len(), 1);
    assert_eq!((view.name(), module.name()), ("(atoms of top)", "(module top)"));
    assert!(view.remove(&atom("late")) && module.is_empty());
    let [library] = spaces();
    library.add(&atom("(f imported)"));
    module.add(&atom("(f own)"));
    module.import(&library);
    assert_eq!(base_of(&module).answers("(f $x)", "$x"), ["own", "imported"]);
    assert_eq!(base_of(&module.without_imports()).answers("(f $x)", "$x"), ["own"]);
}

#[test]
fn spaces_are_equal_by_identity_and_print_by_name() {
    let [one, other] = spaces();
    let atoms = [&one, &one.clone(), &other].map(|space| Atom::from(space.clone()));
    assert_eq!(atoms[0], atoms[1]);
    assert_ne!(atoms[0], atoms[2]);
    assert_eq!(atoms[0].to_string(), "&0");
    assert!(atoms[0].is_ground() && !atoms[0].is_rigid());
}

#[test]
fn a_space_in_a_query_asks_that_space() {
    let [outer, inner] = spaces();
    inner.add(&atom("(f a)"));
    inner.add(&atom("(f b)"));
    outer.add(&atom("(in (f a))"));
    outer.add(&atom("(in (f c))"));
    outer.add(&atom("(in (f $any))"));
    let mut base = base_of(&outer);
    assert_eq!(base.solutions(&inside(&inner)).len(), 3, "(f a) once, (f $any) twice");
    let query = expression([Atom::symbol(","), inside(&inner), atom("(in (f c))")]);
    assert_eq!(base.solutions(&query).len(), 6, "two stored atoms match the second pattern");
}

#[test]
fn copies_multiply_through_nested_spaces() {
    let [outer, inner] = spaces();
    for _ in 0..2 {
        inner.add(&atom("(f a)"));
        inner.add(&atom("(f $x)"));
    }
    for _ in 0..3 {
        outer.add(&inside(&inner));
    }
    assert_eq!(base_of(&outer).answers("(in (f a))", "found").len(), 3 * 4);
    assert_eq!(base_of(&outer).answers("(in (f $x))", "$x").len(), 3 * 4);
}

#[test]
fn a_conjunction_reaches_into_a_nested_space() {
    let [outer, inner] = spaces();
    inner.add(&atom("(edge a b)"));
    inner.add(&atom("(edge b c)"));
    outer.add(&inside(&inner));
    let mut base = base_of(&outer);
    assert_eq!(base.answers("(in (, (edge $x $y) (edge $y $z)))", "($x $z)"), ["(a c)"]);
    assert_eq!(base.answers("(, (in (edge $x $y)) (in (edge $y $z)))", "($x $z)"), ["(a c)"]);
    inner.add(&atom("(of a d)"));
    inner.add(&atom("(of a e)"));
    let in_order = ["(a d)", "(a e)", "(b d)", "(b e)"];
    assert_eq!(base.answers("(in (, (edge $x $y) (of $u $z)))", "($x $z)"), in_order, "first pattern, then second");
}

#[test]
fn a_variable_shared_with_a_nested_query_has_one_value() {
    let [outer, inner] = spaces();
    ["(f a 1)", "(f b 2)"].iter().for_each(|fact| inner.add(&atom(fact)));
    outer.add(&expression([Atom::symbol("pair"), Atom::symbol("b"), inner.clone().into()]));
    outer.add(&expression([Atom::symbol("pair"), inner.clone().into(), Atom::symbol("a")]));
    let mut base = base_of(&outer);
    assert_eq!(base.answers("(pair $x (f $x $n))", "($x $n)"), ["(b 2)"]);
    assert_eq!(base.answers("(pair (f $x $n) $x)", "($x $n)"), ["(a 1)"]);
}

#[test]
fn nested_spaces_answer_with_their_imports() {
    let [outer, inner, library] = spaces();
    library.add(&atom("(f b)"));
    inner.add(&atom("(f a)"));
    inner.import(&library);
    outer.add(&inside(&inner));
    assert_eq!(base_of(&outer).answers("(in (f $x))", "$x"), ["a", "b"]);
}

/// Spaces that hold themselves and each other: a query that asks itself again used to end the process.
#[test]
fn spaces_in_a_circle_are_asked_and_answer() {
    let [one, two] = spaces();
    for space in [&one, &two] {
        space.add(&space.clone().into());
        space.add(&inside(space));
        space.add(&atom("(f a)"));
    }
    let mut base = base_of(&one);
    assert_eq!(base.answers("(in (in (in (f $x))))", "$x"), ["a"]);
    assert!(!base.solutions(&Atom::from(two.clone())).is_empty(), "both hold (f a)");
    assert!(!base.solutions(&inside(&two)).is_empty());
    let [empty_one, empty_two] = spaces();
    empty_one.add(&empty_one.clone().into());
    empty_two.add(&empty_two.clone().into());
    assert_eq!(base_of(&empty_one).solutions(&Atom::from(empty_two.clone())).len(), 0, "neither holds anything else");
    [one, two, empty_one, empty_two].iter().for_each(SharedSpace::clear);
}

#[test]
fn a_chain_of_spaces_is_searched_to_its_end() {
    const LENGTH: usize = 2_000;
    let terms = Terms::shared();
    let last = SharedSpace::new(0, "&0", terms.clone());
    last.add(&atom("(f found)"));
    let mut first = last;
    for serial in 1..LENGTH as u64 {
        let outer = SharedSpace::new(serial, "&s", terms.clone());
        outer.add(&inside(&first));
        first = outer;
    }
    let query = (1..LENGTH).fold(atom("(f $x)"), |inner, _| expression([Atom::symbol("in"), inner]));
    let small_stack = std::thread::Builder::new().stack_size(256 << 10);
    let asked = small_stack.spawn(move || base_of(&first).solutions(&query)).expect("a thread starts").join();
    let found = asked.expect("the chain is searched without native recursion");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][0].1, atom("found"));
}

#[test]
fn a_cleared_space_is_empty_and_usable() {
    let [one, two] = spaces();
    one.add(&inside(&two));
    one.add(&atom("(f a)"));
    one.import(&two);
    one.clear();
    assert!(one.is_empty() && one.imports().is_empty());
    one.add(&atom("(f b)"));
    assert_eq!(base_of(&one).answers("(f $x)", "$x"), ["b"]);
}

#[test]
fn spaces_of_one_dictionary_and_of_two_hold_their_own_atoms() {
    let [one, same] = spaces();
    let [other] = spaces();
    one.add(&atom("(p a)"));
    same.add(&atom("(p b)"));
    other.add(&atom("(p c)"));
    for (space, value) in [(&one, "a"), (&same, "b"), (&other, "c")] {
        assert_eq!(base_of(space).answers("(p $x)", "$x"), [value]);
    }
}

#[test]
fn a_snapshot_answers_as_its_space_with_imports_did_at_that_moment() {
    let terms = Terms::shared();
    let [own, rules, facts] = ["own", "rules", "facts"].map(|name| SharedSpace::new(1, name, terms.clone()));
    let foreign = SharedSpace::new(4, "foreign", Terms::shared());
    let texts = ["(p 1)", "(p a)", "(q a b)", "(q 1.0 c)", "(p 1)", "(q $x $x)", "(r (q a $x) $x)", "(p $x)"];
    for (place, text) in texts.iter().cycle().take(20).enumerate() {
        let rows = [&own, &facts, &foreign][place % 3];
        let space = if text.contains('$') { &rules } else { rows };
        space.add(&atom(text));
    }
    let queries = ["(p $x)", "(q $x $y)", "(, (p $x) (q $x $y))", "(, (q a $y) (q $z $y) (p $z))", "(r $x $y)", "$x"];
    for imports in [&[][..], &[&facts], &[&facts, &rules], &[&rules, &foreign, &facts]] {
        own.imports().iter().for_each(|import| own.forget_import(import));
        imports.iter().for_each(|import| own.import(import));
        let answers = |query: &str| format!("{:?}", own.query(&atom(query), &mut VariableSource::default()));
        let (expected, snapshot) = (queries.map(answers), own.snapshot());
        for space in [&own, &rules, &facts, &foreign] {
            space.add(&atom("(p new)"));
            assert!(space.remove(&atom(&space.atoms(&mut VariableSource::default())[0].to_string())));
        }
        assert_ne!(queries.map(answers), expected);
        let then = queries.map(|query| format!("{:?}", snapshot.query(&atom(query), &mut VariableSource::default())));
        assert_eq!(then, expected, "{} imports", imports.len());
        assert_eq!(snapshot.imports().len(), imports.len());
    }
}

/// A fact is added to the space and then to what it imports, again and again: no snapshot has it in the import alone.
#[test]
fn a_snapshot_shows_a_space_and_its_imports_at_one_moment() {
    let [own, library] = spaces();
    own.import(&library);
    own.import(&SharedSpace::new(7, "other", Terms::shared()));
    let is_done = AtomicBool::new(false);
    let differences = std::thread::scope(|scope| {
        let (own_space, is_done) = (&own, &is_done);
        let reader = scope.spawn(move || {
            let mut seen = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                let snapshot = own_space.snapshot();
                seen.push(snapshot.len() as i64 - snapshot.imports()[0].len() as i64);
            }
            seen
        });
        for number in 0..20_000 {
            let fact = atom(&format!("(fact {number})"));
            own.add(&fact);
            library.add(&fact);
        }
        is_done.store(true, Ordering::Relaxed);
        reader.join().expect("the reader does not panic")
    });
    assert!(differences.iter().all(|difference| [0, 1].contains(difference)), "{differences:?}");
}

#[test]
fn a_space_that_imports_views_of_one_module_has_a_snapshot() {
    let terms = Terms::shared();
    let [own, module] = ["own", "ModuleSpace(m)"].map(|name| SharedSpace::new(1, name, terms.clone()));
    let module = module.with_bare_name("m");
    module.add(&atom("(f a)"));
    own.import(&module);
    own.import(&module.without_imports());
    let snapshot = own.snapshot();
    assert_eq!(snapshot.query(&atom("(f $x)"), &mut VariableSource::default()).len(), 2);
}

/// Matches integers from its own on, and says by how much they are larger.
struct AtLeast(i64);

impl HostMatcher for AtLeast {
    fn type_atom(&self) -> Atom {
        Atom::symbol("%Undefined%")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn matches(&self, atom: &Atom) -> Vec<Solution> {
        match atom {
            Atom::Grounded(Grounded::Number(Number::Int(value))) if *value >= self.0 => {
                vec![vec![(variable("more"), Atom::from(*value - self.0))]]
            }
            _ => Vec::new(),
        }
    }
}

#[test]
fn a_value_that_says_itself_what_it_matches_is_asked_on_either_side() {
    let mut serial = 1 << 40;
    let mut at_least = |number| {
        serial += 1;
        Atom::from(SharedSpace::of_matcher(serial, format!("{number}+"), Arc::new(AtLeast(number))))
    };
    let rule = |value: Atom, size: Atom| expression([Atom::symbol("rule"), value, size]);
    let mut base = Base::of(&["(rule 3 small)", "(rule 9 huge)"]);
    base.space.add(&rule(at_least(5), Atom::symbol("large")));
    // What is stored is asked: by a number, by what is no number, and under a variable that is bound already.
    assert_eq!(base.answers("(rule 7 $size)", "($size $more)"), ["(large 2)"]);
    assert_eq!(base.answers("(rule 4 $size)", "$size"), [""; 0]);
    assert_eq!(base.answers("(rule word $size)", "$size"), [""; 0]);
    assert_eq!(base.answers("(rule 9 $more)", "$more"), ["huge"], "it says 4, and the rule says large");
    assert_eq!(base.answers("(rule $x large)", "$x"), ["5+"]);
    // What is asked for is asked itself.
    let found = base.solutions(&rule(at_least(8), variable("size").into()));
    assert_eq!(found, [vec![(variable("size"), Atom::symbol("huge")), (variable("more"), Atom::from(1))]]);
    // It is found and taken away by identity.
    let one = at_least(1);
    base.space.add(&one);
    assert!(!base.space.remove(&at_least(1)) && base.space.remove(&one));
}
