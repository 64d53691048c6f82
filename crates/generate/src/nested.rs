//! All alternatives as a list, and each of a list as an alternative, one inside the other. The order of such a list does
//! not show.

use crate::kinds::Kind;
use crate::writer::Writer;

impl Writer {
    /// All alternatives of something, as alternatives.
    fn spread(&mut self, all: &str) -> String {
        let found = self.fresh("$all");
        format!("(let {found} (collapse {all}) (superpose {found}))")
    }

    pub(crate) fn nested(&mut self, kind: Kind, depth: usize) -> String {
        let (one, other) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.dice.below(6) {
            0 => self.spread(&one),
            1 => {
                let inner = self.spread(&one);
                self.spread(&inner)
            }
            2 => {
                let inner = self.spread(&other);
                format!("(superpose ((superpose ({one} {})) {inner}))", self.leaf(kind))
            }
            3 => self.spread(&format!("(superpose ({one} {other}))")),
            4 => {
                let (found, of) = (self.fresh("$all"), self.kind());
                let all = self.expression(of, depth);
                self.scoped(|writer| {
                    let pattern = writer.pattern(of, 1);
                    let body = writer.expression(kind, depth);
                    format!("(let {found} (collapse {all}) (let {pattern} (superpose {found}) {body}))")
                })
            }
            _ => {
                let found = self.fresh("$all");
                format!("(let {found} (collapse {one}) (if (== (size-atom {found}) 0) {other} (superpose {found})))")
            }
        }
    }

    /// A function that has all alternatives of its recursive call as a list.
    pub(crate) fn collecting(&mut self) {
        let result = self.kind();
        let name = self.function(vec![Kind::Small], result, false);
        let n = self.variable(Kind::Small);
        let (base, other) = (self.expression(result, 1), self.expression(result, 1));
        let again = format!("({name} (- {n} 1))");
        let all = match self.dice.below(3) {
            0 => again,
            1 => format!("(superpose ({again} {other}))"),
            _ => self.step(result, &again),
        };
        let spread = self.spread(&all);
        self.rule(&format!("({name} {n})"), &format!("(if (< {n} 1) {base} {spread})"));
    }
}
