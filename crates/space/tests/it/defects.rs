//! One test for each known defect of another engine, under the name that `facts/metta.md` gives it.

use crate::atoms::{Base, applied, atom, expression};
use crate::measure::{allocations, assert_ratio, time};
use space::canonical::{decode, encode, encode_into};
use space::{Atom, HostValue, Number, PatternTree, SharedSpace, SharedState, Stored, Terms};
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// `(head aN bN)`
fn numbered(head: &str, number: usize) -> Atom {
    expression([Atom::symbol(head), Atom::symbol(&format!("a{number}")), Atom::symbol(&format!("b{number}"))])
}

fn filled(rows: usize) -> Base {
    let base = Base::new();
    (0..rows).for_each(|number| base.space.add(&numbered("edge", number)));
    base
}

/// Reads the canonical bytes of an atom that has no states, spaces or host values.
fn reread(original: &Atom) -> Atom {
    decode(&encode(original), |_| None).expect("whole bytes are an atom")
}

/// Another engine reserved 4 GiB for each insertion and each query.
#[test]
fn insert_allocates_bounded() {
    const BLOCK_MAX: u64 = 1 << 20;
    let mut base = Base::new();
    let atoms: Vec<Atom> = (0..4_000).map(|number| numbered("edge", number)).collect();
    let mut count = 0;
    for atom in &atoms {
        let (spent, ()) = allocations(|| base.space.add(atom));
        assert!(spent.bytes_total <= BLOCK_MAX, "adding {atom} allocates {} bytes", spent.bytes_total);
        count += spent.count_total;
    }
    assert!(count <= 4 * atoms.len() as u64, "{count} allocations for {} atoms", atoms.len());
    base.solutions(&atom("(edge a1 $x)"));
    let (spent, found) = allocations(|| base.solutions(&atom("(edge a7 $x)")));
    assert_eq!(found.len(), 1);
    assert!(spent.bytes_total < 4096, "a query allocates {} bytes", spent.bytes_total);
}

/// An insertion of a rule is bounded too, amortized: a rule allocates for itself and not for those before it.
#[test]
fn insert_of_rules_allocates_bounded() {
    let base = Base::new();
    let rule = |number: usize| atom(&format!("(= (f{number} $x) (g $x $y))"));
    let rules: Vec<Atom> = (0..4_000).map(rule).collect();
    let early: u64 = rules[..1_000].iter().map(|rule| allocations(|| base.space.add(rule)).0.count_total).sum();
    let late: u64 = rules[3_000..].iter().map(|rule| allocations(|| base.space.add(rule)).0.count_total).sum();
    assert!(late <= early * 11 / 10, "{early} allocations for the first thousand rules, {late} for the last");
}

/// Another engine said yes as soon as any fact existed.
#[test]
fn has_fact_exact() {
    let base = Base::of(&["(edge a b)", "(edge b c)", "lonely", "(rule $x a)"]);
    for present in ["(edge a b)", "(edge b c)", "lonely", "(rule $x a)", "(rule $other a)"] {
        assert_eq!(base.count(present), 1, "{present}");
    }
    let absent =
        ["(edge a c)", "(edge b b)", "(edge a)", "(edge a b c)", "edge", "()", "(rule a a)", "(rule $x b)", "$x"];
    for absent in absent {
        assert_eq!(base.count(absent), 0, "{absent}");
    }
}

/// … and looked at every fact to say so.
#[test]
fn has_fact_costs_the_same_in_any_space() {
    let ask = |base: &Base| {
        let present = numbered("edge", 7);
        allocations(|| base.space.read(|space| space.contains(&present))).0.bytes_total
    };
    let (small, large) = (filled(100), filled(20_000));
    assert_eq!(ask(&small), ask(&large));
    let asked = |base: &Base| {
        time(|| {
            for number in 0..100 {
                assert!(base.space.read(|space| space.contains(&numbered("edge", number))));
                assert!(!base.space.read(|space| space.contains(&numbered("absent", number))));
            }
        })
    };
    assert_ratio(3.0, || asked(&small), || asked(&large));
}

