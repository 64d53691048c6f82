//! Live queries with names: they are part of the program, and it is told the same of them however it is run.

use crate::history::{DIRECTORY, engine, results, run};
use crate::live::{new_base, on, queries, random_commit, run as run_in, told, unnumbered};
use crate::live_rules::dice;
use crate::tapes::Nobody;
use generate::seeds;
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{Disk, MemoryDisk};
use metroon::live::{AnswerChange, LiveFollower, LiveNameError, LiveRequestError, SubscribeError};
use metroon::run::{RunRequest, Source};
use metroon::storage::CommitJournal;
use metroon::tape::{ReplayEnd, TapeReader};
use metroon::{Atom, Engine, Evaluator, KnowledgeBase, LiveEvent, LiveRequest, MemoryWorld, RunEnd, Tape};
use std::collections::BTreeMap;
use std::sync::Arc;

const IMPORT: &str = "!(import! &self live-queries)";

/// What the `!` forms of a text print in a run that nobody follows.
fn plainly(text: &str, evaluator: Evaluator) -> Vec<String> {
    let mut engine = Engine::new(MemoryWorld::default());
    engine.session_mut().set_evaluator(evaluator);
    run(&mut engine, text).0
}

fn names(base: &KnowledgeBase) -> Vec<String> {
    base.live_queries().into_iter().map(|query| query.name).collect()
}

#[test]
fn a_registration_is_there_when_the_base_is_opened_again() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut first = engine(&disk, MemoryWorld::default());
    let (printed, _) = run(
        &mut first,
        "!(import! &self live-queries) (n 1) !(live numbers (n $x) $x) !(changes numbers) !(add-atom &self (n 2))",
    );
    assert_eq!(printed[1..], ["[()]", "[(added 1 2)]", "[()]"]);
    first.finish().expect("it closes");
    // What came before is found in the journal, what comes now is followed; also where a checkpoint is there.
    for number in 0..3 {
        let mut again = engine(&disk, MemoryWorld::default());
        if number == 2 {
            again.checkpoint().expect("it is written");
        }
        let expected = ["[(added 2 4)]", "[(removed 1 6), (added 30 6)]", "[(removed 30 9), (added 31 9)]"][number];
        assert_eq!(run(&mut again, "!(changes numbers)").0, [expected]);
        assert_eq!(run(&mut again, "!(changes numbers)").0, ["[]"]);
        let changed = [
            "!(let $x (remove-atom &self (n 1)) (add-atom &self (n 30)))",
            "!(changes numbers 6) !(add-atom &self (m 1)) !(changes numbers 4) \
             !(let $x (remove-atom &self (n 30)) (add-atom &self (n 31)))",
            "",
        ][number];
        let (printed, _) = run(&mut again, changed);
        if number == 1 {
            assert_eq!(printed, ["[]", "[()]", "[(removed 1 6), (added 30 6)]", "[()]"]);
        }
        again.finish().expect("it closes");
    }
    let base = on(disk);
    assert_eq!(names(&base), ["numbers"]);
    let mut followed = base.subscribe(&LiveRequest::named("numbers")).expect("it is there");
    assert!(told(&mut followed)[0].contains("+2"));
}

#[test]
fn what_is_registered_in_a_transaction_is_undone_with_it() {
    let base = new_base();
    run_in(&base, IMPORT);
    run_in(&base, "(n 1) !(live kept (n $x) $x)");
    for call in ["(live gone (n $x) $x)", "(live-end kept)", "(on-change kept f)"] {
        run_in(&base, &format!("!(case (transaction (let $done {call} (Error no no))) (($error undone)))"));
        assert_eq!(names(&base), ["kept"]);
        assert!(base.live_queries()[0].functions.is_empty());
    }
    // What was told and undone is told again.
    let text =
        "!(case (transaction (let $told (collapse (changes kept)) (Error $told no))) (((Error $told no) $told)))";
    let told = |text: &str| base.run(text).expect("it runs").answers[0].results[0].to_string();
    let first = told(text);
    assert!(first.starts_with("((added 1 "), "{first}");
    assert_eq!(told("!(collapse (changes kept))"), first);
    assert_eq!(told("!(collapse (changes kept))"), "()");
}

