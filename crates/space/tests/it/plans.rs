//! Plans that are kept while spaces change: executed again, with other parameters, they find what queries of atoms find, in the same
//! order.

use crate::atoms::atom;
use crate::measure::allocations;
use space::{
    Asked, Atom, DictionaryReader, Executor, NO_TERM, Outcome, PatternPart, Plan, Question, SharedSpace, SharedTerms,
    ShouldStop, Solution, Term, Terms,
};
use space::{Variable, VariableSource, conjunction, variables};

/// A question for some of the answers of a plan.
fn asking<'a>(asked: Asked, parameters: &'a [Term], should_stop: ShouldStop<'a>) -> Question<'a> {
    Question { asked, ..Question::new(parameters, should_stop) }
}

/// A query as a plan: its variables are numbered as they first occur; what is ground but not the head is a parameter.
pub(crate) struct Planned {
    plan: Plan,
    parameters: Vec<Term>,
    names: Vec<Variable>,
}

impl Planned {
    pub(crate) fn new(query: &Atom, terms: &SharedTerms) -> Self {
        let names = variables(query);
        let (mut plan, mut parameters) = (Plan::default(), Vec::new());
        let terms = terms.read().expect("nobody panics");
        let key = |atom: &Atom| terms.find_key(atom).unwrap_or(NO_TERM);
        for pattern in conjunction(query).unwrap_or(std::slice::from_ref(query)) {
            let mut work = vec![(pattern, false)];
            while let Some((atom, is_head)) = work.pop() {
                plan.push(match atom {
                    Atom::Variable(variable) => {
                        let number = names.iter().position(|name| name == variable).expect("it is there");
                        PatternPart::Variable(number as u32)
                    }
                    ground if ground.is_ground() && !std::ptr::eq(ground, pattern) => match is_head {
                        true => PatternPart::Key(key(ground)),
                        false => {
                            parameters.push(key(ground));
                            PatternPart::Parameter(parameters.len() as u32 - 1)
                        }
                    },
                    open => {
                        let children = open.children().expect("a leaf is ground");
                        work.extend(children.iter().enumerate().rev().map(|(place, child)| (child, place == 0)));
                        PatternPart::Open(children.len() as u32)
                    }
                });
            }
            plan.end_pattern();
        }
        Self { plan, parameters, names }
    }

    /// The solutions, or `None` if rows do not answer.
    pub(crate) fn execute(&mut self, space: &SharedSpace, terms: &SharedTerms) -> Option<Vec<Solution>> {
        let (mut dictionary, mut executor) = (DictionaryReader::new(terms), Executor::default());
        let question = Question::new(&self.parameters, &|| false);
        let outcome = space.execute(&mut self.plan, &question, &mut dictionary, &mut executor)?;
        let (guard, answers) = (dictionary.terms(), executor.answers());
        assert_eq!(outcome, Outcome::Rows(answers.count()));
        assert!(answers.each().all(|answer| answer.len() == self.names.len()), "a term for each variable");
        let solution = |answer: &[Term]| -> Solution {
            self.names.iter().cloned().zip(answer.iter().map(|&term| guard.atom(term).clone())).collect()
        };
        Some(answers.each().map(solution).collect())
    }

    /// Asserts that the first of these solutions are found without the others, and that they are counted.
    pub(crate) fn check_first(&mut self, space: &SharedSpace, terms: &SharedTerms, all: &[Solution], most: usize) {
        let (mut dictionary, mut executor) = (DictionaryReader::new(terms), Executor::default());
        let Self { plan, parameters, names } = self;
        let counted =
            space.execute(plan, &asking(Asked::Number, parameters, &|| false), &mut dictionary, &mut executor);
        assert_eq!(counted, Some(Outcome::Number(all.len())));
        let found =
            space.execute(plan, &asking(Asked::First(most), parameters, &|| false), &mut dictionary, &mut executor);
        assert_eq!(found, Some(Outcome::Rows(all.len().min(most))));
        let (guard, answers) = (dictionary.terms(), executor.answers());
        assert_eq!(answers.count(), all.len().min(most));
        for (answer, solution) in answers.each().zip(all) {
            assert_eq!(answer.len(), names.len());
            let values = solution.iter().map(|(_, value)| value.clone());
            let found: Vec<Atom> = answer.iter().map(|&term| guard.atom(term).clone()).collect();
            assert_eq!(found, values.collect::<Vec<_>>());
        }
    }

