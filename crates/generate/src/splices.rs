//! Programs put together from several others: what one of them says, said of what another one defines.
//!
//! 1. A host program gives the frame: what it defines, in whole, and a few of its questions.
//! 2. Parts of other programs are put into it: a term in place of a term, a body under another head, rules, facts and questions under
//!    names that the host uses, so that they meet what is there.
//! 3. Parts of the host are changed in ways that need no other program: arguments change places in all calls, a rule comes twice, two
//!    variables become one, a relation or a constant becomes a variable, an expression gets alternatives, a form another place.

use crate::Dice;
use crate::trees::{Form, Tree, forms, text};

/// How many questions of the host stay, about. What is left of a long program ends sooner.
const QUESTIONS: usize = 8;
/// What a question must not lack to mean anything.
const SET_UP: &[&str] = &["bind!", "import!", "include", "pragma!", "add-atom", "add-atoms", "add-reduct"];
/// How many forms of another program are taken over at once, at most.
const TAKEN_MAX: usize = 6;
/// How often a fitting part is looked for.
const TRIES: usize = 6;

/// A program spliced together from some of these: the same seed and programs give the same.
///
/// # Panics
/// There is no program.
#[must_use]
pub fn spliced(seed: u64, programs: &[String]) -> String {
    let mut dice = Dice::new(seed ^ 0x7370_6c69);
    let mut host = some_questions(forms(&programs[dice.below(programs.len())]), &mut dice);
    for _ in 0..2 + dice.below(5) {
        let donor = forms(&programs[dice.below(programs.len())]);
        if !host.is_empty() && !donor.is_empty() {
            splice(&mut host, &donor, &mut dice);
        }
    }
    text(&host)
}

/// What a program defines and sets up, and a few of its questions.
fn some_questions(mut forms: Vec<Form>, dice: &mut Dice) -> Vec<Form> {
    let is_question = |form: &Form| form.is_asked && form.tree.head().is_none_or(|head| !SET_UP.contains(&head));
    let count = forms.iter().filter(|form| is_question(form)).count();
    forms.retain(|form| !is_question(form) || dice.below(count) < QUESTIONS);
    forms
}

fn splice(host: &mut Vec<Form>, donor: &[Form], dice: &mut Dice) {
    match dice.below(15) {
        0 | 1 => transplant(host, donor, dice),
        2 => graft(host, donor, dice),
        3 => exchange_body(host, donor, dice),
        4 => ask(host, donor, dice),
        5 => state(host, donor, dice),
        6 => add_rule(host, donor, dice),
        7 => double(host, dice),
        8 => swap_arguments(host, dice),
        9 => give_alternatives(host, donor, dice),
        10 | 11 => open_head(host, dice),
        12 => merge_variables(some(host, dice), dice),
        13 => open_word(some(host, dice), dice),
        _ => {
            let form = host.remove(dice.below(host.len()));
            insert(host, form, dice);
        }
    }
}

fn some<'a>(forms: &'a mut [Form], dice: &mut Dice) -> &'a mut Form {
    let at = dice.below(forms.len());
    &mut forms[at]
}

fn insert(forms: &mut Vec<Form>, form: Form, dice: &mut Dice) {
    forms.insert(dice.below(forms.len() + 1), form);
}

/// A term of another program in place of one of the host, mostly a list in place of a list.
fn transplant(host: &mut [Form], donor: &[Form], dice: &mut Dice) {
    for _ in 0..TRIES {
        let part = donor[dice.below(donor.len())].tree.some_part(dice).clone();
        let form = some(host, dice);
        let place = dice.below(form.tree.size());
        let is_like = matches!(form.tree.part(place), Tree::List(_)) == matches!(part, Tree::List(_));
        if is_like || dice.one_in(4) {
            form.tree.put(place, &part);
            return;
        }
    }
}

/// The rules of another program's function under the name of a function of the host.
fn graft(host: &mut Vec<Form>, donor: &[Form], dice: &mut Dice) {
    let Some(name) = some_function(donor, dice) else { return };
    let by = some_function(host, dice).unwrap_or_else(|| name.clone());
    let of_it = donor.iter().filter(|form| rule(form).is_some_and(|(call, _)| name_of(call) == Some(&name)));
    for form in of_it.take(TAKEN_MAX) {
        insert(host, renamed(form, &name, &by), dice);
    }
}

