//! Random programs run without a base, in a base, and in a base closed and reopened between any two of their sources, from its first
//! commit or from a checkpoint: all print the same and hold the same. The past and the state hash are what a naive account of them says.

use crate::history::{DIRECTORY, Writer, engine, plain, results, run, world};
use journal::{Disk, MemoryDisk};
use metroon::{Atom, Engine, History, RunEnd};
use space::{Grounded, SharedSpace, VariableSource, canonical};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use twox_hash::XxHash3_128;

const PROGRAMS: u64 = 60;

/// Sources of a program; what an error ends is one source.
pub(crate) fn program(seed: u64) -> (Vec<String>, Writer) {
    let mut writer = Writer::new(seed);
    let length = 4 + writer.dice.below(22);
    let sources = (0..length).map(|_| {
        let forms = if writer.dice.below(4) == 0 { 1 + writer.dice.below(4) } else { 1 };
        (0..forms).map(|_| writer.form()).collect::<Vec<_>>().join("\n")
    });
    (sources.collect(), writer)
}

/// What every word means and every space holds, printed.
pub(crate) fn contents(engine: &mut Engine, writer: &Writer) -> Vec<String> {
    let mut lines = Vec::new();
    for word in writer.spaces.iter().chain(&writer.states) {
        lines.extend(run(engine, &format!("!({word})")).0);
        if writer.spaces.contains(word) {
            lines.extend(run(engine, &format!("!(get-atoms {word})")).0);
            lines.extend(run(engine, &format!("!(match {word} (q 1 $y) $y)")).0);
        }
    }
    lines.extend(run(engine, "!(get-atoms &self)\n!(lib-rule 5)\n!(new-space)\n!(match &self (lib-fact $x) $x)").0);
    lines
}

/// Runs a source in a base that is opened from a checkpoint of the commits before, if there are any.
fn run_from_checkpoint(disk: &Arc<dyn Disk>, source: &str, context: &str) -> (Vec<String>, RunEnd) {
    let mut base = engine(disk, world());
    assert_eq!(base.warnings(), [""; 0], "{context}");
    let ran = run(&mut base, source);
    // A base without commits has none.
    let _ = base.checkpoint();
    base.finish().expect("the base closes");
    ran
}

#[test]
fn programs_run_alike_without_a_base_in_one_and_reopened() {
    for seed in 0..PROGRAMS {
        let (sources, writer) = program(seed);
        let mut free = Engine::new(world());
        let kept: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let mut kept = engine(&kept, world());
        let reopened: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let checked: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        for (number, source) in sources.iter().enumerate() {
            let context = format!("seed {seed}, source {number}: {source}");
            let (expected, end) = run(&mut free, source);
            let (found, found_end) = run(&mut kept, source);
            assert_eq!(expected, found, "in a base: {context}");
            assert_eq!(format!("{end:?}"), format!("{found_end:?}"), "in a base: {context}");
            let mut again = engine(&reopened, world());
            let (found, found_end) = run(&mut again, source);
            again.finish().expect("the base closes");
            assert_eq!(expected, found, "reopened: {context}");
            assert_eq!(format!("{end:?}"), format!("{found_end:?}"), "reopened: {context}");
            let (found, found_end) = run_from_checkpoint(&checked, source, &context);
            assert_eq!(expected, found, "from a checkpoint: {context}");
            assert_eq!(format!("{end:?}"), format!("{found_end:?}"), "from a checkpoint: {context}");
        }
        let expected = contents(&mut free, &writer);
        assert_eq!(expected, contents(&mut kept, &writer), "in a base: seed {seed}: {sources:#?}");
        assert_eq!(expected, contents(&mut engine(&reopened, world()), &writer), "reopened: seed {seed}: {sources:#?}");
        let checked = contents(&mut engine(&checked, world()), &writer);
        assert_eq!(expected, checked, "from a checkpoint: seed {seed}: {sources:#?}");
    }
}

