//! The programs, their sizes, and the text each language is given.
//!
//! `bench/programs/metta/NAME.metta` and `NAME.pl` are one program, each as is natural in its language, with the same calls
//! in the same order. Both define `run`; its arguments are the size.

use super::counts::{self, Count};
use super::edges::edges;
use std::error::Error;
use std::path::Path;

const FOLDER: &str = "bench/programs/metta";

/// The arguments of `run` for a small and a large process. Times are the slope between them.
pub(super) type Sizes = [&'static [u64]; 2];

pub(super) struct Program {
    pub(super) name: &'static str,
    /// What the time of a row is of, with its article.
    pub(super) operation: &'static str,
    /// Whether the last argument is only how often all is done.
    pub(super) is_repeated: bool,
    pub(super) preface: Preface,
    pub(super) count: fn(&[u64]) -> Count,
    pub(super) full: Sizes,
    /// For a run that only shows that the suite works.
    pub(super) quick: Sizes,
    /// For `hyperon`, which takes about a millisecond a call.
    pub(super) hyperon: Sizes,
    /// What the ratio to a peer must be, if anything: the peer and the number.
    pub(super) musts: &'static [(&'static str, &'static str)],
    pub(super) note: &'static str,
}

/// What stands before a program's own text.
pub(super) enum Preface {
    Nothing,
    /// The beginning of an example, until this text; in MeTTa only.
    Example(&'static str, &'static str),
    /// A fact for each of [`edges`].
    Edges,
    /// As many rules of one function, each for a number, as the first size says.
    Rules,
}

/// Of a program whose sizes and preface are given below.
const PLAIN: Program = Program {
    name: "",
    operation: "a call",
    is_repeated: false,
    preface: Preface::Nothing,
    count: counts::each,
    full: [&[], &[]],
    quick: [&[], &[]],
    hyperon: [&[], &[]],
    musts: &[("swipl", "1")],
    note: "",
};

/// Of a program that does little but call.
const CALLS: Program = Program { musts: &[("swipl", "1"), ("hyperon 0.2.6", "1,000")], ..PLAIN };

/// All of them, in the order of their rows.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "fib",
        count: counts::fib,
        full: [&[20], &[30]],
        quick: [&[10], &[20]],
        hyperon: [&[8], &[14]],
        ..CALLS
    },
    Program {
        name: "tak",
        count: counts::tak,
        full: [&[18, 12, 6], &[24, 16, 8]],
        quick: [&[9, 6, 3], &[18, 12, 6]],
        hyperon: [&[3, 2, 1], &[9, 6, 3]],
        ..CALLS
    },
    Program {
        name: "ackermann",
        count: counts::ackermann,
        full: [&[3, 5], &[3, 9]],
        quick: [&[3, 2], &[3, 5]],
        hyperon: [&[3, 0], &[3, 2]],
        ..CALLS
    },
    Program {
        name: "nrev",
        operation: "an inference",
        is_repeated: true,
        count: counts::nrev,
        full: [&[500, 10], &[500, 310]],
        quick: [&[100, 2], &[100, 52]],
        hyperon: [&[10, 1], &[20, 1]],
        ..PLAIN
    },
    Program {
        name: "queens",
        operation: "a call of safe",
        is_repeated: true,
        count: counts::queens,
        full: [&[8, 5], &[8, 105]],
        quick: [&[6, 1], &[6, 16]],
        hyperon: [&[4, 0], &[4, 2]],
        note: "columns come from superpose and from between/3",
        ..PLAIN
    },
    Program {
        name: "peano",
        is_repeated: true,
        count: counts::peano,
        full: [&[60, 50], &[60, 1550]],
        quick: [&[20, 1], &[20, 101]],
        hyperon: [&[2, 1], &[6, 1]],
        ..PLAIN
    },
    Program {
        name: "zebra",
        operation: "a solution",
        is_repeated: true,
        preface: Preface::Example("examples/zebra.metta", "!(solution)"),
        count: counts::zebra,
        full: [&[100], &[2100]],
        quick: [&[1], &[31]],
        hyperon: [&[0], &[1]],
        ..PLAIN
    },
    Program {
        name: "triangles",
        operation: "a triangle",
        is_repeated: true,
        preface: Preface::Edges,
        count: counts::triangles,
        full: [&[100], &[3100]],
        quick: [&[1], &[201]],
        hyperon: [&[0], &[1]],
        musts: &[],
        note: "300 random edges among 40 nodes",
    },
    Program {
        name: "planner",
        operation: "a state visited",
        count: counts::planner,
        full: [&[7], &[11]],
        quick: [&[4], &[7]],
        hyperon: [&[2], &[4]],
        musts: &[],
        note: "all plans of so many moves or fewer for four blocks on three piles",
        ..PLAIN
    },
    Program {
        name: "chaining",
        operation: "a proof",
        is_repeated: true,
        preface: Preface::Example("examples/chaining.metta", "; Is Socrates mortal?"),
        count: counts::chaining,
        full: [&[10_000], &[310_000]],
        quick: [&[100], &[5100]],
        hyperon: [&[1], &[11]],
        musts: &[],
        note: "typed backward chaining",
    },
    Program {
        name: "add-atom",
        operation: "an atom",
        full: [&[100_000], &[1_000_000]],
        quick: [&[1000], &[11_000]],
        hyperon: [&[50], &[150]],
        note: "in Prolog assertz/1; hyperon's time for one grows with their number",
        ..PLAIN
    },
    Program {
        name: "state",
        operation: "an update",
        full: [&[1_000_000], &[4_000_000]],
        quick: [&[1000], &[11_000]],
        hyperon: [&[50], &[150]],
        note: "get-state and change-state!, nb_getval/2 and nb_setval/2; hyperon's time for one grows with their number",
        ..PLAIN
    },
    Program {
        name: "collapse",
        operation: "a result",
        full: [&[100_000], &[1_100_000]],
        quick: [&[1000], &[11_000]],
        hyperon: [&[50], &[150]],
        note: "results of a rule that gives one and goes on, gathered by collapse and by findall/3",
        ..PLAIN
    },
    Program {
        name: "typed-list",
        is_repeated: true,
        count: counts::typed_list,
        full: [&[100_000, 1], &[100_000, 21]],
        quick: [&[2000, 1], &[2000, 101]],
        hyperon: [&[5, 1], &[20, 1]],
        note: "constructors and functions have types, with variables",
        ..PLAIN
    },
    Program {
        name: "grow",
        operation: "a look for a fact",
        count: counts::grow,
        full: [&[100], &[300]],
        quick: [&[40], &[160]],
        hyperon: [&[2], &[6]],
        note: "Peano numbers, matched out of the space that they are added to",
        ..PLAIN
    },
    Program {
        name: "stored",
        operation: "a number",
        is_repeated: true,
        count: counts::stored,
        full: [&[1000, 5], &[1000, 105]],
        quick: [&[200, 1], &[200, 51]],
        hyperon: [&[5, 1], &[5, 3]],
        note: "each number of a row is the one before in (S …)",
        ..PLAIN
    },
    Program {
        name: "branches",
        operation: "a term",
        count: counts::branches,
        full: [&[14], &[17]],
        quick: [&[8], &[13]],
        hyperon: [&[1], &[3]],
        note: "terms are added inside of each other, as many levels deep, and matched",
        ..PLAIN
    },
    Program {
        name: "permutations",
        operation: "an order",
        count: counts::permutations,
        full: [&[6], &[9]],
        quick: [&[4], &[7]],
        hyperon: [&[1], &[3]],
        note: "one thing comes from superpose and from select/3, the others from subtraction-atom",
        ..PLAIN
    },
    Program {
        name: "proofs",
        operation: "a proof",
        is_repeated: true,
        count: counts::proofs,
        full: [&[20], &[420]],
        quick: [&[1], &[101]],
        hyperon: [&[0], &[1]],
        musts: &[],
        note: "a search over typed rules, three applications deep",
        ..PLAIN
    },
    Program {
        name: "rules",
        operation: "a rule loaded",
        preface: Preface::Rules,
        count: counts::rules,
        full: [&[64_000], &[1_000_000]],
        quick: [&[1000], &[11_000]],
        hyperon: [&[100], &[600]],
        note: "rules of one function, each for a number, are loaded, and each is called once",
        ..PLAIN
    },
    Program {
        name: "rule-calls",
        operation: "a call",
        is_repeated: true,
        preface: Preface::Rules,
        count: counts::rule_calls,
        full: [&[1_000_000, 100_000], &[1_000_000, 1_100_000]],
        quick: [&[1000, 1000], &[1000, 11_000]],
        hyperon: [&[1000, 1], &[1000, 11]],
        note: "calls in a loop of one of as many rules",
        ..PLAIN
    },
    Program {
        name: "rule-added",
        operation: "a rule",
        is_repeated: true,
        preface: Preface::Rules,
        count: counts::rule_calls,
        full: [&[1_000_000, 1000], &[1_000_000, 11_000]],
        quick: [&[1000, 100], &[1000, 1100]],
        hyperon: [&[1000, 1], &[1000, 11]],
        note: "a rule is added to as many, and called; in Prolog assertz/1",
        ..PLAIN
    },
];

