//! A knowledge base that threads share: what readers see while the writer commits.
//!
//! 1. Each answer of a view is that of the epoch which the view names, by a model and by `as-of`.
//! 2. A reader waits for no commit: the disk holds one up, and readers go on.
//! 3. A view evaluates what the writer would have, and changes nothing.

use journal::{Access, Disk, DiskFile, MemoryDisk};
use metroon::host::{EffectKind, EffectRefused};
use metroon::run::{FrozenResults, WriterError};
use metroon::{
    Answer, Atom, Engine, KnowledgeBase, KnowledgeBaseOptions, MemoryWorld, RunEnd, RunError, View, ViewError,
};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const DIRECTORY: &str = "/kb";

/// Whether values of these types may be on any thread, which the compiler checks.
const fn are_shared<T: Send + Sync>() {}
const _: () = {
    are_shared::<KnowledgeBase>();
    are_shared::<View>();
    are_shared::<ViewError>();
    are_shared::<Answer>();
    are_shared::<FrozenResults>();
    are_shared::<Atom>();
    are_shared::<RunError>();
    are_shared::<WriterError>();
};

fn on(disk: Arc<dyn Disk>) -> KnowledgeBase {
    let options = KnowledgeBaseOptions::new(MemoryWorld::default());
    KnowledgeBase::on_disk(disk, DIRECTORY, options).expect("the base opens")
}

fn new_base() -> KnowledgeBase {
    on(Arc::new(MemoryDisk::new()))
}

fn run(base: &KnowledgeBase, text: &str) -> Vec<String> {
    let completed = base.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    completed.answers.iter().map(shown).collect()
}

fn shown(answer: &Answer) -> String {
    let results: Vec<String> = answer.results.iter().map(ToString::to_string).collect();
    results.join(" ")
}

fn query(view: &View, pattern: &str, template: &str) -> Vec<String> {
    let found = view.query(pattern, template).expect("both are atoms");
    found.iter().map(ToString::to_string).collect()
}

fn evaluate(view: &View, text: &str) -> Vec<String> {
    let answers = view.evaluate(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    answers.iter().map(shown).collect()
}

const COMMITS: u64 = 1_000;
const QUESTIONS: u64 = 10_000;
const NODES: u64 = 10;

/// What is there before the commits that are counted: `&last` is the number of the last of them.
const PROGRAM: &str = "
    ! (bind! &last (new-state 0))
    (edge n0 e0)
    (latest 0)
    (= (last) (get-state &last))
    (= (edges $from) (collapse (match &self (edge $from $to) $to)))
";

/// Commit `number` adds an edge, replaces a fact and sets a state.
fn commit(number: u64) -> String {
    let before = number - 1;
    format!(
        "! (let* (($a (add-atom &self (edge n{} e{number}))) ($b (remove-atom &self (latest {before})))
                  ($c (add-atom &self (latest {number}))) ($d (change-state! &last {number}))) done)",
        number % NODES
    )
}

/// The edges of a node after a commit.
fn edges(node: u64, number: u64) -> Vec<String> {
    (0..=number).filter(|edge| edge % NODES == node).map(|edge| format!("e{edge}")).collect()
}

/// Asks a view what the model knows; gives how many questions that were.
fn ask(view: &View, first: u64, turn: u64) -> u64 {
    let (epoch, node) = (view.epoch(), turn % NODES);
    let number = epoch - first;
    assert_eq!(query(view, "(latest $n)", "$n"), [number.to_string()], "epoch {epoch}");
    assert_eq!(query(view, &format!("(edge n{node} $to)"), "$to"), edges(node, number), "epoch {epoch}");
    if !turn.is_multiple_of(10) {
        return 2;
    }
    let expected = [number.to_string(), format!("({})", edges(node, number).join(" "))];
    assert_eq!(evaluate(view, &format!("! (last) ! (edges n{node})")), expected, "epoch {epoch}");
    4
}

