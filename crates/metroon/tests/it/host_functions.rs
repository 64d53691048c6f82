//! Functions of the host: called by both evaluators, recorded and played back, known again when a base is opened, and allowed to use the
//! engine that calls them.

use crate::tapes::Nobody;
use journal::{Disk, MemoryDisk};
use metroon::host::{EffectRefused, Environment, HostCall, HostEffects, HostFunction, HostSignature, Outcome};
use metroon::run::{EngineThread, ProgramEnd, RunRequest, WriterError};
use metroon::storage::CommitJournal;
use metroon::tape::{ReplayEnd, TapeReader};
use metroon::{Atom, Engine, Evaluator, KnowledgeBase, KnowledgeBaseOptions, MemoryWorld, RunEnd, Tape, ViewError};
use space::{Grounded, Number};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A function made of a closure.
struct Made<F>(F);

impl<F: Fn(&mut dyn Environment, &HostCall<'_>) -> Outcome + Send + Sync + 'static> HostFunction for Made<F> {
    fn call(&self, environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome {
        (self.0)(environment, call)
    }
}

fn made(
    function: impl Fn(&mut dyn Environment, &HostCall<'_>) -> Outcome + Send + Sync + 'static,
) -> Arc<dyn HostFunction> {
    Arc::new(Made(function))
}

fn signature(name: &str, type_text: &str, effects: HostEffects) -> HostSignature {
    HostSignature::new(name, type_text, effects).expect("it is a signature")
}

fn number(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Int(value))) => Some(*value),
        _ => None,
    }
}

/// Gives twice a number, and leaves alone what is none.
fn double() -> Arc<dyn HostFunction> {
    made(|_, call| {
        call.arguments.first().and_then(number).map_or(Outcome::NotReducible, |value| Outcome::one(2 * value))
    })
}

/// Counts how often it was called.
fn counting(count: &Arc<AtomicI64>) -> Arc<dyn HostFunction> {
    let count = Arc::clone(count);
    made(move |_, _| Outcome::one(count.fetch_add(1, Ordering::Relaxed) + 1))
}