/// Each named query of a history is what asking anew finds, after each commit, by what the program is told.
fn history(seed: u64) {
    let mut dice = dice(seed);
    let disk = Arc::new(MemoryDisk::new());
    let mut base = on(Arc::clone(&disk) as Arc<dyn Disk>);
    run_in(&base, IMPORT);
    let queries = queries();
    for (number, (request, _)) in queries.iter().enumerate() {
        base.add_live_query(&format!("q{number}"), request).expect("it is a query");
    }
    let mut held: Vec<BTreeMap<String, i64>> = vec![BTreeMap::new(); queries.len()];
    let mut last = vec![0; queries.len()];
    for number in 0..12 {
        let commit = random_commit(&mut dice);
        run_in(&base, &commit);
        for (place, (request, asked)) in queries.iter().enumerate() {
            // In some commits nobody asks, so that several wait.
            if dice(3) == 0 {
                continue;
            }
            let answers = base.run(&format!("!(changes q{place}) !{asked}")).expect("it runs").answers;
            for news in &answers[0].results {
                let (change, epoch) = change_of(news);
                assert!(epoch >= last[place], "seed {seed}: {news} comes late");
                last[place] = epoch;
                take(&mut held[place], &change);
            }
            let mut found: BTreeMap<String, i64> = BTreeMap::new();
            answers[1].results.iter().for_each(|answer| *found.entry(unnumbered(answer.to_string())).or_default() += 1);
            assert_eq!(held[place], found, "seed {seed}, after {commit}, {request:?}");
        }
        if number % 4 == 3 {
            base.close().expect("it closes");
            base = on(Arc::clone(&disk) as Arc<dyn Disk>);
        }
    }
}

/// Takes a change; variables that were made for an answer have other numbers each time.
fn take(held: &mut BTreeMap<String, i64>, change: &AnswerChange) {
    for (answer, copies) in [(&change.before, -1), (&change.after, 1)] {
        if let Some(answer) = answer {
            *held.entry(unnumbered(answer.to_string())).or_default() += copies;
        }
    }
    held.retain(|_, copies| *copies != 0);
    assert!(held.values().all(|copies| *copies > 0), "what was not there went: {held:?}");
}

/// What a program was told, as a change, and its commit.
fn change_of(news: &Atom) -> (AnswerChange, u64) {
    let parts = news.children().expect("it is an expression");
    let epoch = parts.last().expect("it has a commit").to_string().parse().expect("it is a number");
    let (before, after) = match (parts[0].to_string().as_str(), &parts[1..parts.len() - 1]) {
        ("added", [come]) => (None, Some(come.clone())),
        ("removed", [gone]) => (Some(gone.clone()), None),
        ("changed", [before, after]) => (Some(before.clone()), Some(after.clone())),
        other => panic!("{other:?}"),
    };
    (AnswerChange { before, after, copies: 1 }, epoch)
}

#[test]
fn any_history_of_commits_tells_a_program_what_asking_anew_finds() {
    seeds(0..12).for_each(history);
}

/// A program in which all that there is of live queries happens.
const PROGRAM: &str = "!(import! &self live-queries)
(order Ann tea 3) (order Bob cake 7) (road a b) (road b c)
(= (reach $x) (match &self (road $x $y) $y))
(= (reach $x) (let $z (reach $x) (match &self (road $z $y) $y)))
!(live-with spent (order $who $what $price) (spent $who $price) ((sum $price)))
!(live-with reached (reach a) $y ((result $y)))
(: tell (-> Atom %Undefined%))
(= (tell $change) (println! $change))
!(on-change spent tell)
!(on-change reached tell)
!(changes spent)
!(changes reached)
!(add-atom &self (order Ann pie 0.5))
!(case (transaction (let $x (add-atom &self (order Cid air 9)) (Error no no))) (($e undone)))
!(let $seed (random-int &rng 0 100) (add-atom &self (seed $seed)))
!(bind! &made (new-space))
!(bind! &state (new-state 1))
!(change-state! &state 2)
!(let* (($x (remove-atom &self (road b c))) ($y (add-atom &self (road b d)))) (changes reached))
!(let* (($x (add-atom &self (order Bob oil 2))) ($done (commit!)) ($y (remove-atom &self (order Bob oil 2)))) (changes spent))
!(changes reached)
!(changes spent)
(order Dan jam 1)";

