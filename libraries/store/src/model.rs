//! The learned index of a run: where among the blocks a key lies.
//!
//! Every block has a **head**, the eight bytes of its first key that follow what all keys of the run share, as a number. A lookup
//! asks how many heads are not greater than that of its key. The index answers in one of three ways, the one that took the
//! fewest comparisons when the run was built:
//!
//! 1. [`Kind::Line`]: one straight line through all heads, for dense keys.
//! 2. [`Kind::Pieces`]: straight lines in pieces, and a table by the highest bits of the head that leads to the piece.
//! 3. [`Kind::Plain`]: binary search.
//!
//! Invariants:
//!
//! 1. **A model only narrows the search.** Its window is checked at both ends before it is used; if the place is not inside, binary
//!    search over all heads follows. So a wrong model costs two comparisons, never an answer.
//! 2. Predictions are clamped: to the heads of their piece, since between the last head of a piece and the first of the next
//!    there may be a gap of any width.
//! 3. What is chosen depends on the heads alone: comparisons are counted, no time is taken.
//!
//! Heads may be equal, where keys have more than eight bytes in common; the caller compares full keys among them.
//!
//! The pieces are found as in the PGM-index and in Bourbon (greedy, a cone of slopes), the table is that of RadixSpline.

use crate::fields::{take, take_u32, take_u64};

/// How far predictions of candidates may be off, in blocks.
const ERRORS: [u32; 3] = [1, 4, 16];
/// How many lookups a candidate is measured by.
const SAMPLES: usize = 2048;
/// How many bits the table has at most.
const TABLE_BITS_MAX: u32 = 14;
/// How many bytes a piece takes.
const PIECE_BYTES: usize = 24;
/// A model may take this share of what the heads take.
const BYTES_SHARE: usize = 2;
/// What the lines may fall short of a whole place because numbers have limited digits.
const ROUNDING: f64 = 1.0 / (1_u32 << 20) as f64;
/// What evaluating a model costs, in comparisons.
const EVALUATION: u64 = 1;

/// How an index finds a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Binary search over all heads.
    Plain,
    /// A straight line.
    Line,
    /// Straight lines, and a table that leads to them.
    Pieces,
}

/// A head as it lies in a file: the lowest byte first.
pub(crate) type Head = [u8; 8];

/// Counts comparisons, or does not.
pub(crate) trait Probes {
    fn add(&mut self, count: u64);
}

impl Probes for () {
    fn add(&mut self, _: u64) {}
}

impl Probes for u64 {
    fn add(&mut self, count: u64) {
        *self += count;
    }
}

/// An index over the heads of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    kind: Kind,
    /// How far a prediction may be off, in blocks.
    error: u32,
    /// The bits of a head that lie below those that the table is asked with.
    shift: u32,
    /// For each value of the highest bits, how many pieces begin below it.
    table: Vec<u32>,
    pieces: Vec<Piece>,
}

/// From `head` on, `place` and `slope` more for each unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    head: u64,
    place: f64,
    slope: f64,
}

impl Piece {
    /// What the line says, before it is clamped from above.
    fn at(&self, head: u64) -> f64 {
        self.place + self.slope * (head - self.head) as f64
    }
}

impl Model {
    pub(crate) fn plain() -> Self {
        Self { kind: Kind::Plain, error: 0, shift: 0, table: Vec::new(), pieces: Vec::new() }
    }

    /// The index for these heads, which ascend, that takes the fewest comparisons; of equals the smaller one.
    pub(crate) fn choose(heads: &[Head]) -> Self {
        let points = points(heads);
        let mut best = Self::plain();
        let mut best_cost = best.cost(heads, &points);
        let candidates = std::iter::once(None).chain(ERRORS.into_iter().map(Some));
        for error in candidates {
            let Some(model) = Self::fit(&points, error, heads.len()) else { continue };
            let cost = model.cost(heads, &points);
            if cost < best_cost || cost == best_cost && model.bytes() < best.bytes() {
                (best, best_cost) = (model, cost);
            }
        }
        best
    }

