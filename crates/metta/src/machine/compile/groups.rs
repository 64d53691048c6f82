//! Groups: the rules of a function, and what tells them apart before one of them is tried.
//!
//! 1. The outermost part of each argument of a rule is its *key*: a leaf, a shape, or anything.
//! 2. If one argument tells all rules apart and nothing else in their heads has to match, the code of the one that is left is
//!    entered after its head.
//! 3. Else, if there are enough of them, the argument that tells most of them apart is looked up in a switch.

use super::indexed::WHOLE_MAX;
use crate::machine::Running;
use crate::machine::code::{Case, Exclusive, Group, Key, Listed, Pc, RuleCode, Slot, Switch};
use crate::machine::words::{FALSE, FOREIGN, TRUE};
use crate::machine::words::{is_plain_word, shape_key};
use crate::names;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded};

/// Rules of a group beyond which the switch is used.
const SWITCH_FROM: usize = 4;

/// Up to here the cases of a group are looked through one by one.
const CASES_MAX: usize = 6;

impl Running<'_> {
    pub(super) fn key_of(&mut self, pattern: &Atom) -> Key {
        match pattern {
            Atom::Variable(_) => Key::Any,
            Atom::Expression(expression) => {
                let head = expression.children().first().and_then(|head| self.m.values.constant_leaf(head));
                Key::Shape(expression.len() as u32, head)
            }
            // A space may match anything.
            Atom::Grounded(Grounded::Space(_)) => Key::Any,
            leaf => self.m.values.constant_leaf(leaf).map_or(Key::Any, Key::Leaf),
        }
    }

    /// The rules as a group, with a switch if that pays.
    pub(super) fn group(&self, function: u32, rules: Vec<RuleCode>, count: usize) -> Group {
        let all = listed(&rules, 0..rules.len(), None);
        let known = |argument: usize| rules.iter().filter(|rule| rule.keys[argument] != Key::Any).count();
        let best = (0..count).max_by_key(|&argument| (known(argument), std::cmp::Reverse(argument)));
        let can_tell =
            |argument: usize| rules.iter().any(|rule| matches!(switch_key(rule.keys[argument]), Looked::Up(_)));
        // More rules than are compiled at once are entered only where no argument tells them apart.
        let is_worth_it = (SWITCH_FROM..=WHOLE_MAX).contains(&rules.len());
        let best = best.filter(|&argument| is_worth_it && known(argument) > 1 && can_tell(argument));
        let mut lists = vec![all];
        let switch = best.map(|argument| switch_on(argument, &rules, &mut lists));
        let looked_into = (0..count).filter(|&argument| known(argument) > 0).map(|argument| argument as Slot).collect();
        Group {
            function,
            looked_into,
            rules: rules.into(),
            sources: Box::default(),
            lists: lists.into(),
            switch,
            are_facts: false,
            compares_values: false,
            has_others: false,
            slots: 0,
        }
    }
}

/// A switch on an argument, whose lists of rules are added to the others.
fn switch_on(argument: usize, rules: &[RuleCode], lists: &mut Vec<Box<[Listed]>>) -> Switch {
    let mut cases = FxHashMap::default();
    let key_of = |rule: &RuleCode| switch_key(rule.keys[argument]);
    let list_for = |key: Option<u64>| {
        let fits = |rule: &RuleCode| match key_of(rule) {
            Looked::Up(own) => Some(own) == key,
            Looked::Anything => true,
        };
        let told = key.map(|key| (argument, key));
        listed(rules, (0..rules.len()).filter(|&rule| fits(&rules[rule])), told)
    };
    for rule in rules {
        if let Looked::Up(key) = key_of(rule) {
            cases.entry(key).or_insert_with(|| {
                lists.push(list_for(Some(key)));
                (lists.len() - 1) as u32
            });
        }
    }
    lists.push(list_for(None));
    Switch { argument: argument as Slot, cases, otherwise: (lists.len() - 1) as u32 }
}

/// Whether a rule may say that its call stands for itself: then what is tried tells where the call was made.
pub(super) fn may_stand(body: &Atom) -> bool {
    body.is_symbol(names::NOT_REDUCIBLE)
        || crate::instructions::is_function(body)
        || crate::machine::lower::may_be_function(body)
}

