//! Operations do what their specifications say and nothing else: each is called with many arguments, and what the call touched
//! is compared with its [`Effects`].

use super::every_operation;
use super::expressions::alpha_key;
use crate::bundled::BUNDLES;
use crate::effects::Effects;
use crate::operation::{Operation, Outcome};
use crate::service_requests::{ServiceAnswer, ServiceRequest};
use crate::session::Session;
use crate::types::{function_parts, is_function};
use crate::world::{FileId, OpenMode, World, WorldError};
use crate::{MemoryWorld, names};
use space::{Atom, Grounded, HostValue as _, SharedSpace};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Calls of each operation.
const CALLS: usize = 240;

/// A world that says what it was used for.
struct Watched {
    world: MemoryWorld,
    seen: Rc<Cell<Effects>>,
}

impl Watched {
    fn note(&mut self, effect: Effects) -> &mut MemoryWorld {
        self.seen.set(self.seen.get().and(effect));
        &mut self.world
    }
}

impl World for Watched {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        self.note(Effects::TELLS).print(line)
    }

    fn trace(&mut self, line: &str) {
        self.note(Effects::TELLS).trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        self.note(Effects::ASKS).read_source(path)
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        self.note(Effects::ASKS).has_source(path)
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        self.note(Effects::ASKS).read_standard_input()
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        self.note(Effects::ASKS).absolute_path(path)
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        self.note(Effects::ASKS).now()
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        self.note(Effects::ASKS).random()
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        self.note(Effects::ASKS).environment(name)
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        let effects = if mode.is_outward() { Effects::ASKS.and(Effects::TELLS) } else { Effects::ASKS };
        self.note(effects).open_file(path, mode)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        self.note(Effects::ASKS).read_file(file, bytes_max)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        self.note(Effects::TELLS).write_file(file, bytes)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        self.note(Effects::ASKS).seek_file(file, position)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        self.note(Effects::ASKS).file_size(file)
    }

    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        let effects = if request.is_outward() { Effects::ASKS.and(Effects::TELLS) } else { Effects::ASKS };
        self.note(effects).ask_service(request)
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        self.note(Effects::ASKS).close_file(file)
    }
}

/// A session with something of everything that an operation may take, read or change.
struct Bench {
    session: Session,
    seen: Rc<Cell<Effects>>,
    arguments: Vec<Atom>,
    spaces: Vec<SharedSpace>,
}

/// The facts of a program, and those of another one that differs in all that can be read.
const CONTENTS: [&str; 2] = [
    "(@doc f (@desc \"one\")) (f a) (f b) (: a A) (= (g) 1) !(bind! &s (new-space)) !(add-atom &s (f a)) !(bind! &c (new-state 1)) \
     !(live a (f $x) $x)",
    "(@doc f (@desc \"two\")) (f c) (: a B) (= (g) 2) (= (g) 3) !(bind! &s (new-space)) !(add-atom &s (f z)) !(bind! &c (new-state 2)) \
     !(live a (f $x) $x) !(live b (f $x) $x) !(pragma! semantics strict)",
];

/// What an operation is called with.
const ARGUMENTS: &str = "!(superpose (&self &s &c &rng &seeded &file &store &pages 0 1 2.5 -3 \"r\" \"rw\" \"a {}\" \"{}\" \"file\" True False \
     a $x $y () (1 2 3) (f $x) (\"b\" \"a\") (a $x) ((a 1)) ((f a) (f z)) (: a A) Number (-> Number Number) type-check semantics auto bundled \
     (@param (@type A) (@desc \"d\")) ((put 1 2) (delete a)) ((from 1) backward) \
     ((create \"b\" i4 (1 2)) (write \"a\" 0 (3))) (page 0)))";

