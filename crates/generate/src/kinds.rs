//! What a generated expression is meant to come to, and the plain values and patterns of each kind.

use crate::features::Feature;
use crate::writer::Writer;

/// The kind of values an expression is meant to have. `Small` is a number by which something may recurse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Small,
    Truth,
    Color,
    Nat,
    List,
    Tuple,
    Data,
    /// The name of a function from a number to a number.
    Function,
    Text,
}

/// The kinds that parameters and results mostly have.
pub(crate) const KINDS: &[Kind] = &[
    Kind::Number,
    Kind::Number,
    Kind::Small,
    Kind::Truth,
    Kind::Color,
    Kind::Color,
    Kind::Nat,
    Kind::List,
    Kind::Tuple,
    Kind::Data,
    Kind::Data,
];

const COLORS: &[&str] = &["red", "green", "blue"];
const NUMBERS: &[&str] = &["0", "1", "2", "3", "5", "7", "-1", "-4", "12"];
const FLOATS: &[&str] = &["2.5", "-0.5", "0.25", "1e-7"];
const WHOLE_FLOATS: &[&str] = &["0.0", "-0.0", "1.0", "2.0", "1e300"];
const WIDE: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "4611686018427387904",
    "123456789012345678901234567890",
    "9007199254740993",
];

impl Kind {
    /// The type that its values have, where they are declared.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Kind::Number | Kind::Small => "Number",
            Kind::Truth => "Bool",
            Kind::Color => "Color",
            Kind::Nat => "Nat",
            Kind::List => "(List Number)",
            Kind::Tuple => "%Undefined%",
            Kind::Data => "Data",
            Kind::Function => "(-> Number Number)",
            Kind::Text => "String",
        }
    }
}

impl Writer {
    pub(crate) fn kind(&mut self) -> Kind {
        if self.has(Feature::Functional) && self.dice.one_in(10) {
            return Kind::Function;
        }
        if self.has(Feature::Texts) && self.dice.one_in(8) {
            return Kind::Text;
        }
        self.dice.pick(KINDS)
    }

    fn number(&mut self) -> String {
        let many = match self.dice.below(10) {
            0 if self.has(Feature::Floats) => FLOATS,
            1 if self.has(Feature::WholeFloats) => WHOLE_FLOATS,
            2 if self.has(Feature::WideIntegers) => WIDE,
            _ => NUMBERS,
        };
        self.dice.pick(many).to_owned()
    }

    /// A value, or a variable of that kind.
    pub(crate) fn leaf(&mut self, kind: Kind) -> String {
        let known: Vec<String> =
            self.scope.iter().filter(|(_, of)| *of == kind).map(|(variable, _)| variable.clone()).collect();
        if !known.is_empty() && !self.dice.one_in(3) {
            return known[self.dice.below(known.len())].clone();
        }
        self.value(kind)
    }

    /// A value without variables.
    pub(crate) fn value(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Number => self.number(),
            Kind::Small if self.dice.one_in(16) => (4 + self.dice.below(6)).to_string(),
            Kind::Small => self.dice.below(4).to_string(),
            Kind::Truth => self.dice.pick(&["True", "False"]).to_owned(),
            Kind::Color if self.has(Feature::Subtypes) && self.dice.one_in(6) => "tiny".to_owned(),
            Kind::Color => self.dice.pick(COLORS).to_owned(),
            Kind::Nat => {
                let times = self.dice.below(4);
                "(S ".repeat(times) + "Z" + &")".repeat(times)
            }
            Kind::List => {
                let items: Vec<String> = (0..self.dice.below(4)).map(|_| self.number()).collect();
                items.iter().rev().fold("Nil".to_owned(), |list, item| format!("(Cons {item} {list})"))
            }
            Kind::Tuple => {
                let items: Vec<String> = (0..self.dice.below(4)).map(|_| self.number()).collect();
                format!("({})", items.join(" "))
            }
            Kind::Data => match self.dice.below(3) {
                0 => format!("(Box {})", self.number()),
                1 => format!("(Pair {} {})", self.dice.pick(COLORS), self.number()),
                _ => "None".to_owned(),
            },
            Kind::Function => self.function_name(),
            Kind::Text => self.text(),
        }
    }

    /// What a head or a branch asks for; its variables come into scope.
    pub(crate) fn pattern(&mut self, kind: Kind, depth: usize) -> String {
        let inner = depth.saturating_sub(1);
        match self.dice.below(6) {
            0 if !matches!(kind, Kind::Function) => self.value(kind),
            1 if self.scope.iter().any(|(_, of)| *of == kind) => self.leaf(kind),
            2..5 if depth > 0 => match kind {
                Kind::Nat => format!("(S {})", self.pattern(Kind::Nat, inner)),
                Kind::List => format!("(Cons {} {})", self.pattern(Kind::Number, 0), self.pattern(Kind::List, inner)),
                Kind::Tuple => format!("({} {})", self.pattern(Kind::Number, 0), self.pattern(Kind::Number, 0)),
                Kind::Data if self.dice.one_in(2) => format!("(Box {})", self.pattern(Kind::Number, 0)),
                Kind::Data => format!("(Pair {} {})", self.pattern(Kind::Color, 0), self.pattern(Kind::Number, 0)),
                _ => self.variable(kind),
            },
            _ => self.variable(kind),
        }
    }

    /// A new variable, in scope from here on.
    pub(crate) fn variable(&mut self, kind: Kind) -> String {
        // Few names, so that the same ones meet in nested scopes and in different rules.
        let taken = |name: &str, writer: &Self| writer.scope.iter().any(|(variable, _)| variable == name);
        let name = loop {
            let name = format!("${}", self.dice.pick(&["a", "b", "c", "d", "e", "n", "x", "y", "z"]));
            if !taken(&name, self) {
                break name;
            }
            if self.scope.len() > 6 {
                self.made += 1;
                break format!("$v{}", self.made);
            }
        };
        self.scope.push((name.clone(), kind));
        name
    }
}
