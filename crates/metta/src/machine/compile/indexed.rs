//! Compiles rules of functions that have many: those that calls with known arguments can reach.

use super::{Rest, Rule};
use crate::machine::code::{Entry, Kind, Slot};
use crate::machine::rule_index::{IndexNode, PARTS_MAX, Place, Reached, RuleIndex, parts_of};
use crate::machine::words::{COMPOUND, SYMBOL};
use crate::machine::{Halt, Running};
use crate::names;
use region::Ref;
use rustc_hash::FxHashSet;
use space::{Atom, Bindings, Candidate, FewCandidates, Grounded, Unifier, Variable, instantiate, substitute};

/// Functions of more rules than this are not compiled as a whole, and their rules are not looked through for what follows from all
/// of them.
pub(super) const WHOLE_MAX: usize = 128;

impl Running<'_> {
    /// Whether a function has more rules than are compiled as a whole.
    pub(in crate::machine) fn has_many_rules(&mut self, head: Ref, count: Slot) -> bool {
        if head.tag() != SYMBOL || head == COMPOUND {
            return false;
        }
        if let Some(&known) = self.m.rule_cache.have_many_rules.get(&(head, count)) {
            return known;
        }
        let asked = self.taking_no_numbers(|run| run.rules_asked(head, count));
        let has_many = asked.is_some_and(|asked| !self.space.has_few_candidates(&asked.rule, WHOLE_MAX));
        self.m.rule_cache.have_many_rules.insert((head, count), has_many);
        has_many
    }

    /// How a function of many rules is entered, of which nothing is compiled yet.
    pub(super) fn index_rules(&mut self, function: u32) -> Kind {
        let found = self.m.code.functions[function as usize];
        let known: Vec<Atom> = (0..u64::from(found.arguments)).map(any).collect();
        let root = match self.rules_that_may_match(found.head, &known) {
            FewCandidates::All(_) => IndexNode::new(known, &[]),
            FewCandidates::Some(sample) => IndexNode::new(known, &sample),
        };
        let index = RuleIndex::new(root);
        // What was found for rules as they stood before is needed no more.
        if let Kind::Indexed(old) = found.kind
            && let Some(place) = self.m.code.indexes.get_mut(old as usize)
        {
            *place = index;
            return found.kind;
        }
        self.m.code.indexes.push(index);
        Kind::Indexed((self.m.code.indexes.len() - 1) as u32)
    }

    /// Where calls lead whose arguments match these patterns.
    pub(in crate::machine) fn reach(
        &mut self,
        function: u32,
        index: u32,
        known: Vec<Atom>,
    ) -> Result<Reached<Entry>, Halt> {
        let head = self.m.code.functions[function as usize].head;
        let mut found = match self.rules_that_may_match(head, &known) {
            FewCandidates::All(found) => found,
            FewCandidates::Some(mut sample) => {
                sample.retain(|found| arguments_of(&found.atom).is_none_or(|found| may_match_all(&known, found)));
                let nodes = &mut self.m.code.indexes[index as usize].nodes;
                nodes.push(IndexNode::new(known, &sample));
                return Ok(Reached::Node((nodes.len() - 1) as u32));
            }
        };
        found.retain(|(_, candidate)| {
            arguments_of(&candidate.atom).is_none_or(|arguments| may_match_all(&known, arguments))
        });
        let numbers: Box<[(u32, u64)]> = found.iter().map(|(place, candidate)| (*place, candidate.number)).collect();
        if let Some(&known) = self.m.code.indexes[index as usize].code.get(&numbers) {
            return Ok(Reached::Code(known));
        }
        let rules = self.rules_from(function, &found);
        let entry = self.compile_reached(function, rules, Rest::RuledOut)?;
        self.m.code.indexes[index as usize].code.insert(numbers, entry);
        Ok(Reached::Code(entry))
    }

    /// The code of all rules that are left where calls match the patterns of a node.
    pub(in crate::machine) fn compile_all_reached(
        &mut self,
        function: u32,
        index: u32,
        node: u32,
    ) -> Result<Entry, Halt> {
        let found = self.m.code.functions[function as usize];
        let ceiling = self.m.values.ceiling.clone();
        let rules = self.all_rules_of(found.head, found.arguments, &|| ceiling.is_passed());
        ceiling.look()?;
        let known = &self.m.code.indexes[index as usize].nodes[node as usize].known;
        let rules = rules.map(|mut rules| {
            rules.retain(|(arguments, _)| may_match_all(known, arguments));
            rules
        });
        self.compile_reached(function, rules, if node == 0 { Rest::None } else { Rest::RuledOut })
    }

    fn compile_reached(&mut self, function: u32, rules: Option<Vec<Rule>>, rest: Rest) -> Result<Entry, Halt> {
        let count = self.m.code.functions[function as usize].arguments;
        let (kind, slots) = match rules {
            None => (Kind::Interpreted, 0),
            Some(rules) if rules.is_empty() => (Kind::Constructor, 0),
            Some(rules) => {
                let type_id = self.type_to_compile_for(function);
                self.compile_rules(function, count, type_id, &rules, rest)?
            }
        };
        self.end_piece();
        Ok(Entry { kind, slots: slots.max(usize::from(count)) })
    }

    fn rules_that_may_match(&self, head: Ref, known: &[Atom]) -> FewCandidates {
        let head = Atom::Symbol(self.m.values.symbol_of(head).clone());
        let call = Atom::expression(std::iter::once(head).chain(known.iter().cloned()).collect::<Vec<_>>());
        self.space.few_candidates(&Atom::expression([names::equal(), call, any(u64::MAX)]), WHOLE_MAX)
    }

    /// The arguments and the body of each rule that was found, copies counted; `None` if one of them is not for the machine.
    fn rules_from(&mut self, function: u32, found: &[(u32, Candidate)]) -> Option<Vec<Rule>> {
        let mut rules = Vec::with_capacity(found.len());
        for (_, candidate) in found {
            for _ in 0..candidate.copies {
                let mut slots = vec![None; candidate.names.len()];
                let atom = instantiate(&candidate.atom, &mut slots, self.session.program.variables());
                match (arguments_of(&atom), atom.children()) {
                    (Some(arguments), Some([_, _, body])) => {
                        rules.push(self.as_asked((arguments.to_vec(), body.clone())));
                    }
                    _ if crate::instructions::has_space(&atom) => return None,
                    _ => rules.extend(self.rules_of_open(function, &atom)?),
                }
            }
        }
        let is_plain = |(arguments, _): &Rule| !arguments.iter().any(crate::instructions::has_space);
        rules.iter().all(is_plain).then_some(rules)
    }

    /// A rule as a query for it gives it: a variable that is its body has the name of what was asked.
    fn as_asked(&mut self, (mut arguments, body): Rule) -> Rule {
        let Atom::Variable(variable) = &body else { return (arguments, body) };
        let asked = Atom::Variable(self.session.program.variables().fresh(names::asked()));
        arguments.iter_mut().for_each(|argument| *argument = substitute(argument, variable, &asked));
        (arguments, asked)
    }

    /// What an atom says of calls of a function whose name it does not say.
    fn rules_of_open(&mut self, function: u32, atom: &Atom) -> Option<Vec<Rule>> {
        let found = self.m.code.functions[function as usize];
        let asked = self.rules_asked(found.head, found.arguments)?;
        let mut unifier = Unifier::under(Bindings::default(), self.session.program.variables());
        if !unifier.unify(&asked.rule, atom) {
            return Some(Vec::new());
        }
        let rule = |bindings: &Bindings| {
            let value = |variable: &Variable| bindings.resolve(&Atom::Variable(variable.clone()));
            (asked.arguments.iter().map(value).collect(), value(&asked.body))
        };
        Some(unifier.finish().iter().map(rule).collect())
    }
}

