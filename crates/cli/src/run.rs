//! `mnemon run`: programs run in order in one space, each answer printed when it is there.

use crate::arguments::RunArguments;
use crate::render;
use mnemon::syntax::{self, LineIndex};
use mnemon::{Engine, FormAnswer, LimitReached, RunEnd, SourceError, SystemWorld, World, WorldError};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long an evaluation that is told to end may go on: a single step of it can be very long.
const GRACE: Duration = Duration::from_secs(3);

/// How a run ended, as an exit code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Fine,
    Error,
    Usage,
    NotParsed,
    Damaged,
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        Self::from(match end {
            End::Fine => 0,
            End::Error => 1,
            End::Usage => 2,
            End::NotParsed => 3,
            End::Damaged => 4,
        })
    }
}

/// A program to run.
struct Source {
    /// What it is called in messages.
    origin: String,
    /// Where its imports are looked for.
    directory: String,
    text: String,
}

/// Runs what the command line names.
pub(crate) fn run(arguments: &RunArguments) -> End {
    let started = std::time::Instant::now();
    let mut engine = Engine::new(SystemWorld::default());
    engine.limits_mut().steps_max = arguments.steps;
    let heard = Heard::default();
    watch_for_interrupts(&mut engine, arguments, &heard);
    let end = run_all(&mut engine, arguments, &heard);
    heard.set();
    if arguments.stats {
        print_statistics(&engine, started.elapsed());
    }
    end
}

fn run_all(engine: &mut Engine, arguments: &RunArguments, heard: &Heard) -> End {
    let nothing_named = arguments.files.is_empty() && arguments.expressions.is_empty();
    if nothing_named && std::io::stdin().is_terminal() {
        render::error("no program to run", Some("name a file, give a text with -e, or pipe a program in"));
        return End::Usage;
    }
    let standard_input = nothing_named.then(|| "-".to_owned());
    for file in arguments.files.iter().chain(&standard_input) {
        let end = match load(engine, file) {
            Ok(source) => run_source(engine, &source, arguments, heard),
            Err(end) => end,
        };
        if end != End::Fine {
            return end;
        }
    }
    for text in &arguments.expressions {
        let source = Source { origin: "-e".to_owned(), directory: String::new(), text: text.clone() };
        let end = run_source(engine, &source, arguments, heard);
        if end != End::Fine {
            return end;
        }
    }
    End::Fine
}

fn load(engine: &mut Engine, file: &str) -> Result<Source, End> {
    if file == "-" {
        return load_standard_input(engine);
    }
    let directory =
        file.rsplit_once('/').map_or("", |(directory, _)| if directory.is_empty() { "/" } else { directory });
    match engine.read_source(file) {
        Ok(text) => Ok(Source { origin: file.to_owned(), directory: directory.to_owned(), text }),
        Err(SourceError::NotText(diagnostic)) => Err(not_text(file, &diagnostic)),
        Err(error) => {
            render::error(&error.to_string(), Some("check the path; `mnemon run --help` shows the usage"));
            Err(End::Usage)
        }
    }
}

fn load_standard_input(engine: &mut Engine) -> Result<Source, End> {
    let bytes = engine.world().read_standard_input().map_err(|error| {
        render::error(&error.to_string(), None);
        End::Usage
    })?;
    let origin = "standard input";
    match syntax::decode(&bytes) {
        Ok(text) => Ok(Source { origin: origin.to_owned(), directory: String::new(), text: text.to_owned() }),
        Err(diagnostic) => Err(not_text(origin, &diagnostic)),
    }
}

fn not_text(origin: &str, diagnostic: &syntax::Diagnostic) -> End {
    render::error(&format!("{origin}: {}", diagnostic.message), diagnostic.help.as_deref());
    End::NotParsed
}

