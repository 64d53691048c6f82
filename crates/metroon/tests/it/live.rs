//! Live queries: who follows one is told what they would find by asking, commit by commit, however they follow.

use crate::live_rules::dice;
use generate::seeds;
use journal::{Disk, MemoryDisk};
use metroon::live::{AnswerChange, LiveRequestError, SubscribeError};
use metroon::{KnowledgeBase, KnowledgeBaseOptions, LiveEvent, LiveRequest, MemoryWorld, Subscription};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const DIRECTORY: &str = "/kb";

const fn are_sent<T: Send>() {}
const _: () = {
    are_sent::<Subscription>();
    are_sent::<LiveEvent>();
};

pub(crate) fn on(disk: Arc<dyn Disk>) -> KnowledgeBase {
    let options = KnowledgeBaseOptions::new(MemoryWorld::default());
    KnowledgeBase::on_disk(disk, DIRECTORY, options).expect("the base opens")
}

pub(crate) fn new_base() -> KnowledgeBase {
    on(Arc::new(MemoryDisk::new()))
}

pub(crate) fn run(base: &KnowledgeBase, text: &str) {
    base.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn shown(change: &AnswerChange) -> String {
    let text = match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("~{before} -> {after}"),
        (Some(gone), None) => format!("-{gone}"),
        (None, Some(come)) => format!("+{come}"),
        (None, None) => panic!("nothing changed"),
    };
    if change.copies == 1 { text } else { format!("{text} x{}", change.copies) }
}

/// All that is to be told by now, a line for each event.
pub(crate) fn told(subscription: &mut Subscription) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = subscription.try_next().expect("it is followed") {
        lines.push(match event {
            LiveEvent::Answers { epoch, changes } | LiveEvent::Changes { epoch, changes } => {
                let changes: Vec<String> = changes.iter().map(shown).collect();
                format!("{epoch}: {}", changes.join(" "))
            }
            LiveEvent::SnapshotEnd { epoch, answers } => format!("{epoch}: end of {answers}"),
            LiveEvent::Progress { epoch } => format!("{epoch}: nothing"),
            LiveEvent::Stopped { epoch, reason } => format!("{epoch}: stopped, {reason}"),
            LiveEvent::Dropped { from, to } => format!("dropped {from} to {to}"),
            other => panic!("{other:?}"),
        });
    }
    lines
}

