//! Spaces that share segments: any sequence of additions, removals, forks, snapshots and operations on two spaces holds
//! what lists of trees hold, and nothing that is done to the one is seen in another.

use crate::atoms::atom;
use crate::generated::{config, disguised, holes, stored, with_holes};
use crate::images::reopened;
use crate::tree::{Model, Tree};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use space::{
    Atom, ChangeLog, Multiplicity, SharedSpace, SharedTerms, Snapshot, Space, Terms, VariableSource, variables,
};

#[derive(Clone, Copy, Debug)]
enum Operation {
    Union,
    Intersection,
    Subtraction,
    Restriction,
}

use Operation::{Intersection, Restriction, Subtraction, Union};

#[derive(Clone, Debug)]
enum Step {
    Add(Index, Vec<Tree>),
    Again(Index, Index, Vec<bool>),
    Take(Index, Index, Vec<bool>),
    /// Takes some out and puts them back where they were.
    Undo(Index, Vec<Index>),
    Snapshot(Index),
    Forget(Index),
    Fork(Index),
    Combine(Operation, bool, Index, Index),
    /// Writes an image of all spaces that share a dictionary with one, and opens it.
    Reopen(Index),
    Query(Index, Index, Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let flips = || vec(any::<bool>(), 1..4);
    let operation = prop::sample::select(vec![Union, Intersection, Subtraction, Restriction]);
    prop_oneof![
        6 => (index(), vec(stored(), 1..12)).prop_map(|(space, trees)| Step::Add(space, trees)),
        3 => (index(), index(), flips()).prop_map(|(space, tree, flips)| Step::Again(space, tree, flips)),
        5 => (index(), index(), flips()).prop_map(|(space, tree, flips)| Step::Take(space, tree, flips)),
        2 => (index(), vec(index(), 1..4)).prop_map(|(space, trees)| Step::Undo(space, trees)),
        4 => index().prop_map(Step::Snapshot),
        2 => index().prop_map(Step::Forget),
        1 => index().prop_map(Step::Fork),
        2 => (operation, any::<bool>(), index(), index()).prop_map(|(o, once, l, r)| Step::Combine(o, once, l, r)),
        2 => index().prop_map(Step::Reopen),
        4 => (index(), index(), holes()).prop_map(|(space, tree, holes)| Step::Query(space, tree, holes)),
    ]
}

/// What a model comes to, by the words of the operation.
fn combined(operation: Operation, once: bool, left: &Model, right: &Model) -> Model {
    let of = |copies: usize| if once { copies.min(1) } else { copies };
    let begins = |tree: &Tree| match tree {
        Tree::List(children) => {
            (0..=children.len()).any(|length| right.copies(&Tree::List(children[..length].to_vec())) > 0)
        }
        leaf => right.copies(leaf) > 0,
    };
    match operation {
        Union => {
            let mut union = left.filtered(|_, copies| of(copies));
            for tree in right.all() {
                if !once || union.copies(&tree) == 0 {
                    union.add(&tree);
                }
            }
            union
        }
        Intersection => left.filtered(|tree, copies| of(copies.min(right.copies(tree)))),
        Subtraction if once => left.filtered(|tree, _| usize::from(right.copies(tree) == 0)),
        Subtraction => left.filtered(|tree, copies| copies.saturating_sub(right.copies(tree))),
        Restriction => left.filtered(|tree, copies| if begins(tree) { of(copies) } else { 0 }),
    }
}

fn combine(operation: Operation, once: bool, left: &Space, right: &Space) -> Space {
    let multiplicity = if once { Multiplicity::Once } else { Multiplicity::Counted };
    match operation {
        Union => left.union(right, multiplicity),
        Intersection => left.intersection(right, multiplicity),
        Subtraction => left.subtraction(right, multiplicity),
        Restriction => left.restriction(right, multiplicity),
    }
}

/// Spaces and snapshots, each beside its model, and all atoms that were ever added.
struct World {
    spaces: Vec<(SharedSpace, Model)>,
    snapshots: Vec<(Snapshot, Model)>,
    seen: Vec<Tree>,
}

const SPACES_MAX: usize = 5;

impl World {
    /// Two spaces with one dictionary, and a third with another.
    fn new() -> Self {
        let (terms, others) = (Terms::shared(), Terms::shared());
        let space =
            |serial, terms: &SharedTerms| (SharedSpace::new(serial, "s", SharedTerms::clone(terms)), Model::default());
        let spaces = vec![space(1, &terms), space(2, &terms), space(3, &others)];
        Self { spaces, snapshots: Vec::new(), seen: vec![Tree::List(Vec::new())] }
    }

