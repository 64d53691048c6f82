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
//! 6. Where a cover has what a query of one open column asks for, it is answered by one read; a snapshot remembers the way there.
//!
//! They serve every space and snapshot that has the dictionary they were prepared with.

use crate::atom::Atom;
use crate::contents::{COLUMNS_INDEXED_MAX, Contents, Stored, columns};
use crate::relation::{
    COVERED_COLUMNS, CoveringAnswer, CoveringIndex, Finder, IndexLookup, IndexReader, Path, Relation, RowList, hash_of,
};
use crate::rows::{NO_TERM, RowPart, RowQuery, VARIABLES_MAX, matches_leaf};
use crate::take::Projection;
use crate::term::{Term, Terms};
use std::sync::{Arc, OnceLock};

/// So many queries wait for memory together.
const TOGETHER: usize = 64;

/// Columns up to this number lie in the query itself.
const SHORT_MAX: usize = 4;

/// An atom that was made ready; see [`SharedSpace::prepare`](crate::SharedSpace::prepare).
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

/// A query whose names were looked up; see [`SharedSpace::prepare_query`](crate::SharedSpace::prepare_query).
pub struct PreparedQuery {
    dictionary: u32,
    /// The key in the column by which rows are found; [`NO_TERM`] if there is none.
    key: Term,
    form: QueryForm,
}

enum QueryForm {
    Point(Point),
    Flat(Box<Flat>),
    Deep(Box<RowQuery>),
}

/// The form of most queries, their key apart: a head, a key in one column, and a variable of its own in each other column.
#[derive(Clone, Copy)]
struct Point {
    head: Term,
    length: u16,
    column: u16,
}

/// What answers the queries of a few forms in a snapshot, where no rules are to be looked at: by some bits of the head, what was asked
/// first.
#[derive(Default)]
pub(crate) struct PlanCache([OnceLock<CachedPlan>; 4]);

struct CachedPlan {
    form: u64,
    cover: Arc<CoveringIndex>,
    /// Whether every row has one copy.
    is_plain: bool,
}

/// Another pattern of keys and variables only.
struct Flat {
    /// The column behind the head by whose key rows are found; zero if there is none.
    column: u32,
    variables: usize,
    columns: Columns,
}

/// What each column is.
enum Columns {
    Short(usize, [RowPart; SHORT_MAX]),
    Long(Box<[RowPart]>),
}

impl PreparedQuery {
    /// `None` if it asks for more than rows.
    pub(crate) fn new(query: &Atom, terms: &mut Terms) -> Option<Self> {
        let written = RowQuery::interning(query, terms)?;
        let dictionary = terms.serial();
        let flat = written.flat().filter(|columns| columns.len() <= COLUMNS_INDEXED_MAX);
        let Some(columns) = flat else {
            return Some(Self { dictionary, key: NO_TERM, form: QueryForm::Deep(Box::new(written)) });
        };
        let variables = written.variables();
        // What is known whole is found without an index.
        let is_open = variables > 0;
        let found_by = known(columns).find(|&((column, _), _)| column > 0 && is_open);
        let (column, key) = found_by.map_or((0, NO_TERM), |((column, _), key)| (column, key));
        let form = Point::of(columns, column).map_or_else(
            || QueryForm::Flat(Box::new(Flat { column, variables, columns: Columns::of(columns) })),
            QueryForm::Point,
        );
        Some(Self { dictionary, key, form })
    }

    /// How many variables it has: as many terms as each answer has, in the order in which the variables first occur.
    pub fn variables(&self) -> usize {
        match &self.form {
            QueryForm::Point(point) => point.variables(),
            QueryForm::Flat(flat) => flat.variables,
            QueryForm::Deep(query) => query.variables(),
        }
    }

    /// How many columns its rows have, and by which of them they are found, if they are by one.
    fn found_by(&self) -> Option<(usize, u32)> {
        match &self.form {
            QueryForm::Point(point) => Some((point.length.into(), point.column.into())),
            QueryForm::Flat(flat) if flat.column > 0 => Some((flat.columns().len(), flat.column)),
            _ => None,
        }
    }

    /// Whether it differs from another query of this form in its key at most.
    #[inline(always)]
    fn is_like(&self, other: Point, dictionary: u32) -> bool {
        matches!(&self.form, QueryForm::Point(point) if point.word() == other.word()) && self.dictionary == dictionary
    }

    #[inline(always)]
    fn check(&self, terms: &Terms) {
        assert!(self.dictionary == terms.serial(), "a query is asked in spaces of the dictionary it was prepared with");
    }
}

