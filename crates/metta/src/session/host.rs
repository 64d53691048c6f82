//! Calls of functions of the host: carried out, recorded with what they came to, or answered from a recording.
//!
//! While a run is recorded, a function whose calls are recorded cannot use the engine: a replay does not call it, so what it did there
//! would be missing.

use super::{FormEvent, RunEnd, Session, SourceRun, text_of_atoms};
use crate::environment::{CarryOut, Outcome, Stop};
use crate::host_call::{AnswerKind, HostCall, RecordedAnswer};
use crate::limits::WRITTEN_BYTES_MAX;
use crate::program::Program;
use crate::program::modules::{IMPORT_DEPTH_MAX, ModuleError};
use crate::refusal::EffectRefused;
use crate::syntax::Pieces;
use crate::world::WorldError;
use space::{Atom, Rewrite, Symbol, Variable, canonical, rewrite, written_bytes_least};

/// Why a function does not use the engine here.
const OFF_RECORD: &str = "a function of the host whose calls are recorded used the engine, and a replay would not do so again: \
                          declare it pure, so that a replay calls it, or do what it does in the program";

impl RecordedAnswer {
    /// The recorded form of what a call came to.
    ///
    /// # Errors
    /// It has a value that only this process knows, or binds variables; the message says so.
    fn of(call: &HostCall<'_>, outcome: &Outcome) -> Result<Self, String> {
        let (kind, atoms) = match outcome {
            Outcome::Results(results) => (AnswerKind::Results, results.as_slice()),
            Outcome::NotReducible => (AnswerKind::NotReducible, &[][..]),
            Outcome::Failure(message) => (AnswerKind::Failure, std::slice::from_ref(message)),
            Outcome::Solutions(_) | Outcome::Stop(_) => {
                return Err(format!("what {} came to cannot be recorded: it binds variables", call.name));
            }
        };
        if let Some(value) = atoms.iter().find_map(canonical::find_opaque) {
            return Err(format!(
                "what {} came to cannot be recorded: {value} is known to this process alone; let it give numbers, texts and \
                 expressions, or declare it pure, so that a replay calls it again",
                call.name
            ));
        }
        let children: Vec<Atom> = std::iter::once(call.atom()).chain(atoms.iter().cloned()).collect();
        let (whole, mut bytes, mut names) = (Atom::expression(children), Vec::new(), Vec::new());
        if written_bytes_least(&whole, WRITTEN_BYTES_MAX + 1) > WRITTEN_BYTES_MAX {
            return Err(format!(
                "a call of {} and what it came to are written with more than {WRITTEN_BYTES_MAX} bytes and cannot be recorded",
                call.name
            ));
        }
        canonical::encode_naming(&whole, &mut bytes, |variable| names.push(variable.name().as_str().to_owned()));
        Ok(Self { kind, bytes, names })
    }

    /// What a call came to, in a program that makes the same call again.
    ///
    /// # Errors
    /// It is no recorded answer of such a call.
    fn outcome(&self, call: &HostCall<'_>, program: &mut Program) -> Result<Outcome, String> {
        let malformed = || format!("the recorded answer of {} cannot be read", call.name);
        let names: Vec<Symbol> = self.names.iter().map(|name| Symbol::new(name)).collect();
        let whole = program.decode(&self.bytes, &names).map_err(|error| format!("{}: {error}", malformed()))?;
        let [recorded, atoms @ ..] = whole.children().ok_or_else(malformed)? else { return Err(malformed()) };
        let (theirs, ours) = (variables_of(recorded), variables_of(&call.atom()));
        let renamed = |atom: &Atom| {
            let other = rewrite(atom, |variable| {
                let place = theirs.iter().position(|known| known == variable);
                place
                    .and_then(|place| ours.get(place))
                    .map_or(Rewrite::Keep, |own| Rewrite::Replace(own.clone().into()))
            });
            other.unwrap_or_else(|| atom.clone())
        };
        let mut atoms: Vec<Atom> = atoms.iter().map(renamed).collect();
        match self.kind {
            AnswerKind::Results => Ok(Outcome::Results(atoms)),
            AnswerKind::NotReducible => Ok(Outcome::NotReducible),
            AnswerKind::Failure => atoms.pop().map(Outcome::Failure).ok_or_else(malformed),
        }
    }
}