    fn take(&mut self, step: &Step) -> TestCaseResult {
        let place = |index: &Index| index.index(self.spaces.len());
        match step {
            Step::Add(space, trees) => self.add(place(space), trees),
            Step::Again(space, tree, flips) => {
                let tree = disguised(tree.get(&self.seen), flips);
                self.add(place(space), &[tree]);
            }
            Step::Take(space, tree, flips) => {
                let (space, tree) = (place(space), disguised(tree.get(&self.seen), flips));
                let (space, model) = &mut self.spaces[space];
                prop_assert_eq!(space.remove(&tree.to_atom()), model.remove(&tree), "removing {:?}", tree);
            }
            Step::Undo(space, trees) => self.undo(place(space), trees),
            Step::Snapshot(space) => {
                let (space, model) = &self.spaces[place(space)];
                self.snapshots.push((space.snapshot(), model.clone()));
            }
            Step::Forget(snapshot) => {
                if !self.snapshots.is_empty() {
                    self.snapshots.swap_remove(snapshot.index(self.snapshots.len()));
                }
            }
            Step::Fork(space) => {
                let (space, model) = &self.spaces[place(space)];
                let fork = (space.fork(9, "fork"), model.clone());
                self.keep(fork);
            }
            Step::Combine(operation, once, left, right) => {
                let ((left, left_model), (right, right_model)) =
                    (&self.spaces[place(left)], &self.spaces[place(right)]);
                let made = left.read(|left| right.read(|right| combine(*operation, *once, left, right)));
                let model = combined(*operation, *once, left_model, right_model);
                let made = SharedSpace::holding(9, "made", made, ChangeLog::default(), |_| 0);
                self.keep((made, model));
            }
            Step::Reopen(space) => {
                let terms = self.spaces[place(space)].0.dictionary();
                let shares = |space: &&mut (SharedSpace, Model)| std::sync::Arc::ptr_eq(&space.0.dictionary(), &terms);
                let mut sharing: Vec<&mut (SharedSpace, Model)> = self.spaces.iter_mut().filter(shares).collect();
                let opened = reopened(&sharing.iter().map(|(space, _)| space).collect::<Vec<_>>());
                sharing.iter_mut().zip(opened).for_each(|(place, opened)| place.0 = opened);
            }
            Step::Query(space, tree, holes) => {
                let pattern = with_holes(tree.get(&self.seen), holes);
                let (space, model) = &self.spaces[place(space)];
                let source = &mut VariableSource::default();
                check_query(space.query(&pattern.to_atom(), source), &pattern, model)?;
                for (snapshot, model) in &self.snapshots {
                    check_query(snapshot.query(&pattern.to_atom(), source), &pattern, model)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, space: usize, trees: &[Tree]) {
        let (space, model) = &mut self.spaces[space];
        let atoms: Vec<Atom> = trees.iter().map(Tree::to_atom).collect();
        space.add_many(&atoms);
        trees.iter().for_each(|tree| model.add(tree));
        self.seen.extend(trees.iter().cloned());
    }

    fn undo(&mut self, space: usize, trees: &[Index]) {
        let mut forked =
            self.spaces[space].0.read(|space| space.union(&Space::new(Terms::shared()), Multiplicity::Counted));
        let atoms = trees.iter().map(|tree| tree.get(&self.seen).to_atom());
        let taken: Vec<(Atom, u64)> = atoms.filter_map(|atom| forked.take(&atom)).collect();
        let shared = forked.fork();
        taken.iter().rev().for_each(|(atom, number)| forked.restore(atom, *number));
        drop(shared);
        let model = self.spaces[space].1.clone();
        self.keep((SharedSpace::holding(9, "undone", forked, ChangeLog::default(), |_| 0), model));
    }

    /// Keeps a space in place of one of the others.
    fn keep(&mut self, made: (SharedSpace, Model)) {
        if self.spaces.len() == SPACES_MAX {
            self.spaces.remove(1);
        }
        self.spaces.push(made);
    }

    fn check(&self) -> TestCaseResult {
        let source = &mut VariableSource::default();
        for (space, model) in &self.spaces {
            check_contents(&space.atoms(source), space.len(), model)?;
            let counted =
                self.seen.iter().all(|tree| space.read(|space| space.count(&tree.to_atom())) == model.count(tree));
            prop_assert!(counted, "copies of {:?}", model.all());
        }
        for (snapshot, model) in &self.snapshots {
            check_contents(&snapshot.atoms(source), snapshot.len(), model)?;
            let counted = self.seen.iter().all(|tree| snapshot.count(&tree.to_atom()) == model.count(tree));
            prop_assert!(counted, "copies of {:?}", model.all());
        }
        Ok(())
    }
}

fn check_contents(atoms: &[Atom], length: usize, model: &Model) -> TestCaseResult {
    let (found, expected): (Vec<Tree>, Vec<Tree>) = (atoms.iter().map(Tree::of).collect(), model.all());
    let agree = found.len() == expected.len() && found.iter().zip(&expected).all(|(l, r)| l.is_identical(r));
    prop_assert!(agree, "found {:?}\n  model {:?}", found, expected);
    prop_assert_eq!(length, expected.len());
    Ok(())
}

fn check_query(found: Vec<space::Solution>, pattern: &Tree, model: &Model) -> TestCaseResult {
    let names = variables(&pattern.to_atom());
    let value = |solution: &space::Solution, name: &space::Variable| {
        let bound = solution.iter().find(|(variable, _)| variable == name);
        bound.map_or_else(|| Tree::of(&Atom::Variable(name.clone())), |(_, value)| Tree::of(value))
    };
    let found: Vec<Tree> =
        found.iter().map(|solution| Tree::List(names.iter().map(|name| value(solution, name)).collect())).collect();
    let expected = model.solutions(std::slice::from_ref(pattern));
    let agree = found.len() == expected.len() && found.iter().zip(&expected).all(|(l, r)| l.is_identical(r));
    prop_assert!(agree, "query {:?}\n  found {:?}\n  model {:?}", pattern, found, expected);
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn whoever_shares_segments_holds_what_lists_hold(steps in vec(step(), 1..50)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step)?;
        }
        world.check()?;
    }
}

fn fact(number: usize) -> Atom {
    Atom::expression([
        Atom::symbol("edge"),
        Atom::symbol(&format!("a{number}")),
        Atom::symbol(&format!("b{}", number % 100)),
    ])
}

fn is_shareable<T: Send + Sync>(_: &T) {}

/// Readers of snapshots on other threads find what was there, while the space goes on growing and shrinking.
#[test]
fn snapshots_are_read_on_other_threads_while_the_space_changes() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    space.add_many(&(0..5_000).map(fact).collect::<Vec<_>>());
    let snapshot = space.snapshot();
    is_shareable(&snapshot);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let snapshot = snapshot.clone();
            scope.spawn(move || {
                let source = &mut VariableSource::default();
                for number in (reader..5_000).step_by(7) {
                    assert!(snapshot.contains(&fact(number)));
                    assert!(!snapshot.contains(&fact(number + 5_000)));
                }
                assert_eq!(snapshot.query(&atom("(edge $x b7)"), source).len(), 50);
            });
        }
        for number in 0..5_000 {
            space.add(&fact(number + 5_000));
            assert!(space.remove(&fact(number)));
        }
    });
    assert_eq!(space.snapshot().query(&atom("(edge $x b7)"), &mut VariableSource::default()).len(), 50);
    assert_eq!(snapshot.len(), 5_000);
}