/// The body of another program's rule under the head of one of the host's. Its variables become those of the head.
fn exchange_body(host: &mut [Form], donor: &[Form], dice: &mut Dice) {
    let Some(body) = some_body(donor, dice) else { return };
    let rules: Vec<usize> = (0..host.len()).filter(|&at| rule(&host[at]).is_some()).collect();
    if rules.is_empty() {
        return;
    }
    if let Tree::List(parts) = &mut host[rules[dice.below(rules.len())]].tree {
        parts[2] = fitted(body, &parts[1]);
    }
}

/// One more rule for a head of the host, with a body of another program: its calls get alternatives.
fn add_rule(host: &mut Vec<Form>, donor: &[Form], dice: &mut Dice) {
    let heads: Vec<Tree> = host.iter().filter_map(rule).map(|(call, _)| call.clone()).collect();
    let (Some(body), false) = (some_body(donor, dice), heads.is_empty()) else { return };
    let head = heads[dice.below(heads.len())].clone();
    let body = fitted(body, &head);
    insert(host, Form { is_asked: false, tree: Tree::List(vec![Tree::Word("=".to_owned()), head, body]) }, dice);
}

/// A question of another program, which asks a function of the host in place of its own.
fn ask(host: &mut Vec<Form>, donor: &[Form], dice: &mut Dice) {
    let asked: Vec<&Form> = donor.iter().filter(|form| form.is_asked).collect();
    if asked.is_empty() {
        return;
    }
    let form = asked[dice.below(asked.len())].clone();
    let names = some_function(donor, dice).zip(some_function(host, dice));
    host.push(names.map_or(form.clone(), |(name, by)| renamed(&form, &name, &by)));
}

/// Facts and types of another program, some of them about what the host speaks of.
fn state(host: &mut Vec<Form>, donor: &[Form], dice: &mut Dice) {
    let facts: Vec<&Form> = donor.iter().filter(|form| !form.is_asked && rule(form).is_none()).collect();
    if facts.is_empty() {
        return;
    }
    let first = dice.below(facts.len());
    let words = |tree: &Tree, dice: &mut Dice| match tree.some_part(dice) {
        Tree::Word(word) if !word.starts_with('$') => Some(word.clone()),
        _ => None,
    };
    let names = words(&facts[first].tree, dice).zip(words(&host[dice.below(host.len())].tree, dice));
    for form in facts[first..].iter().take(1 + dice.below(TAKEN_MAX)) {
        let form = names.as_ref().map_or_else(|| (*form).clone(), |(name, by)| renamed(form, name, by));
        insert(host, form, dice);
    }
}

/// A form of the host once more, at times with a variable less.
fn double(host: &mut Vec<Form>, dice: &mut Dice) {
    let mut copy = host[dice.below(host.len())].clone();
    if dice.one_in(2) {
        merge_variables(&mut copy, dice);
    }
    insert(host, copy, dice);
}

/// Two arguments change places wherever a name stands first.
fn swap_arguments(host: &mut [Form], dice: &mut Dice) {
    let Tree::List(call) = some(host, dice).tree.some_part(dice).clone() else { return };
    let [Tree::Word(name), arguments @ ..] = call.as_slice() else { return };
    if arguments.len() < 2 {
        return;
    }
    let (one, other) = (1 + dice.below(arguments.len()), 1 + dice.below(arguments.len()));
    let swap = |tree: &mut Tree| {
        if let Tree::List(list) = tree
            && list.len() == call.len()
            && matches!(&list[0], Tree::Word(word) if word == name)
        {
            list.swap(one, other);
        }
    };
    host.iter_mut().for_each(|form| form.tree.each(&swap));
}

/// A part of the host gets a part of another program as an alternative.
fn give_alternatives(host: &mut [Form], donor: &[Form], dice: &mut Dice) {
    let other = donor[dice.below(donor.len())].tree.some_part(dice).clone();
    let form = some(host, dice);
    let place = dice.below(form.tree.size());
    let part = form.tree.part(place).clone();
    let word = |word: &str| Tree::Word(word.to_owned());
    let both = Tree::List(vec![word("superpose"), Tree::List(vec![part, other])]);
    let wrapped = match dice.below(4) {
        0 => Tree::List(vec![word("collapse"), both]),
        1 => Tree::List(vec![word("once"), both]),
        _ => both,
    };
    form.tree.put(place, &wrapped);
}