    /// A model of pieces that are off by at most `error`, or of one line; `None` if there is too little to learn from, or it
    /// gets too large.
    fn fit(points: &[(u64, u32)], error: Option<u32>, heads: usize) -> Option<Self> {
        if points.len() < 2 {
            return None;
        }
        let pieces = match error {
            Some(error) => pieces(points, f64::from(error)),
            None => vec![line(points)],
        };
        let kind = if error.is_some() { Kind::Pieces } else { Kind::Line };
        if kind == Kind::Pieces && pieces.len() * PIECE_BYTES * BYTES_SHARE > heads * 8 {
            return None;
        }
        let first = points[0].0;
        let span = points[points.len() - 1].0 - first;
        let bits = (64 - (pieces.len() as u64).leading_zeros() + 1).min(TABLE_BITS_MAX);
        let shift = (64 - span.leading_zeros()).saturating_sub(bits);
        let table = if kind == Kind::Pieces { table(&pieces, first, span, shift) } else { Vec::new() };
        let mut model = Self { kind, error: 0, shift, table, pieces };
        model.error = model.largest_error(points);
        Some(model)
    }

    /// How far predictions are off, at each head and just before the next one: between the two a prediction only rises.
    fn largest_error(&self, points: &[(u64, u32)]) -> u32 {
        let mut largest = 0;
        for (index, &(head, place)) in points.iter().enumerate() {
            let before_next = points.get(index + 1).map_or(u64::MAX, |next| next.0 - 1);
            for head in [head, before_next] {
                let predicted = self.predict(head, points[points.len() - 1].1 as usize, &mut ());
                largest = largest.max(predicted.abs_diff(place as usize));
            }
        }
        largest as u32
    }

    /// Where the place should be. The head is not less than the first one.
    fn predict<P: Probes>(&self, head: u64, count: usize, probes: &mut P) -> usize {
        let index = self.piece(head, probes);
        let piece = &self.pieces[index];
        let highest = self.pieces.get(index + 1).map_or(count as f64, |next| next.place);
        let place = piece.at(head.max(piece.head)).min(highest);
        // Rounded down, since heads between two others have the place of the lower one. The cast takes what is negative, or not a
        // number, for 0.
        ((place + ROUNDING) as usize).min(count)
    }

    /// The last piece that begins at this head or before.
    fn piece<P: Probes>(&self, head: u64, probes: &mut P) -> usize {
        let (mut from, mut to) = (0, self.pieces.len());
        if self.kind == Kind::Pieces {
            let slot = (head.saturating_sub(self.pieces[0].head) >> self.shift) as usize;
            let slot = slot.min(self.table.len().saturating_sub(2));
            from = (self.table[slot] as usize).saturating_sub(1);
            to = (self.table[slot + 1] as usize).clamp(from + 1, self.pieces.len());
        }
        probes.add(u64::from((to - from).ilog2()));
        from + self.pieces[from..to].partition_point(|piece| piece.head <= head).saturating_sub(1)
    }

    /// How many heads are not greater than this one.
    pub(crate) fn locate<P: Probes>(&self, heads: &[Head], head: u64, probes: &mut P) -> usize {
        if heads.first().is_none_or(|first| head < number(first)) {
            return 0;
        }
        if self.kind == Kind::Plain {
            return search(heads, 0, heads.len(), head, probes);
        }
        probes.add(EVALUATION);
        let place = self.predict(head, heads.len(), probes);
        let from = place.saturating_sub(self.error as usize);
        let to = (place + self.error as usize).min(heads.len());
        probes.add(2);
        let is_above = from == 0 || number(&heads[from - 1]) <= head;
        let is_below = to == heads.len() || number(&heads[to]) > head;
        match (is_above, is_below) {
            (true, true) => search(heads, from, to, head, probes),
            (false, _) => search(heads, 0, from, head, probes),
            (true, false) => search(heads, to, heads.len(), head, probes),
        }
    }

