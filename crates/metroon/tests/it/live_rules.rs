//! Calls of recursive functions that are followed: after each commit, what was told comes to what the call comes to.

use crate::checkpoints::{bytes_of, checkpoint_names, with_only};
use crate::live::{Held, new_base, on, run, told};
use generate::seeds;
use journal::{Disk, MemoryDisk};
use metroon::live::SubscribeError;
use metroon::storage::CommitJournal;
use metroon::{Engine, KnowledgeBase, LiveEvent, LiveRequest, MemoryWorld, RunEnd, Subscription};
use std::collections::BTreeMap;
use std::sync::Arc;

fn follow(base: &KnowledgeBase, call: &str, template: &str) -> Subscription {
    let request = LiveRequest::call(call, "$r").template(template);
    base.subscribe(&request).unwrap_or_else(|error| panic!("{call}: {error}"))
}

const CLOSURE: &str = "(= (reach $x) (match &self (e $x $y) $y))
    (= (reach $x) (let $z (reach $x) (match &self (e $z $y) $y)))";

#[test]
fn a_closure_follows_what_comes_and_goes() {
    let base = new_base();
    run(&base, CLOSURE);
    run(&base, "(e a b) (e b c) (e d a)");
    let mut all = follow(&base, "(reach $x)", "($x $r)");
    let mut of_a = follow(&base, "(reach a)", "$r");
    assert_eq!(told(&mut all), ["2: +(a b) +(a c) +(b c) +(d a) +(d b) +(d c)", "2: end of 6"]);
    assert_eq!(told(&mut of_a), ["2: +b +c", "2: end of 2"]);
    // Another way to c, so taking one away changes nothing.
    run(&base, "!(add-atom &self (e a c))");
    run(&base, "!(remove-atom &self (e b c))");
    assert_eq!(told(&mut of_a), ["4: nothing"]);
    assert_eq!(told(&mut all), ["4: -(b c)"]);
    // A cycle holds up nothing by itself.
    run(&base, "(e c a)");
    assert_eq!(told(&mut of_a), ["5: +a"]);
    run(&base, "!(remove-atom &self (e a c))");
    assert_eq!(told(&mut of_a), ["6: -a -c"]);
    // Copies of a fact are one.
    run(&base, "(e a b)");
    run(&base, "!(remove-atom &self (e a b))");
    assert_eq!(told(&mut of_a), ["8: nothing"]);
    run(&base, "!(remove-atom &self (e a b))");
    assert_eq!(told(&mut of_a), ["9: -b"]);
}

#[test]
fn an_aggregate_and_a_key_of_a_call() {
    let base = new_base();
    run(&base, CLOSURE);
    run(&base, "(e a b) (e b c)");
    let count = LiveRequest::call("(reach $x)", "$r").template("(from $x $n)").count("$n");
    let mut count = base.subscribe(&count).expect("it is followed");
    assert_eq!(told(&mut count), ["2: +(from a 2) +(from b 1)", "2: end of 2"]);
    run(&base, "(e c d)");
    assert_eq!(told(&mut count), ["3: ~(from a 2) -> (from a 3) ~(from b 1) -> (from b 2) +(from c 1)"]);
}

#[test]
fn other_rules_are_followed_as_they_come() {
    let base = new_base();
    run(&base, CLOSURE);
    run(&base, "(e a b) (f b c)");
    let mut of_a = follow(&base, "(reach a)", "$r");
    assert_eq!(told(&mut of_a), ["2: +b", "2: end of 1"]);
    run(&base, "(= (reach $x) (let $z (reach $x) (match &self (f $z $y) $y)))");
    assert_eq!(told(&mut of_a), ["3: +c"]);
    run(&base, "(f c d)");
    assert_eq!(told(&mut of_a), ["4: +d"]);
    // A fact with a variable in it is none that rows know.
    run(&base, "(e c $any)");
    run(&base, "(e d e)");
    let told_now = told(&mut of_a);
    assert_eq!(told_now.len(), 2, "{told_now:?}");
    assert_eq!(told_now[0], "5: stopped, atoms with variables may match a pattern");
    let refused = base.subscribe(&LiveRequest::call("(reach a)", "$r")).map(|_| ());
    assert!(refused.expect_err("rows do not answer it").to_string().contains("atoms with variables"));
    run(&base, "!(remove-atom &self (e c $any))");
    assert_eq!(told(&mut of_a), ["7: +e"]);
    run(&base, "(e $x $y)");
    run(&base, "!(remove-atom &self (e $x $y))");
    assert_eq!(told(&mut of_a), ["8: stopped, atoms with variables may match a pattern", "9: "]);
}