impl Point {
    /// The form of these columns, whose rows are found by one of them, if it is this one.
    fn of(columns: &[RowPart], found_by: u32) -> Option<Self> {
        let &[RowPart::Key(head), ..] = columns else { return None };
        let length = u16::try_from(columns.len()).ok()?;
        let point = Self { head, length, column: u16::try_from(found_by).ok().filter(|&column| column > 0)? };
        let RowPart::Key(key) = columns[usize::from(point.column)] else { return None };
        (*columns == point.parts(RowPart::Key(key))[1..=columns.len()]).then_some(point)
    }

    /// All of it in one word, as it lies in memory.
    #[inline(always)]
    fn word(self) -> u64 {
        u64::from(self.head.number()) | u64::from(self.length) << 32 | u64::from(self.column) << 48
    }

    fn variables(self) -> usize {
        usize::from(self.length) - 2
    }

    /// The parts of a query, the opening first, then its columns, then whatever.
    fn parts(self, key: RowPart) -> [RowPart; 1 + COLUMNS_INDEXED_MAX] {
        let mut parts = [RowPart::Open(self.length.into()); 1 + COLUMNS_INDEXED_MAX];
        parts[1] = RowPart::Key(self.head);
        let mut variables = (0..).map(RowPart::Variable);
        for (part, column) in parts[2..].iter_mut().zip(1..self.length) {
            *part = if column == self.column { key } else { variables.next().expect("numbers go on") };
        }
        parts
    }

    /// Hands on what a row of its key answers, of so many copies.
    #[inline(always)]
    fn answer_of(self, (row, copies): (&[Term], u32), terms: &Terms, each: &mut impl FnMut(&[Term])) {
        if row[0] != self.head && terms.key(row[0]) != self.head {
            return;
        }
        let mut answer = [NO_TERM; VARIABLES_MAX];
        let open = row.iter().zip(0..).filter(|&(_, column)| column > 0 && column != self.column);
        answer.iter_mut().zip(open).for_each(|(variable, (&term, _))| *variable = term);
        (0..copies).for_each(|_| each(&answer[..self.variables()]));
    }
}

impl PlanCache {
    #[inline(always)]
    fn at(&self, point: Point) -> &OnceLock<CachedPlan> {
        &self.0[point.head.number() as usize % self.0.len()]
    }

    #[inline(always)]
    fn get(&self, point: Point) -> Option<&CachedPlan> {
        self.at(point).get().filter(|route| route.form == point.word())
    }
}

impl Flat {
    #[inline]
    fn columns(&self) -> &[RowPart] {
        match &self.columns {
            Columns::Short(length, columns) => &columns[..*length],
            Columns::Long(columns) => columns,
        }
    }
}

impl Columns {
    fn of(columns: &[RowPart]) -> Self {
        let mut short = [RowPart::Open(0); SHORT_MAX];
        match short.get_mut(..columns.len()) {
            Some(room) => {
                room.copy_from_slice(columns);
                Self::Short(columns.len(), short)
            }
            None => Self::Long(columns.into()),
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
        let mut start = 0;
        while let Some(first) = queries.get(start) {
            start = match self.answerer_of_all(first, terms) {
                Some((point, index_lookup)) => self.ask_alike(queries, start, (point, index_lookup), terms, &mut each),
                None => self.ask_together(queries, start, terms, &mut each)?,
            };
        }
        Ok(())
    }

    /// What answers a query and all that differ from it in their key.
    fn answerer_of_all<'a>(&'a self, query: &PreparedQuery, terms: &'a Terms) -> Option<(Point, IndexLookup<'a>)> {
        query.check(terms);
        let QueryForm::Point(point) = query.form else { return None };
        let is_ruled = !self.patterns().is_empty() && self.is_ruled_form(point, terms);
        if is_ruled { None } else { Some((point, self.index_lookup(point, terms)?)) }
    }

    #[inline(always)]
    fn index_lookup<'a>(&'a self, point: Point, terms: &'a Terms) -> Option<IndexLookup<'a>> {
        if usize::from(point.length) != COVERED_COLUMNS {
            return None;
        }
        self.relation_of_length(COVERED_COLUMNS).index_lookup(point.head, point.column.into(), terms)
    }