/// A snapshot after each change, all of them kept: each has its own, and no answer is lost between the segments.
#[test]
fn a_snapshot_after_each_change_costs_no_answer() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let snapshots: Vec<Snapshot> = (0..700)
        .map(|number| {
            space.add(&fact(number));
            space.snapshot()
        })
        .collect();
    let source = &mut VariableSource::default();
    for (number, snapshot) in snapshots.iter().enumerate().step_by(13) {
        assert_eq!(snapshot.len(), number + 1);
        assert_eq!(snapshot.query(&atom("(edge $x b5)"), source).len(), (number + 95) / 100);
        assert_eq!(snapshot.query(&atom("(edge $x $y)"), source).len(), number + 1);
        assert!(snapshot.contains(&fact(number)) && !snapshot.contains(&fact(number + 1)));
    }
}

/// A space that begins with a snapshot has its own dictionary: both intern other names as the same terms, and nothing is mixed up.
#[test]
fn a_space_of_a_snapshot_grows_alone() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    space.add_many(&(0..300).map(fact).collect::<Vec<_>>());
    space.add(&atom("(= (next $x) (edge $x))"));
    let snapshot = space.snapshot();
    let dictionary = snapshot.dictionary();
    let mut other = Space::of_snapshot(&snapshot, SharedTerms::clone(&dictionary));
    let source = &mut VariableSource::default();
    for number in 0..200 {
        space.add(&atom(&format!("(edge left{number} (nested left{number}))")));
        other.add(&atom(&format!("(edge right{number} (nested right{number}))")));
        other.remove(&fact(number));
    }
    // An atom that one dictionary has met is not taken for a term of the other.
    let both = atom("(shared (by both))");
    other.add(&both);
    space.add(&both);
    assert!(space.read(|space| space.contains(&both)) && other.contains(&both));
    let ground = |text: &str| atom(text);
    assert!(space.read(|space| space.contains(&ground("(edge left7 (nested left7))"))));
    assert!(!space.read(|space| space.contains(&ground("(edge right7 (nested right7))"))));
    assert!(other.contains(&ground("(edge right7 (nested right7))")) && !other.contains(&fact(7)));
    assert_eq!((snapshot.len(), space.len(), other.len()), (301, 502, 302));
    assert_eq!(snapshot.query(&atom("(edge $x b7)"), source).len(), 3);
    assert_eq!(other.matches(&atom("(= (next a) $body)"), source).len(), 1);
}