/// What stands first in a form, or in a part of it, becomes a variable: a relation, a function or a constructor that is left open.
fn open_head(host: &mut [Form], dice: &mut Dice) {
    let form = some(host, dice);
    let name = Tree::Word(dice.pick(&["$x", "$y", "$f", "$rel"]).to_owned());
    for tries in 0..TRIES {
        // The first try is the form itself.
        let place = if tries == 0 && dice.one_in(2) { 0 } else { dice.below(form.tree.size()) };
        if let Tree::List(list) = form.tree.part(place)
            && matches!(list.first(), Some(Tree::Word(_)))
        {
            form.tree.put(place + 1, &name);
            return;
        }
    }
}

/// One variable of a form in place of another.
fn merge_variables(form: &mut Form, dice: &mut Dice) {
    let variables = form.tree.variables();
    if variables.len() > 1 {
        let (one, other) = (dice.below(variables.len()), dice.below(variables.len()));
        form.tree.rename(&variables[one], &variables[other]);
    }
}

/// A word of a form becomes a variable, wherever it stands in that form.
fn open_word(form: &mut Form, dice: &mut Dice) {
    if let Tree::Word(word) = form.tree.some_part(dice).clone() {
        form.tree.rename(&word, dice.pick(&["$x", "$y", "$z", "$new"]));
    }
}

/// The call and the body of a rule.
fn rule(form: &Form) -> Option<(&Tree, &Tree)> {
    match &form.tree {
        Tree::List(parts) if !form.is_asked => match parts.as_slice() {
            [Tree::Word(equals), call, body] if equals == "=" => Some((call, body)),
            _ => None,
        },
        _ => None,
    }
}

fn name_of(call: &Tree) -> Option<&str> {
    call.head().filter(|name| !name.starts_with('$'))
}

/// The name of one of the functions that a program defines.
fn some_function(forms: &[Form], dice: &mut Dice) -> Option<String> {
    let names: Vec<&str> = forms.iter().filter_map(rule).filter_map(|(call, _)| name_of(call)).collect();
    if names.is_empty() { None } else { Some(names[dice.below(names.len())].to_owned()) }
}

fn some_body(forms: &[Form], dice: &mut Dice) -> Option<Tree> {
    let bodies: Vec<&Tree> = forms.iter().filter_map(rule).map(|(_, body)| body).collect();
    if bodies.is_empty() { None } else { Some(bodies[dice.below(bodies.len())].clone()) }
}

/// A body with the variables of a head in place of its own, as far as they go.
fn fitted(mut body: Tree, head: &Tree) -> Tree {
    let ours = head.variables();
    if !ours.is_empty() {
        for (place, theirs) in body.variables().iter().enumerate() {
            body.rename(theirs, &ours[place % ours.len()]);
        }
    }
    body
}

fn renamed(form: &Form, name: &str, by: &str) -> Form {
    let mut form = form.clone();
    form.tree.rename(name, by);
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Vec<String> {
        let texts = [
            "(= (f $x $y) (g $x))\n(= (f 1 $y) $y)\n!(f 1 2)\n!(f a b)\n",
            "(edge a b)\n(edge b c)\n(: edge (-> A A B))\n!(match &self (edge $x $y) $x)\n",
            "(= (plus Z $n) $n)\n(= (plus (S $m) $n) (S (plus $m $n)))\n!(plus (S Z) Z)\n",
        ];
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn a_spliced_program_is_well_formed_the_same_every_time_and_no_copy() {
        let programs = programs();
        let mut copies = 0;
        for seed in 0..500 {
            let made = spliced(seed, &programs);
            assert_eq!(made, spliced(seed, &programs));
            assert_eq!(text(&forms(&made)), made, "seed {seed}");
            copies += usize::from(programs.contains(&made));
        }
        assert!(copies < 50, "{copies} of 500 programs are copies");
    }

    #[test]
    fn programs_meet_and_relations_are_left_open() {
        let made: Vec<String> = (0..2_000).map(|seed| spliced(seed, &programs())).collect();
        for part in [
            "(= (plus Z $n) $n)\n(edge a b)",
            "(= (f (S ",
            "(edge (f",
            "(superpose (",
            "($rel a b)",
            "($x (f $x $y) (g $x))",
        ] {
            assert!(made.iter().any(|text| text.contains(part)), "no program has {part}");
        }
    }

    #[test]
    fn a_body_takes_over_the_variables_of_its_head() {
        let [body, head] = ["(g $a (h $b $a $c))", "(f $x 1 $y)"].map(crate::trees::tree_of);
        assert_eq!(fitted(body, &head).to_string(), "(g $x (h $y $x $x))");
    }
}
