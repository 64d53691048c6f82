//! Undoing: after any sequence of changes, marks and undoings, a space answers as if what was undone had never happened,
//! and a state holds what it held.
//!
//! The model of atoms is the list searched from end to end of [`crate::tree`], copied at each mark. It knows no states,
//! so atoms that hold them have a model of their own, a list of what was added.

use crate::atoms::atom;
use crate::generated::{config, disguised, holes, stored, with_holes};
use crate::tree::{Model, Tree, name_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use space::canonical::{decode_naming, encode, encode_naming, hash};
use space::{
    Atom, Change, ChangeDetail, ChangeLog, ChangeMark, SharedSpace, SharedState, Terms, Variable, VariableSource,
};
use std::convert::Infallible;

#[derive(Clone, Debug)]
enum Step {
    Add(Tree),
    /// Another copy of an atom that was added before, maybe with numbers of the other kind.
    Again(Index, Vec<bool>),
    /// Removes an atom that was added before, maybe named by its equal.
    Take(Index, Vec<bool>),
    /// A query made of an atom that was added before.
    Like(Index, Vec<u8>),
    Mark,
    /// Undoes what happened since one of the marks.
    Undo(Index),
    /// Keeps what happened since the last mark, as a transaction does that ends.
    Keep,
}

fn step() -> impl Strategy<Value = Step> {
    let flips = || vec(any::<bool>(), 1..4);
    prop_oneof![
        6 => stored().prop_map(Step::Add),
        3 => (any::<Index>(), flips()).prop_map(|(index, flips)| Step::Again(index, flips)),
        6 => (any::<Index>(), flips()).prop_map(|(index, flips)| Step::Take(index, flips)),
        3 => (any::<Index>(), holes()).prop_map(|(index, holes)| Step::Like(index, holes)),
        3 => Just(Step::Mark),
        2 => any::<Index>().prop_map(Step::Undo),
        1 => Just(Step::Keep),
    ]
}

/// A space whose changes are noted, the model of it, and both marks and models of the points to go back to.
struct Pair {
    space: SharedSpace,
    log: ChangeLog,
    source: VariableSource,
    model: Model,
    marks: Vec<(ChangeMark, Model)>,
    seen: Vec<Tree>,
}

impl Pair {
    fn new() -> Self {
        let log = ChangeLog::default();
        log.keep(ChangeDetail::Changes);
        let space = SharedSpace::watched(1, "&self", Terms::shared(), log.clone());
        let seen = vec![Tree::List(Vec::new())];
        Self { space, log, source: VariableSource::default(), model: Model::default(), marks: Vec::new(), seen }
    }

    fn take(&mut self, step: &Step) -> TestCaseResult {
        match step {
            Step::Add(tree) => self.add(tree.clone()),
            Step::Again(index, flips) => self.add(disguised(index.get(&self.seen), flips)),
            Step::Take(index, flips) => {
                let tree = disguised(index.get(&self.seen), flips);
                prop_assert_eq!(self.space.remove(&tree.to_atom()), self.model.remove(&tree), "removing {:?}", tree);
            }
            Step::Like(index, holes) => {
                let pattern = with_holes(index.get(&self.seen), holes);
                self.query(&pattern)?;
            }
            Step::Mark => self.marks.push((self.log.mark(), self.model.clone())),
            Step::Keep => drop(self.marks.pop()),
            Step::Undo(_) if self.marks.is_empty() => {}
            Step::Undo(index) => {
                let index = index.index(self.marks.len());
                let (mark, model) = self.marks[index].clone();
                self.marks.truncate(index);
                self.log.undo_to(mark);
                self.model = model;
                self.check()?;
            }
        }
        Ok(())
    }

    fn add(&mut self, tree: Tree) {
        self.space.add(&tree.to_atom());
        self.model.add(&tree);
        self.seen.push(tree);
    }

    fn query(&mut self, pattern: &Tree) -> TestCaseResult {
        let names = pattern.names();
        let found = self.space.query(&pattern.to_atom(), &mut self.source);
        let value = |solution: &space::Solution, name: &String| {
            let bound = solution.iter().find(|(variable, _)| name_of(variable) == *name);
            bound.map_or_else(|| Tree::Variable(name.clone()), |(_, value)| Tree::of(value))
        };
        let found = found.iter().map(|solution| Tree::List(names.iter().map(|name| value(solution, name)).collect()));
        same(found.collect(), self.model.solutions(std::slice::from_ref(pattern)), &format!("query {pattern:?}"))
    }

    fn check(&mut self) -> TestCaseResult {
        prop_assert_eq!(self.space.len(), self.model.all().len());
        let found = self.space.atoms(&mut self.source).iter().map(Tree::of).collect();
        same(found, self.model.all(), "contents")?;
        self.query(&Tree::Variable("x".to_owned()))?;
        let some: Vec<Tree> = self.seen.iter().rev().take(4).cloned().collect();
        for tree in &some {
            let atom = tree.to_atom();
            let (count, exactly) = self.space.read(|space| (space.count(&atom), space.contains_exactly(&atom)));
            prop_assert_eq!(count, self.model.count(tree), "counting {:?}", tree);
            prop_assert_eq!(exactly, self.model.all().iter().any(|known| known.is_identical(tree)), "{:?}", tree);
            self.query(&with_holes(tree, &[5, 0, 5, 1]))?;
        }
        Ok(())
    }
}

fn same(found: Vec<Tree>, expected: Vec<Tree>, what: &str) -> TestCaseResult {
    let agree = found.len() == expected.len() && found.iter().zip(&expected).all(|(l, r)| l.is_identical(r));
    prop_assert!(agree, "{}\n  found {:?}\n  model {:?}", what, found, expected);
    Ok(())
}

/// The signed rows that the log says, as atoms. Their canonical bytes are those of the atoms.
fn noted(log: &ChangeLog) -> Vec<(Atom, i64)> {
    let mut found = Vec::new();
    let walked = log.take().each(|change| {
        let Change::Row(delta) = change else { return Ok(()) };
        let (atom, mut bytes, mut names) = (delta.atom(), Vec::new(), Vec::new());
        delta.row.encode_into(delta.terms, &mut bytes, |variable| names.push(variable.clone()));
        let (mut expected, mut expected_names) = (Vec::new(), Vec::new());
        encode_naming(&atom, &mut expected, |variable| expected_names.push(variable.clone()));
        assert_eq!((bytes, names), (expected, expected_names), "the bytes of {atom}");
        found.push((atom, delta.count));
        Ok::<(), Infallible>(())
    });
    match walked {
        Ok(()) => found,
    }
}

/// What the log says, done to an empty space.
fn replayed(log: &ChangeLog) -> SharedSpace {
    let copy = SharedSpace::new(2, "copy", Terms::shared());
    for (atom, count) in noted(log) {
        match count {
            1 => copy.add(&atom),
            _ => assert!(copy.remove(&atom), "{atom} is taken from the copy too"),
        }
    }
    copy
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn what_was_undone_never_happened(steps in vec(step(), 1..80)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.take(step)?;
        }
        pair.check()?;
        // What a later removal takes is what it would have taken.
        for tree in pair.model.all().into_iter().rev() {
            prop_assert_eq!(pair.space.remove(&tree.to_atom()), pair.model.remove(&tree));
        }
        prop_assert!(pair.space.is_empty());
    }

    /// A knowledge base makes a space again from what the log says.
    #[test]
    fn what_the_log_says_makes_the_space_again(steps in vec(step(), 1..80)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.take(step)?;
        }
        let copy = replayed(&pair.log);
        let found = copy.atoms(&mut pair.source).iter().map(Tree::of).collect();
        same(found, pair.model.all(), "the copy")?;
    }

    /// A row has the canonical bytes, the hash and the names of variables of its atom, which the log makes only for people.
    #[test]
    fn a_row_has_the_bytes_of_its_atom(trees in vec(crate::generated::tree(8), 1..20)) {
        let log = ChangeLog::default();
        log.keep(ChangeDetail::Changes);
        let space = SharedSpace::watched(1, "&self", Terms::shared(), log.clone());
        space.keep_hash();
        trees.iter().for_each(|tree| space.add(&tree.to_atom()));
        let sum = |atoms: &[Atom]| atoms.iter().map(hash).fold(0, u128::wrapping_add);
        let added: Vec<Atom> = noted(&log).into_iter().map(|(atom, _)| atom).collect();
        prop_assert_eq!(added.len(), trees.len());
        for (atom, tree) in added.iter().zip(&trees) {
            prop_assert!(Tree::of(atom).is_identical(tree), "{} is not {:?}", atom, tree);
        }
        prop_assert_eq!(space.read(space::Space::hash), Some(sum(&added)));
        // Undone from the end, each row leaves the sum of those before.
        let again = SharedSpace::watched(2, "again", Terms::shared(), log.clone());
        again.keep_hash();
        let marks = trees.iter().map(|tree| { let mark = log.mark(); again.add(&tree.to_atom()); mark });
        let marks: Vec<ChangeMark> = marks.collect();
        for (count, mark) in marks.into_iter().enumerate().rev() {
            log.undo_to(mark);
            prop_assert_eq!(again.read(space::Space::hash), Some(sum(&added[..count])));
        }
    }

    /// Taking an atom and putting it back changes nothing, whatever its kind.
    #[test]
    fn what_is_taken_and_restored_was_never_away(trees in vec(stored(), 1..30), picks in vec((any::<Index>(), vec(any::<bool>(), 1..4)), 1..10)) {
        let mut pair = Pair::new();
        trees.iter().for_each(|tree| pair.add(tree.clone()));
        let mut space = space::Space::new(Terms::shared());
        trees.iter().for_each(|tree| space.add(&tree.to_atom()));
        let taken: Vec<(Atom, u64)> =
            picks.iter().filter_map(|(index, flips)| space.take(&disguised(index.get(&trees), flips).to_atom())).collect();
        for (atom, number) in taken.iter().rev() {
            space.restore(atom, *number);
        }
        same(space.atoms(&mut pair.source).iter().map(Tree::of).collect(), pair.model.all(), "contents")?;
        // Taken again, the same atoms go.
        for ((index, flips), _) in picks.iter().zip(&taken) {
            let tree = disguised(index.get(&trees), flips);
            prop_assert_eq!(space.take(&tree.to_atom()).is_some(), pair.model.remove(&tree));
            same(space.atoms(&mut pair.source).iter().map(Tree::of).collect(), pair.model.all(), "after taking")?;
        }
    }

    #[test]
    fn names_come_back_with_the_bytes(tree in crate::generated::tree(8)) {
        let atom = tree.to_atom();
        let (mut bytes, mut names) = (b"before".to_vec(), Vec::new());
        encode_naming(&atom, &mut bytes, |variable| names.push(variable.clone()));
        prop_assert_eq!(&bytes[6..], encode(&atom));
        prop_assert_eq!(names.iter().map(name_of).collect::<Vec<_>>(), tree.names());
        let mut asked = Vec::new();
        let again = decode_naming(&bytes[6..], |number| { asked.push(number); names[number as usize].clone() }, |_| None);
        let again = again.expect("what was encoded decodes");
        prop_assert!(Tree::of(&again).is_identical(&tree) && again.to_string() == atom.to_string(), "{again} is not {atom}");
        prop_assert_eq!(asked, (0..names.len() as u32).collect::<Vec<_>>(), "each variable is made once, in order");
    }
}

