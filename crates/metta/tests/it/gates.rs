//! What the programs of the benchmarks cost in counts, exactly: a regression fails here without a clock.
//!
//! When a change of the machine moves these numbers, `METROON_GATES=print cargo test -p metroon-metta --test it gates`
//! fails and prints the table anew. Lower numbers are taken over as they are; a higher one needs a reason that the commit gives.

use crate::harness::line_of;
use metta::{MemoryWorld, Session};
use std::fmt::Write;
use std::path::Path;

/// What stands before the text of a program.
enum Preface {
    Nothing,
    /// The beginning of an example, until this text.
    Example(&'static str, &'static str),
    /// Random edges between nodes.
    Edges,
}

/// A program of `bench/programs/metta`, at the size that its `run` is given.
struct Gate {
    name: &'static str,
    size: &'static str,
    answer: &'static str,
    costs: Costs,
}

/// What it takes. Nothing is left to the interpreter.
#[derive(Debug, PartialEq)]
struct Costs {
    calls: u64,
    /// Cells taken from the heap, and how often garbage was collected.
    cells: u64,
    collections: u64,
    /// What the process allocated for it.
    allocations: u64,
}

const fn gate(name: &'static str, size: &'static str, answer: &'static str, costs: [u64; 4]) -> Gate {
    let [calls, cells, collections, allocations] = costs;
    Gate { name, size, answer, costs: Costs { calls, cells, collections, allocations } }
}

/// The calls, the cells, the collections of garbage and the allocations of each.
#[rustfmt::skip]
const GATES: &[Gate] = &[
    gate("fib", "30", "832040", [2692538, 0, 0, 939]),
    gate("tak", "24 16 8", "9", [2493350, 0, 0, 877]),
    gate("ackermann", "3 7", "1021", [693965, 0, 0, 826]),
    gate("nrev", "500 10", "10", [1258033, 2536656, 19, 2185]),
    gate("queens", "8 3", "276", [132941, 41952, 0, 2752]),
    gate("peano", "60 50", "180000", [372252, 381000, 2, 2285]),
    gate("zebra", "10", "10", [7672, 35620, 0, 12904]),
    gate("triangles", "20", "9680", [42, 24220, 0, 5346]),
    gate("planner", "8", "377", [91383, 529217, 0, 3396]),
    gate("chaining", "1000", "4000", [5002, 147000, 0, 8494]),
    gate("add-atom", "20000", "20000", [20002, 60000, 0, 1184]),
    gate("state", "200000", "200000", [200002, 0, 0, 1059]),
    gate("collapse", "100000", "100000", [100001, 50002, 0, 1141]),
    gate("typed-list", "20000 1", "200010000", [40005, 40000, 0, 2206]),
    gate("grow", "100", "101", [5254, 35506, 0, 61425]),
    gate("stored", "2500 1", "2500", [2507, 13753, 0, 2266]),
    gate("branches", "10", "3070", [2050, 35302, 0, 3062]),
    gate("permutations", "6", "720", [1965, 12354, 0, 3515]),
    gate("proofs", "5", "50", [652, 13050, 0, 6423]),
];

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// As many edges as the benchmark has, by the same generator (Knuth's MMIX).
fn edges() -> String {
    let mut state = 20_u64;
    let mut node = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 40
    };
    (0..300).fold(String::new(), |mut text, _| {
        let (from, to) = (node(), node());
        let _ = writeln!(text, "(edge n{from} n{to})");
        text
    })
}

impl Gate {
    /// The program without the form that runs it.
    fn definitions(&self) -> String {
        let preface = match self.name {
            "zebra" => Preface::Example("examples/zebra.metta", "!(solution)"),
            "chaining" => Preface::Example("examples/chaining.metta", "; Is Socrates mortal?"),
            "triangles" => Preface::Edges,
            _ => Preface::Nothing,
        };
        let preface = match preface {
            Preface::Nothing => String::new(),
            Preface::Edges => edges(),
            Preface::Example(path, until) => file(path).split(until).next().unwrap_or_default().to_owned(),
        };
        preface + &file(&format!("bench/programs/metta/{}.metta", self.name))
    }

    /// What it comes to now: the answer, what was left to the interpreter, and the costs.
    fn measured(&self) -> (String, u64, Costs) {
        let mut session = Session::new(Box::new(MemoryWorld::default()));
        // What a call costs is measured, so each is made.
        session.memoise(false);
        session.run(&self.definitions(), &mut |_, _| Ok(()));
        let form = format!("!(run {})", self.size);
        // What reads the words of the form makes its tables when it meets such words first, and how many depends on what else
        // is built: regular expressions have features.
        session.run(&format!("!(quote {})", form.trim_start_matches('!')), &mut |_, _| Ok(()));
        let before = session.statistics();
        let mut answer = String::new();
        let info = allocation_counter::measure(|| {
            session.run(&form, &mut |_, found| {
                answer = line_of(found);
                Ok(())
            });
        });
        let after = session.statistics();
        let costs = Costs {
            calls: after.calls - before.calls,
            cells: after.cells - before.cells,
            collections: after.collections - before.collections,
            allocations: info.count_total,
        };
        (answer, after.interpreted - before.interpreted, costs)
    }
}

#[test]
fn programs_cost_what_they_did() {
    let is_printed = std::env::var("METROON_GATES").is_ok_and(|value| value == "print");
    let (mut failures, mut table) = (Vec::new(), String::new());
    for gate in GATES {
        // The second time counts: what is made once in a process is not what a program costs.
        gate.measured();
        let (answer, interpreted, costs) = gate.measured();
        if is_printed {
            let Costs { calls, cells, collections, allocations } = costs;
            let answer = answer.trim_matches(['[', ']']);
            let counts = [calls, cells, collections, allocations];
            let _ = writeln!(table, "    gate({:?}, {:?}, {answer:?}, {counts:?}),", gate.name, gate.size);
            continue;
        }
        if answer != format!("[{}]", gate.answer) || interpreted != 0 || costs != gate.costs {
            failures.push(format!(
                "{} {}: {answer}, {interpreted} expressions interpreted\n  was {:?}\n  is  {costs:?}",
                gate.name, gate.size, gate.costs
            ));
        }
    }
    assert!(!is_printed, "the table as it would be now:\n{table}");
    assert!(failures.is_empty(), "{}\nHow new numbers are taken over: see the top of {}", failures.join("\n"), file!());
}
