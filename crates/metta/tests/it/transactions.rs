//! Transactions: one that fails leaves everything as if it had not been, one that does not leaves what its body alone
//! would have. Random programs are compared with the same programs less their failed transactions.

use crate::harness::{answers, check, unnumbered};
use generate::Dice;
use metta::{
    Begun, Cause, Commit, CommitSink, CommitStamp, CommitTrigger, Event, Halted, Known, MemoryWorld, Program,
    RunRecord, RunRecordError, Session, SinkError, SourceId, SourceText, World,
};
use space::{Change, ChangeDetail};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

const PROGRAMS: u64 = 200;

/// What a program begins with.
const SETUP: &str = r#"
! (import! &self random)
! (bind! &k (new-space))
! (bind! &t (new-state 0))
! (bind! &g (new-random-generator 7))
(p 1) (p 1.0) (p $x) (q a) (q a) (= (rule $x) (body $x $y))
! (add-atom &k (holds &t))
! (add-atom &k (in &self))
"#;

/// What looks at everything that can change.
const PROBES: [&str; 12] = [
    "(get-atoms &self)",
    "(get-atoms &k)",
    "(match &self (p $v) $v)",
    "(match &self (q $v) $v)",
    "(match &k (holds $v) (get-state $v))",
    "(get-state &t)",
    "(random-int &g 0 1000000)",
    "(rule 1)",
    "((lib-rule 1) (lib-fact))",
    "(match &self (lib $v) $v)",
    "(&word &m (get-type &word))",
    "(new-space)",
];

/// Something that changes something. Its variables have names of their own, since those of a form are shared.
fn effect(dice: &mut Dice) -> String {
    let own = dice.below(usize::MAX);
    let atom = dice.pick(&[
        "(p 1)",
        "(p 1.0)",
        "(p 2)",
        "(p $x)",
        "(p $y)",
        "(q a)",
        "(q &t)",
        "a",
        "(= (rule 2) two)",
        "(in &k)",
    ]);
    let space = dice.pick(&["&self", "&self", "&k"]);
    match dice.below(19) {
        0..4 => format!("(add-atom {space} {atom})"),
        4..8 => format!("(remove-atom {space} {atom})"),
        8 => format!("(add-atoms {space} ({atom} (q b) (q a)))"),
        9 | 10 => format!("(change-state! &t {})", dice.pick(&["1", "2", "(deep (er))", "&k"])),
        11 => format!("(let $s{own} (new-space) (add-atom $s{own} (fresh)))"),
        12 => format!(
            "(let $s{own} (new-state {atom}) (let $u{own} (change-state! $s{own} 9) (add-atom {space} (kept $s{own}))))"
        ),
        13 => format!("(bind! &word {})", dice.pick(&["1", "(new-state 3)", "(new-space)", "&k"])),
        14 => dice.pick(&["(import! &self lib)", "(import! &m lib)", "(import! &self system)"]).to_owned(),
        15 => format!("(pragma! {})", dice.pick(&["max-stack-depth 900", "type-check auto", "other 1"])),
        // What the world has drawn is drawn, so none of these asks it.
        16 => dice.pick(&["(random-int &g 0 9)", "(set-random-seed &g 3)", "(random-float &g 0 1)"]).to_owned(),
        17 => format!("(let $g{own} (new-random-generator 5) (random-int $g{own} 0 9))"),
        _ => "(include extra)".to_owned(),
    }
}

/// A few effects, one after the other, and then a result.
fn effects(dice: &mut Dice, result: &str) -> String {
    (0..1 + dice.below(4)).fold(result.to_owned(), |rest, number| match dice.below(6) {
        0 => format!("(let $i{number} (transaction {}) {rest})", effect(dice)),
        1 => format!(
            "(let $i{number} (case (transaction (let $j{number} {} (Error in ner))) (($e{number} done))) {rest})",
            effect(dice)
        ),
        2 => format!("(let $i{number} (collapse (superpose ({} {}))) {rest})", effect(dice), effect(dice)),
        _ => format!("(let $i{number} {} {rest})", effect(dice)),
    })
}

/// Notes the commits of a run, as text.
struct Notes(Arc<Mutex<Vec<String>>>);

impl CommitSink for Notes {
    fn name(&self) -> &'static str {
        "the notes"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        if !commit.is_empty() {
            self.0.lock().expect("no panic").push(unnumbered(&described(commit)));
        }
        Ok(())
    }
}

/// The record of a run that is kept, of whose sources nothing is known.
struct Kept;

impl RunRecord for Kept {
    fn begin_source(
        &mut self,
        _: &mut Program,
        _: &mut dyn World,
        _: &SourceText<'_>,
    ) -> Result<Begun, RunRecordError> {
        Ok(Begun { id: SourceId(0), known: Known::New })
    }
    fn is_source_of(&self, _: metta::ModuleId, _: &str) -> bool {
        true
    }

    fn sources_begun(&self) -> usize {
        0
    }
    fn undo_sources(&mut self, _: usize) {}
    fn end_source(&mut self, _: SourceId) {}
    fn begin_evaluation(&mut self, _: u64, _: Cause) -> Result<Option<Halted>, RunRecordError> {
        Ok(None)
    }

    fn close(&mut self) -> Result<(), RunRecordError> {
        Ok(())
    }

    fn commits(&self) -> u64 {
        0
    }
    fn committed(&mut self, _: CommitTrigger) -> Result<(), RunRecordError> {
        Ok(())
    }
    fn halt(&mut self, _: Halted) -> Result<(), RunRecordError> {
        Ok(())
    }
    fn is_durable(&self) -> bool {
        true
    }
    fn entries(&self, _: &mut statistics::Entries) {}
    fn epoch(&self) -> Option<u64> {
        None
    }
}