/// The variables of an atom, in the order in which they first occur.
fn variables_of(atom: &Atom) -> Vec<Variable> {
    let mut found = Vec::new();
    canonical::key_naming(atom, &mut Vec::new(), |variable| found.push(variable.clone()));
    found
}

impl Session {
    /// Asks the world for the recorded answer of a call, or lets the call be carried out, and takes down what it came to if the run is
    /// recorded. Recorded or replayed, results have the same variables.
    pub(crate) fn ask_host(&mut self, call: &HostCall<'_>, carry_out: &mut CarryOut<'_>) -> Outcome {
        let ended = |error: WorldError| Outcome::Stop(Stop::World(error));
        let recorded = match self.world.recorded_answer(call) {
            Ok(recorded) => recorded,
            Err(error) => return ended(error),
        };
        let recorded = match recorded {
            Some(recorded) => recorded,
            None if !self.world.records_answers() => return carry_out(self),
            None => {
                self.is_off_record = true;
                let outcome = carry_out(self);
                self.is_off_record = false;
                if let Outcome::Stop(_) = outcome {
                    return outcome;
                }
                let recorded = match RecordedAnswer::of(call, &outcome) {
                    Ok(recorded) => recorded,
                    Err(reason) => return ended(WorldError::RecordingFailed { reason }),
                };
                if let Err(error) = self.world.note_answer(call, &recorded) {
                    return ended(error);
                }
                recorded
            }
        };
        let outcome = recorded.outcome(call, &mut self.program);
        outcome.unwrap_or_else(|reason| ended(WorldError::ReplayEnded { reason }))
    }

    /// Runs a text in the current module, inside the form that is being evaluated; gives what its `!` forms came to, up to one with an
    /// error among its results.
    ///
    /// # Errors
    /// It does not parse, is nested too deep, or must not be run here; what it did before stands.
    pub(crate) fn run_inside(&mut self, text: &str) -> Result<Vec<Vec<Atom>>, ModuleError> {
        self.run_forms_inside(text, None)
    }

    /// Evaluates an atom in the current module, inside the form that is being evaluated.
    ///
    /// # Errors
    /// As [`Session::run_inside`].
    pub(crate) fn evaluate_inside(&mut self, atom: &Atom) -> Result<Vec<Atom>, ModuleError> {
        let text = text_of_atoms(std::slice::from_ref(atom), true);
        let mut answers = self.run_forms_inside(&text, Some(std::slice::from_ref(atom)))?;
        Ok(answers.pop().unwrap_or_default())
    }

    fn run_forms_inside(&mut self, text: &str, given: Option<&[Atom]>) -> Result<Vec<Vec<Atom>>, ModuleError> {
        let refused = |message: &str| Err(ModuleError::Source { message: message.to_owned() });
        if self.is_off_record {
            return refused(OFF_RECORD);
        }
        if self.running.len() > IMPORT_DEPTH_MAX {
            return Err(ModuleError::TooDeep);
        }
        let pieces = Pieces::new(text, None);
        if self.view.is_some() && pieces.again().state_something() {
            return refused(&EffectRefused::STATEMENT.to_string());
        }
        let (mut answers, origin) = (Vec::new(), "the host");
        let module = self.current_module();
        let source = SourceRun { module, origin, file: None, pieces, given, traces_warnings: false };
        let run = self.run_in(source, &mut |_, event| {
            if let FormEvent::Outcome(answer) = event {
                answers.push(answer.results.to_vec());
            }
            Ok(())
        });
        self.note_end_inside(&run.end);
        match run.end {
            RunEnd::Finished | RunEnd::Error | RunEnd::Limit(_) => Ok(answers),
            RunEnd::NotParsed => {
                let message = run.first_error().map_or(String::new(), |error| error.message.clone());
                Err(ModuleError::Source { message })
            }
            RunEnd::World(error) => Err(ModuleError::World(error)),
            RunEnd::Effect(refused) => Err(ModuleError::Source { message: refused.to_string() }),
            RunEnd::RunRecord(error) => Err(ModuleError::Source { message: error.to_string() }),
        }
    }
}
