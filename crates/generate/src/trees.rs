//! The forms of a program as trees of words: just enough of the syntax to take programs apart and put them together.

use crate::Dice;
use std::fmt;

/// A word, or a list in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Word(String),
    List(Vec<Tree>),
}

/// A form at the top of a program: evaluated if it stands after `!`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) is_asked: bool,
    pub(crate) tree: Tree,
}

impl Tree {
    /// What stands first in a list, if that is a word.
    pub(crate) fn head(&self) -> Option<&str> {
        match self {
            Tree::List(list) => match list.first() {
                Some(Tree::Word(word)) => Some(word),
                _ => None,
            },
            Tree::Word(_) => None,
        }
    }

    /// How many parts a tree has, itself included.
    pub(crate) fn size(&self) -> usize {
        match self {
            Tree::Word(_) => 1,
            Tree::List(list) => 1 + list.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// The part with this number, counted from the outside in and from left to right.
    pub(crate) fn part(&self, mut place: usize) -> &Tree {
        let mut work = vec![self];
        while let Some(tree) = work.pop() {
            if place == 0 {
                return tree;
            }
            place -= 1;
            if let Tree::List(list) = tree {
                work.extend(list.iter().rev());
            }
        }
        self
    }

    /// Any part.
    pub(crate) fn some_part(&self, dice: &mut Dice) -> &Tree {
        self.part(dice.below(self.size()))
    }

    /// Puts a tree in place of the part with this number.
    pub(crate) fn put(&mut self, place: usize, by: &Tree) {
        self.put_further_on(&mut { place }, by);
    }

    /// Puts a tree in place of the part that is `left` parts further on; true if it was there.
    fn put_further_on(&mut self, left: &mut usize, by: &Tree) -> bool {
        if *left == 0 {
            *self = by.clone();
            return true;
        }
        *left -= 1;
        match self {
            Tree::Word(_) => false,
            Tree::List(list) => list.iter_mut().any(|child| child.put_further_on(left, by)),
        }
    }

    /// Does something with each part, from the outside in.
    pub(crate) fn each(&mut self, change: &impl Fn(&mut Tree)) {
        change(self);
        if let Tree::List(list) = self {
            list.iter_mut().for_each(|child| child.each(change));
        }
    }

    /// Puts another word for a word, wherever it stands.
    pub(crate) fn rename(&mut self, name: &str, by: &str) {
        self.each(&|tree| match tree {
            Tree::Word(word) if word == name => by.clone_into(word),
            _ => {}
        });
    }

    /// The variables, each once, as they appear.
    pub(crate) fn variables(&self) -> Vec<String> {
        let (mut found, mut work) = (Vec::new(), vec![self]);
        while let Some(tree) = work.pop() {
            match tree {
                Tree::Word(word) if word.starts_with('$') && !found.contains(word) => found.push(word.clone()),
                Tree::Word(_) => {}
                Tree::List(list) => work.extend(list.iter().rev()),
            }
        }
        found
    }
}

/// The forms of a well-formed program; comments are left out.
pub(crate) fn forms(text: &str) -> Vec<Form> {
    let words = words(text);
    let mut words = words.iter().map(String::as_str).peekable();
    let mut forms = Vec::new();
    while words.peek().is_some() {
        let is_asked = words.next_if_eq(&"!").is_some();
        if let Some(tree) = tree(&mut words) {
            forms.push(Form { is_asked, tree });
        }
    }
    forms
}

/// The tree that a text without `!` is.
pub(crate) fn tree_of(text: &str) -> Tree {
    forms(text).into_iter().next().map_or(Tree::List(Vec::new()), |form| form.tree)
}

fn tree<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<Tree> {
    let word = words.next()?;
    if word != "(" {
        return Some(Tree::Word(word.to_owned()));
    }
    let mut children = Vec::new();
    while words.peek().is_some() && words.next_if_eq(&")").is_none() {
        children.extend(tree(words));
    }
    Some(Tree::List(children))
}

/// The words of a text: brackets, a `!` before one, texts in quotes, and what lies between.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        if first.is_whitespace() {
            continue;
        }
        if first == ';' {
            characters.by_ref().find(|&next| next == '\n');
            continue;
        }
        let mut word = String::from(first);
        let is_bang = first == '!' && matches!(characters.peek(), Some('(' | ' '));
        if first == '"' {
            while let Some(next) = characters.next() {
                word.push(next);
                match next {
                    '"' => break,
                    '\\' => word.extend(characters.next()),
                    _ => {}
                }
            }
        } else if !matches!(first, '(' | ')') && !is_bang {
            while let Some(next) = characters.next_if(|next| !next.is_whitespace() && !matches!(next, '(' | ')')) {
                word.push(next);
            }
        }
        words.push(word);
    }
    words
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Word(word) => f.write_str(word),
            Tree::List(children) => {
                let children: Vec<String> = children.iter().map(ToString::to_string).collect();
                write!(f, "({})", children.join(" "))
            }
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_asked, &self.tree) {
            (false, tree) => write!(f, "{tree}"),
            (true, Tree::List(_)) => write!(f, "!{}", self.tree),
            // Without the space it would be a symbol.
            (true, Tree::Word(word)) => write!(f, "! {word}"),
        }
    }
}

/// The text of forms, one a line.
pub(crate) fn text(forms: &[Form]) -> String {
    forms.iter().map(|form| format!("{form}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_taken_apart_is_put_together_the_same() {
        let program = "(= (f $x) ())\n!(f \"a) \\\" b\")\n! word\n(: f (-> A B))\n!no\n";
        assert_eq!(text(&forms(program)), program);
        assert_eq!(forms(program).iter().filter(|form| form.is_asked).count(), 2);
    }

    #[test]
    fn parts_are_counted_and_replaced_from_the_outside_in() {
        let mut tree = tree_of("(a (b c) d)");
        assert_eq!(tree.size(), 6);
        assert_eq!(tree.part(2).to_string(), "(b c)");
        tree.put(4, &tree_of("(x)"));
        assert_eq!(tree.to_string(), "(a (b (x)) d)");
    }

    #[test]
    fn variables_appear_in_order_and_words_are_renamed_everywhere() {
        let mut tree = tree_of("(f $y (g $x) $y)");
        assert_eq!(tree.variables(), ["$y", "$x"]);
        tree.rename("$y", "$x");
        assert_eq!(tree.to_string(), "(f $x (g $x) $x)");
    }
}
