//! Atoms and queries made ready for being asked for many times.
//!
//! 1. To look for an atom is to find the terms of its parts, to hash their match keys and to find the row that has them.
//!    Only the last step depends on the space.
//! 2. A [`Prepared`] atom is the result of the others: its keys and their hash. Looking for it reads no name and allocates
//!    nothing.
//! 3. Its parts are interned, so it stays right while the space changes: terms and their match keys never do.
//!
//! 4. A [`PreparedQuery`] is to a query what that is to an atom: what must be where, as match keys. It is answered in terms.
//! 5. Of many prepared queries the first things that each reads are read together, so that one waits for memory while the others do,
//!    as in a [`Batch`](crate::Batch).
//!
//! They serve every space and snapshot that has the dictionary they were prepared with.

use crate::atom::Atom;
use crate::contents::{COLUMNS_INDEXED_MAX, Contents, Stored, columns};
use crate::relation::{Finder, Listed, Path, Relation, hash_of};
use crate::rows::{NO_TERM, RowPart, RowQuery, VARIABLES_MAX, matches_leaf};
use crate::take::Taking;
use crate::term::{Term, Terms};

/// So many queries wait for memory together.
const TOGETHER: usize = 64;

/// Columns up to this number lie in the query itself.
const SHORT_MAX: usize = 4;

/// An atom that was made ready; see [`SpaceRef::prepare`](crate::SpaceRef::prepare).
pub struct Prepared {
    dictionary: u32,
    form: Form,
}

enum Form {
    /// The match keys of a row, and their hash.
    Row { keys: Box<[Term]>, hash: u64, is_leaf: bool },
    /// An atom with variables, states or spaces: it is compared as it stands.
    Open(Stored),
}

impl Prepared {
    pub(crate) fn new(atom: &Atom, terms: &mut Terms) -> Self {
        let dictionary = terms.serial();
        if !atom.is_rigid() {
            return Self { dictionary, form: Form::Open(Stored::new(atom)) };
        }
        let key_of = |column: &Atom| {
            let term = terms.intern(column);
            terms.key(term)
        };
        let keys: Box<[Term]> = columns(atom).iter().map(key_of).collect();
        let hash = hash_of(keys.iter().copied());
        Self { dictionary, form: Form::Row { keys, hash, is_leaf: atom.children().is_none() } }
    }
}

impl Contents {
    /// How many copies of an atom there are; see [`Space::count`](crate::Space::count).
    #[inline]
    pub(crate) fn count_prepared(&self, atom: &Prepared, terms: &Terms) -> usize {
        assert!(
            atom.dictionary == terms.serial(),
            "an atom is looked for in spaces of the dictionary it was prepared with"
        );
        match &atom.form {
            Form::Row { keys, hash, is_leaf: false } => {
                self.relation_of_length(keys.len()).count_hashed(*hash, keys, terms)
            }
            Form::Row { keys, hash, .. } => self.leaves().count_hashed(*hash, keys, terms),
            Form::Open(stored) => self.patterns().count(stored),
        }
    }
}

/// A query whose names were looked up; see [`SpaceRef::prepare_query`](crate::SpaceRef::prepare_query).
pub struct PreparedQuery {
    dictionary: u32,
    /// The column behind the head by whose key rows are found; zero if there is none.
    column: u32,
    /// The key there.
    key: Term,
    variables: u32,
    /// How many columns the rows have that answer it; zero if it is not flat.
    length: u32,
    form: QueryForm,
}

enum QueryForm {
    /// A pattern of so many keys and variables only: what each column is. Most are read with the query itself.
    Short([RowPart; SHORT_MAX]),
    Flat(Box<[RowPart]>),
    Deep(Box<RowQuery>),
}