impl Bench {
    fn new(contents: &str) -> Self {
        let seen = Rc::new(Cell::new(Effects::NONE));
        let world = MemoryWorld::default().with_source("file", "some text").with_source("r", "some more");
        let mut session = Session::new(Box::new(Watched { world, seen: seen.clone() }));
        let imports: String = BUNDLES.iter().map(|bundle| format!("!(import! &self {})", bundle.name)).collect();
        let more = "!(bind! &file (file-open! \"file\" \"rwc\")) !(bind! &seeded (new-random-generator 1)) !(bind! &store (store-open! \"s\")) \
         !(bind! &pages (pages-open! \"p\")) !(pages-commit! &pages ((create \"a\" f8 4)))";
        let mut arguments = Vec::new();
        for text in [imports.as_str(), contents, more, ARGUMENTS] {
            arguments.clear();
            session.run(text, &mut |_, answer| {
                arguments.extend(answer.results.iter().cloned());
                Ok(())
            });
        }
        assert!(arguments.len() > 20 && !arguments.iter().any(names::is_error), "{arguments:?}");
        let program = session.program();
        // Nothing changes what the library and the modules that come with it hold: only an import would.
        let bundled = 2..2 + BUNDLES.len() as u64;
        let serials = (1..program.space_count() as u64).filter(|serial| !bundled.contains(serial));
        let spaces = serials.filter_map(|serial| program.space(serial)).collect();
        Self { session, seen, arguments, spaces }
    }

    /// What operations change, as text.
    fn state(&mut self) -> String {
        let source = self.session.program_mut().variables();
        // The variables of rules have other numbers each time.
        let mut atoms = |space: &SharedSpace| -> Vec<Atom> {
            space.without_imports().atoms(source).iter().map(alpha_key).collect()
        };
        let spaces: Vec<Vec<Atom>> = self.spaces.iter().map(&mut atoms).collect();
        let states: Vec<Atom> = self.arguments.iter().filter_map(value_of_state).collect();
        let transactions = self.session.transactions.depth();
        let program = self.session.program();
        let tokenizer = program.tokenizer_of(crate::ModuleId::TOP).expect("the program has words");
        let settings: Vec<_> = ["type-check", "semantics", "a", "live-queries", "live-told"]
            .map(|key| program.setting(key).cloned())
            .into();
        let words: Vec<Atom> = ["a", "auto"].map(|word| tokenizer.atom(word)).into();
        let modules = program.module_paths();
        let seeds = program.generators()[..2].iter().map(|one| format!("{one:?}")).collect::<Vec<_>>();
        format!("{spaces:?} {states:?} {settings:?} {words:?} {modules:?} {seeds:?} {transactions}")
    }

    /// How many things with an identity of their own there are.
    fn made(&self) -> (usize, usize, usize) {
        let program = self.session.program();
        (program.space_count(), program.state_count(), program.generators().len())
    }

    /// Calls an operation: what it came to, and what it touched of what can be changed or asked.
    fn call(&mut self, head: &Atom, arguments: &[Atom]) -> (String, Effects) {
        let (state, made) = (self.state(), self.made());
        self.seen.set(Effects::NONE);
        let space = self.session.top_space();
        let operation = Operation::of(head).expect("it is an operation");
        let outcome = operation.call(&mut self.session, head, arguments, &space);
        let mut touched = self.seen.get();
        if self.state() != state {
            touched = touched.and(Effects::CHANGES);
        }
        if self.made() != made {
            touched = touched.and(Effects::MAKES);
        }
        (shown(&outcome), touched)
    }
}

fn value_of_state(atom: &Atom) -> Option<Atom> {
    match atom {
        Atom::Grounded(Grounded::State(state)) => Some(state.value()),
        _ => None,
    }
}

/// An outcome as text, the same for any numbers of new variables.
fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Results(results) => format!("{:?}", results.iter().map(alpha_key).collect::<Vec<_>>()),
        Outcome::Solutions(solutions) => {
            format!("{:?}", solutions.iter().map(|(_, atom)| alpha_key(atom)).collect::<Vec<_>>())
        }
        Outcome::NotReducible => "not reducible".to_owned(),
        Outcome::Failure(message) => format!("failure {}", alpha_key(message)),
        Outcome::Stop(stop) => format!("stop {stop:?}"),
    }
}

