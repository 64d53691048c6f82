//! Each program once more, in Rust: what it must answer, and how many operations that takes when nothing is remembered.
//!
//! An operation is what a row's time is of: a call of the program's own functions, or a result. The arguments are those of the
//! program's `run`.

use super::edges::edges;

/// The answer of a program, and its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) operations: u64,
    pub(super) answer: u64,
}

/// Calls of `fib`.
pub(super) fn fib(arguments: &[u64]) -> Count {
    fn calls(n: u64) -> (u64, u64) {
        if n < 2 {
            return (1, n);
        }
        let ((calls_1, fib_1), (calls_2, fib_2)) = (calls(n - 1), calls(n - 2));
        (1 + calls_1 + calls_2, fib_1 + fib_2)
    }
    let (operations, answer) = calls(arguments[0]);
    Count { operations, answer }
}

/// Calls of `tak`.
pub(super) fn tak(arguments: &[u64]) -> Count {
    fn value([x, y, z]: [i64; 3], calls: &mut u64) -> i64 {
        *calls += 1;
        if y >= x {
            return z;
        }
        let inner = [[x - 1, y, z], [y - 1, z, x], [z - 1, x, y]].map(|arguments| value(arguments, calls));
        value(inner, calls)
    }
    let mut operations = 0;
    let arguments = [0, 1, 2].map(|index| arguments[index] as i64);
    let answer = value(arguments, &mut operations) as u64;
    Count { operations, answer }
}

/// Calls of `ack`.
pub(super) fn ackermann(arguments: &[u64]) -> Count {
    // Deep, so the calls that wait for the one inside them have a stack of their own.
    let (mut waiting, mut n, mut operations) = (vec![arguments[0]], arguments[1], 0);
    while let Some(m) = waiting.pop() {
        operations += 1;
        match (m, n) {
            (0, _) => n += 1,
            (_, 0) => {
                waiting.push(m - 1);
                n = 1;
            }
            _ => {
                waiting.extend([m - 1, m]);
                n -= 1;
            }
        }
    }
    Count { operations, answer: n }
}

/// Calls of `rev` and `app`.
pub(super) fn nrev(arguments: &[u64]) -> Count {
    let (length, times) = (arguments[0], arguments[1]);
    Count { operations: times * (length + 1) * (length + 2) / 2, answer: times }
}

/// Calls of `safe`.
pub(super) fn queens(arguments: &[u64]) -> Count {
    fn safe(queen: i64, distance: i64, board: &[i64], calls: &mut u64) -> bool {
        *calls += 1;
        let Some((nearest, rest)) = board.split_last() else { return true };
        ![0, distance, -distance].contains(&(queen - nearest)) && safe(queen, distance + 1, rest, calls)
    }
    fn boards(columns: i64, board: &mut Vec<i64>, calls: &mut u64) -> u64 {
        if board.len() as i64 == columns {
            return 1;
        }
        let mut found = 0;
        for queen in 1..=columns {
            if safe(queen, 1, board, calls) {
                board.push(queen);
                found += boards(columns, board, calls);
                board.pop();
            }
        }
        found
    }
    let (columns, times) = (arguments[0] as i64, arguments[1]);
    let mut calls = 0;
    let found = boards(columns, &mut Vec::new(), &mut calls);
    Count { operations: times * calls, answer: times * found }
}

/// Calls of `from-integer`, `mul`, `add` and `to-integer`.
pub(super) fn peano(arguments: &[u64]) -> Count {
    let (n, times) = (arguments[0], arguments[1]);
    let calls = 2 * (n + 1) + (n + 1) + n * (n + 1) + (n * n + 1);
    Count { operations: times * calls, answer: times * n * n }
}

/// Searches; each has one solution.
pub(super) fn zebra(arguments: &[u64]) -> Count {
    Count { operations: arguments[0], answer: arguments[0] }
}

/// Closed walks found.
pub(super) fn triangles(arguments: &[u64]) -> Count {
    let edges = edges();
    let from = |node| edges.iter().filter(move |(start, _)| *start == node).map(|(_, end)| *end);
    let of_edge = |&(x, y): &(u64, u64)| from(y).flat_map(from).filter(|end| *end == x).count() as u64;
    let found = arguments[0] * edges.iter().map(of_edge).sum::<u64>();
    Count { operations: found, answer: found }
}