/// Another engine had two encoders, and what was stored through one was not found through the other.
#[test]
fn single_encoder_roundtrip() {
    let facts = ["(p a)", "(p 1 1.5 -0.0)", "(p \"a b\" True)", "(p (q (r 1.0)) ())", "s", "7", "(p $x $y $x)", "\"\""];
    for fact in facts.map(atom) {
        let mut appended = Vec::new();
        encode_into(&fact, &mut appended);
        assert_eq!(appended, encode(&fact), "{fact}");
        let mut base = Base::new();
        base.space.add(&fact);
        base.space.add(&reread(&fact));
        assert_eq!(base.space.read(|space| space.count(&fact)), 2, "{fact}");
        assert_eq!(base.solutions(&reread(&fact)).len(), 2, "{fact}");
        assert!(base.space.remove(&reread(&fact)) && base.space.remove(&fact), "{fact}");
        assert!(base.space.is_empty());
    }
}

/// Another engine wrote every atom through a buffer of 4,096 bytes and did not look where it ends.
#[test]
fn large_atom_roundtrip() {
    for size in [4_095, 4_096, 4_097, 64 << 10, 1 << 20] {
        let name = "n".repeat(size);
        let wide = Atom::expression((0..size / 8).map(|number| Atom::from(number as i64)).collect::<Vec<_>>());
        let large = [Atom::symbol(&name), Atom::from(name.as_str()), wide];
        for large in large {
            assert_eq!(reread(&large), large);
            let mut base = Base::new();
            let fact = expression([Atom::symbol("holds"), large.clone()]);
            base.space.add(&fact);
            let found = base.solutions(&atom("(holds $x)"));
            assert_eq!(found[0][0].1, large);
            assert_eq!(base.solutions(&fact).len(), 1);
            assert!(base.space.remove(&reread(&fact)));
        }
    }
}

/// `(x0 x1 … xn-1)`, the last child replaced.
fn of_arity(arity: usize, last: Atom) -> Atom {
    let mut children: Vec<Atom> = (1..arity).map(|number| Atom::from(number as i64)).collect();
    children.push(last);
    Atom::expression(children)
}

/// Another engine kept the arity in a byte, and checked only in debug builds that it is below 64.
#[test]
fn arity_64_256_70000() {
    let arities = [63, 64, 65, 255, 256, 257, 70_000];
    let mut base = Base::new();
    for arity in arities {
        base.space.add(&of_arity(arity, Atom::symbol("last")));
        base.space.add(&of_arity(arity, Atom::symbol("other")));
    }
    for arity in arities {
        let stored = of_arity(arity, Atom::symbol("last"));
        assert_eq!(base.solutions(&stored).len(), 1, "arity {arity}");
        let found = base.solutions(&of_arity(arity, Atom::variable("x")));
        let values: Vec<String> = found.iter().map(|solution| solution[0].1.to_string()).collect();
        assert_eq!(values, ["last", "other"], "arity {arity}");
        assert_eq!(reread(&stored), stored);
        assert!(base.space.remove(&stored) && !base.space.remove(&stored), "arity {arity}");
        assert_eq!(base.solutions(&of_arity(arity, Atom::variable("x"))).len(), 1, "arity {arity}");
    }
}

/// … and the length of a symbol in six bits.
#[test]
fn symbol_64_and_64k() {
    for length in [1, 63, 64, 65, 255, 256, 65_535, 65_536, 65_537] {
        let stem = "s".repeat(length - 1);
        let [one, two] = ["a", "b"].map(|end| Atom::symbol(&format!("{stem}{end}")));
        let mut base = Base::new();
        base.space.add(&expression([Atom::symbol("p"), one.clone()]));
        base.space.add(&two);
        assert_eq!(base.solutions(&expression([Atom::symbol("p"), one.clone()])).len(), 1, "length {length}");
        assert_eq!(base.solutions(&expression([Atom::symbol("p"), two.clone()])).len(), 0, "length {length}");
        assert_eq!(base.solutions(&two).len(), 1, "length {length}");
        assert_eq!(base.solutions(&one).len(), 0, "length {length}");
        assert_eq!(reread(&one), one);
    }
}

