//! Programs made from numbers, and what they leave behind. Each is made from a seed, so that a failure can be run again.

use generate::Dice;
use journal::Disk;
use metroon::run::Source;
use metroon::storage::CommitJournal;
use metroon::{Atom, Engine, MemoryWorld, Run, RunEnd};
use std::sync::Arc;

/// Where the base lies, as far as sources are named.
pub(crate) const DIRECTORY: &str = "/kb";

/// Children of atoms: few, so that they meet again, and those where kinds and sizes change.
const PARTS: [&str; 22] = [
    "a",
    "b",
    "a",
    "b",
    "1",
    "1.0",
    "2",
    "$x",
    "$y",
    "-0.0",
    "0",
    "0.0",
    "9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "1e300",
    "\"\"",
    "\"a\\u{0}b\\n\"",
    "\"\\\"é\"",
    "True",
    "()",
    "+",
];

/// A program on its way: which words its forms have bound.
pub(crate) struct Writer {
    pub(crate) dice: Dice,
    pub(crate) spaces: Vec<String>,
    pub(crate) states: Vec<String>,
    made: usize,
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), spaces: vec!["&self".to_owned()], states: Vec::new(), made: 0 }
    }

    /// All words that may be bound.
    pub(crate) fn words(&self) -> impl Iterator<Item = &String> {
        self.spaces.iter().skip(1).chain(&self.states)
    }

    fn space(&mut self) -> String {
        let index = if self.dice.below(2) == 0 { 0 } else { self.dice.below(self.spaces.len()) };
        self.spaces[index].clone()
    }

    fn part(&mut self) -> String {
        match self.dice.below(12) {
            0 if !self.states.is_empty() => self.states[self.dice.below(self.states.len())].clone(),
            1 => self.space(),
            2 => format!("({} {})", self.dice.pick(&PARTS), self.dice.pick(&PARTS)),
            _ => self.dice.pick(&PARTS).to_owned(),
        }
    }

    /// An atom to be added, removed or asked for.
    pub(crate) fn atom(&mut self) -> String {
        match self.dice.below(40) {
            0 => self.dice.pick(&["a", "1", "1.0", "\"text\"", "()"]).to_owned(),
            1 => format!("(= (rule $x {}) (body $x $y))", self.part()),
            2 => format!("(wide {})", (0..20).map(|_| self.part()).collect::<Vec<_>>().join(" ")),
            3 => format!("(long {})", "(deep ".repeat(60) + "a" + &")".repeat(60)),
            4 => format!("(text \"{}\")", "x".repeat(self.dice.below(3000))),
            5..15 => format!("(p {})", self.part()),
            _ => format!("(q {} {})", self.part(), self.part()),
        }
    }

    fn fresh(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("&{kind}{}", self.made)
    }

    /// Something that makes a space.
    fn making(&mut self) -> String {
        let (one, other) = (self.space(), self.space());
        match self.dice.below(8) {
            0 | 1 => format!("(fork-space {one})"),
            2 => format!("(union-spaces {one} {other})"),
            3 => format!("(intersect-spaces {one} {other})"),
            4 => format!("(subtract-spaces {one} {other})"),
            5 => format!("(restrict-space {one} {other})"),
            _ => "(new-space)".to_owned(),
        }
    }

    /// Something that adds.
    fn adding(&mut self) -> String {
        let (space, atom) = (self.space(), self.atom());
        match (self.dice.below(6), self.states.is_empty()) {
            (0, false) => {
                let state = self.states[self.dice.below(self.states.len())].clone();
                format!("(change-state! {state} {})", self.part())
            }
            (1, _) => format!("(add-atoms {space} ({atom} {}))", self.atom()),
            _ => format!("(add-atom {space} {atom})"),
        }
    }

    /// A plain form, or one after `!`.
    pub(crate) fn form(&mut self) -> String {
        match self.dice.below(34) {
            0..8 => self.atom(),
            8..14 => format!("!{}", self.adding()),
            14..18 => format!("!(remove-atom {} {})", self.space(), self.atom()),
            18 => {
                let made = self.making();
                let word = self.fresh("s");
                self.spaces.push(word.clone());
                format!("!(bind! {word} {made})")
            }
            19 => {
                let (word, value) = (self.fresh("t"), self.part());
                self.states.push(word.clone());
                format!("!(bind! {word} (new-state {value}))")
            }
            20 => "!(import! &self lib)".to_owned(),
            21 => format!("!(pragma! max-stack-depth {})", 500 + self.dice.below(500)),
            22 => format!("!(collapse (match {} (p $z) $z))", self.space()),
            23 => format!("!(match {} {} found)", self.space(), self.atom()),
            24 => "!(commit!)".to_owned(),
            25 => format!("!(let* (($a {}) ($b (commit!))) {})", self.adding(), self.adding()),
            26 | 27 => format!("!(transaction (let $a {} {}))", self.adding(), self.adding()),
            28 | 29 => format!("!(transaction (let $a {} (Error {} undone)))", self.adding(), self.part()),
            30 => format!(
                "!(transaction (let $a {} (transaction (let $b {} (Error x y)))))",
                self.adding(),
                self.adding()
            ),
            31 => format!("!(superpose ({} {}))", self.adding(), self.adding()),
            32 => format!("!(Error {} {})", self.part(), self.part()),
            _ => format!("!(let $s (new-state {}) (add-atom {} (kept $s)))", self.part(), self.space()),
        }
    }
}

/// A world with a module to import.
pub(crate) fn world() -> MemoryWorld {
    let module = "(= (lib-rule $x) (lib-body $x))\n(lib-fact 1)\n! (add-atom &self (lib-made))\n";
    MemoryWorld::default().with_source("lib.metta", module)
}

/// An engine in the base on a disk.
pub(crate) fn engine(disk: &Arc<dyn Disk>, world: MemoryWorld) -> Engine {
    let base = CommitJournal::on_disk(Arc::clone(disk), DIRECTORY).expect("the base opens");
    Engine::with_base(world, base).expect("the base loads")
}

/// A line without what may differ between runs: the numbers of variables, and that a space is of the past.
pub(crate) fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['#', '@']).into_iter().chain(rest.find("as-of-")).min() {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(past) = rest.strip_prefix("as-of-") {
            let (_, inside) = past.split_once('(').expect("a space of the past names one");
            let (name, after) = inside.split_once(')').expect("its name ends");
            // A module's space has brackets in its own name.
            let (name, after) =
                if name.contains('(') { (format!("{name})"), &after[1..]) } else { (name.to_owned(), after) };
            plain.push_str(&name);
            rest = after;
        } else {
            rest = rest[1..].trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
    }
    plain + rest
}

/// Runs a text; its answers, and how it ended.
pub(crate) fn run(engine: &mut Engine, text: &str) -> (Vec<String>, RunEnd) {
    run_source(engine, &Source::text(text))
}

pub(crate) fn run_source(engine: &mut Engine, source: &Source<'_>) -> (Vec<String>, RunEnd) {
    let mut answers = Vec::new();
    let Run { end, .. } = engine.run_source(source, &mut |_, answer| {
        let results: Vec<String> = answer.results.iter().map(|result| plain(&result.to_string())).collect();
        answers.push(format!("[{}]", results.join(", ")));
        Ok(())
    });
    (answers, end)
}

/// The results of one `!` form.
pub(crate) fn results(engine: &mut Engine, form: &str) -> Vec<Atom> {
    let mut found = Vec::new();
    engine.run_text(form, &mut |_, answer| {
        found = answer.results.to_vec();
        Ok(())
    });
    found
}
