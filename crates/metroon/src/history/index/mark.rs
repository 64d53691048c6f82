//! The mark of an index: how far it has come, and of which journal.

use journal::{Chain, Position};

const VERSION: u64 = 3;
const NUMBERS: usize = 12 + Chain::BYTES / 8;

/// How far an index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) epoch: u64,
    /// The commit before the first that is kept.
    pub(super) start: u64,
    /// The last commit that changed what words mean or which modules are imported; `start` if none did.
    pub(super) words: u64,
    /// Where the journal goes on behind the commit.
    pub(super) position: Position,
    /// The source, line and column of the last form.
    pub(super) cause: [u32; 3],
    /// Whether no event of a later commit was written.
    pub(super) is_whole: bool,
}

impl Mark {
    pub(super) fn encode(&self) -> Vec<u8> {
        let [source, line, column] = self.cause.map(u64::from);
        let numbers = [VERSION, self.epoch, self.start, self.words, source, line, column];
        let numbers = numbers.into_iter().chain(self.position.to_numbers()).map(u64::to_le_bytes);
        let parts =
            [&numbers.collect::<Vec<_>>().concat(), &self.position.chain.as_bytes()[..], &[u8::from(self.is_whole)]];
        parts.concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (is_whole, bytes) = bytes.split_last()?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        let numbers: [[u8; 8]; NUMBERS] = numbers.try_into().ok().filter(|_| rest.is_empty())?;
        let (numbers, chain) = numbers.split_at(NUMBERS - Chain::BYTES / 8);
        let number = |at: usize| u64::from_le_bytes(numbers[at]);
        let chain = Chain::from_bytes(chain.concat().try_into().ok()?);
        let position = Position::from_numbers([7, 8, 9, 10, 11].map(number), chain);
        let cause = [4, 5, 6].map(|at| number(at) as u32);
        let (epoch, start, words, is_whole) = (number(1), number(2), number(3), *is_whole == 1);
        let mark = Self { epoch, start, words, position, cause, is_whole };
        (number(0) == VERSION).then_some(mark)
    }
}
