//! The questions of the suite: each has a graph, patterns and peers.

use super::graphs::Shape;
use super::rivals::{Answer, Rival};

/// A graph, and what is asked about it.
pub(super) struct Graph {
    pub(super) full: Shape,
    /// For a run that only shows that the suite works.
    pub(super) quick: Shape,
    pub(super) queries: &'static [Query],
}

/// The least ratio to a peer that is a target, if there is one.
type Must = Option<f64>;

pub(super) struct Query {
    pub(super) name: &'static str,
    /// Patterns with a comma between them: an edge from `a` to `b` is `ab`.
    pub(super) patterns: &'static str,
    /// The order that is best for a program whose goals are called as they are written.
    pub(super) by_hand: &'static str,
    pub(super) answer: Answer,
    /// Whether each round loads the graph anew, so that it measures the first question.
    pub(super) is_first: bool,
    pub(super) rivals: &'static [(Rival, Must)],
}

/// The natural order of the patterns: a node after the other, each beside all before it, the nearest first.
pub(super) const CLIQUE_3: &str = "ab,bc,ac";
pub(super) const CLIQUE_4: &str = "ab,bc,ac,cd,bd,ad";
pub(super) const CLIQUE_5: &str = "ab,bc,ac,cd,bd,ad,de,ce,be,ae";

/// All peers, of which ours must be the fastest.
const ALL: &[(Rival, Must)] = &[
    (Rival::DuckdbOneThread, Some(1.0)),
    (Rival::Duckdb, Some(1.0)),
    (Rival::DuckdbTable, Some(1.0)),
    (Rival::Ladybug, Some(1.0)),
    (Rival::Egglog, Some(1.0)),
    (Rival::Clingo, Some(1.0)),
    (Rival::Swipl, Some(1.0)),
];

/// All peers, and another implementation of MeTTa.
const ALL_OF_CLIQUES: &[(Rival, Must)] = &[
    (Rival::DuckdbOneThread, Some(1.0)),
    (Rival::Duckdb, Some(1.0)),
    (Rival::DuckdbTable, Some(1.0)),
    (Rival::Ladybug, Some(1.0)),
    (Rival::Egglog, Some(1.0)),
    (Rival::Clingo, Some(1.0)),
    (Rival::Swipl, Some(1.0)),
    (Rival::Pymetta, Some(1.0)),
];

/// All peers of cliques, with what the issue says of 5-cliques.
const ALL_OF_CLIQUE_5: &[(Rival, Must)] = &[
    (Rival::DuckdbOneThread, Some(1.0)),
    (Rival::Duckdb, Some(1.0)),
    (Rival::DuckdbTable, Some(1.0)),
    (Rival::Ladybug, Some(1.0)),
    (Rival::Egglog, Some(4.0)),
    (Rival::Clingo, Some(1.0)),
    (Rival::Swipl, Some(1.0)),
    (Rival::Pymetta, Some(1.0)),
];

/// The implementations of MeTTa.
const METTA: &[(Rival, Must)] =
    &[(Rival::Hyperon, Some(1.0)), (Rival::HyperonLater, Some(1.0)), (Rival::Pymetta, Some(1.0))];

/// Those whose first question is compared.
const FIRST: &[(Rival, Must)] = &[(Rival::DuckdbOneThread, None), (Rival::Egglog, None)];

/// A query whose answers are gathered, among graphs that were asked before.
const fn gathered(
    name: &'static str,
    patterns: &'static str,
    by_hand: &'static str,
    rivals: &'static [(Rival, Must)],
) -> Query {
    Query { name, patterns, by_hand, answer: Answer::Tuple, is_first: false, rivals }
}

pub(super) const CLIQUES: Graph = Graph {
    full: Shape::Ordered { nodes: 200, edges: 3_600 },
    quick: Shape::Ordered { nodes: 60, edges: 1_000 },
    queries: &[
        gathered("3-cliques", CLIQUE_3, CLIQUE_3, ALL_OF_CLIQUES),
        gathered("4-cliques", CLIQUE_4, CLIQUE_4, ALL_OF_CLIQUES),
        gathered("5-cliques", CLIQUE_5, CLIQUE_5, ALL_OF_CLIQUE_5),
        Query { is_first: true, ..gathered("5-cliques, the first question", CLIQUE_5, CLIQUE_5, FIRST) },
    ],
};

/// So small that hyperon answers in a second.
pub(super) const SMALL: Graph = Graph {
    full: Shape::Ordered { nodes: 40, edges: 300 },
    quick: Shape::Ordered { nodes: 40, edges: 100 },
    queries: &[gathered("3-cliques, a small graph", CLIQUE_3, CLIQUE_3, METTA)],
};