    /// Asserts that answers which may be grouped are these solutions; says whether they were.
    pub(crate) fn check_grouped(&mut self, space: &SharedSpace, terms: &SharedTerms, all: &[Solution]) -> bool {
        let (mut dictionary, mut executor) = (DictionaryReader::new(terms), Executor::default());
        let Self { plan, parameters, names } = self;
        let found = space.execute(plan, &asking(Asked::Grouped, parameters, &|| false), &mut dictionary, &mut executor);
        let answers = executor.answers_mut();
        let grouped: Option<Vec<usize>> =
            answers.grouped_variables().map(|own| own.iter().map(|&variable| variable as usize).collect());
        let expected = if grouped.is_some() { Outcome::Groups(all.len()) } else { Outcome::Rows(all.len()) };
        assert_eq!(found, Some(expected));
        let mut from_groups = Vec::new();
        for group in answers.groups() {
            let own = grouped.as_deref().expect("there are groups");
            for others in group.others.chunks_exact(own.len()) {
                let mut answer = group.common.to_vec();
                own.iter().zip(others).for_each(|(&variable, &term)| answer[variable] = term);
                from_groups.extend(answer);
            }
        }
        let lists: std::collections::HashSet<&[Term]> = answers.groups().map(|group| group.others).collect();
        assert_eq!(answers.different_others().collect::<std::collections::HashSet<_>>(), lists);
        answers.write_out();
        assert!(grouped.is_none() || answers.each().flatten().eq(&from_groups));
        assert!(answers.grouped_variables().is_none() && answers.groups().next().is_none());
        let guard = dictionary.terms();
        assert_eq!(answers.count(), all.len());
        for (answer, solution) in answers.each().zip(all) {
            assert_eq!(answer.len(), names.len());
            let found = answer.iter().map(|&term| guard.atom(term));
            assert!(found.eq(solution.iter().map(|(_, value)| value)));
        }
        grouped.is_some()
    }

    /// How many solutions there are, and how often the search asked whether to go on.
    pub(crate) fn execute_counting_looks(&mut self, space: &SharedSpace, terms: &SharedTerms) -> (usize, usize) {
        let (mut dictionary, mut executor) = (DictionaryReader::new(terms), Executor::default());
        let looks = std::cell::Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            false
        };
        let count =
            space.execute(&mut self.plan, &Question::new(&self.parameters, &look), &mut dictionary, &mut executor);
        (count.and_then(Outcome::count).expect("rows answer"), looks.get())
    }

    /// How many of the first solutions there are, or of all if they are only counted, and how often the search asked whether to go on.
    pub(crate) fn find_some_counting_looks(
        &mut self,
        most: Option<usize>,
        space: &SharedSpace,
        terms: &SharedTerms,
    ) -> (usize, usize) {
        let (mut dictionary, mut executor) = (DictionaryReader::new(terms), Executor::default());
        let looks = std::cell::Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            false
        };
        let (plan, parameters) = (&mut self.plan, &self.parameters);
        let question = asking(most.map_or(Asked::Number, Asked::First), parameters, &look);
        let count = space.execute(plan, &question, &mut dictionary, &mut executor);
        (count.and_then(Outcome::count).expect("rows answer"), looks.get())
    }

    /// This plan with the parameters of another query of its form.
    fn with_parameters_of(&mut self, query: &Atom, terms: &SharedTerms) {
        let Self { parameters, names, .. } = Self::new(query, terms);
        assert_eq!((parameters.len(), names.len()), (self.parameters.len(), self.names.len()));
        (self.parameters, self.names) = (parameters, names);
    }
}