/// The lines of results of a text.
fn answers(engine: &mut Engine, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    engine.run_text(text, &mut |_, answer| {
        lines.push(answer.results.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        Ok(())
    });
    lines
}

fn engines() -> [Engine; 2] {
    [Evaluator::Machine, Evaluator::Interpreter].map(|evaluator| {
        let mut engine = Engine::new(MemoryWorld::default());
        engine.session_mut().set_evaluator(evaluator);
        engine
    })
}

#[test]
fn both_evaluators_call_a_function_alike() {
    for mut engine in engines() {
        let number = signature("double", "(-> Number Number)", HostEffects::Pure);
        engine.add_function(&number, double()).expect("nothing is recorded");
        let any = signature("pair", "%Undefined%", HostEffects::Asks);
        let pair = made(|_, call| Outcome::Results(call.arguments.to_vec()));
        engine.add_function(&any, pair).expect("nothing is recorded");
        let found = answers(
            &mut engine,
            "(= (four $x) (double (double $x)))
             ! (four 3) ! (double (+ 1 1)) ! (double x) ! (collapse (double (superpose (1 2))))
             ! (pair (+ 1 2) (double 4)) ! (pair) ! (get-type double) ! (let $x (pair 1 2) (* $x 10))
             ! (map-atom (1 2) $x (double $x)) ! (double \"no\")",
        );
        let expected = [
            "12",
            "4",
            "(double x)",
            "(2 4)",
            "3, 8",
            "",
            "(-> Number Number)",
            "10, 20",
            "(2 4)",
            "(Error (double \"no\") (BadArgType 1 Number String))",
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn a_function_runs_texts_and_atoms_inside_the_form_that_calls_it() {
    for mut engine in engines() {
        let deeper = made(|environment, call| {
            let value = call.arguments.first().and_then(number).unwrap_or_default();
            let text = format!(
                "(seen {value}) ! (if (> {value} 0) (deeper (- {value} 1)) (collapse (match &self (seen $x) $x)))"
            );
            match environment.run_inside(&text) {
                Ok(answers) => Outcome::Results(answers.into_iter().flatten().collect()),
                Err(error) => Outcome::failure(error.to_string()),
            }
        });
        let declared = signature("deeper", "(-> Number Atom)", HostEffects::Pure);
        engine.add_function(&declared, deeper).expect("nothing is recorded");
        let evaluate = made(|environment, call| match environment.evaluate_inside(&call.arguments[0]) {
            Ok(results) => Outcome::Results(results),
            Err(error) => Outcome::failure(error.to_string()),
        });
        let declared = signature("evaluates", "(-> Atom Atom)", HostEffects::Pure);
        engine.add_function(&declared, evaluate).expect("nothing is recorded");
        assert_eq!(answers(&mut engine, "! (deeper 2) ! (evaluates (+ 1 (superpose (1 2))))"), ["(2 1 0)", "2, 3"]);
        let refused = answers(&mut engine, "! (deeper 1000)");
        assert!(refused[0].contains("nested deeper"), "{refused:?}");
        assert_eq!(answers(&mut engine, "! (size-atom (deeper 0))").len(), 1);
    }
}

#[test]
fn what_a_function_gave_is_recorded_and_played_back() {
    let program = RunRequest {
        expressions: vec![
            "! (next) ! (any $x) ! (let ($a $b) (any $y) (quote ($y $a $b))) ! (add-reduct &self (n (next))) ! (fails) ".to_owned(),
        ],
        ..RunRequest::default()
    };
    let functions = |count: &Arc<AtomicI64>| {
        let any = made(|_, call| {
            let fresh = Atom::variable("new");
            Outcome::Results(vec![Atom::expression([call.arguments[0].clone(), fresh])])
        });
        [
            (signature("next", "(-> Number)", HostEffects::Asks), counting(count)),
            (signature("any", "(-> Atom Atom)", HostEffects::Acts), any),
            (signature("fails", "(-> Atom)", HostEffects::Asks), made(|_, _| Outcome::failure("no luck"))),
        ]
    };
    let (disk, count): (Arc<dyn Disk>, _) = (Arc::new(MemoryDisk::new()), Arc::new(AtomicI64::new(0)));
    let world = MemoryWorld::default();
    let recorded = world.output();
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
    for (signature, function) in functions(&count) {
        engine.add_function(&signature, function).expect("it is recorded");
    }
    assert!(matches!(engine.run_program(&program, &mut Nobody), ProgramEnd::Error));
    engine.finish().expect("the tape ends");
    assert_eq!(count.load(Ordering::Relaxed), 2);

    let world = MemoryWorld::default();
    let replayed = world.output();
    let tape = TapeReader::on_disk(disk).expect("the tape is read");
    let (mut engine, again) = Engine::replaying(world, tape, None).expect("the tape begins");
    assert!(matches!(engine.run_program(&again, &mut Nobody), ProgramEnd::Error));
    assert!(matches!(engine.replayed(), Some((_, None))), "{:?}", engine.replayed());
    engine.finish().expect("the replay ends where the tape does");
    assert_eq!(replayed.printed(), recorded.printed());
}

#[test]
fn a_function_whose_calls_are_recorded_cannot_use_the_engine() {
    let program = RunRequest { expressions: vec!["! (adds)".to_owned()], ..RunRequest::default() };
    let world = MemoryWorld::default();
    let output = world.output();
    let tape = Tape::on_disk(Arc::new(MemoryDisk::new())).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
    let adds = made(|environment, _| match environment.run_inside("(fact 1)") {
        Ok(_) => Outcome::unit(),
        Err(error) => Outcome::failure(error.to_string()),
    });
    engine.add_function(&signature("adds", "(-> Atom)", HostEffects::Asks), adds).expect("it is recorded");
    engine.run_program(&program, &mut Nobody);
    assert!(output.printed()[0].contains("declare it pure"), "{:?}", output.printed());
    assert_eq!(engine.atom_count(), 0);
}

#[test]
fn a_replay_that_calls_something_else_says_so() {
    let record = |text: &str| {
        let program = RunRequest { expressions: vec![text.to_owned()], ..RunRequest::default() };
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
        let mut engine = Engine::remembering(MemoryWorld::default(), None, Some(tape), &program).expect("it begins");
        let (asks, pure) = (HostEffects::Asks, HostEffects::Pure);
        engine.add_function(&signature("asks", "(-> Number Number)", asks), double()).expect("it is recorded");
        engine.add_function(&signature("pure", "(-> Number Number)", pure), double()).expect("it is recorded");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("the tape ends");
        TapeReader::on_disk(disk).expect("the tape is read")
    };
    let (mut engine, program) =
        Engine::replaying(MemoryWorld::default(), record("! (asks (pure 1))"), None).expect("it begins");
    let other = made(|_, _| Outcome::one(7_i64));
    engine.supply_function(&signature("pure", "(-> Number Number)", HostEffects::Pure), other);
    engine.run_program(&program, &mut Nobody);
    match engine.replayed() {
        Some((0, Some(ReplayEnd::Differs(found)))) => {
            assert_eq!(found.recorded, ["call the host: (asks 2)"]);
            assert_eq!(found.replayed, ["call the host: (asks 7)"]);
        }
        other => panic!("{other:?}"),
    }
}

fn on(disk: &Arc<dyn Disk>) -> KnowledgeBase {
    let options = KnowledgeBaseOptions::new(MemoryWorld::default());
    KnowledgeBase::on_disk(Arc::clone(disk), "/base", options).expect("the base opens")
}

fn results(base: &KnowledgeBase, text: &str) -> Vec<String> {
    match base.run(text) {
        Ok(done) => done.answers.iter().flat_map(|answer| &answer.results).map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn a_base_knows_the_functions_of_its_rules_again() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let declared = signature("double", "(-> Number Number)", HostEffects::Pure);
    let base = on(&disk);
    base.add_function(declared.clone(), double()).expect("the writer is there");
    assert_eq!(results(&base, "(= (four $x) (double (double $x))) ! (four 3)"), ["12"]);
    let hash = base.view().hash();
    base.close().expect("it closes");
    let base = on(&disk);
    assert_eq!(base.view().hash(), hash);
    assert!(results(&base, "! (four 3)")[0].contains("double is a function of the host that is not registered"));
    base.add_function(declared, double()).expect("the writer is there");
    assert_eq!(results(&base, "! (four 3)"), ["12"]);
}

#[test]
fn a_view_carries_out_pure_functions_and_refuses_others() {
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it opens");
    let count = Arc::new(AtomicI64::new(0));
    base.add_function(signature("next", "(-> Number)", HostEffects::Asks), counting(&count)).expect("it is there");
    base.add_function(signature("double", "(-> Number Number)", HostEffects::Pure), double()).expect("it is there");
    let view = base.view();
    assert_eq!(view.evaluate("! (double 4)").expect("it is pure")[0].results[0].to_string(), "8");
    match view.evaluate("! (next)") {
        Err(ViewError::Effect(EffectRefused { operation, .. })) => assert_eq!(operation, "next"),
        other => panic!("{other:?}"),
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn an_identity_says_all_that_is_known() {
    for (name, type_text, effects) in [
        ("double", "(-> Number Number)", HostEffects::Pure),
        ("a:b@c", "%Undefined%", HostEffects::Asks),
        ("!", "(-> (List $t) \"x y\" $t)", HostEffects::Acts),
    ] {
        let Ok(declared) = HostSignature::new(name, type_text, effects) else {
            assert_eq!(name, "!", "a bang alone is no word");
            continue;
        };
        assert_eq!(HostSignature::of_identity(&declared.identity()), Some(declared));
    }
    for (name, type_text) in
        [("two words", "Number"), ("", "Number"), ("(a)", "Number"), ("1", "Number"), ("f", "(->"), ("f", "")]
    {
        let refused = HostSignature::new(name, type_text, HostEffects::Pure);
        assert_eq!(refused.is_err(), name != "1", "{name:?} {type_text:?}: {refused:?}");
    }
    assert_eq!(HostSignature::of_identity("double"), None);
}

#[test]
fn several_changes_are_one_commit_or_none() {
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it opens");
    let change = |keeps: bool| {
        base.transact(move |engine| {
            let changed = engine.transaction(|engine| {
                let seen =
                    [answers(engine, "(a) ! (add-atom &self (b))"), answers(engine, "! (collapse (get-atoms &self))")];
                (seen, keeps)
            });
            changed.expect("the commit is kept")
        })
    };
    assert_eq!(change(false).expect("it is done")[1], ["((a) (b))"]);
    assert_eq!((base.view().epoch(), base.view().atom_count()), (0, 0));
    assert_eq!(change(true).expect("it is done")[1], ["((a) (b))"]);
    assert_eq!((base.view().epoch(), base.view().atom_count()), (1, 2));
    base.run("(c)").expect("it runs");
    assert_eq!(base.view_at(1).expect("it is there").atom_count(), 2);
    assert!(base.view_at(3).is_err());
    let fork = base.fork(Some(1), KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it is forked");
    fork.run("(d) (e)").expect("it runs");
    assert_eq!((base.view().atom_count(), fork.view().atom_count()), (3, 4));
    assert_eq!((fork.view_at(1).expect("it is there").hash()), base.view_at(1).expect("it is there").hash());
}

#[test]
fn an_engine_on_a_thread_of_its_own_is_asked_and_waited_for() {
    let thread = EngineThread::start(4, || Ok(Engine::new(MemoryWorld::default()))).expect("it starts");
    let interrupt = thread.ask(|engine| engine.limits_mut().interrupt.clone()).expect("it is there");
    let forever = thread
        .submit(|engine| engine.run_text("(= (forever $n) (forever (+ $n 1))) ! (forever 0)", &mut |_, _| Ok(())).end)
        .expect("it is asked");
    assert!(forever.wait_for(Duration::from_millis(20)).expect("it is there").is_none());
    interrupt.cancel();
    assert!(matches!(forever.wait(), Ok(RunEnd::Limit(_))));
    let added = thread.ask(|engine| {
        engine.limits_mut().interrupt.reset();
        let atoms = [Atom::symbol("a"), Atom::expression([Atom::symbol("b"), Atom::from(held())])];
        let end = engine.run_atoms("here", &atoms, false, &mut |_, _| Ok(())).end;
        (matches!(end, RunEnd::Finished), engine.atom_count())
    });
    assert_eq!(added.expect("it is there"), (true, 3));
    thread.close().expect("it ends");
    assert!(matches!(thread.ask(|_| ()), Err(WriterError::Closed)));
}

/// A value of this process.
fn held() -> Grounded {
    struct Held;
    impl space::HostValue for Held {
        fn name(&self) -> &str {
            "<held (in a bracket>"
        }
        fn identity(&self) -> &str {
            "held"
        }
        fn type_atom(&self) -> Atom {
            Atom::symbol("Held")
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }
    Grounded::Host(Arc::new(Held))
}

#[test]
fn a_recording_with_a_base_plays_back_its_functions() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let program =
        RunRequest { expressions: vec!["! (add-reduct &self (n (next)))".to_owned()], ..RunRequest::default() };
    let base = CommitJournal::on_disk(Arc::new(MemoryDisk::new()), "/base").expect("a base is made");
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(MemoryWorld::default(), Some(base), Some(tape), &program).expect("it begins");
    let count = Arc::new(AtomicI64::new(41));
    engine
        .add_function(&signature("next", "(-> Number)", HostEffects::Asks), counting(&count))
        .expect("it is recorded");
    assert!(matches!(engine.run_program(&program, &mut Nobody), ProgramEnd::Finished));
    engine.finish().expect("the tape ends");
    let tape = TapeReader::on_disk(disk).expect("the tape is read");
    let (mut engine, again) = Engine::replaying(MemoryWorld::default(), tape, None).expect("the tape begins");
    assert!(matches!(engine.run_program(&again, &mut Nobody), ProgramEnd::Finished));
    assert_eq!(answers(&mut engine, "").len(), 0);
    assert!(matches!(engine.replayed(), Some((1, None))), "{:?}", engine.replayed());
}

/// A space that a host keeps in a list.
#[derive(Default)]
struct Listed(std::sync::Mutex<Vec<Atom>>);

impl space::HostValue for Listed {
    fn name(&self) -> &str {
        "listed"
    }
    fn identity(&self) -> &str {
        "listed"
    }
    fn type_atom(&self) -> Atom {
        Atom::symbol("SpaceType")
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn space(&self) -> Option<&dyn space::HostSpace> {
        Some(self)
    }
}

impl space::HostSpace for Listed {
    fn add(&self, atom: &Atom) -> Result<(), String> {
        if atom.is_symbol("forbidden") {
            return Err("this is not taken".to_owned());
        }
        self.0.lock().expect("no panic").push(atom.clone());
        Ok(())
    }
    fn remove(&self, atom: &Atom) -> Result<bool, String> {
        let mut atoms = self.0.lock().expect("no panic");
        let place = atoms.iter().position(|known| known == atom);
        Ok(place.map(|place| atoms.remove(place)).is_some())
    }
    fn atoms(&self) -> Result<Vec<Atom>, String> {
        Ok(self.0.lock().expect("no panic").clone())
    }
    fn query(&self, pattern: &Atom) -> Result<Vec<space::Solution>, String> {
        let variables = space::variables(pattern);
        let mut source = space::VariableSource::default();
        let mut found = Vec::new();
        for atom in self.atoms()? {
            let mut unifier = space::Unifier::under(space::Bindings::default(), &mut source);
            if unifier.unify(pattern, &atom) {
                found.extend(unifier.finish().iter().map(|bindings| bindings.solution_for(&variables)));
            }
        }
        Ok(found)
    }
}

#[test]
fn a_space_of_the_host_is_asked_and_changed() {
    for mut engine in engines() {
        let listed = Atom::Grounded(Grounded::Host(Arc::new(Listed::default())));
        engine
            .session_mut()
            .program_mut()
            .bind_maker(metroon::run::ModuleId::TOP, "&host", Arc::new(move |_| Some(listed.clone())))
            .expect("it is bound");
        let found = answers(
            &mut engine,
            "! (add-atom &host (edge a b)) ! (add-atom &host (edge a c)) ! (match &host (edge a $x) (to $x))
             (= (next $n) (match &host (edge $n $x) $x)) ! (collapse (next a)) ! (remove-atom &host (edge a b))
             ! (get-atoms &host) ! (get-type &host) ! (add-atom &host forbidden)",
        );
        let expected = [
            "()",
            "()",
            "(to b), (to c)",
            "(b c)",
            "()",
            "(edge a c)",
            "SpaceType",
            "(Error (add-atom listed forbidden) this is not taken)",
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn spaces_of_two_programs_are_told_apart() {
    let mut one = Engine::new(MemoryWorld::default());
    answers(&mut one, "(eq A B)");
    let space = Atom::from(one.session().top_space());
    for mut two in engines() {
        let other = space.clone();
        two.session_mut()
            .program_mut()
            .bind_maker(metroon::run::ModuleId::TOP, "&other", Arc::new(move |_| Some(other.clone())))
            .expect("it is bound");
        let found = answers(
            &mut two,
            "(eq C B) (= (find-in $s $x) (match $s (eq $y $x) $y)) ! (find-in &other B) ! (find-in &self B) ! (find-in &other B)",
        );
        assert_eq!(found, ["A", "C", "A"]);
    }
}