#[test]
fn a_run_is_told_the_same_with_and_without_a_base_or_a_tape() {
    let program = || RunRequest { files: vec!["live.metta".to_owned()], ..RunRequest::default() };
    let world = || MemoryWorld::default().with_source("live.metta", PROGRAM);
    let printed = |base: Option<CommitJournal>, tape: Option<Tape>, evaluator: Evaluator| {
        let world = world();
        let output = world.output();
        let program = RunRequest { evaluator, ..program() };
        let mut engine = Engine::remembering(world, base, tape, &program).expect("it begins");
        engine.run_program(&program, &mut Nobody);
        engine.finish().expect("it ends");
        output.printed()
    };
    let expected = printed(None, None, Evaluator::Machine);
    let shown = expected.join("\n");
    assert!(shown.contains("[(added (spent Ann 3) 5), (added (spent Bob 7) 5)]"), "{shown}");
    assert!(shown.contains("(changed (spent Ann 3) (spent Ann 3.5) 8)"), "{shown}");
    assert!(shown.ends_with("(added (spent Dan 1) 18)"), "{shown}");
    assert_eq!(printed(None, None, Evaluator::Interpreter), expected);
    let disk = || -> Arc<dyn Disk> { Arc::new(MemoryDisk::new()) };
    let base = || CommitJournal::on_disk(disk(), DIRECTORY).expect("it opens");
    assert_eq!(printed(Some(base()), None, Evaluator::Machine), expected);
    for base in [None, Some(base())] {
        let tape = disk();
        let recorded = Tape::on_disk(Arc::clone(&tape)).expect("a tape is made");
        assert_eq!(printed(base, Some(recorded), Evaluator::Machine), expected);
        assert_eq!(replayed(tape), expected);
    }
}

/// What a tape prints when it is replayed, which ends as it did.
fn replayed(tape: Arc<dyn Disk>) -> Vec<String> {
    let world = MemoryWorld::default().with_seed(99);
    let output = world.output();
    let tape = TapeReader::on_disk(tape).expect("the tape opens");
    let (mut engine, program) = Engine::replaying(world, tape, None).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    let (commits, ended): (u64, Option<ReplayEnd>) = engine.replayed().expect("it replays");
    assert!(commits > 0 && ended.is_none(), "{ended:?}");
    engine.finish().expect("it ends as it did");
    output.printed()
}

/// A run that goes on in a base, is recorded, and asks for what has changed before.
#[test]
fn the_tape_of_a_run_that_asks_for_changes_of_earlier_runs_is_replayed() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut first = engine(&disk, MemoryWorld::default());
    run(&mut first, &format!("{IMPORT} !(live n (n $x) $x) !(changes n) (n 1) (n 2)"));
    first.finish().expect("it closes");
    let expressions = vec!["!(changes n) (n 3) !(changes n 1) !(changes n)".to_owned()];
    let program = RunRequest { expressions, ..RunRequest::default() };
    let (world, tape): (_, Arc<dyn Disk>) = (MemoryWorld::default(), Arc::new(MemoryDisk::new()));
    let output = world.output();
    let base = CommitJournal::on_disk(disk, DIRECTORY).expect("it opens");
    let recorded = Tape::on_disk(Arc::clone(&tape)).expect("a tape is made");
    let mut engine = Engine::remembering(world, Some(base), Some(recorded), &program).expect("it begins");
    engine.run_program(&program, &mut Nobody);
    engine.finish().expect("it ends");
    assert_eq!(output.printed(), ["[(added 1 4), (added 2 4)]", "[(added 1 4), (added 2 4)]", "[(added 3 6)]"]);
    assert_eq!(replayed(tape), output.printed());
}

