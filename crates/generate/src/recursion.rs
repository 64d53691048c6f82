//! Tabled recursion over facts: functions that call each other to the left, to the right and twice, in layers. A layer asks for numbers, lists and
//! some of the results of the one below, whose tables are complete by then; nothing asks so of its own layer, so there is always an answer.
//!
//! Between the questions facts and rules come and go, which empties tables.

use crate::Dice;

/// How many functions a layer has, at most, and how many layers there are, at most.
const FUNCTIONS_MAX: usize = 3;
const LAYERS_MAX: usize = 3;
/// How many questions a program asks.
const QUESTIONS: usize = 6;

/// A program of a seed.
#[must_use]
pub fn recursion(seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0x7ab1_ed00);
    let nodes = some_nodes(&mut dice);
    let mut writer = Recursion { dice, nodes, layers: Vec::new(), lines: Vec::new() };
    writer.facts();
    for _ in 0..1 + writer.dice.below(LAYERS_MAX) {
        writer.layer();
    }
    for _ in 0..QUESTIONS {
        if writer.dice.one_in(4) {
            let change = writer.change();
            writer.lines.push(change);
        }
        let asked = writer.question();
        writer.lines.push(format!("!{asked}"));
    }
    writer.lines.join("\n") + "\n"
}

/// What the graph is about: symbols, numbers, equal numbers that differ, or expressions.
fn some_nodes(dice: &mut Dice) -> Vec<&'static str> {
    let all: [&[&str]; 5] = [
        &["a", "b", "c", "d", "e", "f"],
        &["1", "2", "3", "4", "5", "6"],
        &["1", "1.0", "2", "2.0", "a", "\"a\""],
        &["(n 1)", "(n 2)", "(n a)", "(m (n 1))", "a", "1"],
        &["a", "b", "c", "d", "$any", "1"],
    ];
    let kind = [0, 0, 0, 1, 1, 2, 3, 4][dice.below(8)];
    all[kind][..3 + dice.below(4)].to_vec()
}

struct Recursion {
    dice: Dice,
    nodes: Vec<&'static str>,
    /// For each layer how many functions it has: `t0-1` is the second of the first layer.
    layers: Vec<usize>,
    lines: Vec<String>,
}