    /// Asks the queries from a place on that differ from each other in their keys only; gives the place of the next one.
    fn ask_alike(
        &self,
        queries: &[PreparedQuery],
        start: usize,
        (point, index_lookup): (Point, IndexLookup<'_>),
        terms: &Terms,
        each: &mut impl FnMut(usize, &[Term]),
    ) -> usize {
        let dictionary = queries[start].dictionary;
        for (query, place) in queries[start..].iter().zip(start..) {
            if (place - start).is_multiple_of(TOGETHER) {
                index_lookup.cover().look_ahead(queries[place..].iter().take(TOGETHER).map(|query| query.key));
            }
            if !query.is_like(point, dictionary) {
                return place;
            }
            let mut each = |answer: &[Term]| each(place, answer);
            if !hand_on(index_lookup.get(query.key), &mut each) {
                self.answer_listed(point, query.key, terms, &mut each);
            }
        }
        queries.len()
    }

    /// Hands on what the rows that an index lists for a key answer.
    #[inline(never)]
    fn answer_listed(&self, point: Point, key: Term, terms: &Terms, each: &mut impl FnMut(&[Term])) {
        let finder = self.relation_of_length(point.length.into()).finder(point.column.into(), terms);
        let found = finder.and_then(Finder::lister).map(|lister| (lister, lister.listed(key)));
        self.answer_point(point, key, found, terms, each);
    }

    /// The same for queries that wait together for what an index lists: those that are found as the first one is.
    fn ask_together(
        &self,
        queries: &[PreparedQuery],
        start: usize,
        terms: &Terms,
        each: &mut impl FnMut(usize, &[Term]),
    ) -> Result<usize, usize> {
        let queries = &queries[start..queries.len().min(start + TOGETHER)];
        let (lister, found_by) = (self.lister(&queries[0], terms), queries[0].found_by());
        let is_like = |query: &PreparedQuery| query.found_by() == found_by;
        if let Some(lister) = &lister {
            lister.look_ahead(queries.iter().filter(|query| is_like(query)).map(|query| query.key));
        }
        for (query, place) in queries.iter().zip(start..) {
            let mut each = |answer: &[Term]| each(place, answer);
            let Some(lister) = lister.filter(|_| is_like(query)) else {
                self.ask(query, terms, each).ok_or(place)?;
                continue;
            };
            query.check(terms);
            if self.is_ruled(query, terms) {
                return Err(place);
            }
            self.answer(query, Some((lister, lister.listed_ready(query.key))), terms, &mut each).ok_or(place)?;
        }
        Ok(start + queries.len())
    }

    /// What lists the rows for a query, if it goes by one column.
    #[inline]
    fn lister<'a>(&'a self, query: &PreparedQuery, terms: &'a Terms) -> Option<IndexReader<'a>> {
        let (length, column) = query.found_by()?;
        self.relation_of_length(length).finder(column, terms)?.lister()
    }

    /// Hands the answers of a prepared query to somebody; `None` if rows alone do not answer it.
    ///
    /// The contents are a snapshot's, and so are the routes.
    ///
    /// # Panics
    /// If it was prepared with another dictionary.
    #[inline]
    pub(crate) fn ask_routed(
        &self,
        routes: &PlanCache,
        query: &PreparedQuery,
        terms: &Terms,
        mut each: impl FnMut(&[Term]),
    ) -> Option<()> {
        query.check(terms);
        if let QueryForm::Point(point) = query.form {
            match routes.get(point) {
                Some(route) => {
                    let covered = match route.cover.get(query.key) {
                        CoveringAnswer::One(answer) if !route.is_plain => self.counted(point, answer, query.key, terms),
                        covered => covered,
                    };
                    if !hand_on(covered, &mut each) {
                        self.answer_listed(point, query.key, terms, &mut each);
                    }
                    return Some(());
                }
                None => self.make_route(routes, point, terms),
            }
        }
        self.ask(query, terms, each)
    }

    /// The answer of a key with the copies of its row.
    #[inline(never)]
    fn counted(&self, point: Point, answer: Term, key: Term, terms: &Terms) -> CoveringAnswer {
        let finder = self.relation_of_length(COVERED_COLUMNS).finder(point.column.into(), terms);
        finder.and_then(Finder::lister).map_or(CoveringAnswer::Several, |lister| lister.counted(answer, key))
    }

    /// Makes the route of a form, if there is room for it.
    #[inline(never)]
    fn make_route(&self, routes: &PlanCache, point: Point, terms: &Terms) {
        let route = routes.at(point);
        if route.get().is_some() || (!self.patterns().is_empty() && self.is_ruled_form(point, terms)) {
            return;
        }
        if let Some(index_lookup) = self.index_lookup(point, terms) {
            let (cover, is_plain) = (Arc::clone(index_lookup.cover()), index_lookup.is_plain());
            route.get_or_init(|| CachedPlan { form: point.word(), cover, is_plain });
        }
    }

    #[inline(never)]
    fn ask(&self, query: &PreparedQuery, terms: &Terms, mut each: impl FnMut(&[Term])) -> Option<()> {
        query.check(terms);
        if self.is_ruled(query, terms) {
            return None;
        }
        if let QueryForm::Point(point) = query.form
            && let Some(index_lookup) = self.index_lookup(point, terms)
            && hand_on(index_lookup.get(query.key), &mut each)
        {
            return Some(());
        }
        self.ask_index(query, terms, &mut each)
    }

    /// Whether an atom that is no row may answer a query; what is deep says so when it is asked.
    #[inline(always)]
    fn is_ruled(&self, query: &PreparedQuery, terms: &Terms) -> bool {
        !self.patterns().is_empty()
            && match &query.form {
                QueryForm::Point(point) => {
                    self.is_ruled_form(*point, terms) && self.is_ruled_point(*point, RowPart::Key(query.key), terms)
                }
                QueryForm::Flat(flat) => self.patterns().may_match_flat(flat.columns(), terms),
                QueryForm::Deep(_) => false,
            }
    }

    /// The same for a query of this form, whatever its key.
    #[inline]
    fn is_ruled_form(&self, point: Point, terms: &Terms) -> bool {
        // A variable of its own, as the key may be anything.
        let any = RowPart::Variable(point.variables() as u32);
        self.patterns().may_match_form(point.word(), || self.is_ruled_point(point, any, terms))
    }

    #[inline(never)]
    fn is_ruled_point(&self, point: Point, key: RowPart, terms: &Terms) -> bool {
        self.patterns().may_match(&point.parts(key)[..=point.length.into()], terms)
    }

    #[inline(never)]
    fn ask_index(&self, query: &PreparedQuery, terms: &Terms, each: &mut impl FnMut(&[Term])) -> Option<()> {
        let found = self.lister(query, terms).map(|lister| (lister, lister.listed(query.key)));
        self.answer(query, found, terms, each)
    }

    /// Hands on what rows answer; `None` if a query that is deep is not answered by rows alone. What was found stays in registers as long as it is
    /// one row: a question that waits for what the last one stored cannot begin while that one waits for memory.
    #[inline(always)]
    fn answer(
        &self,
        query: &PreparedQuery,
        found: Option<(IndexReader<'_>, RowList<'_>)>,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) -> Option<()> {
        match &query.form {
            QueryForm::Deep(query) => return query.answers_of(self, terms, each).map(|_| ()),
            QueryForm::Point(point) => self.answer_point(*point, query.key, found, terms, each),
            QueryForm::Flat(flat) => match found.as_ref().and_then(|(lister, listed)| lister.only(listed)) {
                Some(row) => answer_of(flat.columns(), row, flat.variables, terms, each),
                None => self.answer_of_all((flat.columns(), flat.variables), found, terms, each),
            },
        }
        Some(())
    }

    /// Hands on what the rows with a key answer.
    #[inline(always)]
    fn answer_point(
        &self,
        point: Point,
        key: Term,
        found: Option<(IndexReader<'_>, RowList<'_>)>,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) {
        match found.as_ref().and_then(|(lister, listed)| lister.only(listed)) {
            Some(row) => point.answer_of(row, terms, each),
            None => {
                let parts = point.parts(RowPart::Key(key));
                let columns = &parts[1..=point.length.into()];
                self.answer_of_all((columns, point.variables()), found, terms, each);
            }
        }
    }

    #[inline(never)]
    fn answer_of_all(
        &self,
        (columns, variables): (&[RowPart], usize),
        found: Option<(IndexReader<'_>, RowList<'_>)>,
        terms: &Terms,
        each: &mut impl FnMut(&[Term]),
    ) {
        let relation = self.relation_of_length(columns.len());
        let few = found.and_then(|(lister, listed)| lister.few(&listed));
        match &few {
            Some((rows, count)) => {
                let rows = rows[..*count].iter().map(|&row| relation.row(row));
                rows.for_each(|row| answer_of(columns, row, variables, terms, each));
            }
            None => answer_of_many(columns, variables, relation, terms, each),
        }
    }
}

/// Hands on what a key was answered; `false` if its rows are to be looked at.
#[inline(always)]
fn hand_on(covered: CoveringAnswer, each: &mut impl FnMut(&[Term])) -> bool {
    match covered {
        CoveringAnswer::One(answer) => each(&[answer]),
        CoveringAnswer::Copies(answer, copies) => (0..copies).for_each(|_| each(&[answer])),
        CoveringAnswer::No => {}
        CoveringAnswer::Several => return false,
    }
    true
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
    let taking = Projection { parts: columns, count, keys: &known, current: &none[..variables], terms };
    relation.walk(&known, terms, &mut rows, &mut |piece| match count == variables {
        true => taking.hand_on(&piece, each),
        false => piece.each_row(|row, copies| answer_of(columns, (row, copies), variables, terms, each)),
    });
}