impl Program {
    /// The text that a MeTTa implementation runs; the last line it prints is the answer.
    pub(super) fn metta(&self, arguments: &[u64]) -> Result<String, Box<dyn Error>> {
        let preface = match self.preface {
            Preface::Nothing => String::new(),
            Preface::Example(path, until) => {
                let text = read(Path::new(path))?;
                let end = text.find(until).ok_or_else(|| format!("{path} does not hold {until:?} any more"))?;
                text[..end].to_owned()
            }
            Preface::Edges => edges().iter().map(|(from, to)| format!("(edge n{from} n{to})\n")).collect(),
            Preface::Rules => {
                (0..arguments[0]).map(|number| format!("(= (rule {number}) (result {number}))\n")).collect()
            }
        };
        Ok(format!("{preface}{}\n!(run {})\n", self.own_text("metta")?, joined(arguments, " ")))
    }

    /// The text that Prolog loads.
    pub(super) fn prolog(&self, arguments: &[u64]) -> Result<String, Box<dyn Error>> {
        let preface: String = match self.preface {
            Preface::Edges => edges().iter().map(|(from, to)| format!("edge(n{from}, n{to}).\n")).collect(),
            Preface::Rules => (0..arguments[0]).map(|number| format!("rule({number}, result({number})).\n")).collect(),
            Preface::Nothing | Preface::Example(..) => String::new(),
        };
        let dynamic = if matches!(self.preface, Preface::Rules) { ":- dynamic rule/2.\n" } else { "" };
        Ok(format!("{dynamic}{preface}{}", self.own_text("pl")?))
    }