#[test]
fn ten_thousand_questions_are_answered_while_a_thousand_commits_are_made() {
    let base = new_base();
    run(&base, PROGRAM);
    let first = base.view().epoch();
    let (is_written, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let read = |base: KnowledgeBase| {
        let mut seen = vec![first];
        for turn in 0.. {
            if is_written.load(Ordering::Acquire) && asked.load(Ordering::Relaxed) >= QUESTIONS {
                break;
            }
            let view = base.view();
            assert!(seen.last().is_some_and(|last| *last <= view.epoch()), "an epoch went back");
            seen.push(view.epoch());
            asked.fetch_add(ask(&view, first, turn), Ordering::Relaxed);
        }
        seen.dedup();
        seen
    };
    let seen = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| base.clone()).map(|base| scope.spawn(|| read(base))).collect();
        for number in 1..=COMMITS {
            assert_eq!(run(&base, &commit(number)), ["done"]);
        }
        is_written.store(true, Ordering::Release);
        readers.into_iter().map(|reader| reader.join().expect("each answer is right")).collect::<Vec<_>>()
    });
    assert_eq!(base.view().epoch(), first + COMMITS);
    assert!(seen.iter().all(|epochs| epochs.len() > 10), "the readers saw {seen:?} only");
    // The journal says the same of these epochs as the views did.
    for epoch in seen.concat().into_iter().step_by(37) {
        let past = format!(
            "! (match (as-of &self {epoch}) (latest $n) $n) ! (collapse (match (as-of &self {epoch}) (edge n3 $e) $e))"
        );
        let expected = [(epoch - first).to_string(), format!("({})", edges(3, epoch - first).join(" "))];
        assert_eq!(run(&base, &past), expected);
    }
    base.close().expect("the base closes");
}

/// A disk whose files hold up each [`DiskFile::sync`] while the gate is shut.
#[derive(Clone, Default)]
struct GatedDisk {
    disk: MemoryDisk,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    /// Whether it is shut, and how many wait.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    fn set_shut(&self, is_shut: bool) {
        self.state.lock().expect("nobody panics at the gate").0 = is_shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("nobody panics at the gate");
        state.1 += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |(is_shut, _)| *is_shut).expect("nobody panics at the gate");
        state.1 -= 1;
    }

    /// Shuts it until the guard is dropped, also by a test that fails.
    fn shut(&self) -> ShutGate<'_> {
        self.set_shut(true);
        ShutGate(self)
    }

    /// Waits until somebody waits at the gate.
    fn await_somebody(&self) {
        let state = self.state.lock().expect("nobody panics at the gate");
        let wait = self.changed.wait_timeout_while(state, Duration::from_secs(60), |(_, waiting)| *waiting == 0);
        assert!(!wait.expect("nobody panics at the gate").1.timed_out(), "nobody came to the gate");
    }
}

struct ShutGate<'a>(&'a Gate);

impl Drop for ShutGate<'_> {
    fn drop(&mut self) {
        self.0.set_shut(false);
    }
}

struct GatedFile {
    file: Box<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl GatedDisk {
    fn gated(&self, file: io::Result<Box<dyn DiskFile>>) -> io::Result<Box<dyn DiskFile>> {
        let gate = Arc::clone(&self.gate);
        file.map(|file| Box::new(GatedFile { file, gate }) as Box<dyn DiskFile>)
    }
}

impl Disk for GatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.gated(self.disk.create(name))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        self.gated(self.disk.open(name, access))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
}

impl DiskFile for GatedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.gate.pass();
        self.file.sync()
    }
}

