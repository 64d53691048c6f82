//! The pages of the suite in ours, in salsa and in incremental.

use super::{Failure, PAGE_BYTES};
use incremental::{Incr, IncrState, Observer, Var};
use reactive::{FunctionName, Functions, Inputs, Options, PageId, State, Transaction};
use salsa::Setter;

/// Which pages follow from the first.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// This many pages in all, each a copy of the one before.
    Chain(usize),
    /// A page that has the lowest bit of each byte, and this many that copy it, one after the other.
    CutOff(usize),
    /// This many copies of the first page.
    Fan(usize),
    /// This many times two copies, and a copy of the first of them that depends on both.
    Diamonds(usize),
}

/// A sheet: its first page is written, and then the last one is read.
pub(super) trait Sheet {
    /// Writes to the first page, makes everything follow, and says what the last page holds.
    fn write(&mut self, image: &[u8]) -> Result<u64, Failure>;
}

/// A number that follows from bytes, in next to no time.
pub(super) fn look(bytes: &[u8]) -> u64 {
    let at = |place: usize| u64::from(bytes[place]);
    at(0) + (at(bytes.len() / 2) << 8) + (at(bytes.len() - 1) << 16)
}

/// Ours.
pub(super) struct Ours {
    pub(super) state: State,
    pub(super) first: PageId,
    last: PageId,
    transaction: Transaction,
}

fn lowest_bits() -> FunctionName {
    FunctionName::new("lowest-bits", 1)
}

/// A state with the functions of sheets.
pub(super) fn functions() -> Functions {
    let mut functions = Functions::new();
    functions.add(lowest_bits(), |inputs: &Inputs<'_>, page: &mut [u8]| {
        page.iter_mut().zip(inputs.get(0)).for_each(|(bit, byte)| *bit = byte & 1);
        Ok(())
    });
    functions
}

impl Ours {
    pub(super) fn new(shape: Shape) -> Result<Self, Failure> {
        Self::of(State::new(functions(), Options::default().threads(1)), shape)
    }

    pub(super) fn of(mut state: State, shape: Shape) -> Result<Self, Failure> {
        let mut transaction = Transaction::new();
        let copy = Functions::passthrough;
        let first = transaction.create(&[0; PAGE_BYTES]);
        let mut last = first;
        match shape {
            Shape::Chain(pages) => (1..pages).for_each(|_| last = transaction.derive(PAGE_BYTES, copy(), [last])),
            Shape::CutOff(pages) => {
                last = transaction.derive(PAGE_BYTES, lowest_bits(), [first]);
                (0..pages).for_each(|_| last = transaction.derive(PAGE_BYTES, copy(), [last]));
            }
            Shape::Fan(pages) => (0..pages).for_each(|_| last = transaction.derive(PAGE_BYTES, copy(), [first])),
            Shape::Diamonds(count) => {
                for _ in 0..count {
                    let sides = [last; 2].map(|top| transaction.derive(PAGE_BYTES, copy(), [top]));
                    last = transaction.derive(PAGE_BYTES, copy(), sides);
                }
            }
        }
        let made = state.commit(&transaction)?.created;
        let (first, last) = (made[first.index()], made[last.index()]);
        transaction.clear();
        Ok(Self { state, first, last, transaction })
    }
}

impl Sheet for Ours {
    fn write(&mut self, image: &[u8]) -> Result<u64, Failure> {
        self.transaction.clear();
        self.transaction.write(self.first, 0, image);
        self.state.commit(&self.transaction)?;
        Ok(look(self.state.read(self.last).ok_or("the page is there")?))
    }
}

#[salsa::input]
pub(super) struct Source {
    #[returns(ref)]
    bytes: Vec<u8>,
}

#[salsa::tracked(returns(ref))]
fn chained(db: &dyn salsa::Database, source: Source, depth: u32) -> Vec<u8> {
    if depth == 0 { source.bytes(db).clone() } else { chained(db, source, depth - 1).clone() }
}

#[salsa::tracked(returns(ref))]
fn bits(db: &dyn salsa::Database, source: Source, depth: u32) -> Vec<u8> {
    if depth == 0 {
        source.bytes(db).iter().map(|byte| byte & 1).collect()
    } else {
        bits(db, source, depth - 1).clone()
    }
}

