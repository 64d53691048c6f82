//! Texts: values in quotes, and what makes them.

use crate::kinds::Kind;
use crate::writer::Writer;

const TEXTS: &[&str] = &["\"\"", "\"a\"", "\"b\"", "\"two words\"", "\"(x)\"", "\"5\""];

impl Writer {
    pub(crate) fn text(&mut self) -> String {
        self.dice.pick(TEXTS).to_owned()
    }

    /// Something whose value is a text.
    pub(crate) fn made_text(&mut self, depth: usize) -> String {
        let (one, other) = (self.kind(), self.kind());
        match self.dice.below(4) {
            0 => self.call(Kind::Text, depth),
            1 => format!("(format-args \"{{}} {{}}\" ({} {}))", self.leaf(one), self.value(other)),
            2 => format!("(format-args {} ())", self.expression(Kind::Text, depth)),
            _ => format!("(let $shown {} (format-args \"<{{}}>\" ($shown)))", self.value(one)),
        }
    }

    /// What depends on a text.
    pub(crate) fn by_text(&mut self, kind: Kind, depth: usize) -> String {
        let (value, other) = (self.leaf(kind), self.expression(kind, depth));
        let text = self.expression(Kind::Text, depth);
        match self.dice.below(3) {
            0 => format!("(if (== {text} {}) {value} {other})", self.expression(Kind::Text, depth)),
            1 => format!("(case {text} ((\"a\" {value}) ({} {other})))", self.fresh("$text")),
            _ => format!("(let {} {text} {value})", self.text()),
        }
    }

    pub(crate) fn sorted(&mut self, _: Kind, _: usize) -> String {
        let texts: Vec<String> = (0..self.dice.below(4)).map(|_| self.text()).collect();
        format!("(sort-strings ({}))", texts.join(" "))
    }
}