#[test]
fn a_reader_waits_for_no_commit() {
    let disk = GatedDisk::default();
    let base = on(Arc::new(disk.clone()));
    run(&base, PROGRAM);
    let first = base.view().epoch();
    std::thread::scope(|scope| {
        let shut = disk.gate.shut();
        let writing = scope.spawn(|| run(&base, &commit(1)));
        disk.gate.await_somebody();
        // The commit is under way, and stays so until the gate opens.
        let mut asked = 0;
        for turn in 0.. {
            let view = base.view();
            assert_eq!(view.epoch(), first, "a commit is seen before it is on the disk");
            asked += ask(&view, first, turn);
            if asked >= QUESTIONS {
                break;
            }
        }
        assert!(!writing.is_finished(), "the commit ended before the gate was opened");
        drop(shut);
        assert_eq!(writing.join().expect("the commit ends"), ["done"]);
    });
    assert_eq!(base.view().epoch(), first + 1);
    ask(&base.view(), first, 0);
}

#[test]
fn a_caller_waits_if_the_queue_is_full() {
    let disk = GatedDisk::default();
    let mut options = KnowledgeBaseOptions::new(MemoryWorld::default());
    options.requests_waiting_max = 1;
    let base = KnowledgeBase::on_disk(Arc::new(disk.clone()), DIRECTORY, options).expect("the base opens");
    std::thread::scope(|scope| {
        let shut = disk.gate.shut();
        let ran: Vec<_> = (0..5)
            .map(|number| (number, base.clone()))
            .map(|(number, base)| scope.spawn(move || run(&base, &format!("! (add-atom &self (by {number}))"))))
            .collect();
        disk.gate.await_somebody();
        assert!(ran.iter().all(|ran| !ran.is_finished()));
        drop(shut);
        ran.into_iter().for_each(|ran| assert_eq!(ran.join().expect("it is run"), ["()"]));
    });
    assert_eq!((base.view().epoch(), base.view().atom_count()), (5, 5));
}

/// What a view leads to is as it was: states, spaces, words, rules, settings.
#[test]
fn a_view_stays_as_it_was() {
    let base = new_base();
    run(
        &base,
        "! (bind! &s (new-state 1)) (= (get) (get-state &s)) (= (here) (match &self (fact $x) $x)) (fact 1)
         ! (bind! &other (new-space)) ! (add-atom &other (in other))
         ! (add-atom &self (holds &other)) ! (add-atom &self (state &s)) ! (add-atom &other (back &self))",
    );
    let before = base.view();
    let questions = "! (get) ! (collapse (here)) ! (match &self (holds $s) (collapse (match $s (in $x) $x)))
        ! (collapse (match &other (back $self) (collapse (match $self (fact $x) $x)))) ! (epoch &self)
        ! (match &self (state $s) (get-state $s)) ! (get-type (get))";
    let epoch = before.epoch().to_string();
    let expected = ["1", "(1)", "(other)", "((1))", &epoch, "1", "%Undefined%"];
    assert_eq!(evaluate(&before, questions), expected);
    assert_eq!(run(&base, questions), expected);
    run(
        &base,
        "! (change-state! &s 2) (fact 2) (= (here) more) ! (add-atom &other (in more)) ! (bind! &t (new-state 7))
         ! (pragma! max-stack-depth 1000) ! (remove-atom &self (fact 1))",
    );
    assert_eq!(evaluate(&before, questions), expected);
    assert_eq!(query(&before, "(fact $x)", "(found $x)"), ["(found 1)"]);
    let after = base.view();
    assert_eq!(evaluate(&after, "! (collapse (here))"), ["(2 more)"]);
    assert_eq!(query(&after, "(fact $x)", "$x"), ["2"]);
    // A query whose answers are not rows: the state that is found is that of the view.
    let states = |view: &View| view.query("(state $s)", "$s").expect("they are atoms");
    assert_eq!(
        (states(&before)[0].to_string(), states(&after)[0].to_string()),
        ("(State 1)".into(), "(State 2)".into())
    );
    assert_eq!(query(&before, "(= (here) $body)", "$body").len(), 1);
    assert_ne!(before.hash(), after.hash());
    // It outlives the base.
    base.close().expect("the base closes");
    drop(base);
    assert_eq!(evaluate(&before, questions), expected);
}