/// Another engine wrote values as text, so that a number, a text and a symbol of the same letters became one.
#[test]
fn kinds_distinct_in_store() {
    let kinds = ["1", "1.0", "\"1\"", "True", "\"True\"", "()"].map(atom);
    let named = ["1", "True", "1.0", "()"].map(Atom::symbol);
    let all: Vec<Atom> = kinds.into_iter().chain(named).collect();
    let mut base = Base::new();
    all.iter().for_each(|value| base.space.add(&expression([Atom::symbol("is"), value.clone()])));
    let found = base.solutions(&atom("(is $x)"));
    assert_eq!(found.len(), all.len());
    for (solution, value) in found.iter().zip(&all) {
        assert_eq!(encode(&solution[0].1), encode(value), "{value} came back with its kind");
    }
    for (index, value) in all.iter().enumerate() {
        let equal = all.iter().filter(|other| *other == value).count();
        assert_eq!(equal, if index < 2 { 2 } else { 1 }, "only 1 and 1.0 are equal");
        assert_eq!(base.solutions(&expression([Atom::symbol("is"), value.clone()])).len(), equal, "{value}");
    }
}

/// Another engine stored texts without escaping their quotes.
#[test]
fn string_escape_roundtrip() {
    let cases = [
        ("", r#""""#),
        ("plain", r#""plain""#),
        ("a \"quoted\" word", r#""a \"quoted\" word""#),
        ("back\\slash", r#""back\\slash""#),
        ("\\\"", r#""\\\"""#),
        ("line\nbreak\r\ttab", r#""line\nbreak\r\ttab""#),
        ("it's", r#""it's""#),
        ("nul\0nul", r#""nul\u{0}nul""#),
        ("bell\u{7}", r#""bell\u{7}""#),
        ("äöü 中文 🦀", r#""äöü 中文 🦀""#),
        ("(a ; b) $x", r#""(a ; b) $x""#),
    ];
    let mut base = Base::new();
    for (text, printed) in cases {
        let text = Atom::from(text);
        assert_eq!(text.to_string(), printed);
        assert_eq!(reread(&text).to_string(), printed);
        base.space.add(&expression([Atom::symbol("says"), text.clone()]));
        assert_eq!(base.solutions(&expression([Atom::symbol("says"), text])).len(), 1, "{printed}");
    }
    assert_eq!(base.solutions(&atom("(says $x)")).len(), cases.len());
}

/// Another engine keeps one copy of equal atoms.
#[test]
fn space_is_multiset() {
    let mut base = Base::of(&["(e a b)", "(e a b)", "(e b c)", "(r $x)", "(r $y)", "s", "s", "s"]);
    assert_eq!(base.space.len(), 8);
    assert_eq!(base.answers("(e a $x)", "$x"), ["b", "b"]);
    assert_eq!(base.answers("(r 1)", "found"), ["found", "found"]);
    assert_eq!(base.answers("s", "found").len(), 3);
    assert!(base.remove("(e a b)"));
    assert_eq!(base.answers("(e a $x)", "$x"), ["b"]);
    assert!(base.remove("(e a b)") && !base.remove("(e a b)"));
    assert_eq!(base.answers("(e a $x)", "$x"), [""; 0]);
    assert!(base.remove("(r $z)"));
    assert_eq!(base.contents(), ["(e b c)", "(r $_0)", "s", "s", "s"]);
}

/// Another engine panicked when facts to load were not sorted.
#[test]
fn bulk_load_any_order() {
    let sorted: Vec<Atom> = (0..2_000).map(|number| numbered(["p", "q"][number % 2], number / 3)).collect();
    let reversed: Vec<Atom> = sorted.iter().rev().cloned().collect();
    // 1,237 and 2,000 have no common factor, so each place comes up once.
    let shuffled: Vec<Atom> = (0..sorted.len()).map(|place| sorted[place * 1_237 % sorted.len()].clone()).collect();
    let load = |atoms: &[Atom]| {
        let mut base = Base::new();
        atoms.iter().for_each(|atom| base.space.add(atom));
        let mut answers = base.answers("(p $x b5)", "$x");
        answers.extend(base.answers("(, (p $x $y) (q $x $z))", "($x $y $z)"));
        answers.extend(base.contents());
        answers.sort_unstable();
        answers
    };
    let expected = load(&sorted);
    assert_eq!(load(&reversed), expected);
    assert_eq!(load(&shuffled), expected);
}

/// In another engine threads that loaded together crashed. A load here runs on one thread (docs/decisions/0005-a-load-evaluates-nothing.md); loads on
/// several threads, into one space, come to what one comes to.
#[test]
fn parallel_load_same_result() {
    const FACTS: usize = 4_000;
    let facts: Vec<Atom> = (0..FACTS).map(|number| numbered(["p", "q"][number % 2], number % 1_500)).collect();
    let load = |threads: usize| {
        let mut base = Base::new();
        base.space.keep_hash();
        std::thread::scope(|scope| {
            for share in facts.chunks(FACTS.div_ceil(threads)) {
                let space = &base.space;
                scope.spawn(move || assert_eq!(space.add_facts(share), share.len()));
            }
        });
        let mut answers = base.answers("(p $x b6)", "$x");
        answers.extend(base.contents());
        answers.sort_unstable();
        (base.space.read(space::Space::hash), answers)
    };
    let expected = load(1);
    assert_eq!(expected.1.len(), FACTS + 3);
    assert_eq!(load(2), expected);
    assert_eq!(load(5), expected);
}

/// The time of a hundred removals, each of an atom made for it as a program makes it; they are added again afterwards.
fn removal_time(base: &Base, row: impl Fn(usize) -> Atom, round: &Cell<usize>, rows: usize) -> Duration {
    let start = round.replace(round.get() + 1);
    let victims = || (0..100).map(|step| row((start * 100 + step) * 7_919 % rows));
    let spent = time(|| assert!(victims().all(|victim| base.space.remove(&victim))));
    victims().for_each(|victim| base.space.add(&victim));
    spent
}

/// Asserts that removing a row costs the same among 1,000 rows and among 100,000.
fn check_removal(row: fn(usize) -> Atom, queries: &[&str]) {
    let sizes = [1_000, 100_000];
    let [small, large] = sizes.map(|rows| {
        let mut base = Base::new();
        (0..rows).for_each(|number| base.space.add(&row(number)));
        queries.iter().for_each(|query| drop(base.solutions(&atom(query))));
        base
    });
    let rounds = [Cell::new(0), Cell::new(0)];
    let timed = |base: &Base, at: usize| removal_time(base, row, &rounds[at], sizes[at]);
    assert_ratio(3.0, || timed(&small, 0), || timed(&large, 1));
}

/// Another engine copied what is left at each removal.
#[test]
fn remove_is_sublinear() {
    check_removal(
        |number| expression([Atom::symbol(&format!("h{number}")), Atom::symbol("x"), Atom::symbol("y")]),
        &[],
    );
}

#[test]
fn remove_is_sublinear_when_rows_share_their_head_and_indexes_list_them() {
    check_removal(|number| numbered("edge", number), &["(edge a1 $x)", "(edge $x b1)", "(edge $x $y)"]);
}

#[test]
fn remove_is_sublinear_for_rules() {
    check_removal(|number| atom(&format!("(= (f{number} $x) $x)")), &[]);
}

/// Other engines allow 64 variables in an atom.
#[test]
fn many_variables_200() {
    let list = |make: &dyn Fn(usize) -> Atom| {
        Atom::expression((0..200).map(|number| expression([Atom::symbol("v"), make(number)])).collect::<Vec<_>>())
    };
    let variables = |prefix: &str| list(&|number| Atom::variable(&format!("{prefix}{number}")));
    let values = list(&|number| Atom::from(number as i64));
    let mut base = Base::new();
    base.space.add(&values);
    base.space.add(&variables("stored"));
    let found = base.solutions(&variables("query"));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].len(), 200);
    assert_eq!(applied(&found[0], &variables("query")), values);
    assert!(found[1].is_empty(), "variables match variables and learn nothing: {:?}", found[1]);
    assert_eq!(base.solutions(&values).len(), 2);
    assert_eq!(base.space.read(|space| space.count(&variables("other"))), 1);
}

/// Another engine returned wrong atoms once a space had met 1,024 symbols.
#[test]
fn ten_thousand_symbols_exact() {
    let mut base = Base::new();
    let symbol = |number: usize| format!("a{}", number % 10_000);
    (0..10_000).for_each(|number| base.add(&format!("(edge {} {})", symbol(number), symbol(number * 3 + 1))));
    for number in 0..10_000 {
        let query = format!("(edge {} $x)", symbol(number));
        assert_eq!(base.answers(&query, "$x"), [symbol(number * 3 + 1)], "{query}");
    }
    // Three times a number plus one, modulo 10,000, is each number once.
    for number in 0..10_000 {
        let query = format!("(edge $x {})", symbol(number * 3 + 1));
        assert_eq!(base.answers(&query, "$x"), [symbol(number)], "{query}");
    }
}

/// Another engine aborts at an expression of 1,024 children.
#[test]
fn wide_expression_5000() {
    for width in [1_023, 1_024, 1_025, 5_000] {
        let wide = |at: usize, child: Atom| {
            let mut children: Vec<Atom> = (0..width).map(|number| Atom::symbol(&format!("c{number}"))).collect();
            children[at] = child;
            Atom::expression(children)
        };
        let mut base = Base::new();
        base.space.add(&wide(0, Atom::symbol("c0")));
        base.space.add(&wide(width - 1, Atom::symbol("last")));
        base.space.add(&wide(17, Atom::variable("any")));
        for at in [0, 1, 15, 16, 17, width / 2, width - 1] {
            let found = base.solutions(&wide(at, Atom::variable("x")));
            let values: Vec<String> =
                found.iter().filter_map(|solution| Some(solution.first()?.1.to_string())).collect();
            let own = format!("c{at}");
            let expected: &[&str] = match at {
                _ if at == width - 1 => &[&own, "last", &own],
                17 => &[&own],
                _ => &[&own, &own],
            };
            assert_eq!(values, expected, "width {width}, variable at {at}");
        }
        assert_eq!(base.solutions(&wide(5, Atom::symbol("unheard-of"))).len(), 0);
        assert!(base.space.remove(&wide(0, Atom::symbol("c0"))) && base.space.remove(&wide(17, Atom::variable("x"))));
    }
}

/// A value of the host that is alive as long as an atom holds it.
struct Token;

impl HostValue for Token {
    fn name(&self) -> &str {
        "token"
    }
    fn identity(&self) -> &str {
        "test/token"
    }
    fn type_atom(&self) -> Atom {
        Atom::symbol("Token")
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Another engine left a query early by a long jump, past every destructor.
#[test]
fn query_early_stop_drops_all() {
    let token: Arc<Token> = Arc::new(Token);
    let value = Atom::Grounded(space::Grounded::Host(token.clone()));
    let mut base = Base::new();
    for number in 0..100_i64 {
        base.space.add(&expression([Atom::symbol("p"), Atom::from(number), value.clone(), Atom::variable("x")]));
    }
    drop(value);
    let kept = Arc::strong_count(&token);
    let first = base.solutions(&atom("(p $n $v $x)")).into_iter().next().expect("there are a hundred solutions");
    assert_eq!(Arc::strong_count(&token), kept + 1, "only the one value taken is held");
    drop(first);
    assert_eq!(Arc::strong_count(&token), kept);
    drop(base);
    assert_eq!(Arc::strong_count(&token), 1, "a space that is gone holds nothing");
}

/// Hyperon's issue 328: a space inside an atom of a space stands for a query of that space.
#[test]
fn he_328_nested_spaces() {
    let terms = Terms::shared();
    let [outer, middle, inner] = [1, 2, 3].map(|serial| SharedSpace::new(serial, format!("&{serial}"), terms.clone()));
    let mut base = Base { space: outer, source: Default::default() };
    inner.add(&atom("(fact a)"));
    inner.add(&atom("(fact b)"));
    inner.add(&atom("(rule $x (made-of $x))"));
    middle.add(&expression([Atom::symbol("deep"), Atom::from(inner.clone())]));
    middle.add(&atom("(fact c)"));
    base.space.add(&expression([Atom::symbol("in"), Atom::from(middle.clone())]));
    base.add("(in (fact d))");
    assert_eq!(base.answers("(in (fact $x))", "$x"), ["c", "d"]);
    assert_eq!(base.answers("(in (deep (fact $x)))", "$x"), ["a", "b"]);
    assert_eq!(base.answers("(in (deep (rule 1 $x)))", "$x"), ["(made-of 1)"]);
    assert_eq!(base.answers("(in (deep (absent $x)))", "$x"), [""; 0]);
    assert_eq!(
        base.answers("(, (in (deep (fact $x))) (in (fact $y)))", "($x $y)"),
        ["(a c)", "(a d)", "(b c)", "(b d)"]
    );
    inner.add(&atom("(fact e)"));
    assert_eq!(base.answers("(in (deep (fact $x)))", "$x"), ["a", "b", "e"]);
}

/// Hyperon's issue 706: values without a hash turned every lookup into a walk over all atoms.
#[test]
fn he_706_grounded_without_hash() {
    let mut tree = PatternTree::default();
    let state = |number: u64| Atom::from(SharedState::new(number, Atom::from(number as i64), Atom::symbol("T")));
    let space = |number: u64| Atom::from(SharedSpace::new(number, "&s", Terms::shared()));
    for number in 0..1_000_u64 {
        let key = Atom::symbol(&format!("k{number}"));
        let head = Atom::symbol;
        tree.add(Stored::new(&expression([head("cell"), state(number), key.clone()])), 1, number * 4);
        tree.add(Stored::new(&expression([head("cell"), key.clone(), state(number)])), 1, number * 4 + 1);
        tree.add(Stored::new(&expression([head("base"), space(number), key.clone()])), 1, number * 4 + 2);
        tree.add(Stored::new(&expression([head("kept"), key, space(number)])), 1, number * 4 + 3);
    }
    assert_eq!(tree.len(), 4_000);
    for query in ["(cell $s k500)", "(cell k500 $s)", "(base $s k500)", "(kept k500 $s)"] {
        assert_eq!(tree.candidates(&atom(query)).len(), 1, "atoms to look at for {query}");
    }
}

#[test]
fn he_706_rows_are_found_beside_states() {
    let mut base = Base::new();
    for number in 0..300_i64 {
        let state = SharedState::new(number as u64, Atom::from(number), Atom::symbol("T"));
        base.space.add(&expression([Atom::symbol("cell"), Atom::from(state), Atom::from(number)]));
        base.space.add(&expression([Atom::symbol("cell"), Atom::from(Number::Int(number)), Atom::from(number)]));
    }
    assert_eq!(base.answers("(cell $s 150)", "$s"), ["(State 150)", "150"]);
}
