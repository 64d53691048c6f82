//! What the fuzz targets of programs run, on inputs that look random and are always the same.

use crate::generated::{damaged, rule_set, sentence, soup};
use generate::Dice;

#[path = "../../../../fuzz/src/programs.rs"]
mod programs;

/// Inputs of both kinds: numbers of words, and texts.
fn inputs(count: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|seed| {
        let mut dice = Dice::new(seed);
        let text = |text: String| [&[0], text.as_bytes()].concat();
        match seed % 6 {
            0 => text(soup(&mut dice)),
            1 => text(sentence(&mut dice)),
            2 => text(damaged(&mut dice)),
            3 => text(rule_set(&mut dice)),
            4 => (0..dice.below(60)).map(|_| dice.below(256) as u8).collect(),
            _ => [vec![1], (0..dice.below(80)).map(|_| dice.below(256) as u8).collect()].concat(),
        }
    })
}

#[test]
fn any_text_is_read() {
    inputs(3_000).for_each(|input| programs::read(&input));
}

#[test]
fn any_sound_text_is_laid_out() {
    inputs(3_000).for_each(|input| programs::lay_out(&input));
}

#[test]
fn any_text_is_checked() {
    inputs(600).for_each(|input| programs::look_for_mistakes(&input));
}

#[test]
fn both_evaluators_come_to_the_same() {
    let compared = inputs(600).filter(|input| programs::evaluate(input)).count();
    assert!(compared > 200, "{compared} of 600 were compared");
}