pub(super) const HUB: Graph = Graph {
    full: Shape::Hub { spokes: 4_096 },
    quick: Shape::Hub { spokes: 512 },
    queries: &[gathered("triangles through a hub", "ab,bc,ca", "ab,bc,ca", ALL)],
};

pub(super) const ATTACHMENT: Graph = Graph {
    full: Shape::Attachment { nodes: 20_000, edges_each: 15 },
    quick: Shape::Attachment { nodes: 1_000, edges_each: 15 },
    queries: &[
        gathered("triangles, preferential attachment", CLIQUE_3, CLIQUE_3, ALL),
        // The newest node first: a node has few edges to it and may have very many from it.
        gathered("4-cliques, preferential attachment", CLIQUE_4, "cd,bc,bd,ab,ac,ad", ALL),
        Query {
            is_first: true,
            ..gathered("triangles, preferential attachment, the first question", CLIQUE_3, CLIQUE_3, FIRST)
        },
    ],
};

pub(super) const HOPS: Graph = Graph {
    full: Shape::Random { nodes: 50_000, edges: 1_000_000 },
    quick: Shape::Random { nodes: 2_000, edges: 20_000 },
    queries: &[
        Query {
            answer: Answer::Count,
            ..gathered(
                "two hops, counted",
                "ab,bc",
                "ab,bc",
                &[
                    (Rival::DuckdbOneThread, Some(1.0)),
                    (Rival::Duckdb, Some(1.0)),
                    (Rival::Ladybug, None),
                    (Rival::Swipl, None),
                ],
            )
        },
        gathered(
            "two hops, gathered",
            "ab,bc",
            "ab,bc",
            &[(Rival::DuckdbTable, Some(1.0)), (Rival::Egglog, Some(1.0))],
        ),
    ],
};

/// Every query of every graph.
#[cfg(test)]
pub(super) fn queries() -> impl Iterator<Item = &'static Query> {
    const GRAPHS: &[Graph] = &[CLIQUES, SMALL, HUB, ATTACHMENT, HOPS];
    GRAPHS.iter().flat_map(|graph| graph.queries)
}

impl Graph {
    pub(super) fn shape(&self, is_quick: bool) -> Shape {
        if is_quick { self.quick } else { self.full }
    }
}

impl Query {
    /// All variables in order.
    pub(super) fn variables(&self) -> String {
        let mut variables: Vec<char> = self.patterns.chars().filter(|letter| *letter != ',').collect();
        variables.sort_unstable();
        variables.dedup();
        variables.into_iter().collect()
    }

    /// The rule `(name)` that asks it, with its patterns in an order, and answers with the number of answers.
    pub(super) fn rule(&self, name: &str, patterns: &str) -> String {
        let pattern = |pair: &str| format!("(edge ${} ${})", &pair[..1], &pair[1..]);
        let patterns: Vec<String> = patterns.split(',').map(pattern).collect();
        let of = format!("match &self (, {})", patterns.join(" "));
        match self.answer {
            Answer::Tuple => {
                let variables: Vec<String> = self.variables().chars().map(|variable| format!("${variable}")).collect();
                let template = format!("({})", variables.join(" "));
                format!("(= ({name})\n   (let $found (collapse ({of} {template}))\n     (size-atom $found)))\n")
            }
            Answer::Count => format!("(= ({name}) (count-results ({of} found)))\n"),
        }
    }

    /// How our program uses the answers, for a note.
    pub(super) fn note(&self) -> &'static str {
        match (self.answer, self.is_first) {
            (Answer::Tuple, false) => "ours gathers them",
            (Answer::Tuple, true) => "the first question after the graph was loaded; ours gathers them",
            (Answer::Count, _) => "ours counts them with `count-results`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_rule_over_its_patterns() {
        let triangles = &HUB.queries[0];
        assert_eq!(
            triangles.rule("ask", triangles.patterns),
            "(= (ask)\n   (let $found (collapse (match &self (, (edge $a $b) (edge $b $c) (edge $c $a)) ($a $b $c)))\n     \
             (size-atom $found)))\n"
        );
        assert!(HOPS.queries[0].rule("ask", "ab,bc").contains("(count-results (match "));
    }

    #[test]
    fn an_order_by_hand_has_the_same_patterns_and_no_peer_comes_twice() {
        let sorted = |patterns: &'static str| {
            let mut patterns: Vec<&str> = patterns.split(',').collect();
            patterns.sort_unstable();
            patterns
        };
        for query in queries() {
            assert_eq!(sorted(query.by_hand), sorted(query.patterns), "{}", query.name);
            let places: Vec<_> =
                query.rivals.iter().map(|(rival, _)| Rival::ALL.iter().position(|all| all == rival)).collect();
            assert!(places.is_sorted_by(|left, right| left < right), "{}", query.name);
        }
    }
}