impl IndexNode<Entry> {
    /// Where calls come whose arguments match these patterns, given some of the rules that may match them.
    fn new(known: Vec<Atom>, sample: &[Candidate]) -> Self {
        let mut places: Vec<(usize, Place)> = Vec::new();
        for (slot, pattern) in known.iter().enumerate() {
            let written = sample.iter().map(|candidate| arguments_of(&candidate.atom)?.get(slot));
            let outer = told_apart(written.clone().map(|argument| argument.and_then(outer_part)));
            let whole =
                told_apart(written.map(|argument| argument.filter(|argument| is_small_data(argument)).cloned()));
            let slot = slot as Slot;
            // The outermost part is looked at first, which costs less.
            if matches!(pattern, Atom::Variable(_)) && outer > 1 {
                places.push((outer.max(whole), Place::Outer(slot)));
            }
            // The indexes of the space know whole arguments, and no parts of them: rules that a sample has missed are found so.
            let is_last_way = matches!(pattern, Atom::Expression(_)) && (whole > 0 || sample.is_empty());
            if !pattern.is_ground() && (whole > 1 || is_last_way) {
                places.push((whole, Place::Whole(slot)));
            }
        }
        places.sort_by_key(|&(told, _)| std::cmp::Reverse(told));
        Self { known, places: places.into_iter().map(|(_, place)| place).collect(), all: None }
    }
}