/// Modules, words, generators and settings, in an order that each depends on what came before.
const OTHERS: &[&str] = &[
    "! (import! &self random) ! (bind! &r (new-random-generator 7)) ! (random-int &r 0 1000000)",
    "! (random-int &r 0 1000000) ! (random-float &r 0 1)",
    "! (set-random-seed &r 9) ! (random-int &r 0 1000000)",
    "! (let $g (new-random-generator 3) (add-atom &self (keeps $g)))",
    "! (match &self (keeps $g) (random-int $g 0 1000000))",
    "! (match &self (keeps $g) (random-int $g 0 1000000)) ! (random-int &rng 0 1000000)",
    "! (transaction (let $a (random-int &r 0 9) (Error undone $a)))",
    "! (random-int &r 0 1000000)",
    "! (import! &m lib) ! (match &m (lib-fact $x) $x) ! (add-atom &m (added))",
    "! (get-atoms &m) ! (import! &self lib) ! (match &self (added) found)",
    "! (remove-atom &m (lib-fact 1)) ! (match &self (lib-fact $x) $x) ! (print-mods!)",
    "! (import! &self lib) ! (match &self (lib-fact $x) $x) ! (lib-rule 1)",
    "! (include lib) ! (get-atoms &self)",
    "! (register-module! nothing) ! (mod-space! lib)",
    "! (mod-space! top:lib) ! (import! &self fileio) ! (import! &self system)",
    "! (get-type file-open!) ! (get-type &r) ! (get-type random-int)",
    "! (bind! five 5) (n five) ! (match &self (n $x) (+ $x five))",
    "! (match &self (n five) five) ! (add-atom &self (op + bind! match)) ! (match &self (op $p $b $m) ($p 1 2))",
    "! (match &self (op $p $b $m) ($b six 6)) ! (+ six 1)",
    "! (+ six 1) ! (match &self (op $p $b $m) ($m &self (n $x) $x))",
    "! (pragma! type-check auto) (: f (-> Number Number)) ! (f text)",
    "(f text)",
    "! (let $x (f text) $x)",
    "! (pragma! type-check none) (f text) ! (pragma! max-stack-depth 300) (= (down $n) (+ 1 (down $n))) ! (down 0)",
    "! (down 0)",
    "! (new-space) ! (new-state (a $x $y $x))",
    "! (bind! &c (new-space)) ! (add-atom &c (in &c)) ! (add-atom &c &c) ! (get-atoms &c)",
    "! (match &c (in $x) (add-atom $x (deep))) ! (get-atoms &c) ! (new-space)",
];

#[test]
fn modules_generators_words_and_settings_go_on_alike() {
    let reopened: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let checked: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let kept: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (mut free, mut kept) = (Engine::new(world()), engine(&kept, world()));
    for source in OTHERS {
        let expected = run(&mut free, source).0;
        assert_eq!(expected, run(&mut kept, source).0, "in a base: {source}");
        let mut again = engine(&reopened, world());
        let found = run(&mut again, source).0;
        again.finish().expect("the base closes");
        // A world begins anew with each sitting, so what is drawn from it is another number.
        let checked = run_from_checkpoint(&checked, source, source).0;
        if !source.contains("&rng") {
            assert_eq!(expected, found, "reopened: {source}");
            assert_eq!(expected, checked, "from a checkpoint: {source}");
        }
    }
}

/// The hash of everything an engine holds, found by looking at it.
struct Oracle {
    sum: u128,
    seen: BTreeSet<(bool, u64)>,
}