#[test]
fn what_is_not_of_this_shape_is_refused_with_the_reason() {
    let base = new_base();
    run(&base, CLOSURE);
    run(&base, "(= (twice $x) (+ $x $x)) (= (same-as $x) $x) (= (list $x) (match &self (e $x $y) ($x $y)))");
    let refused = |call: &str| {
        let error = base.subscribe(&LiveRequest::call(call, "$r")).map(|_| ()).expect_err("it is refused");
        error.to_string()
    };
    for (call, reason) in [
        ("reach", "begins with the name of a function"),
        ("(nothing a)", "the function has no rules"),
        ("(twice 2)", "a rule calls a function that is not tabled"),
        ("(same-as $x)", "a rule holds for every value of a variable"),
        ("(list a)", "a rule calls a function that is not tabled"),
        ("(reach (a b))", "neither a variable nor a symbol"),
    ] {
        let error = refused(call);
        assert!(error.contains(reason) && error.contains(call), "{call}: {error}");
    }
    assert_eq!(told(&mut follow(&base, "(same-as a)", "$r")), ["2: +a", "2: end of 1"]);
}

#[test]
fn queries_of_one_call_share_it_and_commits_elsewhere_cost_nothing() {
    let base = new_base();
    run(&base, CLOSURE);
    run(&base, "(e a b)");
    let mut all: Vec<Subscription> = (0..20).map(|_| follow(&base, "(reach a)", "$r")).collect();
    let ran = |base: &KnowledgeBase| base.live_statistics().expect("it is open").ran;
    let before = ran(&base);
    run(&base, "(other c d)");
    assert_eq!(ran(&base), before);
    run(&base, "(e x y)");
    assert_eq!(ran(&base), before + 1, "the call is looked at, and none of its queries");
    run(&base, "(e b c)");
    assert_eq!(ran(&base), before + 22, "the call once, and each query");
    all.iter_mut().for_each(|one| assert_eq!(told(one).last().map(String::as_str), Some("5: +c")));
}

/// Programs, and for each the calls that are followed with their templates.
const PROGRAMS: &[(&str, &[(&str, &str)])] = &[
    (CLOSURE, &[("(reach $x)", "($x $r)"), ("(reach a)", "$r"), ("(reach $x)", "(loop $x)")]),
    (
        "(= (reach $x) (match &self (e $x $y) $y))
         (= (reach $x) (let $z (match &self (e $x $y) $y) (reach $z)))",
        &[("(reach $x)", "($x $r)"), ("(reach b)", "$r")],
    ),
    (
        "(= (reach $x) (match &self (e $x $y) $y))
         (= (reach $x) (let $z (reach $x) (reach $z)))",
        &[("(reach $x)", "($x $r)"), ("(reach c)", "$r")],
    ),
    (
        "(= (path $x $y) (match &self (e $x $y) yes))
         (= (path $x $y) (match &self (e $x $z) (path $z $y)))",
        &[("(path $x $y)", "($x $y $r)"), ("(path a $y)", "$y"), ("(path $x $x)", "$x"), ("(path a b)", "$r")],
    ),
    (
        "(= (odd $x) (match &self (e $x $y) $y))
         (= (odd $x) (let $z (even $x) (match &self (e $z $y) $y)))
         (= (even $x) (let $z (odd $x) (match &self (e $z $y) $y)))",
        &[("(odd $x)", "($x $r)"), ("(even a)", "$r")],
    ),
    (
        "(= (same $x) (match &self (, (e $p $x) (e $p $y)) $y))
         (= (same $x) (match &self (e $p $x) (let $q (same $p) (match &self (e $q $y) $y))))",
        &[("(same $x)", "($x $r)"), ("(same d)", "$r")],
    ),
    (
        "(= (path $x $y) (match &self (e $x $y) yes))
         (= (path $x $y) (match &self (e $z $y) (path $x $z)))
         (= (cut $x) (match &self (, (n $x $v) (n $y $w)) (if (has-result (path $x $y)) (empty) $y)))
         (= (alone $x) (match &self (n $x $v) (if (has-result (match &self (e $x $any) yes)) (empty) $v)))",
        &[("(cut $x)", "($x $r)"), ("(alone $x)", "($x $r)"), ("(cut a)", "$r")],
    ),
    (
        "(= (up $x) (match &self (, (e $x $y) (n $x $v) (n $y $w)) (if (< $v $w) $y (empty))))
         (= (up $x) (let $z (up $x) (match &self (, (e $z $y) (n $z $v) (n $y $w)) (if (< $v $w) $y (empty)))))",
        &[("(up $x)", "($x $r)"), ("(up a)", "$r")],
    ),
];

