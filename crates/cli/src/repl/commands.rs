//! The commands of the prompt: words after `:`.

use super::Next;
use super::session::Session;
use crate::end::End;
use crate::render;
use metroon::Atom;
use metroon::editing::{documentation_of, nearest, types_of_text};
use metroon::observe::{Explained, Step};
use metroon::run::ModuleId;
use metroon::syntax::parse;
use space::{Rewrite, Solution, Variable, brief, rewrite};
use statistics::Statistics;

/// How many characters of an atom are listed on a line.
const LINE_CHARACTERS_MAX: usize = 1 << 16;

/// A command: its name, what it takes, what it does.
struct Command {
    name: &'static str,
    takes: &'static str,
    about: &'static str,
    run: fn(&mut Session, &str) -> Next,
}

/// All commands, in the order in which `:help` lists them.
const COMMANDS: [Command; 17] = [
    Command { name: "help", takes: "[NAME]", about: "list the commands, or tell what NAME is", run: help },
    Command { name: "type", takes: "ATOM", about: "the types of an atom; it is not evaluated", run: types },
    Command { name: "doc", takes: "NAME", about: "what is documented about a name", run: doc },
    Command { name: "space", takes: "[PATTERN]", about: "the atoms of the space, or those that match", run: space },
    Command { name: "load", takes: "FILE", about: "run a file in the same space", run: load },
    Command { name: "undo", takes: "", about: "take back what the last input has changed", run: undo },
    Command { name: "time", takes: "ATOM", about: "evaluate, and say how long it took", run: time },
    Command { name: "trace", takes: "ATOM", about: "evaluate, and show each call and what it came to", run: trace },
    Command { name: "step", takes: "ATOM", about: "evaluate call by call; asks after each how to go on", run: step },
    Command { name: "stats", takes: "", about: "counts of all that was done", run: stats },
    Command { name: "explain", takes: "NAME", about: "the code that the machine makes of a function", run: explain },
    Command { name: "why", takes: "PATTERN", about: "which commits put atoms there; with --kb", run: why },
    Command { name: "log", takes: "[N]", about: "the last commits of the knowledge base, 10 or N", run: log },
    Command { name: "at", takes: "N [PATTERN]", about: "the atoms as they were after commit N", run: at },
    Command { name: "more", takes: "", about: "the next lines of a long answer", run: |session, _| session.more() },
    Command { name: "clear", takes: "", about: "clear the screen", run: clear },
    Command { name: "quit", takes: "", about: "leave; Ctrl-D does as well", run: |_, _| Next::Ends(End::Fine) },
];

/// The names of all commands, with the colon.
pub(super) fn names() -> impl Iterator<Item = String> {
    COMMANDS.iter().map(|command| format!(":{}", command.name))
}

/// Runs a command, given without its colon. The beginning of a name is enough if no other begins so.
pub(super) fn run(session: &mut Session, text: &str) -> Next {
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let argument = argument.trim();
    let exact = COMMANDS.iter().find(|command| command.name == name);
    let mut begun = COMMANDS.iter().filter(|command| command.name.starts_with(name));
    let command = match (exact, begun.next(), begun.next()) {
        (Some(command), ..) | (None, Some(command), None) => command,
        _ => {
            let near = nearest(name, COMMANDS.iter().map(|command| command.name));
            let help = near.map_or("`:help` lists the commands".to_owned(), |near| format!("did you mean `:{near}`?"));
            render::error(&format!("there is no command `:{name}`"), Some(&help));
            return Next::GoesOn;
        }
    };
    let needs = !command.takes.is_empty() && !command.takes.starts_with('[');
    if needs && argument.is_empty() {
        let usage = format!(":{} {}", command.name, command.takes);
        render::error(&format!("`:{}` needs to be told what to look at", command.name), Some(&usage));
        return Next::GoesOn;
    }
    (command.run)(session, argument)
}

fn help(session: &mut Session, name: &str) -> Next {
    if !name.is_empty() {
        return doc(session, name);
    }
    let usage = |command: &Command| format!(":{} {}", command.name, command.takes);
    let width = COMMANDS.iter().map(|command| usage(command).trim_end().len()).max().unwrap_or(0);
    let lines = COMMANDS.iter().map(|command| format!("{:width$}  {}", usage(command).trim_end(), command.about));
    session.print(lines.collect::<Vec<_>>())
}

/// A text that must be one atom.
fn one_atom(text: &str) -> bool {
    let parsed = parse(text);
    let is_one = parsed.first_error().is_none() && parsed.tree.forms().len() == 1 && !parsed.tree.forms()[0].bang;
    if !is_one {
        render::error(&format!("`{text}` is not one atom"), Some("write one word, text or expression, without `!`"));
    }
    is_one
}

fn types(session: &mut Session, text: &str) -> Next {
    if !one_atom(text) {
        return Next::GoesOn;
    }
    let types = types_of_text(session.engine.session_mut().program_mut(), text);
    session.print(types)
}

fn doc(session: &mut Session, name: &str) -> Next {
    if !one_atom(name) {
        return Next::GoesOn;
    }
    let lines = documentation_of(session.engine.session_mut().program_mut(), name);
    if lines.is_empty() {
        render::say(&format!("nothing is documented about `{name}`; `:type {name}` shows its type"));
        return Next::GoesOn;
    }
    session.print(lines)
}

