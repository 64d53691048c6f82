//! A base applies what is edited in its sources. The model is a list of atoms, and for each file a list of what it states.

use crate::history::{engine, plain, results, run_source};
use generate::Dice;
use journal::{Disk, MemoryDisk};
use metroon::run::Source;
use metroon::{Engine, MemoryWorld, RunEnd};
use std::collections::BTreeMap;
use std::sync::Arc;

const HISTORIES: u64 = 80;

/// What files state: two kinds of one number, atoms equal but for a variable's name, and others.
const STATEMENTS: [&str; 9] =
    ["(n 1)", "(n 1.0)", "(r $x)", "(r $y)", "a", "(b (c \"d\"))", "(b 2)", "(n -0.0)", "(e)"];

/// What tells atoms apart.
fn key(statement: &str) -> String {
    plain(statement).replace("$x", "$").replace("$y", "$")
}

/// What makes atoms equal.
fn class(key: &str) -> String {
    key.replace("1.0", "1")
}

#[derive(Default)]
struct Model {
    atoms: Vec<(String, usize)>,
    files: BTreeMap<String, File>,
}

#[derive(Default, Clone)]
struct File {
    stated: Vec<String>,
    content: String,
    is_complete: bool,
}

/// A text of a file: its statements, and how it ends.
#[derive(Clone)]
struct Text {
    statements: Vec<&'static str>,
    /// An error comes before this statement.
    error_at: Option<usize>,
    is_cut_off: bool,
}

impl Text {
    fn random(dice: &mut Dice) -> Self {
        let statements: Vec<&str> = (0..dice.below(7)).map(|_| dice.pick(&STATEMENTS)).collect();
        let error_at = (dice.below(5) == 0).then(|| dice.below(statements.len() + 1));
        Self { statements, error_at, is_cut_off: dice.below(8) == 0 }
    }

    /// The text with a line less, a line more, two exchanged, or its errors mended.
    fn edited(&self, dice: &mut Dice) -> Self {
        let mut text = Self { error_at: None, is_cut_off: false, ..self.clone() };
        let length = text.statements.len();
        match dice.below(4) {
            0 if length > 0 => drop(text.statements.remove(dice.below(length))),
            1 if length > 1 => text.statements.swap(0, length - 1),
            2 => text.statements.insert(dice.below(length + 1), dice.pick(&STATEMENTS)),
            _ => {}
        }
        text
    }

    fn write(&self, name: &str) -> String {
        let mut lines: Vec<String> = self.statements.iter().map(|statement| (*statement).to_owned()).collect();
        if let Some(at) = self.error_at {
            lines.insert(at.min(lines.len()), "! (Error this stops)".to_owned());
        }
        // Two files never have one content, which would be a file that was moved.
        lines.insert(0, format!("; {name}"));
        lines.extend(self.is_cut_off.then(|| "(this is cut off".to_owned()));
        lines.join("\n")
    }
}

impl Model {
    fn add(&mut self, key: &str) {
        match self.atoms.iter_mut().find(|(known, _)| known == key) {
            Some((_, copies)) => *copies += 1,
            None => self.atoms.push((key.to_owned(), 1)),
        }
    }

    fn remove_at(&mut self, index: usize) {
        self.atoms[index].1 -= 1;
        if self.atoms[index].1 == 0 {
            self.atoms.remove(index);
        }
    }

    fn remove_exactly(&mut self, key: &str) -> bool {
        let found = self.atoms.iter().position(|(known, _)| known == key);
        found.map(|index| self.remove_at(index)).is_some()
    }

    fn remove(&mut self, key: &str) {
        if !self.remove_exactly(key)
            && let Some(index) = self.atoms.iter().position(|(known, _)| class(known) == class(key))
        {
            self.remove_at(index);
        }
    }

    fn run(&mut self, name: &str, text: &Text) {
        let mut file = self.files.remove(name).unwrap_or_default();
        let content = text.write(name);
        if !(file.is_complete && file.content == content) {
            self.apply(&mut file, text);
            file.content = content;
        }
        self.files.insert(name.to_owned(), file);
    }

    fn apply(&mut self, file: &mut File, text: &Text) {
        let keys: Vec<String> = text.statements.iter().map(|statement| key(statement)).collect();
        let mut wanted = keys.clone();
        let mut kept = Vec::new();
        for stated in std::mem::take(&mut file.stated) {
            match wanted.iter().position(|wanted| *wanted == stated) {
                Some(index) => {
                    wanted.remove(index);
                    kept.push(stated);
                }
                None if text.is_cut_off => kept.push(stated),
                None => drop(self.remove_exactly(&stated)),
            }
        }
        file.stated.clone_from(&kept);
        let until = text.error_at.unwrap_or(keys.len()).min(keys.len());
        for key in &keys[..until] {
            match kept.iter().position(|kept| kept == key) {
                Some(index) => drop(kept.remove(index)),
                None => {
                    self.add(key);
                    file.stated.push(key.clone());
                }
            }
        }
        file.is_complete = text.error_at.is_none() && !text.is_cut_off;
    }