/// Whether an atom is what a parameter asks for.
fn fits(formal: &Atom, atom: &Atom) -> bool {
    match (formal.to_string().as_str(), atom) {
        ("Number", Atom::Grounded(Grounded::Number(_)))
        | ("String", Atom::Grounded(Grounded::Text(_)))
        | ("SpaceType", Atom::Grounded(Grounded::Space(_)))
        | ("Bool", Atom::Grounded(Grounded::Bool(_)))
        | ("Variable", Atom::Variable(_))
        | ("Symbol", Atom::Symbol(_))
        | ("Expression", Atom::Expression(_))
        | ("(StateMonad $t)", Atom::Grounded(Grounded::State(_)))
        | ("Atom" | "%Undefined%" | "$t" | "Type", _) => true,
        (name, Atom::Grounded(Grounded::Host(value))) => value.type_atom().is_symbol(name),
        _ => false,
    }
}

/// The arguments of the calls of an operation, as places in the list of what there is: at first such as its type asks for.
fn calls(bench: &Bench, operation: &Operation) -> Vec<Vec<usize>> {
    let type_atom = operation.type_atom();
    let formals = is_function(&type_atom).then(|| function_parts(&type_atom).0.to_vec());
    let mut word = 88_172_645_463_325_252_u64;
    let mut below = |most: usize| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        (word % most as u64) as usize
    };
    let all: Vec<usize> = (0..bench.arguments.len()).collect();
    let mut found = Vec::new();
    for round in 0..CALLS {
        let count = formals.as_ref().map_or_else(|| below(5), Vec::len);
        let choose = |place: usize| {
            let formal = formals.as_ref().map(|formals| &formals[place]).filter(|_| round < CALLS * 3 / 4);
            let fitting: Vec<usize> = match formal {
                Some(formal) => all.iter().copied().filter(|&one| fits(formal, &bench.arguments[one])).collect(),
                None => all.clone(),
            };
            if fitting.is_empty() { all[below(all.len())] } else { fitting[below(fitting.len())] }
        };
        found.push((0..count).map(choose).collect());
    }
    found
}

#[test]
fn operations_touch_what_their_specifications_say() {
    let runs_sources = Effects::ANY.without(Effects::DEFINES);
    for spec in every_operation().filter(|spec| !spec.effects.have(runs_sources)) {
        let mut benches = CONTENTS.map(Bench::new);
        // The library alone opens and closes transactions.
        let is_inner = ["_open-transaction", "_close-transaction"].contains(&spec.name);
        let home = if is_inner { crate::ModuleId::LIBRARY } else { crate::ModuleId::TOP };
        let head = super::operation(spec.name, home).expect("the library has it");
        let operation = Operation::of(&head).expect("it is an operation");
        let mut touched = Effects::NONE;
        for (round, call) in calls(&benches[0], operation).into_iter().enumerate() {
            if round == CALLS / 2 {
                for bench in &mut benches {
                    bench.session.open_transaction();
                }
            }
            let answers = benches.each_mut().map(|bench| {
                let arguments: Vec<Atom> = call.iter().map(|&place| bench.arguments[place].clone()).collect();
                bench.call(&head, &arguments)
            });
            let shown: Vec<String> = call.iter().map(|&place| benches[0].arguments[place].to_string()).collect();
            for (_, now) in &answers {
                assert!(spec.effects.have(*now), "({} {shown:?}) touches {now:?}, not {:?}", spec.name, spec.effects);
                touched = touched.and(*now);
            }
            // A text that shows a state shows what it holds.
            let shows_state = call.iter().any(|&place| value_of_state(&benches[0].arguments[place]).is_some());
            if spec.effects == Effects::NONE && !shows_state {
                let [(here, _), (there, _)] = &answers;
                assert_eq!(here, there, "({} {shown:?}) reads what others change", spec.name);
            }
        }
        let unseen = spec.effects.without(Effects::READS).without(touched);
        let plain = [Effects::MAKES, Effects::CHANGES, Effects::ASKS, Effects::TELLS];
        // Without a memory, nothing is committed and there is no past, and nothing follows live queries.
        let needs_memory = ["commit!", "as-of", "_changes"].contains(&spec.name);
        let is_unseen = plain.into_iter().any(|one| unseen.have(one));
        assert!(needs_memory || !is_unseen, "{} was never seen to do {unseen:?}", spec.name);
    }
}