/// A random commit of facts.
fn random_commit(dice: &mut impl FnMut(u64) -> u64) -> String {
    let mut changes = Vec::new();
    for _ in 0..1 + dice(5) {
        let mut name = || ["a", "b", "c", "d", "f", "g"][dice(6) as usize];
        let (left, right) = (name(), name());
        let fact = if dice(4) == 0 { format!("(n {left} {})", 1 + dice(3)) } else { format!("(e {left} {right})") };
        let verb = if dice(9) < 5 { "add-atom" } else { "remove-atom" };
        changes.push(format!("({verb} &self {fact})"));
    }
    format!("!(collapse (superpose ({})))", changes.join(" "))
}

/// Numbers that look random and are the same for a seed.
pub(crate) fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    }
}

/// Commits random facts to a base with rules, and compares after each what was told of calls with what they come to.
fn history(seed: u64, program: &str, tabled: &[&str], calls: &[(&str, &str)]) {
    let mut dice = dice(seed);
    let disk = Arc::new(MemoryDisk::new());
    let mut base = on(Arc::clone(&disk) as Arc<dyn Disk>);
    run(&base, program);
    tabled.iter().for_each(|name| run(&base, &format!("!(pragma! table {name})")));
    let join = |base: &KnowledgeBase| -> Vec<_> { calls.iter().map(|(call, text)| follow(base, call, text)).collect() };
    let mut live = join(&base);
    let mut held: Vec<Held> = calls.iter().map(|_| Held::default()).collect();
    let mut log: Vec<Vec<String>> = calls.iter().map(|_| Vec::new()).collect();
    let begin = base.view().epoch();
    for number in 0..14 {
        let commit = random_commit(&mut dice);
        run(&base, &commit);
        let mut reader = base.view().reader();
        for (place, (call, template)) in calls.iter().enumerate() {
            while let Some(event) = live[place].try_next().expect("it is followed") {
                match &event {
                    LiveEvent::Answers { changes, .. } => held[place].take(changes),
                    LiveEvent::Changes { epoch, changes } => {
                        held[place].take(changes);
                        log[place].push(format!("{epoch} {changes:?}"));
                    }
                    LiveEvent::Stopped { reason, .. } => panic!("{call}: {reason}"),
                    _ => {}
                }
            }
            let asked = format!("!(let $r {call} {template})");
            let mut found: BTreeMap<String, i64> = BTreeMap::new();
            let answers = reader.evaluate(&asked).expect("it is asked");
            answers[0].results.iter().for_each(|answer| *found.entry(answer.to_string()).or_default() += 1);
            assert_eq!(held[place].0, found, "seed {seed}, {call} of {program}, after {commit}");
        }
        if number == 6 {
            base.close().expect("it closes");
            base = on(Arc::clone(&disk) as Arc<dyn Disk>);
            live = join(&base);
            held = calls.iter().map(|_| Held::default()).collect();
        }
    }
    // Whoever goes on from an earlier commit, by the journal, is told the same in the same order.
    for ((call, template), log) in calls.iter().zip(log) {
        let request = LiveRequest::call(*call, "$r").template(*template);
        let mut late = base.subscribe_with(&request, 1_000, Some(begin)).expect("the commit is there");
        let mut told = Vec::new();
        while let Some(event) = late.try_next().expect("it is followed") {
            if let LiveEvent::Changes { epoch, changes } = &event {
                told.push(format!("{epoch} {changes:?}"));
            }
        }
        assert_eq!(told, log, "seed {seed}, {call} of {program}");
    }
}

#[test]
fn any_history_of_commits_is_what_the_call_comes_to() {
    let tabled = ["reach", "path", "odd", "even", "same", "cut", "alone", "up"];
    seeds(0..48).for_each(|seed| {
        let (program, calls) = PROGRAMS[seed as usize % PROGRAMS.len()];
        history(seed, program, &tabled, calls);
    });
}