    /// How many comparisons a sample of lookups takes: of heads, and of what lies between them.
    fn cost(&self, heads: &[Head], points: &[(u64, u32)]) -> u64 {
        let step = points.len().div_ceil(SAMPLES).max(1);
        let mut probes = 0;
        for pair in points.windows(2).step_by(step) {
            for head in [pair[0].0, pair[0].0.midpoint(pair[1].0)] {
                self.locate(heads, head, &mut probes);
            }
        }
        probes
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn error(&self) -> u32 {
        self.error
    }

    /// How many bytes it takes in memory and in a file.
    pub(crate) fn bytes(&self) -> usize {
        self.table.len() * 4 + self.pieces.len() * PIECE_BYTES
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + self.bytes());
        let kind = match self.kind {
            Kind::Plain => 0,
            Kind::Line => 1,
            Kind::Pieces => 2,
        };
        for number in [kind, self.error, self.shift, self.table.len() as u32, self.pieces.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.table.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_le_bytes()));
        for piece in &self.pieces {
            bytes.extend_from_slice(&piece.head.to_le_bytes());
            bytes.extend_from_slice(&piece.place.to_bits().to_le_bytes());
            bytes.extend_from_slice(&piece.slope.to_bits().to_le_bytes());
        }
        bytes
    }

    /// The model of some bytes; `None` if they are not one that can be asked.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let kind = match take_u32(bytes)? {
            0 => Kind::Plain,
            1 => Kind::Line,
            2 => Kind::Pieces,
            _ => return None,
        };
        let (error, shift) = (take_u32(bytes)?, take_u32(bytes)?);
        let (entries, pieces) = (take_u32(bytes)? as usize, take_u32(bytes)? as usize);
        let mut table = take(bytes, entries.checked_mul(4)?)?;
        let table: Vec<u32> = (0..entries).map_while(|_| take_u32(&mut table)).collect();
        let mut lines = take(bytes, pieces.checked_mul(PIECE_BYTES)?)?;
        let mut read = || {
            let (head, place, slope) = (take_u64(&mut lines)?, take_u64(&mut lines)?, take_u64(&mut lines)?);
            Some(Piece { head, place: f64::from_bits(place), slope: f64::from_bits(slope) })
        };
        let pieces: Vec<Piece> = std::iter::from_fn(&mut read).collect();
        let can_be_asked = match kind {
            Kind::Plain => true,
            Kind::Line => pieces.len() == 1,
            Kind::Pieces => !pieces.is_empty() && table.len() > 1 && shift < 64,
        };
        let is_table_sound = table.iter().all(|entry| *entry as usize <= pieces.len());
        (can_be_asked && is_table_sound && bytes.is_empty()).then_some(Self { kind, error, shift, table, pieces })
    }
}

/// The number that a head stands for.
pub(crate) fn number(head: &Head) -> u64 {
    u64::from_le_bytes(*head)
}

/// Binary search in a part of the heads: how many of all are not greater.
fn search<P: Probes>(heads: &[Head], from: usize, to: usize, head: u64, probes: &mut P) -> usize {
    probes.add(u64::from(usize::BITS - (to - from).leading_zeros()));
    from + heads[from..to].partition_point(|other| number(other) <= head)
}

/// Each head once, and how many heads are not greater than it.
fn points(heads: &[Head]) -> Vec<(u64, u32)> {
    let mut points: Vec<(u64, u32)> = Vec::with_capacity(heads.len());
    for (index, head) in heads.iter().map(number).enumerate() {
        match points.last_mut() {
            Some(last) if last.0 == head => last.1 = index as u32 + 1,
            _ => points.push((head, index as u32 + 1)),
        }
    }
    points
}

/// The line from the first point to the last.
fn line(points: &[(u64, u32)]) -> Piece {
    let (first, last) = (points[0], points[points.len() - 1]);
    let slope = f64::from(last.1 - first.1) / (last.0 - first.0) as f64;
    Piece { head: first.0, place: f64::from(first.1), slope }
}

/// Lines that miss no point by more than `error`: each goes on as long as there is a slope that does for all its points.
fn pieces(points: &[(u64, u32)], error: f64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = points[0];
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let middle = |low: f64, high: f64| if high.is_finite() { f64::midpoint(low, high) } else { low };
    for &(head, place) in &points[1..] {
        let run = (head - start.0) as f64;
        let rise = f64::from(place - start.1);
        let (least, most) = ((rise - error) / run, (rise + error) / run);
        if least > high || most < low {
            pieces.push(Piece { head: start.0, place: f64::from(start.1), slope: middle(low, high) });
            start = (head, place);
            (low, high) = (0.0, f64::INFINITY);
        } else {
            low = f64::max(low, least);
            high = f64::min(high, most);
        }
    }
    pieces.push(Piece { head: start.0, place: f64::from(start.1), slope: middle(low, high) });
    pieces
}