fn run_source(engine: &mut Engine, source: &Source, arguments: &RunArguments, heard: &Heard) -> End {
    let lines = LineIndex::new(&source.text);
    let mut last_line = 1;
    let run = engine.run_text_in(&source.directory, &source.text, &mut |world, answer| {
        last_line = lines.position(answer.span.start).line;
        if answer.limit.is_some() {
            heard.set();
        }
        if arguments.json { print_json(world, answer, last_line) } else { print_line(world, answer) }
    });
    for diagnostic in &run.diagnostics {
        render::diagnostic(&source.origin, &source.text, diagnostic);
    }
    match run.end {
        RunEnd::Finished => End::Fine,
        RunEnd::NotParsed => End::NotParsed,
        RunEnd::Limit(limit) => {
            explain_limit(limit, &format!("{}:{last_line}", source.origin));
            End::Error
        }
        // A reader that has seen enough is no failure.
        RunEnd::World(WorldError::OutputClosed) => End::Fine,
        RunEnd::World(error) => {
            render::error(&error.to_string(), None);
            End::Error
        }
        _ => End::Error,
    }
}

fn print_line(world: &mut dyn World, answer: &FormAnswer<'_>) -> Result<(), WorldError> {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    world.print(&format!("[{}]", results.join(", ")))
}

fn print_json(world: &mut dyn World, answer: &FormAnswer<'_>, line: u32) -> Result<(), WorldError> {
    let form = answer.number;
    for result in answer.results {
        let text = serde_json::Value::from(result.to_string());
        world.print(&format!(r#"{{"form":{form},"line":{line},"result":{text}}}"#))?;
    }
    let (results, error) = (answer.results.len(), answer.is_error());
    world.print(&format!(r#"{{"form":{form},"line":{line},"done":true,"results":{results},"error":{error}}}"#))
}

fn explain_limit(limit: LimitReached, place: &str) {
    let (message, help) = match limit {
        LimitReached::Steps(steps) => (
            format!("the evaluation at {place} took all of its {steps} steps"),
            "look for a loop that does not end, or allow more with --steps",
        ),
        LimitReached::Depth(depth) => (
            format!("the evaluation at {place} is nested {depth} frames deep"),
            "look for a recursion that does not end, or make the call the last thing its function does",
        ),
        LimitReached::Time => (
            format!("the evaluation at {place} did not end in time"),
            "look for a loop that does not end, or allow more with --timeout",
        ),
        _ => (format!("the evaluation at {place} was cancelled"), "what was printed and added before it stands"),
    };
    render::error(&message, Some(help));
}

/// Whether an evaluation that was told to end has done so.
#[derive(Clone, Default)]
struct Heard(Arc<AtomicBool>);

impl Heard {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Waits for the evaluation to end; if it does not, ends the process.
    fn wait_or_exit(&self) {
        std::thread::sleep(GRACE);
        if !self.0.load(Ordering::Relaxed) {
            let help = "what was printed before it stands; look for a pattern with very many matches, or for an atom \
                        that doubles again and again";
            render::error("the evaluation was told to end and is still busy with a single step", Some(help));
            std::process::exit(1);
        }
    }
}

/// Ends evaluations when time is up, and at Ctrl-C; a second Ctrl-C ends the process, and so does an evaluation that
/// does not end.
fn watch_for_interrupts(engine: &mut Engine, arguments: &RunArguments, heard: &Heard) {
    let interrupt = engine.limits_mut().interrupt.clone();
    if let Some(time) = arguments.timeout {
        let (interrupt, heard) = (interrupt.clone(), heard.clone());
        std::thread::spawn(move || {
            std::thread::sleep(time);
            interrupt.time_is_up();
            heard.wait_or_exit();
        });
    }
    let heard = heard.clone();
    let handler = ctrlc::set_handler(move || {
        if interrupt.reason() == Some(LimitReached::Cancelled) {
            std::process::exit(130);
        }
        interrupt.cancel();
        let heard = heard.clone();
        std::thread::spawn(move || heard.wait_or_exit());
    });
    if let Err(error) = handler {
        render::say(&format!("warning: Ctrl-C will end the program at once: {error}"));
    }
}

fn print_statistics(engine: &Engine, elapsed: Duration) {
    let counts = engine.statistics();
    render::say(&format!("evaluations  {}", counts.evaluations));
    render::say(&format!("steps        {}", counts.steps));
    render::say(&format!("depth        {}", counts.depth_max));
    render::say(&format!("atoms        {}", engine.atom_count()));
    render::say(&format!("seconds      {:.3}", elapsed.as_secs_f64()));
}
