//! `mnemon replay`: a recorded run once more, checked against its tape.

use crate::arguments::ReplayArguments;
use crate::render;
use crate::run::{End, Heard, Terminal, explain, recall_failed, watch_for_interrupts};
use mnemon::{Engine, ProgramEnd, RecallError, ReplayEnd, SystemWorld, TapeReader};

/// Runs again what is on a tape.
pub(crate) fn replay(arguments: &ReplayArguments) -> End {
    let opened = TapeReader::open(&arguments.tape).map_err(RecallError::Tape);
    let replaying = opened.and_then(|tape| Engine::replaying(SystemWorld::default(), tape, arguments.to));
    let (mut engine, program) = match replaying {
        Ok(replaying) => replaying,
        Err(error) => return recall_failed(&error),
    };
    let heard = Heard::default();
    watch_for_interrupts(&mut engine, None, &heard);
    let end = engine.run_program(&program, &mut Terminal { heard: heard.clone() });
    heard.set();
    let (commits, ended) = engine.replayed().unwrap_or_default();
    match ended {
        None => {}
        Some(ReplayEnd::Reached(commit)) => {
            render::say(&format!("replayed up to commit {commit}: all the same so far"));
            return End::Fine;
        }
        Some(ReplayEnd::TapeEnds(_)) => {
            render::say(&format!(
                "warning: the tape ends here, because the recorded run was killed; {} were replayed, all the same",
                commits_text(commits)
            ));
            return End::Fine;
        }
        Some(end) => return recall_failed(&RecallError::Replay(end)),
    }
    // What only this run met, such as a closed output, is told as in any run; what the recorded run came to is no failure of
    // its replay.
    if let ProgramEnd::World(_) = end {
        return explain(end);
    }
    if let Err(error) = engine.finish() {
        return recall_failed(&error);
    }
    render::say(&format!("replayed {}: all the same", commits_text(commits)));
    End::Fine
}

fn commits_text(commits: u64) -> String {
    if commits == 1 { "1 commit".to_owned() } else { format!("{commits} commits") }
}
