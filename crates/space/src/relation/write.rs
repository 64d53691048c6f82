//! Writing a relation as the columns of an image: one segment, without holes, its rows in the order in which they lie.
//!
//! The indexes that are written are those that a query may ask for, so that none has to be made when the image is open: of each
//! column, of the children of columns with compounds, and of a head together with a path where heads share long lists.

use super::copies::BLOCK;
use super::group::{Grouped, NO_KEY};
use super::image::words_of;
use super::index::{IndexedBy, Key, hash};
use super::mapped::{LIST, NONE, RUN};
use super::{COLUMNS_INDEXED_MAX, FoundRow, HEAD, LONG, Path, Relation, hash_of};
use crate::columns::{ColumnsWriter, NO_LIMIT, table_of};
use crate::term::{LiveTerms, Term, Terms};
use crate::words::option_word;
use std::io;

/// Places are listed by key if there are no more keys in their range than this many times the rows.
const DIRECT_ROOM_MAX: u64 = 4;

/// A relation that is written, and what its terms mean.
struct Written<'a> {
    relation: &'a Relation,
    terms: &'a Terms,
    live: &'a LiveTerms,
    length: u32,
}

/// Writes the rows of a relation; what it says of them goes to the description.
pub(crate) fn write_relation(
    relation: &Relation,
    terms: &Terms,
    live: &LiveTerms,
    writer: &mut ColumnsWriter<'_>,
    words: &mut Vec<u64>,
) -> io::Result<()> {
    let length = relation.count_rows();
    words.extend([u64::from(length), u64::from(!relation.is_without_keys())]);
    if length == 0 {
        return Ok(());
    }
    let written = Written { relation, terms, live, length };
    written.rows(writer, words)?;
    written.numbers(writer, words)?;
    written.copies(writer, words)?;
    let hashes = written.relation.all().map(|row| hash_of(row.terms.iter().map(|&term| live.number(terms.key(term)))));
    words.push(writer.column(NO_LIMIT, table_of(length, hashes))?);
    written.indexes(writer, words)
}

impl<'a> Written<'a> {
    fn rows(&self, writer: &mut ColumnsWriter<'_>, words: &mut Vec<u64>) -> io::Result<()> {
        let width = self.relation.all().next().map_or(0, |row| row.terms.len());
        let is_even = self.relation.all().all(|row| row.terms.len() == width);
        words.push(width as u64);
        let cells = self.relation.all().flat_map(|row| row.terms.iter().map(|&term| self.live.number(term)));
        words.push(writer.column(u64::from(self.live.count().max(1)), cells)?);
        let mut end = 0_u64;
        let ends = self.relation.all().map(|row| {
            end += row.terms.len() as u64;
            end
        });
        let ends = (!is_even).then(|| writer.column(NO_LIMIT, ends)).transpose()?;
        words.push(option_word(ends));
        Ok(())
    }

    fn numbers(&self, writer: &mut ColumnsWriter<'_>, words: &mut Vec<u64>) -> io::Result<()> {
        let first = self.relation.all().next().map_or(0, |row| row.number);
        let consecutive = (first..).zip(self.relation.all()).take_while(|(number, row)| *number == row.number).count();
        let others = || self.relation.all().skip(consecutive).map(|row| row.number);
        let mut last = first + consecutive as u64 - 1;
        let descends = others().any(|number| std::mem::replace(&mut last, number) > number);
        words.extend([first, consecutive as u64, u64::from(descends)]);
        words.push(writer.column(NO_LIMIT, others())?);
        Ok(())
    }

    fn copies(&self, writer: &mut ColumnsWriter<'_>, words: &mut Vec<u64>) -> io::Result<()> {
        let counts: Vec<u32> = self.relation.all().map(|row| row.copies).collect();
        let is_plain = |block: &[u32]| block.iter().all(|&copies| copies == 1);
        if is_plain(&counts) {
            words.push(option_word(None));
            return Ok(());
        }
        let mut next = 0;
        let places = counts.chunks(BLOCK).map(|block| {
            if is_plain(block) {
                return NONE;
            }
            next += 1;
            next - 1
        });
        words.push(option_word(Some(writer.column(NO_LIMIT, places)?)));
        let kept = counts.chunks(BLOCK).filter(|block| !is_plain(block));
        let whole = kept.flat_map(|block| block.iter().copied().chain(std::iter::repeat(1)).take(BLOCK));
        words.push(writer.column(NO_LIMIT, whole)?);
        Ok(())
    }

    /// The key of each row at a path.
    fn keys(&self, path: Path) -> Vec<u64> {
        self.relation.all().map(|row| self.key(path, &row).map_or(NO_KEY, |key| u64::from(key.number()))).collect()
    }