#[test]
fn every_thread_that_follows_a_name_hears_the_same() {
    let heard = |threads: usize| {
        let base = new_base();
        run_in(&base, IMPORT);
        run_in(&base, "!(live-with sums (n $who $x) ($who $x) ((sum $x)))");
        let log: Vec<Vec<(u64, String)>> = std::thread::scope(|scope| {
            let follow = || {
                let followed = base.subscribe(&LiveRequest::named("sums")).expect("it is there");
                scope.spawn(move || {
                    let mut log = Vec::new();
                    for event in followed {
                        if let LiveEvent::Changes { epoch, changes } = event.expect("it is told") {
                            log.push((epoch, format!("{changes:?}")));
                        }
                    }
                    log
                })
            };
            let following: Vec<_> = (0..threads).map(|_| follow()).collect();
            for number in 0..40 {
                run_in(&base, &format!("!(add-atom &self (n {} {number}))", number % 3));
                run_in(&base, &format!("!(remove-atom &self (n {} {}))", number % 3, number / 2));
            }
            base.close().expect("it closes");
            following.into_iter().map(|thread| thread.join().expect("it follows")).collect()
        });
        assert!(log.iter().all(|other| *other == log[0]) && log[0].len() > 40);
        log[0].clone()
    };
    let one = heard(1);
    assert_eq!(heard(2), one);
    assert_eq!(heard(8), one);
}

/// Functions that put down what they are called with.
const FUNCTIONS: &str = "!(import! &self live-queries)
(: first (-> Atom %Undefined%)) (: second (-> Atom %Undefined%)) (: count-on (-> Atom %Undefined%))
(= (first $change) (println! (one $change)))
(= (second $change) (println! (two $change)))
(= (count-on (added (step $n) $commit)) (if (> $n 0) (let $less (- $n 1) (add-atom &self (step $less))) (println! (end $commit))))
!(live numbers (n $x) $x)
!(live steps (step $n) (step $n))";

#[test]
fn functions_are_called_in_order_after_the_commit_and_before_the_next_form() {
    for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
        let world = MemoryWorld::default();
        let output = world.output();
        let mut engine = Engine::new(world);
        engine.session_mut().set_evaluator(evaluator);
        let mut seen = 0;
        let mut ran = |text: &str| {
            let (printed, end) = run(&mut engine, text);
            assert!(matches!(end, RunEnd::Finished), "{text}: {printed:?}, {end:?}");
            let lines = output.printed().split_off(seen);
            seen += lines.len();
            lines
        };
        ran(FUNCTIONS);
        ran("!(on-change numbers first) !(on-change numbers second) !(on-change numbers first)");
        let printed =
            ran("!(let* (($a (add-atom &self (n 1))) ($b (add-atom &self (n 2)))) (println! form)) !(println! next)");
        assert_eq!(
            printed,
            ["form", "(one (added 1 6))", "(two (added 1 6))", "(one (added 2 6))", "(two (added 2 6))", "next"]
        );
        // Plain forms are committed at the end of the text, or with the next form.
        assert_eq!(ran("(n 3)"), ["(one (added 3 7))", "(two (added 3 7))"]);
        assert_eq!(ran("!(transaction (add-atom &self (m 1)))"), [""; 0]);
        // What a function changes is followed in its turn.
        ran("!(on-change steps count-on)");
        assert_eq!(ran("!(add-atom &self (step 300)) !(println! next)"), ["(end 310)", "next"]);
        ran("!(live-end numbers)");
        assert_eq!(ran("(n 4)"), [""; 0]);
    }
}

#[test]
fn functions_that_call_each_other_without_an_end_are_stopped() {
    for evaluator in [Evaluator::Machine, Evaluator::Interpreter] {
        let mut engine = Engine::new(MemoryWorld::default());
        engine.session_mut().set_evaluator(evaluator);
        let text = "!(import! &self live-queries) !(live n (n $x) $x) (= (more (added $x $c)) (let $y (+ $x 1) (add-atom &self (n $y))))
            !(on-change n more) !(add-atom &self (n 0)) !(never run)";
        let (printed, end) = run(&mut engine, text);
        assert!(matches!(end, RunEnd::Error), "{end:?}");
        assert_eq!(printed.len(), 5, "{printed:?}");
        let told = &printed[4];
        assert!(told.starts_with("[(Error (more (added 1000 ") && told.contains("1000 times in a row"), "{told}");
        // What was committed stands, and the run can go on.
        let (printed, end) = run(&mut engine, "!(count-results (match &self (n $x) $x)) !(live-end n) (n -1)");
        assert!(printed == ["[1001]", "[()]"] && matches!(end, RunEnd::Finished), "{printed:?}, {end:?}");
    }
}