impl PreparedQuery {
    /// `None` if it asks for more than rows.
    pub(crate) fn new(query: &Atom, terms: &mut Terms) -> Option<Self> {
        let written = RowQuery::interning(query, terms)?;
        let (dictionary, variables) = (terms.serial(), written.variables() as u32);
        let flat = written.flat().filter(|columns| columns.len() <= COLUMNS_INDEXED_MAX);
        let Some(columns) = flat else {
            let form = QueryForm::Deep(Box::new(written));
            return Some(Self { dictionary, column: 0, key: NO_TERM, variables, length: 0, form });
        };
        // What is known whole is found without an index.
        let is_open = variables > 0;
        let point = known(columns).find(|&((column, _), _)| column > 0 && is_open);
        let (column, key) = point.map_or((0, NO_TERM), |((column, _), key)| (column, key));
        let length = columns.len() as u32;
        Some(Self { dictionary, column, key, variables, length, form: QueryForm::of(columns) })
    }

    /// How many variables it has: as many terms as each answer has, in the order in which the variables first occur.
    pub fn variables(&self) -> usize {
        self.variables as usize
    }

    /// What the columns are, if it is flat.
    #[inline]
    fn columns(&self) -> Option<&[RowPart]> {
        match &self.form {
            QueryForm::Short(columns) => columns.get(..self.length as usize),
            QueryForm::Flat(columns) => Some(columns),
            QueryForm::Deep(_) => None,
        }
    }
}

impl QueryForm {
    fn of(columns: &[RowPart]) -> Self {
        let mut short = [RowPart::Open(0); SHORT_MAX];
        match short.get_mut(..columns.len()) {
            Some(room) => {
                room.copy_from_slice(columns);
                Self::Short(short)
            }
            None => Self::Flat(columns.into()),
        }
    }
}

/// What is known of the columns of a pattern.
fn known(columns: &[RowPart]) -> impl Iterator<Item = (Path, Term)> {
    columns.iter().zip(0..).filter_map(|(part, column)| match part {
        RowPart::Key(key) => Some(((column, None), *key)),
        _ => None,
    })
}

impl Contents {
    /// Hands the answers of prepared queries to somebody, with the place of the query; gives the place of the first query that
    /// rows alone do not answer, if there is one.
    ///
    /// # Panics
    /// If one was prepared with another dictionary.
    pub(crate) fn ask_many(
        &self,
        queries: &[PreparedQuery],
        terms: &Terms,
        mut each: impl FnMut(usize, &[Term]),
    ) -> Result<(), usize> {
        let mut chunks = queries.chunks(TOGETHER).zip((0..).step_by(TOGETHER));
        chunks.try_for_each(|(chunk, start)| self.ask_together(chunk, start, terms, &mut each))
    }

    /// The same for queries that wait together: those that are like the first one.
    fn ask_together(
        &self,
        queries: &[PreparedQuery],
        start: usize,
        terms: &Terms,
        each: &mut impl FnMut(usize, &[Term]),
    ) -> Result<(), usize> {
        let (length, column) = (queries[0].length, queries[0].column);
        let finder = self.finder(&queries[0], terms);
        let is_like = |query: &PreparedQuery| query.column == column && query.length == length;
        if let Some(finder) = &finder {
            finder.look_ahead(queries.iter().filter(|query| is_like(query)).map(|query| query.key));
        }
        for (query, place) in queries.iter().zip(start..) {
            let finder = finder.as_ref().filter(|_| is_like(query));
            let found = finder.map(|finder| (finder, finder.listed_ready(query.key)));
            self.answer(query, found, terms, &mut |answer| each(place, answer)).ok_or(place)?;
        }
        Ok(())
    }

    /// What finds the rows for a query, if it goes by one column.
    #[inline]
    fn finder<'a>(&'a self, query: &PreparedQuery, terms: &'a Terms) -> Option<Finder<'a>> {
        let path = (query.column, None);
        if query.column > 0 { self.relation_of_length(query.length as usize).finder(path, terms) } else { None }
    }

