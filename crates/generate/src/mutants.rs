//! Programs of other people, changed a little: what nobody would write on purpose, next to what somebody did.
//!
//! A mutant is a program with one to three changes: a part of it is replaced by a word, by a part of the same program or by a
//! call of it; a list loses a child, gets one more, or has two exchanged; a type or a rule for a part is added.

use crate::Dice;
use crate::trees::{Form, Tree, forms, text, tree_of};

/// What is put in place of something, mostly words that mean something to evaluators.
const WORDS: &[&str] = &[
    "Empty",
    "Error",
    "NotReducible",
    "True",
    "False",
    "0",
    "1",
    "-3",
    "2.5",
    "\"s\"",
    "a",
    "foo",
    "$x",
    "$y",
    "+",
    "-",
    "*",
    "==",
    "<",
    "and",
    "not",
    "if",
    "let",
    "id",
    "quote",
    "superpose",
    "collapse",
    "Atom",
    "%Undefined%",
    "Number",
    "Expression",
    "map-atom",
    "car-atom",
    "cdr-atom",
    "cons-atom",
    "size-atom",
    "match",
    "Symbol",
    "=",
    ":",
    "->",
    "unify",
    "case",
    "(Error a b)",
    "(Error a)",
    "(Error)",
    "(Empty)",
    "(Empty a)",
    "()",
    "(superpose (1 2))",
    "(superpose (a \"s\" 3))",
    "(empty)",
    "(two things)",
    "(let $x 1 $x)",
    "(let $x \"s\" 2)",
    "(two 1)",
    "(collapse (superpose (Error 1)))",
    "(noeval Empty)",
    "(+ 1 a)",
];

const TYPES: &[&str] = &[
    "Number",
    "Pair",
    "(A B)",
    "Bool",
    "Expression",
    "Atom",
    "Symbol",
    "(-> Number Number)",
    "(-> Atom Atom)",
    "(-> $t $t)",
    "(-> $t (L $t))",
    "(-> Number Number Number)",
    "(-> Expression Number)",
];

/// What a part is put into, in place of `_`.
const AROUND: &[&str] = &[
    "(id _)",
    "(foo _)",
    "(_)",
    "(let $z _ $z)",
    "(superpose (_ a))",
    "(+ 1 _)",
    "(== Empty _)",
    "(if _ 1 2)",
    "(Error _ b)",
    "(collapse _)",
    "(car-atom (_))",
    "(case _ ((Empty e) ($q (got $q))))",
    "(cons-atom _ (1))",
    "(map-atom (_ 1) $v $v)",
];

/// A mutant of one of some programs: the same seed and programs give the same.
///
/// # Panics
/// There is no program.
#[must_use]
pub fn mutant(seed: u64, programs: &[String]) -> String {
    let mut dice = Dice::new(seed ^ 0x6d75_7461);
    let mut forms = forms(&programs[dice.below(programs.len())]);
    for _ in 0..1 + dice.below(4).saturating_sub(1) {
        change(&mut forms, &mut dice);
    }
    text(&forms)
}

fn change(forms: &mut Vec<Form>, dice: &mut Dice) {
    if forms.is_empty() {
        return;
    }
    let at = dice.below(forms.len());
    let place = dice.below(forms[at].tree.size());
    let part = forms[at].tree.part(place).clone();
    match dice.below(12) {
        0 => {
            let of = Tree::List(vec![Tree::Word(":".to_owned()), part, tree_of(dice.pick(TYPES))]);
            forms.insert(dice.below(forms.len() + 1), Form { is_asked: false, tree: of });
        }
        1 if matches!(part, Tree::List(_)) => {
            let rule = Tree::List(vec![Tree::Word("=".to_owned()), part, tree_of(dice.pick(WORDS))]);
            forms.insert(dice.below(forms.len() + 1), Form { is_asked: false, tree: rule });
        }
        other => {
            let by = replacement(forms, at, part, (other, dice));
            forms[at].tree.put(place, &by);
        }
    }
}

/// What takes the place of a part of a form.
fn replacement(forms: &[Form], at: usize, part: Tree, (kind, dice): (usize, &mut Dice)) -> Tree {
    match (kind, part) {
        (2, _) => forms[dice.below(forms.len())].tree.some_part(dice).clone(),
        (3, _) => forms[at].tree.some_part(dice).clone(),
        (4, Tree::List(mut list)) if !list.is_empty() => {
            list.remove(dice.below(list.len()));
            Tree::List(list)
        }
        (5, Tree::List(mut list)) => {
            let more = forms[at].tree.some_part(dice).clone();
            list.insert(dice.below(list.len() + 1), more);
            Tree::List(list)
        }
        (6, Tree::List(mut list)) if list.len() > 1 => {
            let (one, other) = (dice.below(list.len()), dice.below(list.len()));
            list.swap(one, other);
            Tree::List(list)
        }
        (7 | 8, part) => {
            let mut around = tree_of(dice.pick(AROUND));
            let hole = (0..around.size()).find(|&place| *around.part(place) == Tree::Word("_".to_owned()));
            around.put(hole.expect("there is a hole"), &part);
            around
        }
        _ => tree_of(dice.pick(WORDS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_well_formed_the_same_every_time_and_no_copy() {
        let programs = ["; a comment (\n(= (f $x) (g $x \"a ) b\"))\n!(f (h 1))\n".to_owned(), "!(a b)\n".to_owned()];
        let plain: Vec<String> = programs.iter().map(|program| text(&forms(program))).collect();
        let mut copies = 0;
        for seed in 0..500 {
            let made = mutant(seed, &programs);
            assert_eq!(made, mutant(seed, &programs));
            assert_eq!(text(&forms(&made)), made, "seed {seed}");
            copies += usize::from(plain.contains(&made));
        }
        assert!(copies < 50, "{copies} of 500 mutants are copies");
    }
}