impl Recursion {
    fn node(&mut self) -> &'static str {
        self.dice.pick(&self.nodes)
    }

    fn fact(&mut self) -> String {
        let (one, other) = (self.node(), self.node());
        match self.dice.below(6) {
            0 => format!("(mark {one})"),
            1 => format!("(weight {one} {})", self.dice.below(5)),
            _ => format!("(edge {one} {other})"),
        }
    }

    fn facts(&mut self) {
        for _ in 0..4 + self.dice.below(9) {
            let fact = self.fact();
            self.lines.push(fact);
        }
    }

    /// Functions that may call each other, and ask for all results of those below.
    fn layer(&mut self) {
        let (layer, count) = (self.layers.len(), 1 + self.dice.below(FUNCTIONS_MAX));
        let mut lines = Vec::new();
        for place in 0..count {
            let name = format!("t{layer}-{place}");
            lines.push(format!("!(pragma! table {name})"));
            if self.dice.one_in(6) {
                let typed = self.dice.pick(&["(-> Atom Atom)", "(-> %Undefined% %Undefined%)", "(-> $t $t)"]);
                lines.push(format!("(: {name} {typed})"));
            }
            for rule in 0..1 + self.dice.below(3) {
                let body = if rule == 0 { self.ground(layer) } else { self.recursive(layer, count) };
                let parameter = if self.dice.one_in(8) { self.node() } else { "$x" };
                lines.push(format!("(= ({name} {parameter}) {body})"));
            }
        }
        if self.dice.one_in(3) {
            lines.extend(self.relation(layer));
        }
        self.shuffle(&mut lines);
        self.lines.extend(lines);
        self.layers.push(count);
    }

    /// A function of two arguments, for calls with variables.
    fn relation(&mut self, layer: usize) -> Vec<String> {
        let name = format!("p{layer}");
        let step = match self.dice.below(3) {
            0 => format!("(= ({name} $x $z) (let True ({name} $x $y) ({name} $y $z)))"),
            1 => format!("(= ({name} $x $z) (let True ({name} $x $y) (match &self (edge $y $z) True)))"),
            _ => format!("(= ({name} $x $z) (match &self (edge $x $y) ({name} $y $z)))"),
        };
        vec![format!("!(pragma! table {name})"), format!("(= ({name} $x $y) (match &self (edge $x $y) True))"), step]
    }

    fn shuffle(&mut self, lines: &mut [String]) {
        for last in (1..lines.len()).rev() {
            let other = self.dice.below(last + 1);
            lines.swap(last, other);
        }
    }

    /// A body that calls nothing of its layer.
    fn ground(&mut self, layer: usize) -> String {
        if layer > 0 && self.dice.one_in(2) {
            return self.asking(layer);
        }
        match self.dice.below(6) {
            0 => "(match &self (edge $x $y) (if (== $y $x) (empty) $y))".to_owned(),
            1 => "(match &self (, (edge $x $y) (mark $y)) $y)".to_owned(),
            2 => format!("(superpose ($x {}))", self.node()),
            3 => "(match &self (weight $x $w) $w)".to_owned(),
            _ => "(match &self (edge $x $y) $y)".to_owned(),
        }
    }

    /// A body that calls the functions of its layer.
    fn recursive(&mut self, layer: usize, count: usize) -> String {
        let mut name = || format!("t{layer}-{}", self.dice.below(count));
        let (one, other) = (name(), name());
        match self.dice.below(12) {
            0 | 1 => format!("(let $y ({one} $x) (match &self (edge $y $z) $z))"),
            2 | 3 => format!("(match &self (edge $x $y) ({one} $y))"),
            4 => format!("(let $y ({one} $x) ({other} $y))"),
            5 => format!("(let* (($y ({one} $x)) ($z ({other} $y))) (if (== $z $x) (empty) $z))"),
            6 => format!("({one} ({other} $x))"),
            7 => format!("(match &self (, (edge $x $y) (edge $y $z)) ({one} $z))"),
            8 => format!("(case ({one} $x) (({} ({other} $x)) ({} found)))", self.node(), self.node()),
            9 => format!("(superpose (({one} $x) ({other} {})))", self.node()),
            10 if layer > 0 => format!("(if (> {} 1) ({one} $x) ({other} $x))", self.number(layer)),
            _ => format!("({one} $x)"),
        }
    }

    /// A call of a function of a layer below.
    fn below(&mut self, layer: usize) -> String {
        let layer = self.dice.below(layer);
        let place = self.dice.below(self.layers[layer]);
        let of = if self.dice.one_in(3) { self.node() } else { "$x" };
        format!("(t{layer}-{place} {of})")
    }

    /// How many results a call of a layer below has.
    fn number(&mut self, layer: usize) -> String {
        let call = self.below(layer);
        match self.dice.below(3) {
            0 => format!("(count-results {call})"),
            1 => format!("(size-atom (collapse {call}))"),
            _ => format!("(let $all (collapse {call}) (foldl-atom $all 0 $sum $each (+ $sum 1)))"),
        }
    }

    /// What asks for all results of a call of a layer below.
    fn asking(&mut self, layer: usize) -> String {
        let call = self.below(layer);
        match self.dice.below(9) {
            0 => format!("(once {call})"),
            1 => format!("(limit 2 {call})"),
            2 => format!("(collapse {call})"),
            3 => format!("(unique {call})"),
            4 => format!("(if (has-result {call}) some none)"),
            5 => format!("(max-atom (collapse (let $y {call} (match &self (weight $y $w) $w))))"),
            6 => format!("(case {call} ((Empty none) ($any $any)))"),
            7 => format!("(let $y {call} (P $y {}))", self.number(layer)),
            _ => self.number(layer),
        }
    }

    fn change(&mut self) -> String {
        let fact = self.fact();
        match self.dice.below(6) {
            0 => {
                let layer = self.dice.below(self.layers.len());
                let (place, body) = (self.dice.below(self.layers[layer]), self.ground(layer));
                format!("(= (t{layer}-{place} $x) {body})")
            }
            1 | 2 => fact,
            3 => format!("!(add-atom &self {fact})"),
            _ => {
                let known: Vec<usize> =
                    (0..self.lines.len()).filter(|&at| self.lines[at].starts_with("(edge")).collect();
                let gone = known.get(self.dice.below(known.len().max(1))).map_or(fact, |&at| self.lines[at].clone());
                format!("!(remove-atom &self {gone})")
            }
        }
    }

    fn question(&mut self) -> String {
        let layers = self.layers.len();
        let of = if self.dice.one_in(4) { "$x" } else { self.node() };
        let call = self.below(layers).replace("$x", of);
        let layer = self.dice.below(layers);
        match self.dice.below(9) {
            0 => format!("(let True (p{layer} $x $y) ($x $y))"),
            1 => format!("(let True (p{layer} {} $y) $y)", self.node()),
            2 => self.asking(layers).replace("$x", of),
            3 => format!("(collapse {call})"),
            4 => format!("(let $r {call} (R $r $x))"),
            _ => call,
        }
    }
}
