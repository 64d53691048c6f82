//! What became of each `match` of a run, for `metroon run --explain-queries`.
//!
//! 1. A query is known by its patterns as they are written: all executions of the same text count together, whatever numbers its variables
//!    were given. What the library's `match` is called with outside of code is known by what it was called with.
//! 2. Of each way in which a query was answered, the steps are kept with what was expected after each, and what there was, added up.
//! 3. It is written only if the owner of the run asks for it; otherwise nothing looks at queries.

use rustc_hash::FxHashMap;
use space::{Atom, QueryExplanation, QueryWay, Rewrite, Variable, rewrite, variables};

/// How many different queries are kept; of the others it is known how many executions they had.
const QUERIES_MAX: usize = 1_000;

/// The queries of a run, in the order in which they were first asked.
#[derive(Debug, Default)]
pub struct QueryLog {
    queries: Vec<LoggedQuery>,
    places: FxHashMap<Atom, usize>,
    left_out: u64,
}

/// A query, and how it was answered.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoggedQuery {
    /// The pattern, or the patterns of a conjunction.
    pub query: Atom,
    /// How many tests of its template, and of other spaces, were made while it was answered.
    pub filters: usize,
    /// The ways in which it was answered.
    pub ways: Vec<LoggedWay>,
}

/// A way in which a query was answered.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoggedWay {
    /// Which it was.
    pub way: LoggedKind,
    /// How often.
    pub times: u64,
    /// How many answers there were, if they were counted.
    pub answers: Option<u64>,
    /// The steps that were taken.
    pub steps: Vec<LoggedStep>,
}

/// How answers were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedKind {
    /// By a plan.
    Planned(QueryWay),
    /// By code made of the atoms that may match.
    Code,
}

/// A step of a way.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoggedStep {
    /// The pattern or the variable.
    pub of: Atom,
    /// How many answers were expected so far after it, if that was estimated.
    pub expected: Option<f64>,
    /// How many there were, if they were counted.
    pub found: Option<u64>,
}

/// An execution of a query.
pub(crate) struct Execution {
    pub(crate) way: LoggedKind,
    pub(crate) answers: Option<u64>,
    pub(crate) steps: Vec<LoggedStep>,
}

impl Execution {
    /// Nothing is known of it but its kind.
    pub(crate) fn of(way: LoggedKind) -> Self {
        Self { way, answers: None, steps: Vec::new() }
    }
}

impl From<QueryExplanation> for Execution {
    fn from(explanation: QueryExplanation) -> Self {
        let step = |step: space::ExplainedStep| LoggedStep {
            of: step.of,
            expected: step.estimated,
            found: Some(step.found as u64),
        };
        Self {
            way: LoggedKind::Planned(explanation.way),
            answers: Some(explanation.answers as u64),
            steps: explanation.steps.into_iter().map(step).collect(),
        }
    }
}

impl QueryLog {
    /// The queries, in the order in which they were first asked.
    pub fn queries(&self) -> &[LoggedQuery] {
        &self.queries
    }

    /// How many executions those had that are not kept.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Notes an execution.
    pub(crate) fn note(&mut self, query: &Atom, filters: usize, execution: Execution) {
        let names = Names::of(query);
        let query = &names.put_into(query);
        let execution = Execution {
            steps: execution
                .steps
                .into_iter()
                .map(|step| LoggedStep { of: names.put_into(&step.of), ..step })
                .collect(),
            ..execution
        };
        let place = match self.places.get(query) {
            Some(&place) => place,
            None if self.queries.len() == QUERIES_MAX => return self.left_out += 1,
            None => {
                self.places.insert(query.clone(), self.queries.len());
                self.queries.push(LoggedQuery { query: query.clone(), filters, ways: Vec::new() });
                self.queries.len() - 1
            }
        };
        self.queries[place].note(execution);
    }
}

/// Variables without numbers in the place of those of a query.
struct Names(Vec<(Variable, Variable)>);