/// How many kinds of rules something tells apart; 0 if it says nothing of any. Where a rule has `None`, it may have anything.
fn told_apart(parts: impl Iterator<Item = Option<Atom>>) -> usize {
    let (mut kinds, mut is_open) = (FxHashSet::default(), false);
    for part in parts {
        match part {
            Some(part) => drop(kinds.insert(part)),
            None => is_open = true,
        }
    }
    if kinds.is_empty() { 0 } else { kinds.len() + usize::from(is_open) }
}

/// What a look at the outermost part of an argument sees of a pattern, its children left out.
fn outer_part(pattern: &Atom) -> Option<Atom> {
    match pattern {
        Atom::Expression(expression) => {
            let head = expression.children().first().filter(|head| matches!(head, Atom::Symbol(_)))?;
            Some(Atom::expression(vec![head.clone(); expression.len()]))
        }
        Atom::Variable(_) | Atom::Grounded(Grounded::Space(_) | Grounded::State(_)) => None,
        leaf => Some(leaf.clone()),
    }
}

/// Whether a pattern is an expression of few parts without variables.
fn is_small_data(pattern: &Atom) -> bool {
    pattern.is_rigid() && !pattern.children().unwrap_or_default().is_empty() && parts_of(pattern, PARTS_MAX).is_some()
}

/// The arguments in the head of a rule that says whose rule it is.
fn arguments_of(rule: &Atom) -> Option<&[Atom]> {
    match rule.children()? {
        [equal, call, _] if equal.is_symbol(names::EQUAL) => match call.children()? {
            [Atom::Symbol(_), arguments @ ..] => Some(arguments),
            _ => None,
        },
        _ => None,
    }
}

fn may_match_all(known: &[Atom], arguments: &[Atom]) -> bool {
    known.len() == arguments.len() && known.iter().zip(arguments).all(|(known, argument)| may_match(known, argument))
}

/// Whether what matches one pattern may match another; patterns of calls are no deeper than what is looked at as a whole.
fn may_match(known: &Atom, pattern: &Atom) -> bool {
    match (known, pattern) {
        (Atom::Expression(known), Atom::Expression(pattern)) => may_match_all(known.children(), pattern.children()),
        (Atom::Variable(_), _) | (_, Atom::Variable(_) | Atom::Grounded(Grounded::Space(_) | Grounded::State(_))) => {
            true
        }
        (known, pattern) => known == pattern,
    }
}

/// A variable that stands for any argument.
fn any(id: u64) -> Atom {
    Atom::Variable(Variable::with_id(names::asked().clone(), id))
}