/// What states and atoms that hold them go through: which state, or which atom, and what it becomes.
#[derive(Clone, Debug)]
enum Cell {
    Set(Index, u8),
    Add(Index),
    Remove(Index),
    Mark,
    Undo(Index),
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        4 => (any::<Index>(), 0_u8..3).prop_map(|(state, value)| Cell::Set(state, value)),
        3 => any::<Index>().prop_map(Cell::Add),
        3 => any::<Index>().prop_map(Cell::Remove),
        2 => Just(Cell::Mark),
        2 => any::<Index>().prop_map(Cell::Undo),
    ]
}

const STATES: usize = 4;

/// A naive account: what each state holds, and which states the atoms in the space name, with copies, in order.
#[derive(Clone, Default)]
struct Cells {
    values: [u8; STATES],
    held: Vec<(usize, usize)>,
}

impl Cells {
    fn add(&mut self, state: usize) {
        match self.held.iter_mut().find(|(held, _)| *held == state) {
            Some((_, copies)) => *copies += 1,
            None => self.held.push((state, 1)),
        }
    }

    /// The state itself, or else the first of equal content.
    fn remove(&mut self, state: usize) -> bool {
        let exact = self.held.iter().position(|(held, _)| *held == state);
        let equal = || self.held.iter().position(|(held, _)| self.values[*held] == self.values[state]);
        let Some(index) = exact.or_else(equal) else { return false };
        self.held[index].1 -= 1;
        if self.held[index].1 == 0 {
            self.held.remove(index);
        }
        true
    }