impl Names {
    fn of(query: &Atom) -> Self {
        let mut names: Vec<(Variable, Variable)> = Vec::new();
        for variable in variables(query) {
            let is_taken = |name: &Variable| names.iter().any(|(_, taken)| taken == name);
            let mut plain = Variable::new(variable.name().as_str());
            let mut count = 1;
            while is_taken(&plain) {
                count += 1;
                plain = Variable::new(&format!("{}-{count}", variable.name().as_str()));
            }
            names.push((variable, plain));
        }
        Self(names)
    }

    fn put_into(&self, atom: &Atom) -> Atom {
        let renamed = rewrite(atom, |variable| {
            let name = self.0.iter().find(|(known, _)| known == variable);
            name.map_or(Rewrite::Keep, |(_, name)| Rewrite::Replace(Atom::Variable(name.clone())))
        });
        renamed.unwrap_or_else(|| atom.clone())
    }
}

impl LoggedQuery {
    fn note(&mut self, execution: Execution) {
        let Execution { way, answers, steps } = execution;
        let is_same = |known: &&mut LoggedWay| {
            known.way == way && known.steps.iter().map(|step| &step.of).eq(steps.iter().map(|step| &step.of))
        };
        let Some(known) = self.ways.iter_mut().find(is_same) else {
            return self.ways.push(LoggedWay { way, times: 1, answers, steps });
        };
        known.times += 1;
        known.answers = known.answers.zip(answers).map(|(sum, more)| sum + more);
        for (known, new) in known.steps.iter_mut().zip(steps) {
            known.expected = known.expected.zip(new.expected).map(|(sum, more)| sum + more);
            known.found = known.found.zip(new.found).map(|(sum, more)| sum + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use space::Symbol;

    fn execution(steps: &[(&str, f64, u64)]) -> Execution {
        let step = |&(of, expected, found): &(&str, f64, u64)| LoggedStep {
            of: Atom::symbol(of),
            expected: Some(expected),
            found: Some(found),
        };
        Execution {
            way: LoggedKind::Planned(QueryWay::Join),
            answers: Some(2),
            steps: steps.iter().map(step).collect(),
        }
    }

    #[test]
    fn executions_of_one_way_are_added_up() {
        let (mut log, query) = (QueryLog::default(), Atom::symbol("query"));
        log.note(&query, 0, execution(&[("a", 1.5, 2)]));
        log.note(&query, 0, execution(&[("a", 1.5, 3)]));
        log.note(&query, 0, execution(&[("b", 1.0, 1)]));
        log.note(&query, 0, Execution::of(LoggedKind::Code));
        let [logged] = log.queries() else { panic!("there is one query") };
        let times: Vec<_> = logged.ways.iter().map(|way| (way.times, way.answers)).collect();
        assert_eq!(times, [(2, Some(4)), (1, Some(2)), (1, None)]);
        let step = &logged.ways[0].steps[0];
        assert_eq!((step.expected, step.found), (Some(3.0), Some(5)));
    }

    #[test]
    fn numbers_of_variables_do_not_tell_queries_apart() {
        let mut log = QueryLog::default();
        for id in 1..3 {
            let [x, other] = [id, id + 7].map(|id| Atom::Variable(Variable::with_id(Symbol::new("x"), id)));
            let query = Atom::expression([Atom::symbol("p"), x, other.clone()]);
            let step = LoggedStep { of: other, expected: None, found: Some(1) };
            log.note(&query, 0, Execution { steps: vec![step], ..Execution::of(LoggedKind::Code) });
        }
        let [logged] = log.queries() else { panic!("there is one query") };
        assert_eq!((logged.query.to_string(), logged.ways.len()), ("(p $x $x-2)".to_owned(), 1));
        let way = &logged.ways[0];
        assert_eq!((way.times, way.steps[0].of.to_string(), way.steps[0].found), (2, "$x-2".to_owned(), Some(2)));
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut log = QueryLog::default();
        for number in 0..QUERIES_MAX + 3 {
            log.note(&Atom::symbol(&format!("q{number}")), 0, Execution::of(LoggedKind::Code));
        }
        assert_eq!((log.queries().len(), log.left_out()), (QUERIES_MAX, 3));
    }
}