/// Random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A fact: mostly of one head with a name of its own and one of few targets, numbers that are equal and compounds among them.
fn any_fact(random: &mut Random, names: usize) -> Atom {
    let head = random.one(&["edge", "edge", "edge", "edge", "edge", "color"]);
    let name = match random.below(20) {
        0 => random.one(&["3", "3.0", "4.5"]).to_owned(),
        1 => format!("(pair a{} k)", random.below(4)),
        _ => format!("a{}", random.below(names)),
    };
    let target = match random.below(30) {
        0 => random.one(&["3", "3.0", "(pair a1 k)"]).to_owned(),
        _ => format!("b{}", random.below(7)),
    };
    atom(&format!("({head} {name} {target})"))
}

/// A query of a form, about known names and unknown ones.
fn any_query(form: usize, random: &mut Random, names: usize) -> Atom {
    let name = match random.below(12) {
        0 => random.one(&["3", "3.0", "4.5", "unknown", "(pair a1 k)", "b1"]).to_owned(),
        _ => format!("a{}", random.below(names + 10)),
    };
    let target = random.one(&["b1", "b5", "3", "3.0", "unknown", "(pair a1 k)", "a1"]);
    atom(&match form {
        0 => format!("(edge {name} $x)"),
        1 => format!("(edge $x {target})"),
        2 => format!("(edge {name} {target})"),
        3 => format!("($h {name} $x)"),
        4 => format!("(color {name} $x)"),
        5 => format!("(, (edge {name} $x) (edge $y $x))"),
        6 => format!("(, (color $x {target}) (edge $x $y))"),
        7 => format!("(edge (pair {name} $k) $y)"),
        _ => format!("(nothing {name} $x)"),
    })
}

const FORMS: usize = 9;

/// Changes a space somehow: facts come, copies and equal ones among them; some go, or most; rules come and go; a library changes.
fn change(space: &SharedSpace, library: &SharedSpace, random: &mut Random, names: usize) {
    let facts: Vec<Atom> = (0..names / 2).map(|_| any_fact(random, names)).collect();
    let rules = ["(= (color $x) (edge $x b1))", "(color $any b77)", "(edge $any b77)", "(edge a3 $any)"].map(atom);
    match random.below(12) {
        0 => space.add(&rules[0]),
        1 => space.add(&rules[1 + random.below(3)]),
        2 => rules.iter().for_each(|rule| _ = space.remove(rule)),
        3 => drop(space.remove_many(&facts)),
        4 => {
            let all = space.atoms(&mut VariableSource::default());
            space.remove_many(&all[..all.len() * 2 / 3]);
        }
        5 => drop(space.snapshot()),
        6 => space.import(library),
        7 => space.forget_import(library),
        8 => library.add(&facts[0]),
        9 => library.add(&atom(random.one(&["(other 1 2)", "(edge $l b5)"]))),
        10 => library.clear(),
        _ => drop(space.add_many(&facts)),
    }
}

#[test]
fn plans_that_are_kept_find_what_atoms_find_whatever_happens_to_the_space() {
    let (mut by_rows, mut by_atoms) = (0, 0);
    for seed in 0..60 {
        let (random, names) = (&mut Random(seed), 40 + 30 * (seed as usize % 4));
        let terms = Terms::shared();
        let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
        let library = SharedSpace::new(2, "library", SharedTerms::clone(&terms));
        // Plans know the heads from the start.
        ["edge", "color", "nothing", "pair"].iter().for_each(|name| space.add(&atom(name)));
        let mut plans: Vec<Planned> =
            (0..FORMS).map(|form| Planned::new(&any_query(form, random, names), &terms)).collect();
        for _ in 0..25 {
            change(&space, &library, random, names);
            for _ in 0..20 {
                let form = random.below(FORMS);
                let query = any_query(form, random, names);
                plans[form].with_parameters_of(&query, &terms);
                let expected = space.query_atoms(&query, &mut VariableSource::default());
                let asked = space.query(&query, &mut VariableSource::default());
                assert_eq!(format!("{asked:?}"), format!("{expected:?}"), "{query}, seed {seed}");
                match plans[form].execute(&space, &terms) {
                    Some(found) => {
                        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{query}, seed {seed}");
                        plans[form].check_first(&space, &terms, &found, random.below(2 * names));
                        by_rows += 1;
                    }
                    None => by_atoms += 1,
                }
            }
        }
    }
    assert!(by_rows > 10_000 && by_atoms > 500, "{by_rows} answered by rows, {by_atoms} by atoms");
}