fn space(session: &mut Session, pattern: &str) -> Next {
    if !pattern.is_empty() && !one_atom(pattern) {
        return Next::GoesOn;
    }
    let program = session.engine.session_mut().program_mut();
    let space = program.top_space();
    let lines: Vec<String> = match program.read(ModuleId::TOP, pattern).0.first() {
        None => space.atoms(program.variables()).iter().map(|atom| brief(atom, LINE_CHARACTERS_MAX)).collect(),
        Some(pattern) => {
            let solutions = space.query(pattern, program.variables());
            solutions.iter().map(|solution| instance(pattern, solution).to_string()).collect()
        }
    };
    let lines = if lines.is_empty() { vec!["nothing".to_owned()] } else { lines };
    session.print(lines)
}

/// A pattern with what its variables are in a solution.
fn instance(pattern: &Atom, solution: &Solution) -> Atom {
    let value = |variable: &Variable| solution.iter().find(|(bound, _)| bound == variable);
    let filled = rewrite(pattern, |variable| match value(variable) {
        Some((_, value)) => Rewrite::Replace(value.clone()),
        None => Rewrite::Keep,
    });
    filled.unwrap_or_else(|| pattern.clone())
}

fn load(session: &mut Session, file: &str) -> Next {
    // Why it cannot be read was told.
    session.load(file).unwrap_or(Next::GoesOn)
}

fn undo(session: &mut Session, _: &str) -> Next {
    if session.base.is_some() {
        let help = "`:at N` shows what was there after commit N";
        render::error("what a knowledge base has committed stays", Some(help));
        return Next::GoesOn;
    }
    match session.engine.session_mut().undo() {
        true => render::say("what the last input changed is undone; what it printed or wrote to files is not"),
        false => render::say("there is nothing to undo"),
    }
    Next::GoesOn
}

fn time(session: &mut Session, text: &str) -> Next {
    let text = text.trim_start_matches('!');
    if !one_atom(text) {
        return Next::GoesOn;
    }
    let steps = session.engine.session().statistics().steps;
    let next = session.run(&format!("! {text}"));
    let steps = session.engine.session().statistics().steps - steps;
    render::say(&format!("{:.6} seconds, {steps} steps", session.took.as_secs_f64()));
    next
}

fn trace(session: &mut Session, text: &str) -> Next {
    let text = text.trim_start_matches('!');
    if !one_atom(text) {
        return Next::GoesOn;
    }
    session.engine.session_mut().trace_calls(Some(Vec::new()));
    let next = session.run(&format!("! {text}"));
    session.engine.session_mut().trace_calls(None);
    next
}

fn step(session: &mut Session, text: &str) -> Next {
    let text = text.trim_start_matches('!');
    if !one_atom(text) {
        return Next::GoesOn;
    }
    render::say("Enter: the next call or result; o: over what is deeper; r: run to the end; q: cancel");
    session.engine.session_mut().step_calls(Box::new(ask_how_to_go_on));
    let next = session.run(&format!("! {text}"));
    session.engine.session_mut().trace_calls(None);
    next
}

/// Reads a line that says how to go on. If there are no more lines, the evaluation goes on to its end.
fn ask_how_to_go_on() -> Step {
    loop {
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => return Step::On,
            Ok(_) => {}
        }
        match line.trim() {
            "" => return Step::In,
            "o" => return Step::Over,
            "r" => return Step::On,
            "q" => return Step::End,
            other => render::error(&format!("`{other}` is none of these"), Some("Enter, o, r or q")),
        }
    }
}

fn stats(session: &mut Session, _: &str) -> Next {
    let text = session.engine.statistics().report().to_string();
    session.print(text.lines().map(str::to_owned).collect::<Vec<_>>())
}

fn explain(session: &mut Session, name: &str) -> Next {
    match session.engine.session_mut().explain(name, Explained::Code) {
        Some(code) => session.print(code.lines().map(str::to_owned).collect::<Vec<_>>()),
        None => {
            render::error(
                &format!("`{name}` has no rules in this space"),
                Some("`:doc` tells what the library says of it"),
            );
            Next::GoesOn
        }
    }
}

fn why(session: &mut Session, pattern: &str) -> Next {
    if !has_base(session) || !one_atom(pattern) {
        return Next::GoesOn;
    }
    session.run(&format!("!(why &self {pattern})"))
}

fn log(session: &mut Session, count: &str) -> Next {
    let count = if count.is_empty() { Some(10) } else { count.parse::<u64>().ok() };
    let Some(count) = count else {
        render::error("`:log` takes how many commits to show", Some("`:log 20`"));
        return Next::GoesOn;
    };
    let Some(directory) = session.base.clone().filter(|_| has_base(session)) else { return Next::GoesOn };
    let last = session.engine.epoch().unwrap_or(0);
    let lines = crate::kb::log_lines(&directory, last.saturating_sub(count) + 1);
    match lines {
        Ok(lines) => session.print(lines),
        Err(_) => Next::GoesOn,
    }
}

fn at(session: &mut Session, arguments: &str) -> Next {
    let (number, pattern) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, "$atom"));
    let (Ok(commit), pattern) = (number.parse::<u64>(), pattern.trim()) else {
        render::error(&format!("`{number}` is not the number of a commit"), Some("`:log` lists them"));
        return Next::GoesOn;
    };
    if !has_base(session) || !one_atom(pattern) {
        return Next::GoesOn;
    }
    // What is quoted is not evaluated.
    session.run_unquoting(&format!("!(match (as-of &self {commit}) {pattern} (quote {pattern}))"))
}

fn has_base(session: &Session) -> bool {
    if session.base.is_none() {
        render::error("no history is kept here", Some("begin with `metroon repl --kb DIR`"));
    }
    session.base.is_some()
}

fn clear(_: &mut Session, _: &str) -> Next {
    // The sequence that clears a terminal and puts the cursor at its top.
    render::say("\u{1b}[2J\u{1b}[H");
    Next::GoesOn
}
