//! Tables: a program is written without them first, so that the same seed gives the same program with and without.

use crate::Dice;

const EFFECTS: [&str; 7] = ["println!", "trace!", "-atom &", "new-", "change-state!", "commit!", "transaction"];

/// The program of a seed with some of its functions tabled, from some line on, and perhaps not to its end.
pub(crate) fn tabled(program: &str, seed: u64) -> String {
    let mut dice = Dice::new(!seed);
    let mut lines: Vec<String> = program.lines().map(str::to_owned).collect();
    let mut names: Vec<String> = lines.iter().filter_map(|line| defined(line)).collect();
    names.sort();
    names.dedup();
    // How often an effect happens is not promised: only which answers there are.
    let has_effects =
        lines.iter().any(|line| line.starts_with("(= ") && EFFECTS.iter().any(|word| line.contains(word)));
    if has_effects || dice.one_in(2) {
        names.clear();
    }
    for name in names {
        if dice.one_in(2) {
            let from = if dice.one_in(3) { dice.below(lines.len()) } else { 0 };
            lines.insert(from, format!("!(pragma! table {name})"));
            if dice.one_in(6) {
                let to = from + 1 + dice.below(lines.len() - from);
                lines.insert(to, format!("!(pragma! untable {name})"));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The function that a line has a rule for: `f` and a number.
fn defined(line: &str) -> Option<String> {
    let name = line.strip_prefix("(= (")?.split([' ', ')']).next()?;
    let number = name.strip_prefix('f')?;
    (!number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit())).then(|| name.to_owned())
}