/// Calls of `plan`.
pub(super) fn planner(arguments: &[u64]) -> Count {
    type Piles = [Vec<u64>; 3];
    fn plans(bound: u64, piles: &mut Piles, goal: &Piles, count: &mut Count) {
        count.operations += 1;
        count.answer += u64::from(piles == goal);
        if bound == 0 {
            return;
        }
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            if let Some(block) = piles[from].pop() {
                piles[to].push(block);
                plans(bound - 1, piles, goal, count);
                piles[to].pop();
                piles[from].push(block);
            }
        }
    }
    let mut count = Count { operations: 0, answer: 0 };
    // The top of a pile is last.
    let (mut piles, goal) = ([vec![4, 3, 2, 1], vec![], vec![]], [vec![], vec![], vec![1, 2, 3, 4]]);
    plans(arguments[0], &mut piles, &goal, &mut count);
    count
}

/// Proofs found: four mortals, of whom Plato counts twice.
pub(super) fn chaining(arguments: &[u64]) -> Count {
    Count { operations: 4 * arguments[0], answer: 4 * arguments[0] }
}

/// Calls of `upto` and `sum`.
pub(super) fn typed_list(arguments: &[u64]) -> Count {
    let (n, times) = (arguments[0], arguments[1]);
    Count { operations: times * 2 * (n + 1), answer: times * n * (n + 1) / 2 }
}

/// Calls of `learn`: one for each number there is, in each round.
pub(super) fn grow(arguments: &[u64]) -> Count {
    let rounds = arguments[0];
    Count { operations: rounds * (rounds + 1) / 2, answer: rounds + 1 }
}

/// Numbers stored: as many rows of them as the first argument says.
pub(super) fn stored(arguments: &[u64]) -> Count {
    let numbers = arguments[0] * arguments[1];
    Count { operations: numbers, answer: numbers }
}

/// Terms stored: three at each place that goes on, and the root.
pub(super) fn branches(arguments: &[u64]) -> Count {
    let terms = 3 * ((1 << arguments[0]) - 1) + 1;
    Count { operations: terms, answer: terms }
}

/// Orders of as many things as the argument says.
pub(super) fn permutations(arguments: &[u64]) -> Count {
    let orders = (1..=arguments[0]).product();
    Count { operations: orders, answer: orders }
}

/// Proofs found: two that apply `euclid` once, and eight that apply it to those.
pub(super) fn proofs(arguments: &[u64]) -> Count {
    Count { operations: 10 * arguments[0], answer: 10 * arguments[0] }
}

/// Rules, each of which is called once.
pub(super) fn rules(arguments: &[u64]) -> Count {
    Count { operations: arguments[0], answer: arguments[0] }
}

/// Calls of rules, of which there are some before.
pub(super) fn rule_calls(arguments: &[u64]) -> Count {
    Count { operations: arguments[1], answer: arguments[1] }
}

/// Turns of a loop, or results, as many as the argument says; the answer is their number.
pub(super) fn each(arguments: &[u64]) -> Count {
    Count { operations: arguments[0], answer: arguments[0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_take_as_many_operations_as_is_known_of_them() {
        let count = |operations, answer| Count { operations, answer };
        assert_eq!(fib(&[30]), count(2_692_537, 832_040));
        assert_eq!(tak(&[18, 12, 6]), count(63_609, 7));
        assert_eq!(tak(&[24, 16, 8]), count(2_493_349, 9));
        assert_eq!(ackermann(&[2, 3]), count(44, 9));
        assert_eq!(ackermann(&[3, 8]), count(2_785_999, 2045));
        assert_eq!(nrev(&[30, 1]), count(496, 1));
        assert_eq!(nrev(&[500, 1]), count(125_751, 1));
        assert_eq!(queens(&[4, 1]).answer, 2);
        assert_eq!(queens(&[8, 3]), count(3 * 42_338, 3 * 92));
        assert_eq!(peano(&[60, 1]), count(7444, 3600));
        assert_eq!(triangles(&[2]), count(2 * 484, 2 * 484));
        assert_eq!(planner(&[7]), count(16_635, 95));
        assert_eq!(typed_list(&[1600, 1]), count(3202, 1_280_800));
        assert_eq!(grow(&[300]), count(45_150, 301));
        assert_eq!(stored(&[1000, 3]), count(3000, 3000));
        assert_eq!(branches(&[19]), count(1_572_862, 1_572_862));
        assert_eq!(permutations(&[8]), count(40_320, 40_320));
        assert_eq!(proofs(&[3]), count(30, 30));
    }
}