fn described(commit: &Commit) -> String {
    let events = commit.events.iter().map(|event: &Event| format!("{event:?}"));
    let mut changes = Vec::new();
    let Ok(()) = commit.changes.each(|change| {
        changes.push(match change {
            Change::Row(delta) => {
                let sign = if delta.count > 0 { '+' } else { '-' };
                format!("{} {sign} {}", delta.space.name(), delta.atom())
            }
            Change::Set { state, .. } => format!("state {} = {}", state.serial(), state.value()),
        });
        Ok::<(), Infallible>(())
    });
    events.chain(changes).collect::<Vec<_>>().join("; ")
}

/// A run of sources one after the other: its answers by source, and its commits if they are noted.
struct Watched {
    session: Session,
    commits: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    fn new(has_memory: bool) -> Self {
        let world = MemoryWorld::default()
            .with_source(
                "lib.metta",
                "(lib 1) (= (lib-rule $x) (lib-body $x)) ! (bind! &inner (new-state 1)) (= (lib-fact) &inner)",
            )
            .with_source("extra.metta", "(q extra) (p 1) ! (add-atom &k (extra))");
        let commits = Arc::new(Mutex::new(Vec::new()));
        let mut session = Session::new(Box::new(world));
        if has_memory {
            session.set_record(Box::new(Kept), vec![Box::new(Notes(Arc::clone(&commits)))]);
        }
        let mut session = Self { session, commits };
        session.run(SETUP);
        session
    }

    fn run(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        self.session.run(text, &mut |_: &mut dyn World, answer| {
            lines.push(unnumbered(&format!("{:?}", answer.results)));
            Ok(())
        });
        lines
    }

    fn probe(&mut self) -> Vec<String> {
        PROBES.iter().flat_map(|probe| self.run(&format!("! {probe}"))).collect()
    }

    fn commits(&self) -> Vec<String> {
        self.commits.lock().expect("no panic").clone()
    }
}

#[test]
fn a_failed_transaction_leaves_no_trace_and_another_does_what_its_body_does() {
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let has_memory = seed % 2 == 0;
        let (mut session, mut without) = (Watched::new(has_memory), Watched::new(has_memory));
        let mut history = Vec::new();
        for _ in 0..8 {
            let (form, reference) = match dice.below(3) {
                0 => {
                    let body = effects(&mut dice, "(Error this failed)");
                    (format!("! (transaction {body})"), None)
                }
                1 => {
                    let body = effects(&mut dice, "done");
                    (format!("! (transaction {body})"), Some(format!("! {body}")))
                }
                _ => {
                    let form = format!("! {}", effect(&mut dice));
                    (form.clone(), Some(form))
                }
            };
            history.push(form.clone());
            let context = format!("seed {seed}: {history:#?}");
            let found = session.run(&form);
            // A body that is an error by itself, a wrong type say, is undone as well.
            match reference.filter(|_| !form.starts_with("! (transaction") || !found[0].contains("Error")) {
                Some(reference) => assert_eq!(found, without.run(&reference), "{context}"),
                None => assert!(found[0].contains("Error"), "{context}: {found:?}"),
            }
            assert_eq!(session.probe(), without.probe(), "{context}");
            assert_eq!(session.commits(), without.commits(), "{context}");
        }
    }
}

#[test]
fn a_transaction_that_a_limit_ends_is_undone() {
    for has_memory in [false, true] {
        let mut session = Watched::new(has_memory);
        let before = session.probe();
        session.run("(= (loop $n) (loop (+ $n 1)))");
        session.session.limits_mut().steps_max = Some(2000);
        let found =
            session.run("! (transaction (let $a (remove-atom &self (p 1)) (let $b (change-state! &t 5) (loop 0))))");
        assert!(found[0].contains("Error"), "{found:?}");
        session.session.limits_mut().steps_max = None;
        session.run("! (remove-atom &self (= (loop $n) (loop (+ $n 1))))");
        let after = session.probe();
        // Each look draws a number and makes a space.
        let same = |lines: &[String]| [&lines[..6], &lines[7..11]].concat();
        assert_eq!(same(&before), same(&after));
    }
}

#[test]
fn transactions_and_what_they_refuse() {
    check(&[
        ("! (transaction (add-atom &self (a))) ! (get-atoms &self)", &["[()]", "[(a)]"]),
        ("! (transaction (superpose (1 2 3)))", &["[1, 2, 3]"]),
        ("! (transaction (empty)) ! (+ 1 1)", &["[]", "[2]"]),
        ("! (case (transaction (commit!)) (((Error $c $m) refused) ($x $x)))", &["[refused]"]),
        (
            "! (import! &self fileio) ! (case (transaction (file-open! \"f\" \"wc\")) (((Error $c $m) refused) ($x $x)))",
            &["[()]", "[refused]"],
        ),
    ]);
}

#[test]
fn what_a_failed_transaction_made_is_a_name_in_its_error() {
    let found = answers("! (transaction (let $s (new-state 1) (let $k (new-space) (Error ($s $k $x $x) made))))");
    assert_eq!(
        found.iter().map(|line| unnumbered(line)).collect::<Vec<_>>(),
        ["[(Error ((State 1) GroundingSpace-2 $x $x) made)]"]
    );
    let found = answers(
        "! (case (transaction (let $s (new-state 1) (Error $s made))) (((Error $s made) (get-type $s))))
         ! (case (transaction (let $k (new-space) (Error $k made))) (((Error $k made) (get-metatype $k))))",
    );
    assert_eq!(found, ["[%Undefined%]", "[Symbol]"]);
}