/// Three functions that call each other, made of a few kinds of rules.
fn random_program(dice: &mut impl FnMut(u64) -> u64) -> String {
    let mut rules = Vec::new();
    for function in 0..3 {
        for _ in 0..1 + dice(3) {
            let (one, other) = (dice(3), dice(3));
            rules.push(match dice(8) {
                0 => format!("(= (f{function} $x) (match &self (e $x $y) $y))"),
                1 => format!("(= (f{function} $x) (match &self (e $y $x) $y))"),
                2 | 3 => format!("(= (f{function} $x) (let $z (f{one} $x) (match &self (e $z $y) $y)))"),
                4 => format!("(= (f{function} $x) (let $z (match &self (e $x $y) $y) (f{one} $z)))"),
                5 => format!("(= (f{function} $x) (let $z (f{one} $x) (f{other} $z)))"),
                6 => format!("(= (f{function} $x) (match &self (, (e $x $y) (n $y $v)) (if (< $v 3) $y (empty))))"),
                _ => format!("(= (f{function} $x) (match &self (e $x $y) (if (has-result (f{one} $y)) (empty) $y)))"),
            });
        }
    }
    rules.join("\n")
}

#[test]
fn random_rules_are_followed_as_they_are_evaluated() {
    let mut followed = 0;
    seeds(0..120).for_each(|seed| {
        let program = random_program(&mut dice(seed + 1_000));
        let base = new_base();
        run(&base, &program);
        match base.subscribe(&LiveRequest::call("(f0 $x)", "$r")) {
            Ok(_) => {
                followed += 1;
                history(seed, &program, &["f0", "f1", "f2"], &[("(f0 $x)", "($x $r)"), ("(f0 a)", "$r")]);
            }
            // What is absent may not depend on itself.
            Err(error) => {
                assert!(error.to_string().contains("an absence is part of a recursion"), "{program}: {error}")
            }
        }
    });
    assert!(followed > 20, "{followed}");
}

/// What is told of a call after a commit, by the journal of a base that lies on a disk.
fn told_after(disk: &Arc<dyn Disk>, after: u64) -> Vec<String> {
    let mut base = on(Arc::clone(disk));
    let request = LiveRequest::call("(reach a)", "$r");
    let mut late = base.subscribe_with(&request, 1_000, Some(after));
    let is_checkpoint = |error: &SubscribeError| error.to_string().contains("checkpoint");
    if late.as_ref().is_err_and(is_checkpoint) {
        // The thread that writes has met the damage, and put the checkpoint out of the way.
        drop(base);
        base = on(Arc::clone(disk));
        late = base.subscribe_with(&request, 1_000, Some(after));
    }
    let lines = told(&mut late.expect("the commit is there"));
    drop(base);
    lines
}

/// Going on after a commit begins with a checkpoint, so that the commits before it are not read; a checkpoint that is damaged costs time only.
#[test]
fn going_on_begins_at_a_checkpoint() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut engine =
        Engine::with_base(MemoryWorld::default(), CommitJournal::on_disk(Arc::clone(&disk), "/kb").unwrap()).unwrap();
    let mut run = |text: &str, keeps: bool| {
        let run = engine.run_text(text, &mut |_, _| Ok(()));
        assert!(matches!(run.end, RunEnd::Finished), "{text}: {:?}", run.end);
        if keeps {
            engine.checkpoint().expect("memory takes everything");
        }
    };
    run(CLOSURE, false);
    for number in 0..40 {
        run(&format!("(e n{number} n{})", number + 1), false);
    }
    run("(e a n20)", true);
    run("(e n41 b)", false);
    run("!(remove-atom &self (e n30 n31))", false);
    engine.finish().expect("it closes");
    let whole = told_after(&disk, 42);
    let gone: Vec<String> = (31..=40).map(|number| format!("-n{number}")).collect();
    assert_eq!(whole, [format!("44: {}", gone.join(" "))]);
    // A byte of the checkpoint at a time, some 40 of them over its length.
    let names = checkpoint_names(&*disk);
    let (name, sound) = names.iter().map(|name| (name, bytes_of(&*disk, name))).next().expect("there is one");
    for place in (0..sound.len()).step_by(sound.len() / 40) {
        let mut harmed = sound.clone();
        harmed[place] ^= 0x10;
        assert_eq!(told_after(&with_only(&*disk, name, &harmed), 42), whole, "byte {place}");
    }
}