#[test]
fn a_function_that_fails_ends_the_run_as_a_form_would() {
    let base = new_base();
    run_in(
        &base,
        "!(import! &self live-queries) !(live n (n $x) $x) (= (fail (added $x $c)) (Error $x bad)) !(on-change n fail)",
    );
    let error = base.run("(n 1) !(add-atom &self (n 2)) !(never run)").expect_err("it fails").to_string();
    assert!(error.contains("(Error 1 bad)"), "{error}");
    run_in(&base, "!(live-end n) (n 3)");
    assert_eq!(base.view().query("(n $x)", "$x").expect("it is asked").len(), 3);
}

#[test]
fn names_are_checked_and_followed_by_name() {
    let base = new_base();
    run_in(&base, "(order Ann tea 3)");
    let request = || LiveRequest::new("(order $who $what $price)").template("(spent $who $price)").sum("$price");
    let refused = |name: &str, request: LiveRequest| match base.add_live_query(name, &request) {
        Err(error) => error.to_string(),
        Ok(()) => panic!("{name} is registered"),
    };
    base.add_live_query("spent", &request()).expect("it is a query");
    assert!(refused("spent", request()).contains("there is a live query spent already"));
    assert!(refused("(a b)", request()).contains("cannot be the name"));
    assert!(refused("more", request().key("$nobody")).contains("$nobody"));
    let query = &base.live_queries()[0];
    assert_eq!((query.name.as_str(), query.pattern.as_str()), ("spent", "(order $who $what $price)"));
    assert_eq!(query.options, ["(sum $price)"]);
    let mut followed = base.subscribe(&LiveRequest::named("spent")).expect("it is there");
    assert_eq!(told(&mut followed), ["2: +(spent Ann 3)", "2: end of 1"]);
    run_in(&base, "(order Ann pie 4)");
    assert_eq!(told(&mut followed), ["3: ~(spent Ann 3) -> (spent Ann 7)"]);
    // Whoever goes on after a commit before the registration follows what the name means now.
    let mut late = base.subscribe_with(&LiveRequest::named("spent"), 100, Some(0)).expect("it is there");
    assert_eq!(told(&mut late), ["1: +(spent Ann 3)", "3: ~(spent Ann 3) -> (spent Ann 7)"]);
    match base.subscribe(&LiveRequest::named("spend")).map(|_| ()) {
        Err(SubscribeError::Request(LiveRequestError::Unknown(message))) => {
            assert_eq!(message, "there is no live query spend; did you mean spent?");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(base.end_live_query("spend"), Err(LiveNameError::Refused(_))));
    base.end_live_query("spent").expect("it is there");
    assert!(base.live_queries().is_empty());
}

#[test]
fn what_waits_too_long_is_given_up_or_found_in_the_journal() {
    const MANY: u64 = 20_000;
    let begin = "!(import! &self live-queries) !(live n (n $x) $x) !(changes n)";
    let facts: String = (0..MANY).map(|number| format!("(n {number})")).collect();
    let ask = "(n last) !(+ 1 1) !(changes n)";
    let told = plainly(&format!("{begin} !(add-atom &self (m 1)) {facts} !(+ 1 1) {ask}"), Evaluator::Machine);
    let last = told.last().expect("it is asked");
    assert_eq!(last, "[(dropped 3 5), (added last 6)]");
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut engine = engine(&disk, MemoryWorld::default());
    run(&mut engine, &format!("{begin} !(add-atom &self (m 1)) {facts} !(+ 1 1)"));
    let found = results(&mut engine, ask);
    assert_eq!(found.len() as u64, MANY + 1);
    assert_eq!(found[0].to_string(), "(added 0 5)");
}

/// Registrations, changes and ends, each a commit.
const SCRIPT: [&str; 8] = [
    IMPORT,
    "!(live numbers (n $x) $x)",
    "(n 1) (n 2)",
    "!(live-with sum (n $x) (sum $x) ((sum $x)))",
    "!(changes numbers)",
    "!(on-change sum note)",
    "!(live-end numbers)",
    "(n 3)",
];

/// Runs the script until something fails; gives how many steps were acknowledged.
fn run_script(disk: &SimulatedDisk) -> usize {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let Ok(base) = CommitJournal::on_disk(shared, DIRECTORY) else { return 0 };
    let Ok(mut engine) = Engine::with_base(MemoryWorld::default(), base) else { return 0 };
    for (number, text) in SCRIPT.iter().enumerate() {
        let mut has_answer = false;
        let run = engine.run_source(&Source::text(text), &mut |_, _| {
            has_answer = true;
            Ok(())
        });
        if !matches!(run.end, RunEnd::Finished) {
            return number + usize::from(has_answer);
        }
    }
    SCRIPT.len()
}

/// The queries that are registered, with what is called, and the last commit.
fn registered(disk: &SimulatedDisk, context: &str) -> (u64, Vec<String>) {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let base = CommitJournal::on_disk(shared, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error}"));
    let opened = Engine::with_base(MemoryWorld::default(), base);
    let mut engine = opened.unwrap_or_else(|error| panic!("{context}: {error}"));
    let queries = engine.live_queries();
    let names = queries.iter().map(|query| format!("{}{:?}", query.name, query.functions)).collect();
    let epoch = engine.epoch().expect("it is a base");
    // It goes on.
    let (printed, end) = run(&mut engine, "!(add-atom &self (n 100))");
    assert!(matches!(end, RunEnd::Finished), "{context}: {printed:?}, {end:?}");
    if names_have(&queries, "sum") {
        let told = results(&mut engine, "!(changes sum 0)");
        assert!(!told.is_empty(), "{context}");
    }
    (epoch, names)
}

fn names_have(queries: &[metroon::live::NamedLiveQuery], name: &str) -> bool {
    queries.iter().any(|query| query.name == name)
}

#[test]
fn power_loss_at_every_operation_leaves_the_registrations_of_acknowledged_commits() {
    let expected: Vec<Vec<String>> = [
        &[][..],
        &[],
        &["numbers[]"],
        &["numbers[]"],
        &["numbers[]", "sum[]"],
        &["numbers[]", "sum[]"],
        &["numbers[]", "sum[\"note\"]"],
        &["sum[\"note\"]"],
        &["sum[\"note\"]"],
    ]
    .map(|names| names.iter().map(|&name| name.to_owned()).collect())
    .to_vec();
    let whole = SimulatedDisk::new();
    assert_eq!(run_script(&whole), SCRIPT.len());
    let operations = whole.operations();
    for operation in 0..=operations {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = run_script(&disk);
        for fate in Fate::ALL {
            let context = format!("operation {operation}, {fate:?}");
            let (epoch, names) = registered(&disk.power_loss(fate, operation), &context);
            assert!(epoch as usize >= acknowledged, "{context}: commit {epoch}, and {acknowledged} were acknowledged");
            assert_eq!(names, expected[epoch as usize], "{context}: commit {epoch}");
        }
    }
}

#[test]
fn another_process_follows_a_name_by_the_journal() {
    let folder = std::env::temp_dir().join(format!("metroon-live-named-{}", std::process::id()));
    let options = metroon::KnowledgeBaseOptions::new(MemoryWorld::default());
    let base = KnowledgeBase::open(&folder, options).expect("it opens");
    run_in(&base, "(n 1)");
    base.add_live_query("numbers", &LiveRequest::new("(n $x)").template("$x")).expect("it is a query");
    let open = |name: &str, after| LiveFollower::open(&folder, &LiveRequest::named(name), after);
    let mut follower = open("numbers", Some(0)).expect("it is there");
    run_in(&base, "(n 2)");
    let mut heard = Vec::new();
    while let Some(event) = follower.next_event().expect("it is followed") {
        heard.push(event.epoch());
    }
    assert_eq!(heard, [1, 3]);
    let error = open("nubmers", None).map(|_| ()).expect_err("there is none").to_string();
    assert!(error.contains("did you mean numbers?"), "{error}");
    base.close().expect("it closes");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