#[salsa::tracked(returns(ref))]
fn fanned(db: &dyn salsa::Database, source: Source, number: u32) -> Vec<u8> {
    let _ = number;
    source.bytes(db).clone()
}

/// A page of diamonds: the top is number 0, then come two sides and the page below, again and again.
#[salsa::tracked(returns(ref))]
fn stacked(db: &dyn salsa::Database, source: Source, number: u32) -> Vec<u8> {
    match (number, number % 3) {
        (0, _) => source.bytes(db).clone(),
        (_, 1) => stacked(db, source, number - 1).clone(),
        (_, 2) => stacked(db, source, number - 2).clone(),
        _ => {
            let copied = stacked(db, source, number - 2).clone();
            stacked(db, source, number - 1);
            copied
        }
    }
}

/// salsa's.
pub(super) struct Salsa {
    database: salsa::DatabaseImpl,
    source: Source,
    shape: Shape,
}

impl Salsa {
    pub(super) fn new(shape: Shape) -> Self {
        let database = salsa::DatabaseImpl::new();
        let source = Source::new(&database, vec![0; PAGE_BYTES]);
        Self { database, source, shape }
    }
}

impl Sheet for Salsa {
    fn write(&mut self, image: &[u8]) -> Result<u64, Failure> {
        let Self { database, source, shape } = self;
        let bytes = [image, &source.bytes(database)[image.len()..]].concat();
        source.set_bytes(database).to(bytes);
        Ok(match *shape {
            Shape::Chain(pages) => look(chained(database, *source, pages as u32 - 1)),
            Shape::CutOff(pages) => look(bits(database, *source, pages as u32)),
            Shape::Fan(pages) => {
                (0..pages).map(|number| look(fanned(database, *source, number as u32))).last().unwrap_or(0)
            }
            Shape::Diamonds(count) => look(stacked(database, *source, 3 * count as u32)),
        })
    }
}

/// incremental's.
pub(super) struct Incremental {
    state: IncrState,
    source: Var<Vec<u8>>,
    held: Vec<u8>,
    /// All that is to be kept up to date; the last one is looked at.
    observers: Vec<Observer<Vec<u8>>>,
}

fn copied(node: &Incr<Vec<u8>>) -> Incr<Vec<u8>> {
    node.map(|bytes: &Vec<u8>| bytes.clone())
}

impl Incremental {
    pub(super) fn new(shape: Shape) -> Self {
        const HEIGHT_MAX: usize = 2_000;
        let state = IncrState::new_with_height(HEIGHT_MAX);
        let source = state.var(vec![0; PAGE_BYTES]);
        let mut last = source.watch();
        let mut observers = Vec::new();
        match shape {
            Shape::Chain(pages) => (1..pages).for_each(|_| last = copied(&last)),
            Shape::CutOff(pages) => {
                last = last.map(|bytes: &Vec<u8>| bytes.iter().map(|byte| byte & 1).collect());
                (0..pages).for_each(|_| last = copied(&last));
            }
            Shape::Fan(pages) => observers.extend((0..pages).map(|_| copied(&last).observe())),
            Shape::Diamonds(count) => {
                for _ in 0..count {
                    last = copied(&last).map2(&copied(&last), |one: &Vec<u8>, _: &Vec<u8>| one.clone());
                }
            }
        }
        if observers.is_empty() {
            observers.push(last.observe());
        }
        state.stabilise();
        Self { state, source, held: vec![0; PAGE_BYTES], observers }
    }
}

impl Sheet for Incremental {
    fn write(&mut self, image: &[u8]) -> Result<u64, Failure> {
        self.held[..image.len()].copy_from_slice(image);
        self.source.set(self.held.clone());
        self.state.stabilise();
        Ok(look(&self.observers.last().ok_or("something is observed")?.value()))
    }
}

/// A database of salsa with one input, made and dropped.
pub(super) fn one_input(image: &[u8]) -> u64 {
    let database = salsa::DatabaseImpl::new();
    let source = Source::new(&database, image.to_vec());
    look(source.bytes(&database))
}