/// Operations that act are refused by name, also where another result would hide an error. Nothing is changed.
#[test]
fn a_view_refuses_what_changes_something_or_reaches_outside() {
    let base = new_base();
    run(&base, "(fact 1) (= (acts) (add-atom &self (fact 2))) ! (bind! &s (new-state 1)) ! (import! &self random)");
    let view = base.view();
    let hash = view.hash();
    let mut reader = view.reader();
    for (text, operation, kind) in [
        ("! (add-atom &self (fact 2))", "add-atom", EffectKind::Change),
        ("! (superpose (1 (acts) 2))", "add-atom", EffectKind::Change),
        ("! (transaction (remove-atom &self (fact 1)))", "remove-atom", EffectKind::Change),
        ("! (change-state! &s 2)", "change-state!", EffectKind::Change),
        ("! (bind! &t 1)", "bind!", EffectKind::Change),
        ("! (pragma! type-check auto)", "pragma!", EffectKind::Change),
        ("! (import! &self fileio)", "import!", EffectKind::Change),
        ("! (println! 1)", "println!", EffectKind::Outside),
        ("! (trace! 1 2)", "trace!", EffectKind::Outside),
        ("! (random-int &rng 1 5)", "random-int", EffectKind::Outside),
        ("! (as-of &self 1)", "as-of", EffectKind::History),
        ("(fact 2)", "a form without !", EffectKind::Change),
        ("! 1 (fact 2)", "a form without !", EffectKind::Change),
    ] {
        match reader.evaluate(text) {
            Err(ViewError::Effect(refused)) => {
                assert_eq!(refused, EffectRefused { operation: operation.into(), kind }, "{text}")
            }
            other => panic!("{text}: {other:?}"),
        }
        let answers = reader.evaluate("! (collapse (match &self (fact $x) $x)) ! (get-state &s)").expect("it is pure");
        assert_eq!(answers.iter().map(shown).collect::<Vec<_>>(), ["(1)", "1"], "after {text}");
    }
    let message = ViewError::Effect(EffectRefused { operation: "bind!".into(), kind: EffectKind::Change }).to_string();
    assert_eq!(
        message,
        "bind! changes the program, and a view only answers: let the writer of the knowledge base run it, with KnowledgeBase::run"
    );
    assert_eq!((base.view().hash(), base.view().epoch()), (hash, view.epoch()));
}

/// What a form makes for itself it may change; it is gone when the text ends.
#[test]
fn a_form_changes_what_it_makes() {
    let base = new_base();
    run(&base, "(fact 1) (= (fill $s) (let $a (add-atom $s (new 1)) (collapse (match $s $x $x))))");
    let mut reader = base.view().reader();
    for _ in 0..3 {
        let answers = reader.evaluate(
            "! (fill (new-space)) ! (fill (fork-space &self))
             ! (let* (($s (new-state 1)) ($t (change-state! $s 2))) (get-state $s)) ! (new-space)",
        );
        let answers: Vec<String> = answers.expect("nothing is changed").iter().map(shown).collect();
        assert_eq!((&*answers[0], &*answers[2]), ("((new 1))", "2"));
        assert!(answers[1].contains("(fact 1)") && answers[1].contains("(new 1)"), "{}", answers[1]);
        assert!(answers[3].starts_with("GroundingSpace-"), "{}", answers[3]);
    }
}

