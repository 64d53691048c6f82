//! What is printed without what may differ: the numbers of fresh variables, their names, or all that one engine promises and
//! another does not. All tests that compare what two runs print take away what is not promised with a function of this file;
//! `docs/compat.md` says what is promised of the names of variables.

use crate::trees::Tree;

/// A line with its fresh variables numbered by first appearance: `(a $x#17 $x#4)` is `(a $x#1 $x#2)`.
#[must_use]
pub fn renamed(line: &str) -> String {
    let line = with_marks(line);
    let mut seen: Vec<&str> = Vec::new();
    let mut written = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find('$') {
        written.push_str(&rest[..at]);
        let (variable, after) = rest[at..].split_at(end_of_word(&rest[at..]));
        rest = after;
        let Some((name, _)) = variable.split_once('#') else {
            written.push_str(variable);
            continue;
        };
        let number = seen.iter().position(|known| *known == variable).unwrap_or_else(|| {
            seen.push(variable);
            seen.len() - 1
        });
        written.push_str(&format!("{name}#{}", number + 1));
    }
    written + rest
}

/// The text with a `$` before each variable that is written as JSON, `"var!:x#12"`.
fn with_marks(text: &str) -> String {
    text.replace("var!:", "var!:$")
}

/// A text without the numbers of fresh variables: `$x#12` as `$x#`.
#[must_use]
pub fn unnumbered(text: &str) -> String {
    let mut pieces = text.split('#');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + "#" + piece.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

/// Where the word ends that a text begins with. A `]` closes a list of results, unless the word goes on behind it.
fn end_of_word(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || "(),\"\\".contains(letter);
    let closes = |place: usize| text[place + 1..].chars().next().is_none_or(|next| next == ']' || ends(next));
    let end = text.char_indices().find(|&(place, letter)| ends(letter) || letter == ']' && closes(place));
    end.map_or(text.len(), |(place, _)| place)
}

/// The results in a line that a program printed, without the names of variables: those that are made equal share one, and which does not
/// matter. Each result stands for itself, so which variables of several results are one does not matter either; where the program gathers
/// results outside of `(bag …)`, any tuple may hold several.
#[must_use]
pub fn nameless(program: &str, line: &str) -> Vec<String> {
    let gathers = program.matches("collapse").count() > program.matches("(bag (collapse").count();
    results_of(&with_marks(line)).into_iter().map(|result| without_names(result, gathers)).collect()
}

/// The results in a line.
fn results_of(line: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut from, mut results) = (0, false, 0, Vec::new());
    for (place, letter) in line.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => results.push(&line[std::mem::replace(&mut from, place + 1)..place]),
            _ => {}
        }
    }
    results.push(&line[from..]);
    results
}

/// A result with its variables numbered; the parts of a list of results in it, which a failed assertion shows as well, stand for
/// themselves.
fn without_names(result: &str, gathers: bool) -> String {
    let is_list = gathers || result.contains("(bag") || result.contains(ASSERTION) || result.contains(INCLUSION);
    let (mut seen, mut plain) = (Vec::new(), String::new());
    for (index, part) in result.split('$').enumerate() {
        if index == 0 {
            plain.push_str(part);
            continue;
        }
        let (name, rest) = part.split_at(end_of_word(part));
        let number = seen.iter().position(|known| *known == name).unwrap_or_else(|| {
            seen.push(name);
            seen.len() - 1
        });
        plain.push('$');
        if !is_list {
            plain.push_str(&number.to_string());
        }
        plain.push_str(rest);
    }
    plain
}

/// Results without their order, the names of their variables and of spaces: equal for engines that agree. The parts of
/// a tuple in `(bag …)`, a `collapse` mostly, have no order either, and each has variables of its own; nor has an error
/// its text, where it is one of several words.
#[must_use]
pub fn as_multiset<'a>(results: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut plain: Vec<String> = results.into_iter().map(plain).collect();
    plain.sort();
    plain
}

