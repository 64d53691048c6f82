//! Programs run in memory, and what came of them.
//!
//! A [`Program`] is a text, the files it may import and the limits it runs under. Running it gives everything that can
//! be seen from outside: the lines in the order in which they were printed, the answers among them, and how it ended.

pub(crate) use generate::unnumbered;
use metta::syntax::Diagnostic;
use metta::{Evaluator, FormAnswer, Limits, MemoryOutput, MemoryWorld, RunEnd, Session, Statistics};
use space::Atom;

/// A program on its way to be run.
pub(crate) struct Program {
    text: String,
    world: MemoryWorld,
    limits: Limits,
    evaluator: Evaluator,
    keeps_going: bool,
}

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Ran {
    /// One line an answer, as the command prints it: `[a, b]`.
    pub(crate) answers: Vec<String>,
    /// The results of the last answer.
    pub(crate) last: Vec<Atom>,
    /// Those lines and what the program printed itself, in order.
    pub(crate) lines: Vec<String>,
    /// What it wrote for the person who watches.
    pub(crate) traced: Vec<String>,
    /// What it left behind outside.
    pub(crate) outside: MemoryOutput,
    pub(crate) end: RunEnd,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) statistics: Statistics,
}

impl Program {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            world: MemoryWorld::default(),
            limits: Limits::default(),
            evaluator: Evaluator::default(),
            keeps_going: false,
        }
    }

    /// Adds a file that the program may import.
    pub(crate) fn with_file(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.world = self.world.with_source(path, bytes);
        self
    }

    /// Puts the program in another world, without the files added so far.
    pub(crate) fn with_world(mut self, world: MemoryWorld) -> Self {
        self.world = world;
        self
    }

    pub(crate) fn with_steps(mut self, most: u64) -> Self {
        self.limits.steps_max = Some(most);
        self
    }

    pub(crate) fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn with_evaluator(mut self, evaluator: Evaluator) -> Self {
        self.evaluator = evaluator;
        self
    }

    /// Lets the run go on after an answer with an error in it.
    pub(crate) fn keep_going(mut self) -> Self {
        self.keeps_going = true;
        self
    }

    /// Closes the output after `most` lines.
    pub(crate) fn with_lines_taken(mut self, most: usize) -> Self {
        self.world = self.world.with_lines_taken(most);
        self
    }

    pub(crate) fn run(self) -> Ran {
        let Self { text, world, limits, evaluator, keeps_going } = self;
        let output = world.output();
        let mut session = Session::new(Box::new(world));
        *session.limits_mut() = limits;
        session.set_evaluator(evaluator);
        session.keep_going(keeps_going);
        let (mut answers, mut last) = (Vec::new(), Vec::new());
        let run = session.run(&text, &mut |world, answer| {
            last = answer.results.to_vec();
            let line = line_of(answer);
            answers.push(line.clone());
            world.print(&line)
        });
        let statistics = session.statistics();
        drop(session);
        let (lines, traced) = (output.printed(), output.traced());
        Ran { answers, last, lines, traced, outside: output, end: run.end, diagnostics: run.diagnostics, statistics }
    }
}

/// An answer as the command prints it.
pub(crate) fn line_of(answer: &FormAnswer<'_>) -> String {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    format!("[{}]", results.join(", "))
}

/// Runs a text.
pub(crate) fn run(text: &str) -> Ran {
    Program::new(text).run()
}

/// The answers of a text.
pub(crate) fn answers(text: &str) -> Vec<String> {
    run(text).answers
}

/// Each program gives these answers, in this order. The numbers of fresh variables are left out.
#[track_caller]
pub(crate) fn check(cases: &[(&str, &[&str])]) {
    let mut failures = Vec::new();
    for (program, expected) in cases {
        let actual: Vec<String> = answers(program).iter().map(|line| unnumbered(line)).collect();
        if actual != *expected {
            failures.push(format!("{program}\n  expected {expected:?}\n  got      {actual:?}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} programs differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// Both evaluators give these last answers to these programs, each behind a beginning that they share.
#[track_caller]
pub(crate) fn check_both_after(beginning: &str, programs: &[(&str, &str)]) {
    let whole = programs.iter().map(|(text, expected)| (format!("{beginning} {text}"), *expected));
    let whole: Vec<(String, &str)> = whole.collect();
    check_both(&whole.iter().map(|(text, expected)| (text.as_str(), *expected)).collect::<Vec<_>>());
}

/// Runs something on a thread with a native stack of this many bytes.
pub(crate) fn on_stack<T: Send>(stack_bytes: usize, run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack_bytes).spawn_scoped(scope, run);
        let ended = thread.expect("a thread can be started").join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The last answer of each program is this in both evaluators.
#[track_caller]
pub(crate) fn check_both(programs: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (text, expected) in programs {
        for evaluator in [Evaluator::Interpreter, Evaluator::Machine] {
            let ran = Program::new(*text).with_evaluator(evaluator).run();
            let last = ran.answers.last().map(|line| unnumbered(line)).unwrap_or_default();
            if last != *expected {
                failures.push(format!("{text}\n  expected {expected}\n  {evaluator:?} gives {last}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