    fn key(&self, path: Path, row: &FoundRow<'_>) -> Option<Term> {
        super::index::key_at(path, row.terms, self.terms).map(|key| self.live.number(key))
    }

    fn indexes(&self, writer: &mut ColumnsWriter<'_>, words: &mut Vec<u64>) -> io::Result<()> {
        let count = words.len();
        words.push(0);
        let heads = self.keys(HEAD);
        let has_heads = heads.iter().any(|&head| head != heads[0]);
        for path in self.paths() {
            let grouped = Grouped::new(&self.keys(path));
            self.index(IndexedBy::Path(path), &grouped, writer, words)?;
            words[count] += 1;
            if path != HEAD && has_heads && shares_lists(&grouped, &heads) {
                let pair = |row: FoundRow<'_>| {
                    let keys = self.key(HEAD, &row).zip(self.key(path, &row));
                    keys.map_or(NO_KEY, |(head, key)| Key::pair(head, key).0)
                };
                let pairs: Vec<u64> = self.relation.all().map(pair).collect();
                self.index(IndexedBy::HeadAnd(path), &Grouped::new(&pairs), writer, words)?;
                words[count] += 1;
            }
        }
        Ok(())
    }

    /// The paths of which an index is written.
    fn paths(&self) -> Vec<Path> {
        let width = self.relation.all().map(|row| row.terms.len()).max().unwrap_or(0).min(COLUMNS_INDEXED_MAX);
        let mut children = vec![0; width];
        for row in self.relation.all() {
            for (most, &term) in children.iter_mut().zip(row.terms) {
                *most = self.terms.children(term).map_or(0, <[Term]>::len).min(COLUMNS_INDEXED_MAX).max(*most);
            }
        }
        let of_column = |(column, most): (u32, usize)| {
            std::iter::once((column, None)).chain((0..most as u32).map(move |child| (column, Some(child))))
        };
        (0..).zip(children).flat_map(of_column).collect()
    }

    fn index(
        &self,
        place: IndexedBy,
        grouped: &Grouped,
        writer: &mut ColumnsWriter<'_>,
        words: &mut Vec<u64>,
    ) -> io::Result<()> {
        words.extend(words_of(place));
        let mut lists = Vec::new();
        let mut start = 0;
        let mut place_of = |rows: &[u32]| match *rows {
            [only] => only,
            [first, .., last] => {
                let length = rows.len() as u32;
                if last - first == length - 1 {
                    lists.push([first, length | RUN]);
                } else {
                    lists.push([start, length]);
                    start += length;
                }
                LIST | (lists.len() as u32 - 1)
            }
            [] => NONE,
        };
        let is_dense = |[low, high]: &[u64; 2]| high - low < DIRECT_ROOM_MAX * u64::from(self.length);
        match (grouped.span().filter(is_dense), place) {
            (Some([low, high]), IndexedBy::Path(_)) => {
                let mut places = vec![NONE; (high - low) as usize + 1];
                grouped.groups().for_each(|(key, rows)| places[(key - low) as usize] = place_of(rows));
                words.extend([0, low]);
                words.push(writer.column(NO_LIMIT, places)?);
            }
            _ => {
                let places: Vec<u32> = grouped.groups().map(|(_, rows)| place_of(rows)).collect();
                let hashes = grouped.groups().map(|(key, _)| hash(Key(key)));
                words.extend([1, writer.column(NO_LIMIT, table_of(grouped.len() as u32, hashes))?]);
                words.push(writer.column(NO_LIMIT, places)?);
            }
        }
        words.push(writer.column(NO_LIMIT, lists)?);
        let is_listed = |rows: &&[u32]| rows.len() > 1 && rows[rows.len() - 1] - rows[0] != rows.len() as u32 - 1;
        let listed = grouped.groups().map(|(_, rows)| rows).filter(is_listed).flatten().copied();
        words.push(writer.column(u64::from(self.length), listed)?);
        Ok(())
    }
}

/// How rows and keys are hashed: if one of these differs, a table that was made before is not looked into.
pub(crate) fn row_hashes() -> [u64; 2] {
    [hash_of([Term::new(1), Term::new(2)].into_iter()), hash(Key(7 << 32 | 9))]
}

/// Whether rows with different heads stand in one long list: then a query may ask for a head together with this key.
fn shares_lists(grouped: &Grouped, heads: &[u64]) -> bool {
    grouped.groups().any(|(_, rows)| {
        let head = heads[rows[0] as usize];
        rows.len() > LONG && rows.iter().any(|&row| heads[row as usize] != head)
    })
}