    fn all(&self) -> Vec<String> {
        self.atoms.iter().flat_map(|(key, copies)| std::iter::repeat_n(key.clone(), *copies)).collect()
    }
}

fn found(engine: &mut Engine) -> Vec<String> {
    results(engine, "!(get-atoms &self)").iter().map(|atom| key(&atom.to_string())).collect()
}

#[test]
fn a_base_holds_what_its_edited_files_state() {
    for seed in 0..HISTORIES {
        let mut dice = Dice::new(seed);
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let mut model = Model::default();
        let mut texts: BTreeMap<&str, Text> = BTreeMap::new();
        let mut base = engine(&disk, MemoryWorld::default());
        let mut history = Vec::new();
        for _ in 0..14 {
            if dice.below(4) == 0 {
                drop(base);
                base = engine(&disk, MemoryWorld::default());
                history.push("reopened".to_owned());
            }
            let name = dice.pick(&["/kb/one.metta", "/kb/two.metta", "/elsewhere/one.metta"]);
            if dice.below(4) == 0 {
                let (operation, statement) = (dice.pick(&["add-atom", "remove-atom"]), dice.pick(&STATEMENTS));
                let text = format!("! ({operation} &self {statement})");
                run_source(&mut base, &Source::text(&text));
                if operation == "add-atom" {
                    model.add(&key(statement))
                } else {
                    model.remove(&key(statement))
                }
                history.push(text);
            } else {
                let text = match texts.get(name) {
                    Some(text) if dice.below(4) == 0 => text.clone(),
                    Some(text) if dice.below(3) > 0 => text.edited(&mut dice),
                    _ => Text::random(&mut dice),
                };
                let content = text.write(name);
                let (_, end) = run_source(&mut base, &Source { file: Some(name), ..Source::text(&content) });
                let is_ended = match (text.error_at, text.is_cut_off) {
                    (Some(_), _) => matches!(end, RunEnd::Error),
                    (None, true) => matches!(end, RunEnd::NotParsed),
                    (None, false) => matches!(end, RunEnd::Finished),
                };
                assert!(is_ended, "{end:?}: {content}");
                model.run(name, &text);
                texts.insert(name, text);
                history.push(content);
            }
            assert_eq!(found(&mut base), model.all(), "seed {seed}: {history:#?}");
        }
    }
}

/// What an engine in a base prints for each of its files, run one after the other in sittings of their own.
fn sittings(files: &[(&str, &str)], last: &str) -> Vec<String> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for (library, program) in files {
        let world = MemoryWorld::default().with_source("lib.metta", *library);
        run_source(&mut engine(&disk, world), &Source::text(program));
    }
    let (library, _) = files.last().expect("there is a sitting");
    let world = MemoryWorld::default().with_source("lib.metta", *library);
    run_source(&mut engine(&disk, world), &Source::text(last)).0
}

#[test]
fn a_file_that_is_moved_and_then_edited_is_the_same_file() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for (name, text) in [("/kb/a.metta", "(a 1) (a 2)"), ("/kb/b.metta", "(a 1) (a 2)"), ("/kb/b.metta", "(a 2) (a 3)")]
    {
        run_source(&mut engine(&disk, MemoryWorld::default()), &Source { file: Some(name), ..Source::text(text) });
    }
    assert_eq!(found(&mut engine(&disk, MemoryWorld::default())), ["(a 2)", "(a 3)"]);
}

#[test]
fn an_edited_module_applies_its_difference() {
    let import = "! (import! &self lib)";
    let files = [("(l 1) (l 2)", import), ("(l 2) (l 3)", import), ("(l 2) (l 3)", import)];
    assert_eq!(sittings(&files, "! (match &self (l $x) $x)"), ["[2, 3]"]);
    assert_eq!(sittings(&files[..1], "! (match &self (l $x) $x)"), ["[1, 2]"]);
}

#[test]
fn a_module_that_a_transaction_compared_with_its_file_is_compared_again() {
    let files = [("(l 1)", "! (import! &self lib)"), ("(l 2)", "")];
    let failing = "! (transaction (let $a (import! &self lib) (Error undone again)))";
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    run_source(
        &mut engine(&disk, MemoryWorld::default().with_source("lib.metta", files[0].0)),
        &Source::text(files[0].1),
    );
    let mut base = engine(&disk, MemoryWorld::default().with_source("lib.metta", files[1].0));
    run_source(&mut base, &Source::text(failing));
    assert_eq!(run_source(&mut base, &Source::text("! (match &self (l $x) $x)")).0, ["[1]"]);
    run_source(&mut base, &Source::text("! (import! &self lib)"));
    assert_eq!(run_source(&mut base, &Source::text("! (match &self (l $x) $x)")).0, ["[2]"]);
}