#[test]
fn a_plan_serves_other_spaces_of_its_dictionary_and_no_others() {
    let terms = Terms::shared();
    let [one, other] = [1, 2].map(|serial| SharedSpace::new(serial, "s", SharedTerms::clone(&terms)));
    one.add(&atom("(edge a b)"));
    other.add(&atom("(edge a c)"));
    let mut planned = Planned::new(&atom("(edge a $x)"), &terms);
    for (space, expected) in [(&one, "b"), (&other, "c"), (&one, "b")] {
        let found = planned.execute(space, &terms).expect("facts are rows");
        assert_eq!(found[0][0].1, atom(expected));
    }
    let stranger = SharedSpace::new(3, "s", Terms::shared());
    stranger.add(&atom("(edge a d)"));
    assert!(planned.execute(&stranger, &terms).is_none());
}

#[test]
fn what_asks_for_more_than_rows_has_no_answers_from_a_plan() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    space.add(&atom("(edge a b)"));
    assert!(Planned::new(&atom("$x"), &terms).execute(&space, &terms).is_none());
    assert!(Planned::new(&atom("(, (edge $x $y) $z)"), &terms).execute(&space, &terms).is_none());
}

#[test]
fn what_a_filter_looks_for_is_found_in_imports_too() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let library = SharedSpace::new(2, "library", SharedTerms::clone(&terms));
    space.add_many(&[atom("(person a)"), atom("(person b)")]);
    library.add(&atom("(likes b tea)"));
    space.import(&library);
    let key =
        |name: &str| PatternPart::Key(terms.read().expect("nobody panics").find_symbol(name).expect("it is there"));
    let (mut plan, mut looked_for) = (Plan::default(), Plan::default());
    [PatternPart::Open(2), key("person"), PatternPart::Variable(0)].into_iter().for_each(|part| plan.push(part));
    plan.end_pattern();
    let parts = [PatternPart::Open(3), key("likes"), PatternPart::Variable(0), PatternPart::Variable(1)];
    parts.into_iter().for_each(|part| looked_for.push(part));
    looked_for.end_pattern();
    assert!(plan.filter_by(&looked_for, 1, true));
    let a = terms.read().expect("nobody panics").find_symbol("a").expect("it is there");
    // Later executions know what cannot be found in the library.
    for _ in 0..4 {
        let mut executor = Executor::default();
        let question = Question::new(&[], &|| false);
        let count = space.execute(&mut plan, &question, &mut DictionaryReader::new(&terms), &mut executor);
        assert_eq!(count, Some(Outcome::Rows(1)));
        assert!(executor.answers().each().eq([&[a][..]]));
    }
}

/// A point query whose plan is kept allocates nothing but its answers, for which there is room from the last time.
#[test]
fn a_plan_that_is_kept_takes_no_allocation() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    space.add_many(&(0..30_000).map(|number| atom(&format!("(edge a{number} b{})", number % 5))).collect::<Vec<_>>());
    let library = SharedSpace::new(2, "library", SharedTerms::clone(&terms));
    library.add(&atom("(: edge (-> Atom Atom))"));
    library.add(&atom("(= (reach $x) (edge $x $y))"));
    space.import(&library);
    let mut planned = Planned::new(&atom("(edge a12345 $x)"), &terms);
    let mut executor = Executor::default();
    let mut ask = || {
        let Planned { plan, parameters, .. } = &mut planned;
        space.execute(plan, &Question::new(parameters, &|| false), &mut DictionaryReader::new(&terms), &mut executor)
    };
    // The first time makes the index, the second finds out that the library has nothing to say.
    assert_eq!([ask(), ask()], [Some(Outcome::Rows(1)); 2]);
    let (info, found) = allocations(ask);
    assert_eq!((info.count_total, found), (0, Some(Outcome::Rows(1))));
}

