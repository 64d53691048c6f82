//! `metroon replay`: runs the program of a tape again and compares, or answers a program from a cassette.

use crate::arguments::ReplayArguments;
use crate::cassette::read_options;
use crate::end::End;
use crate::limits::{Heard, LimitArguments, MemoryGuard, explain_limit, watch_for_interrupts};
use crate::output::{counted, fail};
use crate::run::{Terminal, explain, recall_failed, tape_failed};
use crate::{proxy, render, repl};
use metroon::run::{ProgramEnd, RunRequest};
use metroon::tape::{RecallError, ReplayEnd, TapeReader};
use metroon::{Engine, Permissions, PermittedWorld, SystemWorld};
use std::process::ExitCode;

/// Runs the program of a tape again, or answers a program's requests from a cassette.
pub(crate) fn replay(arguments: &ReplayArguments) -> ExitCode {
    let ReplayArguments { path, max_size, serving, network, playing, secrets, command, .. } = arguments;
    if command.is_empty() && !serving.stays() {
        return replay_run(arguments).into();
    }
    if let Some(flag) = arguments.limits.named() {
        let message =
            format!("{flag} limits the replay of a run, and does not apply when a program's requests are answered");
        return fail(&message, "leave it out", End::Usage).into();
    }
    proxy::replay(path, read_options(*max_size), (serving, network), (playing, secrets), command)
}

/// Replays a tape. If the file is a cassette, the message says so and names the command for it.
fn replay_run(arguments: &ReplayArguments) -> End {
    let path = &arguments.path;
    if TapeReader::open(path).is_err() && proxy::is_cassette(path) {
        let shown = path.display();
        let help = format!(
            "name a program whose requests it answers: `metroon replay {shown} -- COMMAND`, or keep a proxy with --listen"
        );
        return fail(&format!("{shown} is a cassette of network traffic, not the tape of a run"), &help, End::Usage);
    }
    let limits = arguments.limits.of_replay();
    let guard = MemoryGuard::start(&limits);
    let opened = TapeReader::open(path).map_err(RecallError::Tape);
    // A replay asks for nothing but its output; a tape is a stranger's program.
    let output = PermittedWorld::new(SystemWorld::default(), Permissions::nothing());
    let replaying = opened.and_then(|tape| Engine::replaying(output, tape, arguments.to));
    let (mut engine, mut program) = match replaying {
        Ok(replaying) => replaying,
        Err(RecallError::Tape(error)) => return tape_failed(path, &error),
        Err(error) => return recall_failed(&error),
    };
    let heard = Heard::default();
    limit(&mut engine, &mut program, &limits);
    guard.watch(&mut engine);
    // A person at a prompt has time.
    watch_for_interrupts(&mut engine, limits.timeout.filter(|_| !arguments.repl), &heard);
    // An error of the recorded run is not a failure of its replay.
    let mut terminal =
        Terminal { heard: heard.clone(), explains_failures: false, notes: false, failed: Default::default() };
    let _ = engine.run_program(&program, &mut terminal);
    heard.set();
    let (commits, ended) = engine.replayed().unwrap_or_default();
    if let Some(ended) = ended {
        let end = explain_end(ended, commits);
        return if arguments.repl && end == End::Fine { prompt(engine, &limits, &guard) } else { end };
    }
    if arguments.repl {
        render::say(&format!("replayed {}: all the same", counted(commits, "commit")));
        return prompt(engine, &limits, &guard);
    }
    match engine.finish() {
        Ok(()) => {}
        Err(RecallError::Replay(ended)) => return explain_end(ended, commits),
        Err(error) => return recall_failed(&error),
    }
    let beyond = match arguments.to {
        Some(to) if to > commits => format!("; there is no commit {to}"),
        _ => String::new(),
    };
    render::say(&format!("replayed {}: all the same{beyond}", counted(commits, "commit")));
    End::Fine
}

/// Opens a prompt where a replay ended. The program is a stranger's: it may still ask for nothing.
fn prompt(engine: Engine, limits: &LimitArguments, guard: &MemoryGuard) -> End {
    let world = PermittedWorld::new(SystemWorld::default(), Permissions::nothing());
    repl::go_on(engine.beside_tape(world), limits, guard)
}

/// Sets the limits of a replay. Those that the recorded run had come from the tape.
fn limit(engine: &mut Engine, program: &mut RunRequest, limits: &LimitArguments) {
    let bytes = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    program.heap_bytes_max = program.heap_bytes_max.or(limits.heap);
    engine.limits_mut().memory_bytes_max = limits.memory.map(bytes);
    engine.limits_mut().form_steps_max = limits.steps;
}

/// Tells why a replay ended before the program did.
fn explain_end(ended: ReplayEnd, commits: u64) -> End {
    match ended {
        ReplayEnd::Reached(commit) => {
            render::say(&format!("replayed up to commit {commit}: all the same so far"));
            End::Fine
        }
        ReplayEnd::TapeEnds(_) => {
            let commits = counted(commits, "commit");
            render::say(&format!(
                "warning: the tape ends here, because the recorded run was cut off; replayed {commits}: all the same"
            ));
            End::Fine
        }
        ReplayEnd::Interrupted(_) => {
            let commits = counted(commits, "commit");
            render::error(&format!("the replay was cancelled; replayed {commits}: all the same so far"), None);
            End::Error
        }
        ReplayEnd::Limit { limit, commits: equal } => {
            let (message, help) = explain_limit(limit, &format!("commit {}", equal + 1), false);
            render::error(
                &format!("{message}; replayed {}: all the same so far", counted(equal, "commit")),
                Some(help),
            );
            End::Error
        }
        ReplayEnd::NotShown(error) => explain(ProgramEnd::World(error), None),
        ended => recall_failed(&RecallError::Replay(ended)),
    }
}