fn table(pieces: &[Piece], first: u64, span: u64, shift: u32) -> Vec<u32> {
    let slots = (span >> shift) + 1;
    let slot_of = |piece: &Piece| (piece.head - first) >> shift;
    (0..=slots).map(|slot| pieces.partition_point(|piece| slot_of(piece) < slot) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(heads: &[u64]) -> Vec<Head> {
        heads.iter().map(|head| head.to_le_bytes()).collect()
    }

    fn check(heads: &[u64], model: &Model) {
        let lies = stored(heads);
        let mut asked: Vec<u64> = vec![0, u64::MAX];
        for &head in heads {
            asked.extend([head, head.saturating_sub(1), head.saturating_add(1)]);
        }
        asked.extend(heads.windows(2).map(|pair| pair[0].midpoint(pair[1])));
        for head in asked {
            let expected = heads.partition_point(|other| *other <= head);
            assert_eq!(model.locate(&lies, head, &mut ()), expected, "{head} by {:?}", model.kind());
        }
    }

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        }
    }

    /// Distributions that models are good and bad at.
    fn distributions() -> Vec<Vec<u64>> {
        let mut next = random(7);
        let mut uniform: Vec<u64> = (0..5000).map(|_| next()).collect();
        let mut steep: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
        let mut clustered: Vec<u64> = (0..5000).map(|index| ((index / 50) << 50) | ((index % 50) * 3)).collect();
        let ends = vec![0, 1, u64::MAX - 1, u64::MAX];
        let equal: Vec<u64> = (0..3000).map(|index| index / 500 * 1000).collect();
        let mut lists = vec![(0..9000).map(|index| 1000 + index * 35).collect(), ends, equal, vec![5], vec![]];
        for list in [&mut uniform, &mut steep, &mut clustered] {
            list.sort_unstable();
            lists.push(list.clone());
        }
        lists
    }

    #[test]
    fn every_model_finds_every_place() {
        for heads in distributions() {
            check(&heads, &Model::choose(&stored(&heads)));
            for error in [None, Some(1), Some(4), Some(1000)] {
                if let Some(model) = Model::fit(&points(&stored(&heads)), error, usize::MAX / 16) {
                    check(&heads, &model);
                    assert_eq!(Model::decode(&model.encode()).as_ref(), Some(&model));
                }
            }
        }
    }

    #[test]
    fn a_wrong_model_costs_time_and_never_an_answer() {
        let heads: Vec<u64> = (0..2000).map(|index| index * index).collect();
        let other: Vec<u64> = (0..300).map(|index| 7 + index * 1_000_003).collect();
        for error in [None, Some(1), Some(16)] {
            check(&heads, &Model::fit(&points(&stored(&other)), error, usize::MAX / 16).unwrap());
        }
    }

    #[test]
    fn dense_keys_get_a_line_and_uniform_ones_pieces() {
        let lists = distributions();
        let chosen = |list: &[u64]| Model::choose(&stored(list));
        assert_eq!((chosen(&lists[0]).kind(), chosen(&lists[0]).error()), (Kind::Line, 0));
        assert_eq!(chosen(&lists[5]).kind(), Kind::Pieces);
        assert_eq!(chosen(&lists[3]).kind(), Kind::Plain);
    }

    /// Our own prototype went past the end of a piece across a gap of keys, and panicked (D27 of the facts).
    #[test]
    fn reg_model_gap_clamped() {
        let heads: Vec<u64> = (0..500).chain((0..500).map(|index| (1 << 60) + index * 7)).collect();
        for error in [Some(1), Some(4), None] {
            check(&heads, &Model::fit(&points(&stored(&heads)), error, usize::MAX / 16).unwrap());
        }
        let model = Model::fit(&points(&stored(&heads)), Some(1), usize::MAX / 16).unwrap();
        assert!(model.predict(1 << 59, heads.len(), &mut ()) <= 501);
    }
}
