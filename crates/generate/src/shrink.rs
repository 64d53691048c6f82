//! Makes a program that shows something smaller, as long as it still shows it.
//!
//! 1. Forms are left out: the half of them, a quarter, …, one at a time.
//! 2. In each form, from the outside in, a list becomes one of its parts, loses one, or becomes `()`.
//! 3. Again from 1 until nothing helps or the tries are used up.

use crate::trees::{Form, Tree, forms, text};

/// A program is asked about at most this often.
const TRIES_MAX: usize = 3000;

/// The smallest program found for which `shows` still holds, as it must for `program`.
pub fn shrink(program: &str, shows: impl FnMut(&str) -> bool) -> String {
    let mut shrinker = Shrinker { forms: forms(program), shows, tries_left: TRIES_MAX };
    loop {
        let before = text(&shrinker.forms);
        shrinker.leave_out_forms();
        shrinker.simplify_forms();
        let after = text(&shrinker.forms);
        if after == before || shrinker.tries_left == 0 {
            return after;
        }
    }
}

struct Shrinker<F> {
    forms: Vec<Form>,
    shows: F,
    tries_left: usize,
}

impl<F: FnMut(&str) -> bool> Shrinker<F> {
    /// Takes these forms if they still show it.
    fn take(&mut self, forms: Vec<Form>) -> bool {
        if self.tries_left == 0 || forms.iter().any(|form| holds_for_all(&form.tree)) {
            return false;
        }
        self.tries_left -= 1;
        let shows = (self.shows)(&text(&forms));
        if shows {
            self.forms = forms;
        }
        shows
    }

    fn leave_out_forms(&mut self) {
        let mut length = self.forms.len().div_ceil(2);
        while length > 0 {
            let mut at = 0;
            while at < self.forms.len() {
                let end = (at + length).min(self.forms.len());
                let mut fewer = self.forms.clone();
                fewer.drain(at..end);
                if !self.take(fewer) {
                    at = end;
                }
            }
            length /= 2;
        }
    }

    fn simplify_forms(&mut self) {
        for form in 0..self.forms.len() {
            let mut node = 0;
            while let Some(list) = children(&self.forms[form].tree, node) {
                if !self.simplify(form, node, &list) {
                    node += 1;
                }
            }
        }
    }

    /// Puts something smaller for a list.
    fn simplify(&mut self, form: usize, node: usize, list: &[Tree]) -> bool {
        let without = |at: usize| {
            let (before, after) = (&list[..at], &list[at + 1..]);
            Tree::List([before, after].concat())
        };
        let parts = list.iter().cloned();
        let empty = (!list.is_empty()).then(|| Tree::List(Vec::new()));
        let smaller = parts.chain(empty).chain((0..list.len()).map(without));
        let candidates: Vec<Tree> = smaller.collect();
        candidates.into_iter().any(|candidate| {
            let mut forms = self.forms.clone();
            let mut left = node;
            replace(&mut forms[form].tree, &mut left, &candidate);
            self.take(forms)
        })
    }
}

/// A variable as an atom of a space, or as the head of a rule, answers every query: it would hide what a program showed
/// at first.
fn holds_for_all(tree: &Tree) -> bool {
    let is_variable = |tree: &Tree| matches!(tree, Tree::Word(word) if word.starts_with('$'));
    match tree {
        Tree::Word(_) => is_variable(tree),
        Tree::List(list) => match list.as_slice() {
            [Tree::Word(equals), head, _] if equals == "=" && is_variable(head) => true,
            list => list.iter().any(|child| matches!(child, Tree::List(_)) && holds_for_all(child)),
        },
    }
}

/// The parts of the list with this number, counted from the outside in and from left to right.
fn children(tree: &Tree, node: usize) -> Option<Vec<Tree>> {
    let mut left = node;
    let mut work = vec![tree];
    while let Some(tree) = work.pop() {
        if let Tree::List(list) = tree {
            if left == 0 {
                return Some(list.clone());
            }
            left -= 1;
            work.extend(list.iter().rev());
        }
    }
    None
}

/// Puts another tree for the list that is `left` lists further on; true if it was there.
fn replace(tree: &mut Tree, left: &mut usize, by: &Tree) -> bool {
    let Tree::List(list) = tree else { return false };
    if *left == 0 {
        *tree = by.clone();
        return true;
    }
    *left -= 1;
    list.iter_mut().any(|child| replace(child, left, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_it_is_all_that_stays() {
        let program = "(a b)\n(= (f $x) (g (h bad) (k (l m))))\n!(f (f 1))\n!(other)\n";
        let shown = shrink(program, |text| text.contains("bad") && text.contains('!'));
        assert_eq!(shown, "bad\n! other\n");
    }

    #[test]
    fn a_program_that_cannot_get_smaller_stays() {
        assert_eq!(shrink("(a)\n", |text| text == "(a)\n"), "(a)\n");
    }
}