    /// What Prolog is asked; the answer is printed as MeTTa prints it.
    pub(super) fn goal(&self, arguments: &[u64]) -> String {
        format!("run({}, Answer), print([Answer]), nl", joined(arguments, ", "))
    }

    /// The program and its size, such as `fib 30`.
    pub(super) fn sized(&self, arguments: &[u64]) -> String {
        let shown = arguments.len() - usize::from(self.is_repeated);
        let words = [self.name.to_owned(), joined(&arguments[..shown], " ")];
        words.join(" ").trim_end().to_owned()
    }

    fn own_text(&self, extension: &str) -> Result<String, Box<dyn Error>> {
        read(&Path::new(FOLDER).join(self.name).with_extension(extension))
    }
}

fn read(path: &Path) -> Result<String, Box<dyn Error>> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

pub(super) fn joined(numbers: &[u64], between: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_size_is_more_work() {
        for program in PROGRAMS {
            for sizes in [program.quick, program.hyperon, program.full] {
                let [small, large] = sizes.map(program.count);
                assert!(small.operations < large.operations, "{}", program.name);
            }
        }
    }

    #[test]
    fn a_program_has_a_text_in_both_languages() {
        // Suites run in the root of the repository.
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        for program in PROGRAMS {
            let [small, _] = program.full;
            let metta = program.metta(small).unwrap();
            assert!(metta.contains("\n(= (run $") && metta.contains("\n!(run "), "{}", program.name);
            assert!(program.prolog(small).unwrap().contains("\nrun("), "{}", program.name);
        }
    }

    #[test]
    fn a_program_is_asked_in_the_words_of_its_language() {
        let nrev = PROGRAMS.iter().find(|program| program.name == "nrev").unwrap();
        assert_eq!(nrev.goal(&[500, 10]), "run(500, 10, Answer), print([Answer]), nl");
        assert_eq!(nrev.sized(&[500, 10]), "nrev 500");
    }
}