impl Oracle {
    fn hash(engine: &mut Engine, writer: &Writer) -> u128 {
        let mut oracle = Self { sum: 0, seen: BTreeSet::new() };
        let self_space = results(engine, "! &self");
        oracle.visit(&self_space[0]);
        if let Atom::Grounded(Grounded::Space(space)) = &self_space[0] {
            // The library is imported by all; the module of these programs is number 2.
            let key = [1_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
            if space.imports().len() > 1 {
                oracle.content(4, &key, &[]);
            }
            space.imports().iter().skip(1).for_each(|import| oracle.space(import));
        }
        for word in writer.words() {
            let meaning = results(engine, &format!("! {word}"));
            if meaning[0].to_string() != *word {
                oracle.visit(&meaning[0]);
                let key = [&1_u32.to_be_bytes()[..], word.as_bytes()].concat();
                oracle.content(3, &key, &canonical::encode(&meaning[0]));
            }
        }
        oracle.sum
    }

    fn add(&mut self, bytes: &[&[u8]]) {
        self.sum = self.sum.wrapping_add(XxHash3_128::oneshot(&bytes.concat()));
    }

    fn content(&mut self, kind: u8, key: &[u8], content: &[u8]) {
        self.add(&[&[kind], &(key.len() as u64).to_be_bytes(), key, content]);
    }

    fn visit(&mut self, atom: &Atom) {
        match atom {
            Atom::Grounded(Grounded::Space(space)) => self.space(space),
            Atom::Grounded(Grounded::State(state)) if self.seen.insert((false, state.serial())) => {
                self.content(2, &state.serial().to_be_bytes(), &canonical::encode(&state.value()));
                self.visit(&state.value());
            }
            Atom::Expression(expression) => expression.children().iter().for_each(|child| self.visit(child)),
            _ => {}
        }
    }

    fn space(&mut self, space: &SharedSpace) {
        if space.serial() == 0 || !self.seen.insert((true, space.serial())) {
            return;
        }
        let mut sum: u128 = 0;
        for atom in space.atoms(&mut VariableSource::default()) {
            sum = sum.wrapping_add(canonical::hash(&atom));
            self.visit(&atom);
        }
        if sum != 0 {
            self.content(1, &space.serial().to_be_bytes(), &sum.to_le_bytes());
        }
    }
}

/// What a program's own space holds.
fn atoms(engine: &mut Engine) -> Vec<Atom> {
    match &results(engine, "! &self")[0] {
        Atom::Grounded(Grounded::Space(space)) => space.atoms(&mut VariableSource::default()),
        other => panic!("&self is {other}"),
    }
}

fn printed(atoms: &[Atom]) -> Vec<String> {
    atoms.iter().map(|atom| plain(&atom.to_string())).collect()
}

fn counts(atoms: &[Atom]) -> BTreeMap<Vec<u8>, usize> {
    atoms.iter().fold(BTreeMap::new(), |mut counts, atom| {
        *counts.entry(canonical::encode(atom)).or_default() += 1;
        counts
    })
}

fn epoch(engine: &mut Engine) -> u64 {
    results(engine, "!(epoch &self)")[0].to_string().parse().expect("it is a number")
}

/// Settings have no words to look them up by.
fn has_setting(source: &str) -> bool {
    source.contains("pragma!")
}

#[test]
fn the_past_and_the_hash_are_what_a_naive_account_says() {
    for seed in 100..100 + PROGRAMS {
        let (sources, writer) = program(seed);
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let mut engine = engine(&disk, world());
        let mut hashes: BTreeMap<u64, u128> = BTreeMap::new();
        let mut past: BTreeMap<u64, Vec<Atom>> = [(0, Vec::new())].into();
        let mut shown: BTreeMap<u64, Vec<String>> = [(0, Vec::new())].into();
        let sources: Vec<String> = sources.into_iter().filter(|source| !has_setting(source)).collect();
        for source in &sources {
            run(&mut engine, source);
            let (epoch, atoms) = (epoch(&mut engine), atoms(&mut engine));
            shown.insert(epoch, printed(&atoms));
            past.insert(epoch, atoms);
            hashes.insert(epoch, Oracle::hash(&mut engine, &writer));
        }
        for (epoch, expected) in &shown {
            let found = results(&mut engine, &format!("!(get-atoms (as-of &self {epoch}))"));
            assert_eq!(*expected, printed(&found), "seed {seed}, as of {epoch}: {sources:#?}");
        }
        drop(engine);
        let mut view = History::on_disk(&disk, DIRECTORY).expect("the base is sound");
        for (epoch, expected) in &shown {
            let found = view.atoms_at(*epoch).expect("there is such a commit");
            assert_eq!(*expected, printed(&found), "seed {seed}, at {epoch}: {sources:#?}");
        }
        let last = view.epoch();
        view.log(1..=last, true, &mut |entry| {
            if let metroon::history::LogEntry::Commit(commit) = entry
                && let Some(expected) = hashes.get(&commit.epoch)
            {
                assert_eq!(*expected, commit.hash, "seed {seed}, commit {}", commit.epoch);
            }
            true
        })
        .expect("the commits are sound");
        check_why(&mut view, &past, &format!("seed {seed}: {sources:#?}"));
    }
}

/// Each atom came with the commits that had more of it than the one before, less those that later ones took away.
fn check_why(view: &mut History, past: &BTreeMap<u64, Vec<Atom>>, context: &str) {
    let mut expected: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
    for (epoch, atoms) in past {
        let now = counts(atoms);
        for (bytes, epochs) in &mut expected {
            epochs.truncate(now.get(bytes).copied().unwrap_or(0));
        }
        for (bytes, count) in now {
            expected.entry(bytes).or_default().resize(count, *epoch);
        }
    }
    for atom in past.values().last().into_iter().flatten().filter(|atom| atom.is_ground() && is_closed(atom)) {
        let found: Vec<u64> =
            view.why(atom).expect("the journal reads").reasons.iter().map(|reason| reason.epoch).collect();
        let naive = &expected[&canonical::encode(atom)];
        // A source of several commits is one step of the account.
        let steps: Vec<u64> = found.iter().map(|epoch| *past.range(epoch..).next().expect("a later step").0).collect();
        assert_eq!(*naive, steps, "{atom}, {context}");
    }
}

/// Whether it holds no state or space, which belong to one process.
pub(crate) fn is_closed(atom: &Atom) -> bool {
    match atom {
        Atom::Grounded(Grounded::Space(_) | Grounded::State(_)) => false,
        Atom::Expression(expression) => expression.children().iter().all(is_closed),
        _ => true,
    }
}
