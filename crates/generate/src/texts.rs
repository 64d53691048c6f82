//! Texts: values in quotes, and what makes them.

use crate::kinds::Kind;
use crate::writer::Writer;

const TEXTS: &[&str] = &["\"\"", "\"a\"", "\"b\"", "\"two words\"", "\"(x)\"", "\"5\""];

impl Writer {
    pub(crate) fn text(&mut self) -> String {
        self.dice.pick(TEXTS).to_owned()
    }

    /// Something that comes to a text.
    pub(crate) fn made_text(&mut self, depth: usize) -> String {
        let (one, other) = (self.kind(), self.kind());
        match self.dice.below(4) {
            0 => self.call(Kind::Text, depth),
            1 => format!("(repr {})", self.value(one)),
            2 => format!("(format-args \"{{}} {{}}\" ({} {}))", self.leaf(one), self.value(other)),
            _ => format!("(let $shown {} (format-args \"<{{}}>\" ($shown)))", self.value(one)),
        }
    }

    /// A value, through its text.
    pub(crate) fn parsed(&mut self, kind: Kind, depth: usize) -> String {
        let (value, other) = (self.value(kind), self.expression(kind, depth));
        match self.dice.below(3) {
            0 => format!("(parse (repr {value}))"),
            1 => format!("(if (== (repr {value}) {}) {value} {other})", self.expression(Kind::Text, depth)),
            _ => {
                let text = self.expression(Kind::Text, depth);
                format!("(case {text} ((\"a\" {value}) ({} {other})))", self.fresh("$text"))
            }
        }
    }

    pub(crate) fn sorted(&mut self, _: Kind, _: usize) -> String {
        let texts: Vec<String> = (0..self.dice.below(4)).map(|_| self.text()).collect();
        format!("(sort-strings ({}))", texts.join(" "))
    }
}