#[test]
#[should_panic(expected = "mean something else")]
fn a_space_of_a_snapshot_needs_a_dictionary_of_it() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let early = space.snapshot();
    space.add(&fact(1));
    drop(Space::of_snapshot(&space.snapshot(), early.dictionary()));
}

/// Snapshots that are put together answer as the spaces themselves did at that moment.
#[test]
fn a_snapshot_takes_other_imports() {
    let terms = Terms::shared();
    let [importer, import] = [1, 2].map(|serial| SharedSpace::new(serial, "s", SharedTerms::clone(&terms)));
    importer.import(&import);
    importer.add(&atom("(edge a b)"));
    let early = importer.snapshot();
    import.add_many(&[atom("(edge b c)"), atom("(edge a b)")]);
    let together = early.importing(vec![import.snapshot()]);
    let source = &mut VariableSource::default();
    for query in ["(edge $x $y)", "(edge a $y)", "(, (edge $x $y) (edge $y $z))", "(edge $x $x)"].map(atom) {
        assert_eq!(together.query(&query, source), importer.query(&query, source), "{query}");
    }
    assert_eq!(early.query(&atom("(edge $x $y)"), source).len(), 1);
    import.add(&atom("(edge $any z)"));
    assert_eq!(together.query(&atom("(edge a $y)"), source).len(), 2);
    assert_eq!(early.importing(vec![import.snapshot()]).query(&atom("(edge a $y)"), source).len(), 3);
    // Rows alone answer the one and not the other.
    assert_eq!(together.query_rows(&atom("(edge a $y)")).map(|found| found.len()), Some(2));
    assert_eq!(early.importing(vec![import.own_snapshot()]).query_rows(&atom("(edge a $y)")), None);
}

/// Other handles take the place of those in rules; rules keep their order and their copies.
#[test]
fn atoms_with_handles_get_others_in_place() {
    let terms = Terms::shared();
    let [one, other] = [7, 7].map(|serial| SharedSpace::new(serial, "s", SharedTerms::clone(&terms)));
    let rule = |space: &SharedSpace, name: &str| {
        Atom::expression([Atom::symbol(name), Atom::from(space.clone()), Atom::variable("x")])
    };
    let mut space = Space::new(SharedTerms::clone(&terms));
    space.add_many(&[rule(&one, "first"), atom("(second $y)"), rule(&one, "first"), rule(&one, "third")]);
    space.keep_hash();
    let before = space.hash();
    space.replace_patterns(|found| {
        let [head, Atom::Grounded(_), rest] = found.children()? else { return None };
        Some(Atom::expression([head.clone(), Atom::from(other.clone()), rest.clone()]))
    });
    let atoms = space.atoms(&mut VariableSource::default());
    let heads: Vec<String> = atoms.iter().map(|atom| atom.head().expect("it has a head").to_string()).collect();
    assert_eq!(heads, ["first", "first", "second", "third"]);
    assert_eq!((space.hash(), space.len()), (before, 4));
    assert_eq!((space.count(&rule(&other, "third")), space.count(&rule(&one, "third"))), (1, 0));
}