/// The cases of a group whose rules are told apart by one argument, everything else in their heads being variables.
pub(super) fn exclusive(
    group: u32,
    rules: &[RuleCode],
    heads: &[(Vec<Atom>, Atom)],
    entries: &[(Pc, Slot)],
) -> Option<Exclusive> {
    if rules.len() > CASES_MAX {
        return None;
    }
    let count = rules.first()?.keys.len();
    let argument = (0..count).find(|&argument| {
        heads.iter().all(|(patterns, _)| is_plain_but_for(patterns, argument))
            && rules.iter().all(|rule| matches!(switch_key(rule.keys[argument]), Looked::Up(_)))
    })?;
    let case = |(rule, &(body, dst)): (&RuleCode, &(Pc, Slot))| {
        let Looked::Up(key) = switch_key(rule.keys[argument]) else { unreachable!("it was looked at") };
        let children = match rule.keys[argument] {
            Key::Shape(length, _) => length as Slot - 1,
            _ => 0,
        };
        Case { key, body, children, dst }
    };
    let mut cases: Box<[Case]> = rules.iter().zip(entries).map(case).collect();
    // Data is taken apart more often than an end of it is met.
    cases.sort_by_key(|case| case.children == 0);
    let are_distinct = (1..cases.len()).all(|place| cases[..place].iter().all(|other| other.key != cases[place].key));
    are_distinct.then_some(Exclusive { group, argument: argument as Slot, cases })
}

/// Whether the patterns of a rule are variables, each once, but for one that is a leaf or takes an expression apart into
/// variables.
fn is_plain_but_for(patterns: &[Atom], argument: usize) -> bool {
    let children = patterns[argument].children().unwrap_or_default();
    let inner = children.iter().skip(1);
    let others = patterns.iter().enumerate().filter(|&(place, _)| place != argument).map(|(_, pattern)| pattern);
    let mut seen = Vec::new();
    inner.chain(others).all(|pattern| match pattern {
        Atom::Variable(variable) if !seen.contains(&variable) => {
            seen.push(variable);
            true
        }
        _ => false,
    })
}

/// How the switch sees a rule.
enum Looked {
    Up(u64),
    Anything,
}

fn switch_key(key: Key) -> Looked {
    match key {
        Key::Leaf(leaf) if leaf.tag() != FOREIGN || leaf == TRUE || leaf == FALSE => Looked::Up(u64::from(leaf.bits())),
        // A number as the head may equal one of another kind.
        Key::Shape(length, Some(head)) if is_plain_word(head) => Looked::Up(shape_key(length, head)),
        _ => Looked::Anything,
    }
}

/// The list of rules for arguments of this kind, if the switch knows it.
pub(in crate::machine) fn list_of(switch: &Switch, key: Key) -> Option<u32> {
    match switch_key(key) {
        Looked::Up(key) => switch.cases.get(&key).copied(),
        Looked::Anything => None,
    }
}

/// A list of these rules, for calls of which it is known, perhaps, what the switch has looked an argument up by.
fn listed(rules: &[RuleCode], chosen: impl Iterator<Item = usize>, told: Option<(usize, u64)>) -> Box<[Listed]> {
    let is_told = |argument: usize, key: Key| {
        key == Key::Any
            || told.is_some_and(|(asked, told)| {
                asked == argument && matches!(switch_key(key), Looked::Up(key) if key == told)
            })
    };
    let mut list: Vec<Listed> = Vec::new();
    for number in chosen {
        let rule = &rules[number];
        let mut goes_on = None;
        if let Some(before) = list.last_mut() {
            before.is_with_next = rules[before.rule as usize].class == rule.class;
            goes_on = rule.goes_on.filter(|_| before.rule as usize + 1 == number);
        }
        let is_certain = rule.keys.iter().enumerate().all(|(argument, &key)| is_told(argument, key));
        list.push(Listed { rule: number as u32, pc: rule.pc, is_certain, is_with_next: false, goes_on });
    }
    list.into()
}