fn plain(result: &str) -> String {
    let mut trees: Vec<Tree> =
        crate::trees::forms(&with_marks(result)).into_iter().map(|form| form.tree).map(unordered).collect();
    let mut seen = Vec::new();
    trees.iter_mut().for_each(|tree| rename(tree, &mut seen));
    trees.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// How the text of a failed assertion begins; it lists results in some order.
const ASSERTION: &str = "\"\\nExpected: ";
/// What stands before the results in the error of `assertIncludes`.
const INCLUSION: &str = " not included in result: (";

/// The tree with the parts of what is in `(bag …)` in alphabetical order.
fn unordered(tree: Tree) -> Tree {
    let Tree::List(list) = tree else { return tree };
    let mut list: Vec<Tree> = list.into_iter().map(unordered).collect();
    match list.as_mut_slice() {
        [Tree::Word(word), Tree::List(inside)] if word == "bag" => {
            inside.iter_mut().for_each(|part| rename(part, &mut Vec::new()));
            inside.sort_by_cached_key(ToString::to_string);
        }
        [Tree::Word(word), _, _, _, ..] if word == "Error" => list.truncate(2),
        [Tree::Word(word), _, Tree::Word(text)] if word == "Error" && text.starts_with(ASSERTION) => list.truncate(2),
        _ => {}
    }
    Tree::List(list)
}

fn rename(tree: &mut Tree, seen: &mut Vec<String>) {
    match tree {
        Tree::List(list) => match list.as_slice() {
            // Its parts have been renamed.
            [Tree::Word(word), Tree::List(_)] if word == "bag" => {}
            _ => list.iter_mut().for_each(|child| rename(child, seen)),
        },
        Tree::Word(word) if word.starts_with('"') => *word = without_variables(word),
        Tree::Word(word) if word.starts_with('$') => {
            let number = seen.iter().position(|known| known == word).unwrap_or_else(|| {
                seen.push(word.clone());
                seen.len() - 1
            });
            *word = format!("${number}");
        }
        Tree::Word(word) if word.starts_with("GroundingSpace-") && word != "GroundingSpace-top" => {
            "GroundingSpace".clone_into(word);
        }
        Tree::Word(_) => {}
    }
}

/// A text without the names of the variables that it shows.
fn without_variables(text: &str) -> String {
    let mut parts = text.split('$');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |plain, part| plain + "$" + &part[end_of_word(part)..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_variables_are_numbered_by_appearance() {
        assert_eq!(renamed("[(a $x#17 $x#4), $x#17]"), "[(a $x#1 $x#2), $x#1]");
        assert_eq!(renamed("[(a $x $y#30)]"), "[(a $x $y#1)]");
        assert_eq!(renamed(r#"["[\"var!:x#17\", \"var!:y\"]"]"#), renamed(r#"["[\"var!:x#3\", \"var!:y\"]"]"#));
        assert_ne!(renamed("[($x#1 $x#1)]"), renamed("[($x#1 $x#2)]"));
        assert_eq!(renamed("[($]#17 $a]b#4), $]#17]"), "[($]#1 $a]b#2), $]#1]");
        assert_eq!(unnumbered("[(a $x#17 $x#4), $y]"), "[(a $x# $x#), $y]");
    }

    #[test]
    fn names_of_fresh_variables_do_not_count() {
        assert_eq!(nameless("", "[(a $x#17 $x#4), $y]"), ["[(a $0 $1)", " $0]"]);
        assert_eq!(nameless("", "[(bag ($x#1 $y#1))]"), nameless("", "[(bag ($z#3 $y#1))]"));
        assert_ne!(nameless("", "[($x#1 $x#1)]"), nameless("", "[($x#1 $y#2)]"));
        let gathering = "!(collapse (f))";
        assert_eq!(nameless(gathering, "[($x#1 $x#1)]"), nameless(gathering, "[($x#1 $y#2)]"));
        assert_ne!(
            nameless("!(bag (collapse (f)))", "[($x#1 $x#1)]"),
            nameless("!(bag (collapse (f)))", "[($x#1 $y#2)]")
        );
        let failed = |got: &str| format!(r#"[(Error a "\nExpected: []\nGot: [{got}]")]"#);
        assert_eq!(nameless("", &failed("$x#1, $x#1")), nameless("", &failed("$x#1, $x#2")));
    }

    #[test]
    fn order_and_names_do_not_count_in_a_multiset() {
        assert_eq!(as_multiset(["b", "(a $x#1 $x)"]), as_multiset(["(a $p $q#2)", "b"]));
        assert_ne!(as_multiset(["(a $x $x)"]), as_multiset(["(a $x $y)"]));
        assert_ne!(as_multiset(["a", "a"]), as_multiset(["a"]));
        assert_eq!(as_multiset(["(bag ((a $x) (b $x)))"]), as_multiset(["(bag ((b $y) (a $z)))"]));
        assert_eq!(as_multiset(["(bag (2 1))"]), as_multiset(["(bag (1 2))"]));
        assert_ne!(as_multiset(["(2 1)"]), as_multiset(["(1 2)"]));
        assert_eq!(as_multiset(["GroundingSpace-0x5"]), as_multiset(["GroundingSpace-7"]));
        assert_eq!(as_multiset(["(Error (f) it is wrong)"]), as_multiset(["(Error (f) no number)"]));
        assert_eq!(
            as_multiset([r#"(Error a "\nExpected: [1, 2]")"#]),
            as_multiset([r#"(Error a "\nExpected: [2, 1]")"#])
        );
        assert_ne!(as_multiset(["(Error (f) one)"]), as_multiset(["(Error (f) other)"]));
    }
}