/// Equal numbers of different kinds match, whether their rows came before the plan was kept or after.
#[test]
fn a_kept_plan_compares_numbers_of_both_kinds_as_soon_as_rows_have_them() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let facts = |numbers: std::ops::Range<u32>| numbers.map(|number| atom(&format!("(edge a{number} {number})")));
    space.add_many(&facts(0..20).collect::<Vec<_>>());
    let queries = ["(edge $x 7)", "(edge $x 7.0)", "(edge a7 $x)", "(edge $x $x)", "(, (edge $x 7) (edge $x $y))"];
    let mut plans = queries.map(|query| Planned::new(&atom(query), &terms));
    let mut check = || {
        for (query, planned) in queries.iter().zip(&mut plans) {
            let expected = space.query_atoms(&atom(query), &mut VariableSource::default());
            for _ in 0..4 {
                let found = planned.execute(&space, &terms).expect("facts are rows");
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{query}");
            }
        }
    };
    check();
    for added in ["(edge a7 7.0)", "(edge b7 7.0)", "(edge 7 7.0)", "(edge (f 7.0) 7)"] {
        space.add(&atom(added));
        check();
    }
    assert!(space.remove(&atom("(edge a7 7)")));
    check();
}

/// The first answers of a query, and their number, take as many allocations whatever the number of rows is.
#[test]
fn first_answers_take_no_room_for_the_others() {
    let counts = |rows: usize| {
        let terms = Terms::shared();
        let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
        space.add_many(&(0..rows).map(|number| atom(&format!("(edge a{number} a{})", number + 1))).collect::<Vec<_>>());
        let queries = ["(edge $x $y)", "(, (edge $x $y) (edge $y $z))", "(edge a5 $x)"];
        queries.map(|query| {
            let mut planned = Planned::new(&atom(query), &terms);
            let mut ask = || {
                let Planned { plan, parameters, .. } = &mut planned;
                let mut executor = Executor::default();
                let dictionary = &mut DictionaryReader::new(&terms);
                let found =
                    space.execute(plan, &asking(Asked::First(3), parameters, &|| false), dictionary, &mut executor);
                let counted = space.execute(
                    plan,
                    &asking(Asked::Number, parameters, &|| false),
                    dictionary,
                    &mut Executor::default(),
                );
                (found, counted.and_then(Outcome::count).is_some_and(|counted| counted > 0))
            };
            // The first times make the indexes, and what a join goes through when it pays.
            (0..8).for_each(|_| assert!(ask().1));
            let (info, found) = allocations(ask);
            (info.bytes_max, found)
        })
    };
    let (few, many) = (counts(10_000), counts(100_000));
    assert_eq!(few, many);
}

/// Each pattern doubles the answers: a search that found all of a pattern before the next would not end.
#[test]
fn a_first_answer_of_many_patterns_takes_room_for_a_part_of_each() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let edges = (0..130).flat_map(|number| ["aa", "ab", "ba", "bb"].map(|ends| (number, ends)));
    let edges = edges.map(|(number, ends)| format!("(p {}{number} {}{})", &ends[..1], &ends[1..], number + 1));
    space.add_many(&edges.map(|edge| atom(&edge)).collect::<Vec<_>>());
    [32, 64, 128].iter().for_each(|number| space.add(&atom(&format!("(end b{number})"))));
    let bytes = [32, 64, 128].map(|patterns: usize| {
        let chain: Vec<String> = (1..patterns).map(|number| format!("(p $v{number} $v{})", number + 1)).collect();
        let of_query = |last: &str| {
            let mut planned = Planned::new(&atom(&format!("(, (p a0 $v1) {} {last})", chain.join(" "))), &terms);
            let (info, found) = allocations(|| {
                let Planned { plan, parameters, .. } = &mut planned;
                let question = asking(Asked::First(3), parameters, &|| false);
                space.execute(plan, &question, &mut DictionaryReader::new(&terms), &mut Executor::default())
            });
            assert_eq!(found, Some(Outcome::Rows(3)), "{patterns} {last}");
            info.bytes_max
        };
        of_query("").max(of_query(&format!("(end $v{patterns})")))
    });
    assert!(bytes[2] < 32 << 20, "{bytes:?}");
}