fn follow(base: &KnowledgeBase, request: &LiveRequest) -> Subscription {
    base.subscribe(request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
}

#[test]
fn answers_then_their_end_then_what_each_commit_changes() {
    let base = new_base();
    run(&base, "(road Oslo Bergen) (road Bergen Stavanger)");
    let mut ways = follow(&base, &LiveRequest::new("(, (road $a $b) (road $b $c))").template("($a $b $c)"));
    assert_eq!(told(&mut ways), ["1: +(Oslo Bergen Stavanger)", "1: end of 1"]);
    run(&base, "(road Oslo Hamar)");
    assert_eq!(told(&mut ways), ["2: nothing"]);
    run(&base, "!(add-atom &self (road Hamar Oslo)) !(remove-atom &self (road Bergen Stavanger))");
    let expected = ["3: +(Hamar Oslo Bergen) +(Hamar Oslo Hamar) +(Oslo Hamar Oslo)", "4: -(Oslo Bergen Stavanger)"];
    assert_eq!(told(&mut ways), expected);
    // A transaction that is undone, and a text that changes nothing, are no commits.
    run(&base, "!(case (transaction (let $x (add-atom &self (road Hamar Hamar)) (Error no no))) (($e gone))) !(+ 1 2)");
    assert!(told(&mut ways).iter().all(|line| line.ends_with("nothing")));
    base.close().expect("it closes");
    assert!(ways.next().is_none());
}

#[test]
fn tests_absence_and_keys() {
    let base = new_base();
    run(&base, "(price tea 3) (price cake 7) (sold-out cake)");
    let dear = LiveRequest::new("(price $what $price)").template("(if (> $price 4) (dear $what) (empty))");
    let there = LiveRequest::new("(price $what $price)")
        .template("(if (has-result (match &self (sold-out $what) yes)) (empty) (buy $what $price))")
        .key("$what");
    let (mut dear, mut there) = (follow(&base, &dear), follow(&base, &there));
    assert_eq!(told(&mut dear), ["1: +(dear cake)", "1: end of 1"]);
    assert_eq!(told(&mut there), ["1: +(buy tea 3)", "1: end of 1"]);
    run(&base, "!(let $x (remove-atom &self (price tea 3)) (add-atom &self (price tea 5)))");
    run(&base, "!(remove-atom &self (sold-out cake))");
    run(&base, "!(add-atom &self (price pie much))");
    assert_eq!(told(&mut dear), ["2: +(dear tea)", "4: nothing"]);
    assert_eq!(told(&mut there), ["2: ~(buy tea 3) -> (buy tea 5)", "3: +(buy cake 7)", "4: +(buy pie much)"]);
}

#[test]
fn counts_sums_and_first_answers() {
    let base = new_base();
    run(&base, "(order Ann tea 3) (order Bob cake 7) (order Ann pie 0.1)");
    let all = || LiveRequest::new("(order $who $what $price)");
    let mut spent = follow(&base, &all().template("(spent $who $price)").sum("$price"));
    let mut orders = follow(&base, &all().template("(orders $n)").count("$n"));
    let mut most = follow(&base, &all().template("(most $who $price)").max("$price"));
    let mut least = follow(&base, &all().template("($what $price)").least(2, "$price"));
    let mut each = follow(&base, &all().template("($who $what)").greatest(1, "$price").within("$who"));
    let mut none = follow(&base, &LiveRequest::new("(gift $who $what)").template("(gifts $n)").count("$n"));
    assert_eq!(told(&mut spent), ["1: +(spent Ann 3.1) +(spent Bob 7)", "1: end of 2"]);
    assert_eq!(told(&mut orders), ["1: +(orders 3)", "1: end of 1"]);
    assert_eq!(told(&mut most), ["1: +(most Ann 3) +(most Bob 7)", "1: end of 2"]);
    assert_eq!(told(&mut least), ["1: +(pie 0.1) +(tea 3)", "1: end of 2"]);
    assert_eq!(told(&mut each), ["1: +(Ann tea) +(Bob cake)", "1: end of 2"]);
    assert_eq!(told(&mut none), ["1: +(gifts 0)", "1: end of 1"]);
    run(&base, "!(add-atom &self (order Ann cake 7))");
    run(&base, "!(remove-atom &self (order Ann pie 0.1))");
    run(&base, "!(remove-atom &self (order Bob cake 7)) !(add-atom &self (gift Bob tea))");
    let expected = [
        "2: ~(spent Ann 3.1) -> (spent Ann 10.1)",
        "3: ~(spent Ann 10.1) -> (spent Ann 10)",
        "4: -(spent Bob 7)",
        "5: nothing",
    ];
    assert_eq!(told(&mut spent), expected);
    let expected =
        ["2: ~(orders 3) -> (orders 4)", "3: ~(orders 4) -> (orders 3)", "4: ~(orders 3) -> (orders 2)", "5: nothing"];
    assert_eq!(told(&mut orders), expected);
    assert_eq!(told(&mut most), ["2: ~(most Ann 3) -> (most Ann 7)", "4: -(most Bob 7)", "5: nothing"]);
    assert_eq!(told(&mut least), ["3: -(pie 0.1) +(cake 7)", "5: nothing"]);
    assert_eq!(told(&mut each), ["2: -(Ann tea) +(Ann cake)", "4: -(Bob cake)", "5: nothing"]);
    assert_eq!(told(&mut none), ["5: ~(gifts 0) -> (gifts 1)"]);
    run(&base, "!(add-atom &self (order Ann air free))");
    let error = r#"(Error sum "1 of the values to be added up are not numbers")"#;
    assert_eq!(told(&mut spent), [format!("6: ~(spent Ann 10) -> (spent Ann {error})")]);
}

#[test]
fn atoms_with_variables_that_match_are_asked_again() {
    let base = new_base();
    run(&base, "(likes Ann tea)");
    let mut likes = follow(&base, &LiveRequest::new("(likes $who tea)").template("$who"));
    assert_eq!(told(&mut likes), ["1: +Ann", "1: end of 1"]);
    run(&base, "(likes Bob $anything)");
    run(&base, "(likes Cid tea)");
    run(&base, "!(remove-atom &self (likes Bob $anything))");
    run(&base, "!(remove-atom &self (likes Ann tea))");
    assert_eq!(told(&mut likes), ["2: +Bob", "3: +Cid", "4: -Bob", "5: -Ann"]);
}

#[test]
fn who_goes_on_after_a_commit_misses_nothing() {
    let disk = Arc::new(MemoryDisk::new());
    let base = on(Arc::clone(&disk) as Arc<dyn Disk>);
    let request = LiveRequest::new("(n $x)").template("$x");
    for number in 1..=4 {
        run(&base, &format!("(n {number})"));
    }
    let after = |base: &KnowledgeBase, epoch| base.subscribe_with(&request, 10, Some(epoch));
    let mut late = after(&base, 2).expect("there is such a commit");
    run(&base, "(n 5)");
    assert_eq!(told(&mut late), ["3: +3", "4: +4", "5: +5"]);
    match after(&base, 9).map(|_| ()) {
        Err(SubscribeError::KnowledgeBase(error)) => {
            assert!(error.to_string().contains("the last is 5") || error.to_string().contains('5'), "{error}");
        }
        other => panic!("{other:?}"),
    }
    base.close().expect("it closes");
    // Opened again, it goes on where the other process ended.
    let base = on(disk);
    run(&base, "(n 6)");
    let mut later = after(&base, 4).expect("there is such a commit");
    run(&base, "(n 7)");
    assert_eq!(told(&mut later), ["5: +5", "6: +6", "7: +7"]);
}

#[test]
fn a_full_queue_drops_and_says_what() {
    let base = new_base();
    let request = LiveRequest::new("(n $x)").template("$x");
    let mut slow = base.subscribe_with(&request, 3, None).expect("it is followed");
    assert_eq!(told(&mut slow), ["0: end of 0"]);
    for number in 1..=6 {
        run(&base, &format!("(n {number})"));
    }
    assert_eq!(told(&mut slow), ["1: +1", "2: +2", "3: +3", "dropped 4 to 6"]);
    run(&base, "(n 7)");
    assert_eq!(told(&mut slow), ["7: +7"]);
    let mut again = base.subscribe_with(&request, 3, Some(3)).expect("it is followed");
    assert_eq!(told(&mut again), ["4: +4", "5: +5", "6: +6", "7: +7"]);
}

#[test]
fn a_commit_costs_what_it_touches() {
    let base = new_base();
    let request = |number| LiveRequest::new(format!("(, (head-{number} $x $y) (head-{number} $y $z))"));
    let mut all: Vec<Subscription> = (0..1_000).map(|number| follow(&base, &request(number))).collect();
    let ran = |base: &KnowledgeBase| base.live_statistics().expect("it is open").ran;
    let before = ran(&base);
    run(
        &base,
        "!(superpose ((add-atom &self (head-1 a b)) (add-atom &self (head-5 a b)) (add-atom &self (head-9 b b))))",
    );
    assert_eq!(ran(&base) - before, 3);
    let has_changes = |line: &String| line.contains('+');
    let changed: Vec<usize> = (0..1_000).filter(|&number| told(&mut all[number]).iter().any(has_changes)).collect();
    assert_eq!(changed, [9]);
    drop(all);
    run(&base, "(head-1 c d)");
    assert_eq!(ran(&base) - before, 3);
}

#[test]
fn what_cannot_be_kept_up_to_date_is_refused() {
    let base = new_base();
    let refused = |request: LiveRequest| match base.subscribe(&request).map(|_| ()) {
        Err(SubscribeError::Request(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let pattern = || LiveRequest::new("(n $x)");
    assert!(refused(pattern().template("(+ $x 1)")).contains("(+ $x 1) would be evaluated"));
    assert!(refused(pattern().template("(if (> $x) a (empty))")).contains("would be evaluated"));
    assert!(refused(pattern().template("($x")).contains("template cannot be read"));
    assert!(refused(LiveRequest::new("(n $x) (n $y)")).contains("pattern cannot be read"));
    assert!(refused(LiveRequest::new("(,)")).contains("asks for nothing"));
    assert!(refused(pattern().key("$y")).contains("$y is named as a key"));
    assert!(refused(pattern().sum("x")).contains("x is to be a variable"));
    assert!(refused(pattern().count("$x")).contains("$x is to stand for a count"));
    assert!(matches!(
        base.subscribe(&pattern().max("$")),
        Err(SubscribeError::Request(LiveRequestError::NotAVariable(_)))
    ));
}

#[test]
fn a_thread_waits_for_what_comes() {
    let base = new_base();
    let mut numbers = follow(&base, &LiveRequest::new("(n $x)").template("$x"));
    assert_eq!(told(&mut numbers), ["0: end of 0"]);
    assert!(numbers.next_within(Duration::from_millis(5)).expect("it is followed").is_none());
    std::thread::scope(|scope| {
        let waits = scope
            .spawn(|| numbers.by_ref().take(2).map(|event| event.expect("it is told").epoch()).collect::<Vec<_>>());
        run(&base, "(n 1)");
        run(&base, "(n 2)");
        assert_eq!(waits.join().expect("it waited"), [1, 2]);
    });
}

/// What answers there are, by what was told.
#[derive(Default)]
pub(crate) struct Held(pub(crate) BTreeMap<String, i64>);

impl Held {
    pub(crate) fn take(&mut self, changes: &[AnswerChange]) {
        for change in changes {
            let copies = i64::try_from(change.copies).expect("there are few");
            let sides = [(&change.before, -copies), (&change.after, copies)];
            for (answer, copies) in sides.into_iter().filter_map(|(answer, copies)| Some((answer.as_ref()?, copies))) {
                *self.0.entry(answer.to_string()).or_default() += copies;
            }
        }
        self.0.retain(|_, copies| *copies != 0);
        assert!(self.0.values().all(|copies| *copies > 0), "what was not there went: {:?}", self.0);
    }
}

/// The queries of the generated histories, each with what it is from scratch.
pub(crate) fn queries() -> Vec<(LiveRequest, &'static str)> {
    let edges = || LiveRequest::new("(e $x $y)");
    let orders = || LiveRequest::new("(n $x $v)");
    vec![
        (edges(), "(match &self (e $x $y) (e $x $y))"),
        (
            LiveRequest::new("(, (e $x $y) (e $y $z))").template("($x $z)"),
            "(match &self (, (e $x $y) (e $y $z)) ($x $z))",
        ),
        (
            LiveRequest::new("(, (e $x $y) (e $y $z) (e $z $x))").template("(t $x $y $z)").key("$x"),
            "(match &self (, (e $x $y) (e $y $z) (e $z $x)) (t $x $y $z))",
        ),
        (
            LiveRequest::new("(, (e $x $y) (n $y $v))").template("(if (< $v 3) ($x $v) (empty))"),
            "(match &self (, (e $x $y) (n $y $v)) (if (< $v 3) ($x $v) (empty)))",
        ),
        (
            edges().template("(if (has-result (match &self (e $y $x) yes)) (empty) (one-way $x $y))"),
            "(match &self (e $x $y) (if (has-result (match &self (e $y $x) yes)) (empty) (one-way $x $y)))",
        ),
        (
            edges().template("(match &self (n $y $v) (case (match &self (n $x $u) yes) ((Empty ($x $v)))))"),
            "(match &self (e $x $y) (match &self (n $y $v) (case (match &self (n $x $u) yes) ((Empty ($x $v))))))",
        ),
        (
            orders().template("(count $x $c)").count("$c"),
            "(let $x (superpose (a b c d)) (let $c (count-results (match &self (n $x $v) one)) (if (== $c 0) (empty) (count $x $c))))",
        ),
        (
            orders().template("(sum $v)").sum("$v"),
            "(let $all (collapse (match &self (n $x $v) $v)) (let $sum (foldl-atom $all 0 $a $b (+ $a $b)) (sum $sum)))",
        ),
        (
            orders().template("(max $x $v)").max("$v"),
            "(unique (match &self (n $x $v) (if (has-result (match &self (n $x $w) (if (> $w $v) more (empty)))) (empty) (max $x $v))))",
        ),
    ]
}

/// A random commit: facts come and go, mostly rows.
pub(crate) fn random_commit(dice: &mut impl FnMut(u64) -> u64) -> String {
    let mut changes = Vec::new();
    for _ in 0..1 + dice(6) {
        let mut name = || ["a", "b", "c", "d"][dice(4) as usize];
        let (left, right) = (name(), name());
        let fact = match dice(12) {
            0..7 => format!("(e {left} {right})"),
            7..11 => format!("(n {left} {})", 1 + dice(4)),
            _ => format!("(e {left} $any)"),
        };
        let verb = if dice(5) < 3 { "add-atom" } else { "remove-atom" };
        changes.push(format!("({verb} &self {fact})"));
    }
    // What is undone is no part of any commit.
    if dice(4) == 0 {
        changes.push("(case (transaction (let $x (add-atom &self (e a a)) (Error no no))) (($e done)))".to_owned());
    }
    format!("!(collapse (superpose ({})))", changes.join(" "))
}

/// After each commit, what was told comes to what is asked anew; also for who comes later, and after the base was opened again.
fn history(seed: u64) {
    let mut dice = dice(seed);
    let disk = Arc::new(MemoryDisk::new());
    let mut base = on(Arc::clone(&disk) as Arc<dyn Disk>);
    let queries = queries();
    let join = |base: &KnowledgeBase| queries.iter().map(|(request, _)| follow(base, request)).collect::<Vec<_>>();
    let mut live = join(&base);
    let mut held: Vec<Held> = queries.iter().map(|_| Held::default()).collect();
    let mut log: Vec<Vec<String>> = queries.iter().map(|_| Vec::new()).collect();
    for number in 0..12 {
        let commit = random_commit(&mut dice);
        run(&base, &commit);
        let mut reader = base.view().reader();
        for (place, (request, asked)) in queries.iter().enumerate() {
            while let Some(event) = live[place].try_next().expect("it is followed") {
                match &event {
                    LiveEvent::Answers { changes, .. } => held[place].take(changes),
                    LiveEvent::Changes { epoch, changes } => {
                        held[place].take(changes);
                        log[place].push(format!("{epoch} {}", without_numbers(changes)));
                    }
                    _ => {}
                }
            }
            let mut found = BTreeMap::new();
            let answers = reader.evaluate(&format!("!{asked}")).expect("it is asked");
            answers[0].results.iter().for_each(|answer| *found.entry(answer.to_string()).or_insert(0) += 1);
            let plain = |held: &BTreeMap<String, i64>| -> BTreeMap<String, i64> {
                held.iter().fold(BTreeMap::new(), |mut all, (answer, copies)| {
                    *all.entry(unnumbered(answer.clone())).or_default() += copies;
                    all
                })
            };
            assert_eq!(plain(&held[place].0), plain(&found), "seed {seed}, after {commit}, {request:?}");
        }
        if number % 4 == 3 {
            base.close().expect("it closes");
            base = on(Arc::clone(&disk) as Arc<dyn Disk>);
            live = join(&base);
            held = queries.iter().map(|_| Held::default()).collect();
        }
    }
    // Whoever goes on from the beginning, by the journal, is told the same in the same order.
    for ((request, _), log) in queries.iter().zip(log) {
        let mut late = base.subscribe_with(request, 1_000, Some(0)).expect("the beginning is there");
        let mut told = Vec::new();
        while let Some(event) = late.try_next().expect("it is followed") {
            if let LiveEvent::Changes { epoch, changes } = &event {
                told.push(format!("{epoch} {}", without_numbers(changes)));
            }
        }
        assert_eq!(told, log, "seed {seed}, {request:?}");
    }
}

/// Changes as text; variables that were made for an answer have other numbers each time.
fn without_numbers(changes: &[AnswerChange]) -> String {
    let text: Vec<String> = changes.iter().map(shown).collect();
    unnumbered(text.join(", "))
}

pub(crate) fn unnumbered(mut parts: String) -> String {
    while let Some(at) = parts.find('#') {
        let digits = parts[at + 1..].chars().take_while(char::is_ascii_digit).count();
        parts.replace_range(at..at + 1 + digits, "");
    }
    parts
}

#[test]
fn any_history_of_commits_is_what_asking_anew_finds() {
    seeds(0..16).for_each(history);
}
