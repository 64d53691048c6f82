//! The modules of the library beside their obvious versions, on generated inputs.

use crate::harness::answers;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The last answer of a program that imports a module, without its brackets.
fn last(module: &str, text: &str) -> String {
    let answers = answers(&format!("!(import! &self {module}) {text}"));
    let last = answers.last().expect("there is an answer");
    last.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).expect("answers have brackets").to_owned()
}

fn tuple<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    format!("({})", items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" "))
}

/// What can be reached from a node by one edge or more.
fn reached(edges: &[(u8, u8)], from: u8) -> BTreeSet<u8> {
    let mut known = BTreeSet::new();
    loop {
        let before = known.len();
        for &(start, end) in edges {
            if start == from || known.contains(&start) {
                known.insert(end);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// The costs of the cheapest ways from a node, by trying each edge as often as there are nodes.
fn costs(edges: &[(u8, u8, u8)], from: u8) -> BTreeMap<u8, u32> {
    let mut costs = BTreeMap::from([(from, 0)]);
    for _ in 0..edges.len() {
        for &(start, end, cost) in edges {
            if let Some(&so_far) = costs.get(&start) {
                let cost = so_far + u32::from(cost);
                costs.entry(end).and_modify(|known| *known = cost.min(*known)).or_insert(cost);
            }
        }
    }
    costs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_reached_is_what_edges_lead_to(edges in prop::collection::vec((0..8_u8, 0..8_u8), 0..16), from in 0..8_u8) {
        let facts: String = edges.iter().map(|(start, end)| format!("(edge {start} {end}) ")).collect();
        let text = format!("{facts} !(import! &self tuples) !(sort-atom (reachable &self edge {from}))");
        prop_assert_eq!(last("graphs", &text), tuple(reached(&edges, from)));
        for to in 0..8 {
            let path = last("graphs", &format!("{facts} !(shortest-path &self edge {from} {to})"));
            prop_assert_eq!(!path.is_empty(), to == from || reached(&edges, from).contains(&to), "{} to {}", from, to);
        }
    }

    #[test]
    fn cheapest_paths_cost_least(edges in prop::collection::vec((0..6_u8, 0..6_u8, 0..9_u8), 0..16)) {
        let facts: String = edges.iter().map(|(start, end, cost)| format!("(road {start} {end} {cost}) ")).collect();
        let costs = costs(&edges, 0);
        for to in 0..6 {
            let found = last("graphs", &format!("{facts} !(let ($cost $nodes) (cheapest-path &self road 0 {to}) $cost)"));
            prop_assert_eq!(found, costs.get(&to).map(u32::to_string).unwrap_or_default(), "to {}", to);
        }
    }

    #[test]
    fn an_order_has_each_node_once_and_edges_lead_on(edges in prop::collection::vec((0..8_u8, 0..8_u8), 0..12)) {
        let facts: String = edges.iter().map(|(start, end)| format!("(edge {start} {end}) ")).collect();
        let has_cycle = edges.iter().any(|&(start, _)| reached(&edges, start).contains(&start));
        let text = format!("{facts} !(case (topological-order &self edge) (((Error $call $why) $why) ($order $order)))");
        let found = last("graphs", &text);
        prop_assert_eq!(found.starts_with("(HasCycle "), has_cycle, "{}", found);
        if !has_cycle {
            let order: Vec<u8> = found.trim_matches(['(', ')']).split_whitespace().map(|node| node.parse().unwrap()).collect();
            let nodes: BTreeSet<u8> = edges.iter().flat_map(|&(start, end)| [start, end]).collect();
            prop_assert_eq!(order.len(), nodes.len());
            let place = |node: u8| order.iter().position(|&known| known == node);
            for (start, end) in edges {
                prop_assert!(place(start) < place(end));
            }
        }
    }

    #[test]
    fn sets_are_sets(left in prop::collection::vec(0..12_u8, 0..8), right in prop::collection::vec(0..12_u8, 0..8)) {
        let (one, other): (BTreeSet<u8>, BTreeSet<u8>) = (left.iter().copied().collect(), right.iter().copied().collect());
        let call = |name: &str| last("sets", &format!("!({name} {} {})", tuple(&left), tuple(&right)));
        prop_assert_eq!(call("set-union"), tuple(&one | &other));
        prop_assert_eq!(call("set-intersection"), tuple(&one & &other));
        prop_assert_eq!(call("set-difference"), tuple(&one - &other));
        prop_assert_eq!(call("set-is-subset"), if one.is_subset(&other) { "True" } else { "False" });
    }

    #[test]
    fn what_is_put_into_a_queue_comes_out_in_order(priorities in prop::collection::vec(0..6_u8, 0..20)) {
        let pushes = priorities.iter().enumerate().fold("(new-queue)".to_owned(), |queue, (number, priority)| {
            format!("(queue-push {queue} {priority} {number})")
        });
        let rule = "(= (drained $queue) (case (queue-pop $queue) ((($priority $item $others) \
                    (let $rest (drained $others) (cons-atom $item $rest))) (Empty ()))))";
        let mut expected: Vec<usize> = (0..priorities.len()).collect();
        expected.sort_by_key(|&number| priorities[number]);
        prop_assert_eq!(last("queues", &format!("{rule} !(drained {pushes})")), tuple(expected));
    }

    #[test]
    fn an_association_list_is_a_map(steps in prop::collection::vec((0..6_u8, prop::option::of(0..9_u8)), 0..12)) {
        let mut expected = BTreeMap::new();
        let list = steps.iter().fold("()".to_owned(), |list, (key, value)| match value {
            Some(value) => {
                expected.insert(*key, *value);
                format!("(assoc-put {list} {key} {value})")
            }
            None => {
                expected.remove(key);
                format!("(assoc-remove {list} {key})")
            }
        });
        let pairs = expected.iter().map(|(key, value)| format!("({key} {value})"));
        prop_assert_eq!(last("assoc", &format!("! {list}")), tuple(pairs));
    }
}

#[test]
fn texts_cut_anywhere_are_whole_characters() {
    let text = "a\u{e9}\u{1F600}\u{df}";
    for from in 0..6 {
        for to in 0..6 {
            let expected: String = text.chars().skip(from).take(to.max(from) - from).collect();
            let found = last("strings", &format!("!(string-slice \"{text}\" {from} {to})"));
            assert_eq!(found, format!("{expected:?}"), "{from} {to}");
        }
    }
}

#[test]
fn a_text_that_would_be_too_long_is_refused_before_it_is_made() {
    for call in ["(string-repeat \"ab\" 9223372036854775807)", "(string-pad-left \"a\" 9223372036854775807 \"b\")"] {
        assert!(last("strings", &format!("!{call}")).starts_with("(Error "), "{call}");
    }
    let found = last("tuples", "!(range -9223372036854775807 9223372036854775807)");
    assert!(found.starts_with("(Error "), "{found}");
}