/// The answers of the first pattern are more than a search goes on with at a time.
#[test]
fn many_answers_are_found_in_parts_and_all_of_them_whether_grouped_or_not() {
    let random = &mut Random(8);
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let mut seen = std::collections::HashSet::new();
    let edges = (0..40_000).map(|_| [random.below(3_000), random.below(3_000)]);
    let edges: Vec<[usize; 2]> = edges.filter(|&edge| seen.insert(edge)).collect();
    space.add_many(&edges.iter().map(|[from, to]| atom(&format!("(edge n{from} n{to})"))).collect::<Vec<_>>());
    let mut targets = vec![Vec::new(); 3_000];
    edges.iter().for_each(|&[from, to]| targets[from].push(to));
    let pairs = edges.iter().flat_map(|&[from, over]| targets[over].iter().map(move |&to| vec![from, over, to]));
    let pairs: Vec<Vec<usize>> = pairs.collect();
    let to_three = pairs.iter().flat_map(|pair| targets[pair[2]].iter().filter(|&&to| to == 3).map(|_| pair.clone()));
    let expected = [
        ("(edge $x $y)", edges.iter().map(|edge| edge.to_vec()).collect()),
        ("(, (edge $x $y) (edge $y $z) (edge $z n3))", to_three.collect::<Vec<_>>()),
        ("(, (edge $x $y) (edge $y $z))", pairs),
    ];
    let mut grouped = 0;
    for (query, expected) in expected {
        let query = atom(query);
        let all = space.query(&query, &mut VariableSource::default());
        assert_eq!(all.len(), expected.len());
        for (found, expected) in all.iter().zip(&expected) {
            let values = expected.iter().map(|number| Atom::symbol(&format!("n{number}")));
            assert!(found.iter().map(|(_, value)| value.clone()).eq(values), "{query}: {found:?}, not {expected:?}");
        }
        let mut planned = Planned::new(&query, &terms);
        for _ in 0..4 {
            grouped += usize::from(planned.check_grouped(&space, &terms, &all));
            planned.check_first(&space, &terms, &all, 20_000);
        }
    }
    assert!(grouped > 0);
}

/// The last pattern has rows enough to be grouped by, and none for the values that the first has found.
#[test]
fn answers_that_may_be_grouped_and_have_no_last_rows_are_none() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let facts = (0..400).flat_map(|number| [format!("(a x{number} y{number})"), format!("(b z{number} w{number})")]);
    space.add_many(&facts.map(|fact| atom(&fact)).collect::<Vec<_>>());
    let mut planned = Planned::new(&atom("(, (a $x $y) (b $y $z))"), &terms);
    (0..3).for_each(|_| assert!(!planned.check_grouped(&space, &terms, &[])));
}

/// Many answers so far lead to one value, which is counted once: copies, other spaces and changes are counted all the same.
#[test]
fn what_many_answers_lead_to_is_counted_as_it_is_found() {
    let random = &mut Random(21);
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let library = SharedSpace::new(2, "library", SharedTerms::clone(&terms));
    space.import(&library);
    ["edge", "n3"].iter().for_each(|name| space.add(&atom(name)));
    let queries = [
        "(, (edge $x $y) (edge $y $z))",
        "(, (edge $x $y) (edge $y $y))",
        "(, (edge $x $y) (edge $y $z) (edge $z n3))",
    ];
    let mut plans = queries.map(|query| (atom(query), Planned::new(&atom(query), &terms)));
    for round in 0..4 {
        let mut edges = |count| -> Vec<Atom> {
            (0..count).map(|_| atom(&format!("(edge n{} n{})", random.below(60), random.below(60)))).collect()
        };
        // Some of these pairs come twice.
        space.add_many(&edges(1_500));
        match round {
            1 => drop(space.remove_many(&edges(800))),
            2 => drop(library.add_many(&edges(500))),
            _ => {}
        }
        for (query, planned) in &mut plans {
            let expected = space.query(query, &mut VariableSource::default()).len();
            assert!(expected > 500, "{query}: {expected}");
            assert_eq!(planned.find_some_counting_looks(None, &space, &terms).0, expected, "{query}, round {round}");
        }
    }
}