#[test]
fn what_does_not_answer_says_why() {
    let base = new_base();
    run(&base, "(= (loop $x) (loop (+ $x 1)))");
    let view = base.view();
    let error = view.query("\n (a (b)", "c").expect_err("it does not parse");
    assert!(matches!(error, ViewError::NotParsed { .. }));
    assert!(error.to_string().starts_with("the text does not parse at line 2, column 2: "), "{error}");
    assert!(matches!(view.query("(a) (b)", "b"), Err(ViewError::NotOneAtom { .. })));
    assert!(matches!(view.evaluate("! (a"), Err(ViewError::NotParsed { .. })));
    let mut reader = view.reader();
    reader.limits_mut().steps_max = Some(1_000);
    match reader.evaluate("! 1 ! (loop 1)") {
        Err(ViewError::Limit { answers, .. }) => assert_eq!(answers.len(), 2),
        other => panic!("{other:?}"),
    }
    // An error among the results is an answer, the last.
    let answers = view.evaluate("! (Error a b) ! 2").expect("it is evaluated");
    assert!(answers.len() == 1 && answers[0].is_error());
    match base.run("! 1 ! (Error a b) ! 2") {
        Err(RunError::Ended { end: RunEnd::Error, answers, .. }) => assert_eq!(answers.len(), 2),
        other => panic!("{other:?}"),
    }
    assert!(matches!(base.run("(a 1) (b"), Err(RunError::Ended { end: RunEnd::NotParsed, .. })));
}

/// A tabled function is tabled in a view too: without its table it would not end.
#[test]
fn tabled_functions_are_tabled_in_a_view() {
    let base = new_base();
    run(
        &base,
        "! (pragma! table path) (edge a b) (edge b a) (edge b c)
         (= (path $x) (match &self (edge $x $y) $y))
         (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))",
    );
    let expected = run(&base, "! (collapse (path a))");
    assert_eq!(evaluate(&base.view(), "! (collapse (path a))"), expected);
}

#[test]
fn results_reach_other_threads_frozen() {
    let mut options = KnowledgeBaseOptions::new(MemoryWorld::default());
    options.freezes_results = true;
    let base = KnowledgeBase::on_disk(Arc::new(MemoryDisk::new()), DIRECTORY, options).expect("the base opens");
    let completed = base.run("(= (pair $x) ($x (s $x))) ! (pair (a 1))").expect("it runs");
    let Some(Ok(frozen)) = &completed.answers[0].frozen else { panic!("{completed:?}") };
    let frozen = Arc::clone(frozen);
    run(&base, "! (add-atom &self (fact 1))");
    let read = std::thread::spawn(move || frozen.get(0).map(|atom| atom.to_string()));
    assert_eq!(read.join().expect("it reads").as_deref(), Some("((a 1) (s (a 1)))"));
    let mut reader = base.view().reader();
    reader.freeze_results(true);
    let answers = reader.evaluate("! (pair b)").expect("it is pure");
    assert!(matches!(&answers[0].frozen, Some(Ok(frozen)) if frozen.len() == 1));
}

#[test]
fn a_closed_base_says_so_and_what_it_wrote_is_there() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let base = on(Arc::clone(&disk));
    let other = base.clone();
    run(&base, "(fact 1)");
    let inside = base.clone();
    let asked = base.transact(move |_| inside.transact(|_| ()).map_err(|error| error.to_string()));
    assert!(asked.expect("it is done").is_err_and(|error| error.contains("waited for ever")));
    base.close().expect("it closes");
    assert!(matches!(other.run("(fact 2)"), Err(RunError::Writer(WriterError::Closed))));
    assert!(matches!(other.close(), Ok(())));
    assert_eq!(query(&other.view(), "(fact $x)", "$x"), ["1"]);
    // The last handle closes as well.
    let again = on(Arc::clone(&disk));
    run(&again, "(fact 2)");
    drop(again);
    assert_eq!(query(&on(disk).view(), "(fact $x)", "$x"), ["1", "2"]);
}

#[test]
fn a_writer_that_panics_is_told_of() {
    let base = new_base();
    run(&base, "(fact 1)");
    let panicked = base.transact(|_: &mut Engine| panic!("a test panics here"));
    assert!(matches!(panicked, Err(WriterError::Panicked)));
    assert!(matches!(base.run("(fact 2)"), Err(RunError::Writer(WriterError::Panicked))));
    assert_eq!(query(&base.view(), "(fact $x)", "$x"), ["1"]);
    assert!(matches!(base.close(), Err(WriterError::Panicked)));
}