    /// Hands the answers of a prepared query to somebody; `None` if rows alone do not answer it.
    ///
    /// # Panics
    /// If it was prepared with another dictionary.
    #[inline]
    pub(crate) fn ask(&self, query: &PreparedQuery, terms: &Terms, mut each: impl FnMut(&[Term])) -> Option<()> {
        let finder = self.finder(query, terms);
        let found = finder.as_ref().map(|finder| (finder, finder.listed(query.key)));
        self.answer(query, found, terms, &mut each)
    }

    /// Hands on what rows answer; `None` if rows alone do not answer the query. What was found stays in registers as long as it is
    /// one row: a question that waits for what the last one stored cannot begin while that one waits for memory.
    #[inline(always)]
    fn answer(
        &self,
        query: &PreparedQuery,
        found: Option<(&Finder<'_>, Listed<'_>)>,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) -> Option<()> {
        assert!(
            query.dictionary == terms.serial(),
            "a query is asked in spaces of the dictionary it was prepared with"
        );
        let Some(columns) = query.columns() else {
            let QueryForm::Deep(query) = &query.form else { unreachable!("others have columns") };
            return query.answers_of(self, terms, each).map(|_| ());
        };
        if !self.patterns().is_empty() && self.patterns().may_match_flat(columns, terms) {
            return None;
        }
        match found.as_ref().and_then(|(finder, listed)| finder.only(listed)) {
            Some(row) => answer_of(columns, (row, 1), query.variables(), terms, each),
            None => self.answer_of_all(query, columns, found, terms, each),
        }
        Some(())
    }

    #[inline(never)]
    fn answer_of_all(
        &self,
        query: &PreparedQuery,
        columns: &[RowPart],
        found: Option<(&Finder<'_>, Listed<'_>)>,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) {
        let relation = self.relation_of_length(columns.len());
        let few = found.and_then(|(finder, listed)| finder.few(&listed));
        match &few {
            Some((rows, count)) => {
                let rows = rows[..*count].iter().map(|&row| relation.row(row));
                rows.for_each(|row| answer_of(columns, row, query.variables(), terms, each));
            }
            None => answer_of_many(columns, query.variables(), relation, terms, each),
        }
    }
}

/// Hands on what a row of so many copies answers.
#[inline(always)]
fn answer_of(
    columns: &[RowPart],
    (row, copies): (&[Term], u32),
    variables: usize,
    terms: &Terms,
    each: &mut impl FnMut(&[Term]),
) {
    let mut answer = [NO_TERM; VARIABLES_MAX];
    for (&part, &term) in columns.iter().zip(row) {
        if !matches_leaf(part, term, &mut answer, terms) {
            return;
        }
    }
    (0..copies).for_each(|_| each(&answer[..variables]));
}

/// Hands on what the rows of a relation answer that an index finds by what is known of a pattern, or that are known
/// whole.
fn answer_of_many(
    columns: &[RowPart],
    variables: usize,
    relation: &Relation,
    terms: &Terms,
    each: &mut impl FnMut(&[Term]),
) {
    let (mut known, mut rows): (Vec<(Path, Term)>, _) = (known(columns).collect(), Vec::new());
    if known.len() == columns.len() {
        let keys: Vec<Term> = known.iter().map(|&(_, key)| key).collect();
        relation.find_rows(&keys, terms, &mut rows);
        return rows.iter().for_each(|&row| answer_of(columns, relation.row(row), variables, terms, each));
    }
    // The head of an expression is its least selective column: it is asked last.
    if known.first().is_some_and(|&(path, _)| path == (0, None)) {
        known.rotate_left(1);
    }
    let (count, none) = (columns.len() - known.len(), [NO_TERM; VARIABLES_MAX]);
    let taking = Taking { parts: columns, count, keys: &known, current: &none[..variables], terms };
    relation.walk(&known, terms, &mut rows, &mut |piece| match count == variables {
        true => taking.hand_on(&piece, each),
        false => piece.each_row(|row, copies| answer_of(columns, (row, copies), variables, terms, each)),
    });
}
