//! Any sequence of transactions leaves what the obvious implementation leaves, which derives everything anew, and runs only what it must.

use crate::board::{functions, lowest_bit, no_zero, sum};
use journal::MemoryDisk;
use proptest::prelude::*;
use reactive::{FunctionName, Functions, Mask, Merge, Options, PageId, PageRef, Snapshot, State, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A step, with pages by a number that is taken modulo what there is.
#[derive(Clone, Debug)]
enum Action {
    Create(Vec<u8>),
    Derive { length: usize, function: u8, from: Vec<u16> },
    Rederive { page: u16, function: u8, from: Vec<u16> },
    Delete(u16),
    Write { page: u16, offset: usize, bytes: Vec<u8> },
    Masked { page: u16, byte: u8 },
    Merge { page: u16, merge: u8, operand: Vec<u8> },
}

fn action() -> impl Strategy<Value = Action> {
    let bytes = || prop::collection::vec(0..4_u8, 1..40);
    let from = || prop::collection::vec(any::<u16>(), 0..4);
    prop_oneof![
        3 => bytes().prop_map(Action::Create),
        4 => (1..40_usize, any::<u8>(), from()).prop_map(|(length, function, from)| Action::Derive { length, function, from }),
        4 => (any::<u16>(), any::<u8>(), from()).prop_map(|(page, function, from)| Action::Rederive { page, function, from }),
        1 => any::<u16>().prop_map(Action::Delete),
        6 => (any::<u16>(), 0..12_usize, bytes()).prop_map(|(page, offset, bytes)| Action::Write { page, offset, bytes }),
        1 => (any::<u16>(), any::<u8>()).prop_map(|(page, byte)| Action::Masked { page, byte }),
        2 => (any::<u16>(), any::<u8>(), bytes()).prop_map(|(page, merge, operand)| Action::Merge { page, merge, operand }),
    ]
}

fn function(number: u8) -> FunctionName {
    match number % 16 {
        0..=6 => sum(),
        7..=11 => lowest_bit(),
        12..=14 => Functions::passthrough(),
        _ => no_zero(),
    }
}

fn merge(number: u8) -> Merge {
    [Merge::Or, Merge::And, Merge::Add, Merge::Min, Merge::Latest][usize::from(number % 5)]
}

/// A page of the model: how it is derived, if it is, and what it holds.
#[derive(Clone, Debug)]
struct ModelPage {
    from: Option<(FunctionName, Vec<usize>)>,
    bytes: Vec<u8>,
    /// Whether it is derived in this transaction for the first time, or in another way than before.
    is_new: bool,
}

/// Pages by a number that is never given twice.
#[derive(Clone, Debug, Default)]
struct Model {
    pages: BTreeMap<usize, ModelPage>,
    given: usize,
}

impl Model {
    fn add(&mut self, bytes: Vec<u8>, from: Option<(FunctionName, Vec<usize>)>) {
        self.pages.insert(self.given, ModelPage { from, bytes, is_new: true });
        self.given += 1;
    }

    /// Whether a page is derived from another one, at whatever distance, or is it.
    fn reaches(&self, page: usize, other: usize) -> bool {
        let from = self.pages[&page].from.as_ref();
        page == other || from.is_some_and(|(_, from)| from.iter().any(|&page| self.reaches(page, other)))
    }

    /// What a page holds if everything is derived anew.
    fn value(&self, page: usize, known: &mut BTreeMap<usize, Vec<u8>>) -> Result<Vec<u8>, ()> {
        if let Some(known) = known.get(&page) {
            return Ok(known.clone());
        }
        let ModelPage { from, bytes, .. } = &self.pages[&page];
        let mut value = bytes.clone();
        if let Some((function, from)) = from {
            let inputs = from.iter().map(|&page| self.value(page, known)).collect::<Result<Vec<_>, _>>()?;
            value.fill(0);
            for (place, byte) in value.iter_mut().enumerate() {
                let column = inputs.iter().filter_map(|input| input.get(place));
                *byte = match &function.to_string()[..] {
                    "sum version 1" => column.fold(0, |sum, byte| sum.wrapping_add(*byte)),
                    "lowest-bit version 2" => column.fold(0, |sum, byte| sum ^ (byte & 1)),
                    "passthrough version 1" => inputs[0].get(place).copied().unwrap_or(0),
                    _ if inputs[0].first() == Some(&0) => return Err(()),
                    _ => 0,
                };
            }
        }
        known.insert(page, value.clone());
        Ok(value)
    }

    fn values(&self) -> Result<BTreeMap<usize, Vec<u8>>, ()> {
        let mut known = BTreeMap::new();
        for &page in self.pages.keys() {
            self.value(page, &mut known)?;
        }
        Ok(known)
    }
}

/// A state and its model.
struct Pair {
    state: State,
    model: Model,
    /// The name of each page that the model has had.
    names: Vec<PageId>,
    values: BTreeMap<usize, Vec<u8>>,
}

impl Pair {
    /// Adds an action to a transaction and does it to the model, if it can be done.
    fn act(&self, action: &Action, model: &mut Model, transaction: &mut Transaction) -> Result<(), ()> {
        let numbers: Vec<usize> = model.pages.keys().copied().collect();
        let mut made = Vec::new();
        let choose = |choice: u16| numbers.get(usize::from(choice) % numbers.len().max(1)).copied();
        // What the transaction makes is named by its place among what it makes.
        for number in self.names.len()..model.given {
            made.push(number);
        }
        let name = |number: usize| -> PageRef {
            match self.names.get(number) {
                Some(&page) => page.into(),
                None => new_page(made.iter().position(|&other| other == number).unwrap()),
            }
        };
        let choose_all = |choices: &[u16]| choices.iter().filter_map(|&choice| choose(choice)).collect::<Vec<_>>();
        match action {
            Action::Create(bytes) => {
                transaction.create(bytes);
                model.add(bytes.clone(), None);
            }
            Action::Derive { length, function: number, from } => {
                let from = choose_all(from);
                transaction.derive(*length, function(*number), from.iter().map(|&page| name(page)));
                if from.is_empty() {
                    return Err(());
                }
                model.add(vec![0; *length], Some((function(*number), from)));
            }
            Action::Rederive { page, function: number, from } => {
                let (Some(page), from) = (choose(*page), choose_all(from)) else { return Ok(()) };
                transaction.rederive(name(page), function(*number), from.iter().map(|&page| name(page)));
                let is_refused = model.pages[&page].from.is_none() || from.is_empty();
                if is_refused || from.iter().any(|&other| model.reaches(other, page)) {
                    return Err(());
                }
                let entry = model.pages.get_mut(&page).unwrap();
                entry.from = Some((function(*number), from));
                entry.is_new = true;
            }
            Action::Delete(page) => {
                let Some(page) = choose(*page) else { return Ok(()) };
                transaction.delete(name(page));
                let is_used = |other: &ModelPage| other.from.as_ref().is_some_and(|(_, from)| from.contains(&page));
                if model.pages.values().any(is_used) {
                    return Err(());
                }
                model.pages.remove(&page);
            }
            Action::Write { page, .. } | Action::Masked { page, .. } | Action::Merge { page, .. } => {
                let Some(page) = choose(*page) else { return Ok(()) };
                write_step(action, model, page, name(page), transaction)?;
            }
        }
        Ok(())
    }

    /// Commits a transaction of these actions, and compares.
    fn commit(&mut self, actions: &[Action]) -> Result<(), TestCaseError> {
        let mut transaction = Transaction::new();
        let mut model = self.model.clone();
        model.pages.values_mut().for_each(|page| page.is_new = false);
        let valid = actions.iter().try_for_each(|action| self.act(action, &mut model, &mut transaction));
        let values = valid.and_then(|()| model.values());
        let (hash, epoch) = (self.state.state_hash(), self.state.epoch());
        let outcome = self.state.commit(&transaction);
        prop_assert_eq!(outcome.is_ok(), values.is_ok(), "{:?} {:?}", actions, outcome.err());
        let (Ok(commit), Ok(values)) = (outcome, values) else {
            prop_assert_eq!((self.state.state_hash(), self.state.epoch()), (hash, epoch));
            return self.compare();
        };
        let expected = self.must_run(&model, &values);
        prop_assert_eq!(commit.statistics.ran, expected, "what ran is what had to");
        prop_assert_eq!(commit.created.len() + self.names.len(), model.given);
        self.names.extend(commit.created);
        (self.model, self.values) = (model, values);
        self.compare()
    }

    /// How many derived pages are new, or depend on something that is another than it was.
    fn must_run(&self, model: &Model, values: &BTreeMap<usize, Vec<u8>>) -> u64 {
        let differs = |page: &usize| self.values.get(page) != values.get(page);
        let must = |page: &&ModelPage| match &page.from {
            Some((_, from)) => page.is_new || from.iter().any(differs),
            None => false,
        };
        model.pages.values().filter(must).count() as u64
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let named = |(&number, bytes): (&usize, &Vec<u8>)| (self.names[number], bytes.clone());
        let expected: BTreeMap<PageId, Vec<u8>> = self.values.iter().map(named).collect();
        prop_assert_eq!(held(&self.state.snapshot()), expected);
        Ok(())
    }
}

/// Adds an action that writes to a page, and does it to the model, if it can be done.
fn write_step(
    action: &Action,
    model: &mut Model,
    page: usize,
    name: PageRef,
    transaction: &mut Transaction,
) -> Result<(), ()> {
    match action {
        Action::Write { offset, bytes, .. } => {
            transaction.write(name, *offset, bytes);
            write_to(model, page, *offset..*offset + bytes.len(), |held| held.copy_from_slice(bytes))
        }
        Action::Masked { byte, .. } => {
            let length = model.pages[&page].bytes.len();
            let mut mask = Mask::new(length);
            (0..length).step_by(3).for_each(|place| mask.set(place));
            transaction.write_masked(name, mask.clone(), &vec![*byte; mask.count()]);
            write_to(model, page, 0..length, |held| held.iter_mut().step_by(3).for_each(|held| *held = *byte))
        }
        Action::Merge { merge: number, operand, .. } => {
            transaction.merge(name, 0, merge(*number), operand);
            if operand.len() % merge(*number).width() != 0 {
                return Err(());
            }
            write_to(model, page, 0..operand.len(), |held| merge(*number).apply(held, operand))
        }
        _ => unreachable!("other actions do not write"),
    }
}

fn write_to(
    model: &mut Model,
    page: usize,
    range: std::ops::Range<usize>,
    write: impl FnOnce(&mut [u8]),
) -> Result<(), ()> {
    let page = model.pages.get_mut(&page).unwrap();
    let held = page.bytes.get_mut(range).filter(|_| page.from.is_none()).ok_or(())?;
    write(held);
    Ok(())
}

/// The page that a transaction makes at this place.
fn new_page(place: usize) -> PageRef {
    let mut transaction = Transaction::new();
    (0..place).for_each(|_| _ = transaction.create(&[]));
    transaction.create(&[]).into()
}

fn held(snapshot: &Snapshot) -> BTreeMap<PageId, Vec<u8>> {
    snapshot.pages().map(|page| (page, snapshot.read(page).unwrap().to_vec())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_state_holds_what_deriving_everything_anew_gives(
        transactions in prop::collection::vec(prop::collection::vec(action(), 0..8), 1..25),
        checkpoints in prop::collection::vec(any::<bool>(), 25),
    ) {
        let disk = Arc::new(MemoryDisk::new());
        let options = Options::default().check_functions(true).log_hashes(true);
        let state = State::create(disk.clone(), functions(), options.clone());
        let mut pair = Pair { state, model: Model::default(), names: Vec::new(), values: BTreeMap::new() };
        let mut past = vec![pair.state.snapshot()];
        for (number, actions) in transactions.iter().enumerate() {
            pair.commit(actions)?;
            if pair.state.epoch() > past[past.len() - 1].epoch() {
                past.push(pair.state.snapshot());
            }
            if checkpoints[number] {
                pair.state.checkpoint().unwrap();
            }
        }
        for snapshot in &past {
            prop_assert_eq!(held(&pair.state.at(snapshot.epoch()).unwrap()), held(snapshot));
        }
        // Each checkpoint is loaded, which hashes all its pages anew, and compared with the commits up to there.
        let found = pair.state.verify().unwrap();
        prop_assert!(found.is_sound(), "{:?}", found.problems);
        let hash = pair.state.state_hash();
        let pages: BTreeSet<PageId> = pair.state.pages().collect();
        drop(pair.state);
        let (mut opened, warnings) = State::open(disk, functions(), options).unwrap();
        prop_assert!(warnings.is_empty(), "{:?}", warnings);
        prop_assert_eq!((opened.state_hash(), opened.pages().collect::<BTreeSet<_>>()), (hash, pages));
    }
}