    fn printed(&self) -> Vec<String> {
        let copies = self.held.iter().flat_map(|(state, copies)| std::iter::repeat_n(*state, *copies));
        copies.map(|state| format!("(holds (State {}) {state})", self.values[state])).collect()
    }
}

/// `(holds STATE)` printed with the state's number, which tells it from others of equal content.
fn printed(atoms: &[Atom], states: &[SharedState]) -> Vec<String> {
    let number = |atom: &Atom| {
        let children = atom.children().expect("it is an expression");
        let state = states.iter().position(|state| encode(&children[1]) == encode(&Atom::from(state.clone())));
        format!("(holds {} {})", children[1], state.expect("it is one of them"))
    };
    atoms.iter().map(number).collect()
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn states_and_what_holds_them_go_back_too(steps in vec(cell(), 1..60)) {
        let log = ChangeLog::default();
        log.keep(ChangeDetail::Changes);
        let space = SharedSpace::watched(1, "&self", Terms::shared(), log.clone());
        let of_type = atom("(StateMonad Number)");
        let made = (0..STATES as u64).map(|serial| SharedState::watched(serial, atom("0"), of_type.clone(), log.clone()));
        let states: Vec<SharedState> = made.collect();
        let holding = |state: usize| Atom::expression([Atom::symbol("holds"), states[state].clone().into()]);
        let mut model = Cells::default();
        let mut marks: Vec<(ChangeMark, Cells)> = Vec::new();
        for step in &steps {
            match step {
                Cell::Set(state, value) => {
                    let state = state.index(STATES);
                    states[state].set(atom(&value.to_string()));
                    model.values[state] = *value;
                }
                Cell::Add(state) => {
                    space.add(&holding(state.index(STATES)));
                    model.add(state.index(STATES));
                }
                Cell::Remove(state) => {
                    let state = state.index(STATES);
                    prop_assert_eq!(space.remove(&holding(state)), model.remove(state));
                }
                Cell::Mark => marks.push((log.mark(), model.clone())),
                Cell::Undo(_) if marks.is_empty() => {}
                Cell::Undo(index) => {
                    let index = index.index(marks.len());
                    log.undo_to(marks[index].0);
                    model = marks[index].1.clone();
                    marks.truncate(index);
                }
            }
            let found = printed(&space.atoms(&mut VariableSource::default()), &states);
            prop_assert_eq!(found, model.printed());
            let query = Atom::expression([Atom::symbol("holds"), Atom::Variable(Variable::new("x"))]);
            prop_assert_eq!(space.query(&query, &mut VariableSource::default()).len(), model.printed().len());
        }
    }
}
