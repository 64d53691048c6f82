//! Code as text, for people: what `metroon run --explain` prints.
//!
//! 1. A name has a function for each number of arguments that its rules take, and for each type that its results are
//!    expected to be of: the declared one, else none; and those that the code of the program asks for.
//! 2. Each is compiled anew, so that its code lies in one piece, rule after rule.
//! 3. Instructions are written one a line: slots under the names of their variables, places as labels, what a return point says
//!    beside the instruction that it belongs to.

use super::code::{
    ArgumentSource, Code, CollectedInto, Data, DataSlot, ESCAPE, FAIL, Guard, HEADER, Instruction, Key, Kind, Listed,
    NEXT_RULE, NestedData, NestedPart, OPEN, Pc, REDUCE, Slot, TemplatePart, TypeId, WELL_TYPED,
};
use super::compile::Rest;
use super::core::Words;
use super::types::{HeadKind, Rule};
use super::{Machine, MachineEvaluator, Running};
use crate::lowering::{Logic, Lowering, Wanted};
use crate::session::Session;
use crate::{names, stdlib};
use region::Ref;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, SharedSpace, Symbol, alpha_equivalent, as_written};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What is shown of the functions of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Explained {
    /// Their code.
    #[default]
    Code,
    /// What each step of the compiler made of their rules, and their code.
    Core,
}

impl Words for Machine {
    fn leaf(&self, leaf: Ref) -> String {
        self.values.leaf_atom(leaf).to_string()
    }

    fn type_name(&self, type_id: TypeId) -> String {
        match type_id {
            REDUCE | WELL_TYPED => String::new(),
            type_id => self.types.ids.atom(type_id).to_string(),
        }
    }

    fn function(&self, function: u32) -> String {
        self.function_name(function)
    }

    fn guard(&self, guard: Guard) -> String {
        self.guard_text(guard)
    }
}

/// A name with its rules, by how many arguments they take.
type Defined = (Symbol, BTreeMap<usize, Vec<Rule>>);

/// The name of the operation that an instruction was made of.
fn name_of(lowering: Lowering) -> &'static str {
    stdlib::lowered(lowering).name
}

/// The instruction that an operation becomes.
fn word(lowering: Lowering) -> &'static str {
    lowering.instruction().expect("it has an instruction of its own")
}

impl MachineEvaluator {
    /// The code of a name's functions, as its rules stand now; `None` if it has no rules.
    pub(crate) fn explain(&self, session: &mut Session, name: &str, what: Explained) -> Option<String> {
        let space = session.program.top_space();
        let defined = defined_in(&atoms_of(session, &space)).into_iter().find(|(found, _)| found.as_str() == name)?;
        self.explain_each(session, &space, &[defined], what).pop()
    }

    /// The code of each name that has rules in the program's own space, in the order of their first rules.
    pub(crate) fn explain_all(&self, session: &mut Session, what: Explained) -> Vec<String> {
        let space = session.program.top_space();
        let own: FxHashSet<Symbol> =
            defined_in(&space.atoms(session.program.variables())).into_iter().map(|(name, _)| name).collect();
        let mut defined = defined_in(&atoms_of(session, &space));
        defined.retain(|(name, _)| own.contains(name));
        self.explain_each(session, &space, &defined, what)
    }

    fn explain_each(
        &self,
        session: &mut Session,
        space: &SharedSpace,
        defined: &[Defined],
        what: Explained,
    ) -> Vec<String> {
        let mut machine = match self.take_machine(session) {
            Ok(machine) => machine,
            Err(full) => return defined.iter().map(|(name, _)| format!("{name}\n  {full}\n")).collect(),
        };
        let mut running = Running::new(*machine, self, session, space);
        running.prepare();
        running.m.code.names = Some(Vec::new());
        running.m.code.shown = (what == Explained::Core).then(Vec::new);
        let texts = defined.iter().map(|defined| running.explain_name(defined)).collect();
        (running.m.code.names, running.m.code.shown) = (None, None);
        *machine = running.m;
        self.put_back(machine, running.outer);
        texts
    }
}

/// The atoms of a space and of those that it imports.
fn atoms_of(session: &mut Session, space: &SharedSpace) -> Vec<Atom> {
    let spaces = std::iter::once(space.clone()).chain(space.imports());
    spaces.flat_map(|space| space.atoms(session.program.variables())).collect()
}

/// The names that have rules, in the order of their first ones.
fn defined_in(atoms: &[Atom]) -> Vec<Defined> {
    let mut order: Vec<Defined> = Vec::new();
    let mut known: FxHashMap<Symbol, usize> = FxHashMap::default();
    for atom in atoms {
        let Some([equal, call, body]) = atom.children() else { continue };
        let Some([Atom::Symbol(name), arguments @ ..]) = call.children() else { continue };
        if equal.is_symbol(names::EQUAL) {
            let place = *known.entry(name.clone()).or_insert_with(|| {
                order.push((name.clone(), BTreeMap::new()));
                order.len() - 1
            });
            let rules = order[place].1.entry(arguments.len()).or_default();
            rules.push((arguments.to_vec(), body.clone()));
        }
    }
    order
}

impl Running<'_> {
    fn explain_name(&mut self, (name, rules): &Defined) -> String {
        let head = self.m.values.symbol(name);
        let mut text = String::new();
        for (&arity, rules) in rules {
            let kind = self.types().head_kind(head, arity);
            let result = match kind {
                HeadKind::Untyped => 0,
                HeadKind::Raw { result } => result,
                HeadKind::Typed(signature) => signature.result.unwrap_or(0),
                HeadKind::Parametric(_) => 0,
                HeadKind::Other => {
                    _ = writeln!(
                        text,
                        "{name}/{arity}\n  its type has to be looked at in each call: the interpreter evaluates them"
                    );
                    continue;
                }
            };
            let Ok(count) = Slot::try_from(arity) else { continue };
            // With code that checks nothing, the other is for arguments that are not of its types.
            let well_typed = self.function_types().is_well_typed((head, count)).then_some(WELL_TYPED);
            for type_id in well_typed.into_iter().chain([result]) {
                self.m.code.function(head, count, type_id);
            }
            // Its code may ask for results of another type, of this function among others.
            let mut next = 0;
            while let Some(function) = function_from(&self.m.code, next, head, count) {
                text += &self.explain_function(function, rules);
                next = function + 1;
            }
        }
        text
    }

    fn explain_function(&mut self, function: u32, named: &[Rule]) -> String {
        let (head, count, type_id) = {
            let found = &self.m.code.functions[function as usize];
            (found.head, found.arguments, found.type_id)
        };
        let mut text = match type_id {
            0 => format!("{}\n", self.m.function_name(function)),
            WELL_TYPED => format!("{}, well typed\n", self.m.function_name(function)),
            REDUCE => format!("{} by one step\n", self.m.function_name(function)),
            _ => format!("{} as {}\n", self.m.function_name(function), self.types().type_atom(type_id)),
        };
        if self.session.tables.is_tabled(self.m.values.symbol_of(head)) {
            text.insert_str(text.len() - 1, ", tabled");
            let (name, space) = (self.m.values.symbol_of(head).clone(), self.space.clone());
            text += &match self.session.refused_as_rows(&name, usize::from(count), &space) {
                None => "  its calls are answered over rows\n".to_owned(),
                Some(why) => format!("  its calls are evaluated, not answered over rows: {why}\n"),
            };
        }
        if self.is_remembered(function) {
            text.insert_str(text.len() - 1, ", remembered");
        }
        if self.has_many_rules(head, count) {
            text += "  it has so many rules that those which a call can reach are compiled when it is made\n";
            return text;
        }
        let rules = self.named_rules(head, count, named);
        let kind = match rules.is_empty() {
            true => Kind::Interpreted,
            false => match self.compile_rules(function, count, type_id, &rules, Rest::None) {
                Ok((kind, _)) => kind,
                Err(_) => Kind::Interpreted,
            },
        };
        let starts: Vec<Pc> = match kind {
            Kind::Rule(pc) => vec![pc],
            Kind::Group(group) | Kind::Exclusive(group) => {
                let is_exclusive = matches!(kind, Kind::Exclusive(_));
                let group = if is_exclusive { self.m.code.exclusives[group as usize].group } else { group };
                text += &self.m.switch_text(group);
                self.m.code.groups[group as usize].rules.iter().map(|rule| rule.pc).collect()
            }
            _ => Vec::new(),
        };
        if starts.is_empty() {
            text += "  the machine has no code for it: the interpreter evaluates its calls\n";
        }
        let end = self.m.code.instructions.len();
        for (index, (&start, (arguments, body))) in starts.iter().zip(&rules).enumerate() {
            let name = Atom::Symbol(self.m.values.symbol_of(head).clone());
            let call = Atom::expression(std::iter::once(name).chain(arguments.iter().cloned()).collect::<Vec<_>>());
            let rule = as_written(&Atom::expression([names::equal(), call, body.clone()]));
            _ = writeln!(text, "  {}. {rule}", index + 1);
            let to = starts.get(index + 1).map_or(end, |&next| next as usize);
            text += &self.m.core_text(start as usize..to);
            text += &Listing::new(&self.m, start as usize..to, count).text();
        }
        text
    }
}

impl Running<'_> {
    /// The rules that a function is compiled from, under the names that their variables have in the source.
    fn named_rules(&mut self, head: Ref, count: Slot, named: &[Rule]) -> Vec<Rule> {
        let rules = self.rules_of(head, count).unwrap_or_default();
        let same = |rule: &Rule| named.iter().find(|named| alpha_equivalent(&whole(named), &whole(rule)));
        rules.iter().map(|rule| same(rule).unwrap_or(rule).clone()).collect()
    }
}

fn whole((arguments, body): &Rule) -> Atom {
    Atom::expression(arguments.iter().chain([body]).cloned().collect::<Vec<_>>())
}

impl Machine {
    /// What a function is called: its head and the number of its arguments.
    fn function_name(&self, function: u32) -> String {
        let found = &self.code.functions[function as usize];
        format!("{}/{}", self.values.symbol_of(found.head), found.arguments)
    }

    /// What the steps of the compiler have made of the expressions whose code is a part of it, if that is to be shown.
    fn core_text(&self, code: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        let shown = self.code.shown.iter().flatten();
        for (_, steps) in shown.filter(|(at, _)| code.contains(&(*at as usize))) {
            for (step, core) in steps {
                _ = writeln!(text, "    {step}");
                core.lines().for_each(|line| _ = writeln!(text, "      {line}"));
            }
        }
        text + if self.code.shown.is_some() { "    code\n" } else { "" }
    }

    /// What a guard asks of a value.
    fn guard_text(&self, guard: Guard) -> String {
        match guard {
            Guard::Number => "is a number".to_owned(),
            Guard::Bool => "is True or False".to_owned(),
            Guard::Type(type_id) | Guard::TypeInside(type_id) => {
                format!("is of type {}", self.types.ids.atom(type_id))
            }
            Guard::Count => "is a whole number, 0 or more".to_owned(),
            Guard::Ground => "has no unbound variable".to_owned(),
            Guard::Unbound => "is an unbound variable".to_owned(),
            Guard::Space => "is a space".to_owned(),
            Guard::State(type_id) => format!("is a state of {}", self.types.ids.atom(type_id)),
            Guard::Reducible => "is not NotReducible".to_owned(),
            Guard::Answer => "is neither NotReducible nor code".to_owned(),
            Guard::Untyped => "has no type".to_owned(),
            Guard::Expression => "is an expression".to_owned(),
            Guard::Plain => "has no type error".to_owned(),
            Guard::Head(_) => "is a head without function type".to_owned(),
            Guard::OpenHead(_) => "is a head that makes no type".to_owned(),
        }
    }

    /// How the rules of a group are chosen from.
    fn switch_text(&self, group: u32) -> String {
        let group = &self.code.groups[group as usize];
        let Some(switch) = &group.switch else { return String::new() };
        let argument = usize::from(switch.argument);
        let mut text = format!("  switch on argument {}\n", argument + 1);
        let mut seen: Vec<Key> = Vec::new();
        for rule in &group.rules {
            let key = rule.keys[argument];
            let Some(list) = super::compile::list_of(switch, key).filter(|_| !seen.contains(&key)) else { continue };
            seen.push(key);
            _ = writeln!(text, "    {}: {}", self.key_text(key), rule_numbers(&group.lists[list as usize]));
        }
        _ = writeln!(text, "    else: {}", rule_numbers(&group.lists[switch.otherwise as usize]));
        text
    }

    fn key_text(&self, key: Key) -> String {
        match key {
            Key::Any => "anything".to_owned(),
            Key::Leaf(leaf) => self.values.leaf_atom(leaf).to_string(),
            Key::Shape(length, head) => {
                let head = head.map_or("_".to_owned(), |head| self.values.leaf_atom(head).to_string());
                format!("({head}{})", " _".repeat(length.saturating_sub(1) as usize))
            }
        }
    }
}

/// The first function of a head and `count` arguments, from a number on.
fn function_from(code: &Code, from: u32, head: Ref, count: Slot) -> Option<u32> {
    let functions = code.functions.iter().enumerate().skip(from as usize);
    let mut found = functions.filter(|(_, function)| function.head == head && function.arguments == count);
    found.next().map(|(number, _)| number as u32)
}

fn rule_numbers(list: &[Listed]) -> String {
    if list.is_empty() {
        return "no rule".to_owned();
    }
    let numbers: Vec<String> = list.iter().map(|listed| (listed.rule + 1).to_string()).collect();
    format!("rule {}", numbers.join(", "))
}

/// The code of one rule on its way to text.
struct Listing<'a> {
    m: &'a Machine,
    code: std::ops::Range<usize>,
    arguments: Slot,
    /// Places that something leads to.
    labels: BTreeSet<Pc>,
    /// The instruction that is being written.
    at: usize,
}

impl<'a> Listing<'a> {
    fn new(m: &'a Machine, code: std::ops::Range<usize>, arguments: Slot) -> Self {
        let mut listing = Self { m, code: code.clone(), arguments, labels: BTreeSet::new(), at: 0 };
        for at in code.clone() {
            let targets = listing.targets(at);
            listing.labels.extend(targets.into_iter().filter(|&to| code.contains(&(to as usize))));
        }
        listing
    }

    fn text(mut self) -> String {
        let mut text = String::new();
        for at in self.code.clone() {
            self.at = at;
            let label = if self.labels.contains(&(at as Pc)) { self.place(at as Pc) } else { String::new() };
            let line = self.instruction(self.m.code.instructions[at]);
            _ = writeln!(text, "    {label:<5}{line}");
        }
        text
    }

    /// Where an instruction may lead, other than to the next one.
    fn targets(&self, at: usize) -> Vec<Pc> {
        let mut instruction = self.m.code.instructions[at];
        let mut targets: Vec<Pc> = match instruction {
            Instruction::CompareJump { then, or, .. } | Instruction::CompareJumpWith { then, or, .. } => vec![then, or],
            Instruction::CallWith { arguments, .. }
            | Instruction::TailCallWith { arguments, .. }
            | Instruction::TailCallFacts { arguments, .. } => {
                vec![self.m.code.arguments[arguments as usize].or]
            }
            Instruction::Construct { data }
            | Instruction::ReturnConstruct { data }
            | Instruction::BuildHole { data, .. }
            | Instruction::BuildHoleCall { data, .. } => {
                Some(self.m.code.data[data as usize].or).filter(|&or| or != Pc::MAX).into_iter().collect()
            }
            _ => instruction.other_place().map(|place| *place).into_iter().collect(),
        };
        if let Some(return_point) = self.return_point_of(instruction) {
            let return_point = self.m.code.return_point(return_point);
            targets.push(return_point.error);
            targets.extend(Some(return_point.pc).filter(|&pc| pc as usize != at + 1));
        }
        targets
    }

    fn return_point_of(&self, instruction: Instruction) -> Option<u32> {
        match instruction {
            Instruction::Construct { data } | Instruction::ReturnConstruct { data } => {
                Some(self.m.code.data[data as usize].return_point)
            }
            other => return_point_named_by(other),
        }
    }

    fn place(&self, to: Pc) -> String {
        match to {
            NEXT_RULE => "the next rule".to_owned(),
            FAIL => "fail".to_owned(),
            to => format!("L{}", self.labels.iter().position(|&label| label == to).map_or(0, |place| place + 1)),
        }
    }

    /// The name of a slot: that of the variable whose value it holds at this place.
    fn slot(&self, slot: Slot) -> String {
        let of_code = || self.m.code.names.iter().flatten().filter(|(at, ..)| self.code.contains(&(*at as usize)));
        let of_slot = || of_code().filter(|(_, other, _)| *other == slot);
        let before = of_slot().rfind(|(at, ..)| *at as usize <= self.at);
        match before.or(of_slot().next()) {
            Some((_, _, name)) if of_code().any(|(_, other, taken)| *other < slot && taken == name) => {
                format!("${name}.{slot}")
            }
            Some((_, _, name)) => format!("${name}"),
            None if slot < self.arguments => format!("a{}", slot + 1),
            None => format!("t{slot}"),
        }
    }

    fn slots(&self, first: Slot, count: Slot) -> String {
        let names: Vec<String> = (first..first + count).map(|slot| self.slot(slot)).collect();
        format!("({})", names.join(" "))
    }

    /// A constant, or the word of a frame that says that its results are not collected.
    fn leaf(&self, leaf: Ref) -> String {
        if leaf.bits() == OPEN {
            return "open".to_owned();
        }
        self.m.values.leaf_atom(leaf).to_string()
    }

    /// The expression that a template builds.
    fn template(&self, template: u32) -> String {
        let mut done: Vec<String> = Vec::new();
        for part in &self.m.code.templates[template as usize] {
            match *part {
                TemplatePart::Leaf(leaf) => done.push(self.leaf(leaf)),
                TemplatePart::Slot(slot) => done.push(self.slot(slot)),
                TemplatePart::Expression(count) => {
                    let children = done.split_off(done.len() - count as usize);
                    done.push(format!("({})", children.join(" ")));
                }
            }
        }
        done.pop().unwrap_or_default()
    }

    /// The expression of evaluated children that is built, and where it goes.
    fn data(&self, data: u32) -> String {
        let Data { return_point, or, .. } = self.m.code.data[data as usize];
        format!("({}){}{}", self.children(data).join(" "), self.or_evaluated(or), self.return_point(return_point))
    }

    /// Data with data inside.
    fn nested(&self, data: u32) -> String {
        let mut done: Vec<String> = Vec::new();
        let NestedData { taken: slots, parts, .. } = &self.m.code.nested[data as usize];
        for NestedPart { stamp, taken, inside, .. } in parts {
            let mut children: Vec<String> = stamp.children().iter().map(|&leaf| self.leaf(leaf)).collect();
            taken.iter().for_each(|&(place, at)| children[usize::from(place)] = self.slot(slots[at].0));
            inside.iter().for_each(|&(place, part)| children[usize::from(place)].clone_from(&done[part]));
            done.push(format!("({})", children.join(" ")));
        }
        done.pop().unwrap_or_default()
    }

    /// Data, but for the last child.
    fn hole(&self, data: u32) -> String {
        let mut children = self.children(data);
        children.pop();
        format!("({} …){}", children.join(" "), self.or_evaluated(self.m.code.data[data as usize].or))
    }

    /// Where the code goes on if a child needs to be evaluated.
    fn or_evaluated(&self, or: Pc) -> String {
        if or == Pc::MAX { String::new() } else { self.or(or) }
    }

    fn children(&self, data: u32) -> Vec<String> {
        let Data { stamp, slots, .. } = &self.m.code.data[data as usize];
        let mut children: Vec<String> = stamp.children().iter().map(|&leaf| self.leaf(leaf)).collect();
        for &DataSlot { place, slot, .. } in slots {
            children[usize::from(place)] = self.slot(slot);
        }
        children
    }

    fn shape(&self, shape: u32, dst: Slot) -> String {
        let shape = &self.m.code.shapes[shape as usize];
        let head = shape.head.map(|head| self.leaf(head));
        let count = shape.length as Slot - Slot::from(head.is_some());
        let slots = (dst..dst + count).map(|slot| self.slot(slot));
        format!("({})", head.into_iter().chain(slots).collect::<Vec<_>>().join(" "))
    }

    /// What stands behind an instruction of a type that is expected.
    fn as_type(&self, type_id: TypeId) -> String {
        match type_id {
            0 | WELL_TYPED => String::new(),
            REDUCE => " by one step".to_owned(),
            other => format!(" as {}", self.m.types.ids.atom(other)),
        }
    }

    fn or(&self, or: Pc) -> String {
        match or {
            FAIL => ", else fail".to_owned(),
            or => format!(", else {}", self.place(or)),
        }
    }

    /// Where the result goes, and where an error does if it is not the result of the whole.
    fn return_point(&self, return_point: u32) -> String {
        let return_point = self.m.code.return_point(return_point);
        let mut text = format!(" -> {}", self.slot(return_point.dst));
        if return_point.pc as usize != self.at + 1 {
            text += &format!(", on at {}", self.place(return_point.pc));
        }
        if return_point.error != ESCAPE {
            text += &format!(", error to {}", self.place(return_point.error));
        }
        text
    }

    /// An instruction with what it takes and gives.
    fn instruction(&self, instruction: Instruction) -> String {
        let slot = |slot| self.slot(slot);
        let first = |at: Slot| at + HEADER as Slot;
        match instruction {
            Instruction::Load { dst, value } => format!("load {} -> {}", self.leaf(value), slot(dst)),
            Instruction::Move { dst, src } => format!("move {} -> {}", slot(src), slot(dst)),
            Instruction::FormVariable { dst, .. } | Instruction::Variable { dst, .. } => {
                format!("variable -> {}", slot(dst))
            }
            Instruction::Build { dst, template } => format!("build {} -> {}", self.template(template), slot(dst)),
            Instruction::Construct { data } => format!("construct {}", self.data(data)),
            Instruction::BuildHole { data, .. } | Instruction::BuildHoleCall { data, .. } => {
                format!("build-hole {}", self.hole(data))
            }
            Instruction::ConstructNested { data, dst, then } => {
                format!("construct {} -> {}, on at {}, or each", self.nested(data), slot(dst), self.place(then))
            }
            Instruction::ReturnNested { data } => format!("return-construct {}, or each", self.nested(data)),
            Instruction::BuildConsHole { first, or, .. } => {
                format!("build-hole (cons-atom {} …){}", slot(first), self.or(or))
            }
            Instruction::ReturnConstruct { data } => format!("return-construct {}", self.data(data)),
            Instruction::Jump { to } => format!("jump {}", self.place(to)),
            Instruction::If { slot: condition, or } => format!("if {}{}", slot(condition), self.or(or)),
            Instruction::GuardSays { function, said, or } => {
                format!("guard {} says {}{}", self.m.function_name(function), said.text(), self.or(or))
            }
            Instruction::GuardTypeEpoch { or, .. } => format!("guard-types{}", self.or(or)),
            Instruction::Settled { slot: settled, or, .. } => format!("settled {}{}", slot(settled), self.or(or)),
            Instruction::GuardUnchanged { at, or } => {
                format!("guard-unchanged {}{}", self.slot(at + HEADER as Slot), self.or(or))
            }
            Instruction::Return { slot: value } => format!("return {}", slot(value)),
            Instruction::Unreduced { .. } => format!("unreduced {}", self.slots(0, self.arguments)),
            Instruction::Answer => "answer".to_owned(),
            Instruction::Child { index } => format!("child {index}"),
            Instruction::Escape => "escape".to_owned(),
            Instruction::ChildFailed => "child-failed".to_owned(),
            Instruction::NextRound => "next-round".to_owned(),
            Instruction::Fail => "fail".to_owned(),
            Instruction::Commit => "commit".to_owned(),
            Instruction::EnterRule { .. } => "enter-rule".to_owned(),
            Instruction::Take { dst } => format!("take -> {}", slot(dst)),
            Instruction::MatchLeaf { slot: matched, leaf, or } => {
                format!("match {} = {}{}", slot(matched), self.leaf(leaf), self.or(or))
            }
            Instruction::MatchShape { slot: matched, dst, shape, or } => {
                format!("match {} = {}{}", slot(matched), self.shape(shape, dst), self.or(or))
            }
            Instruction::MatchSame { left, right, or } => {
                format!("match {} = {}{}", slot(left), slot(right), self.or(or))
            }
            Instruction::Remember { slot: marks } => format!("remember -> {}", slot(marks)),
            Instruction::Undo { slot: marks } => format!("undo {}", slot(marks)),
            Instruction::Guard { slot: guarded, guard, or } => {
                format!("guard {} {}{}", slot(guarded), self.m.guard_text(guard), self.or(or))
            }
            Instruction::SkipIfSmall { slots, to } => {
                let mut names: Vec<String> = slots.iter().map(|&asked| slot(asked)).collect();
                names.dedup();
                format!("skip if small ({}): {}", names.join(" "), self.place(to))
            }
            Instruction::GuardSame { left, right, or } => {
                format!("guard {} and {} have one type{}", slot(left), slot(right), self.or(or))
            }
            Instruction::ReturnLeaf { slot: value, is_number } => {
                format!("return-leaf {}{}", slot(value), if is_number { " if it is a number" } else { "" })
            }
            Instruction::MoveLeaf { slot: value, dst, is_number, to } => {
                let (value, dst, to) = (slot(value), slot(dst), self.place(to));
                format!("move-leaf {value} -> {dst}, on at {to}{}", if is_number { " if it is a number" } else { "" })
            }
            Instruction::Begin { slot: begun } => format!("begin {}", slot(begun)),
            Instruction::End { begun, value, return_point } => {
                format!("end {}, {}{}", slot(begun), slot(value), self.return_point(return_point))
            }
            Instruction::Call { function, return_point, begun } => {
                let at = self.m.code.return_point(return_point).at;
                let begun = if begun { format!(", begun {}", slot(at + 2)) } else { String::new() };
                format!("call {}{}{begun}", self.function(function, first(at)), self.return_point(return_point))
            }
            Instruction::CallWith { function, arguments, return_point } => {
                format!("call {}{}", self.call_with(function, arguments), self.return_point(return_point))
            }
            Instruction::TailCallWith { function, arguments } => {
                format!("tail-call {}", self.call_with(function, arguments))
            }
            Instruction::TailCallFacts { group, arguments } => {
                let function = self.m.code.groups[group as usize].function;
                format!("tail-call {}", self.call_with(function, arguments))
            }
            Instruction::TailCall { function, at } => format!("tail-call {}", self.function(function, first(at))),
            Instruction::Apply { head, count, type_id, return_point, tail, .. } => {
                let arguments = self.slots(first(self.m.code.return_point(return_point).at), count);
                let (word, return_point) =
                    if tail { ("tail-apply", String::new()) } else { ("apply", self.return_point(return_point)) };
                format!("{word} {} {arguments}{}{return_point}", slot(head), self.as_type(type_id))
            }
            Instruction::Native { operation, first, count, return_point } => {
                format!(
                    "native {} {}{}",
                    self.leaf(operation),
                    self.slots(first, count),
                    self.return_point(return_point)
                )
            }
            Instruction::Value { slot: value, type_id, return_point, .. } => {
                format!("value {}{}{}", slot(value), self.as_type(type_id), self.return_point(return_point))
            }
            Instruction::EvaluateWritten { template, type_id, return_point } => {
                let value = self.template(template);
                format!("evaluate {value}{}{}", self.as_type(type_id), self.return_point(return_point))
            }
            Instruction::TailEvaluateWritten { template, type_id, .. } => {
                format!("tail-evaluate {}{}", self.template(template), self.as_type(type_id))
            }
            Instruction::TailEvaluate { slot: value, type_id, .. } => {
                format!("tail-evaluate {}{}", slot(value), self.as_type(type_id))
            }
            Instruction::Interpret { template, type_id, return_point } => {
                let call = self.template(template);
                format!("interpret {call}{}{}", self.as_type(type_id), self.return_point(return_point))
            }
            Instruction::Superpose { slot: list, return_point } => {
                format!("{} {}{}", word(Lowering::Superpose), slot(list), self.return_point(return_point))
            }
            Instruction::Alternative { return_point } => {
                format!("alternative at {}", self.place(self.m.code.return_point(return_point).pc))
            }
            Instruction::Transact { slot: begun, return_point } => {
                format!("transact {}{}", slot(begun), self.return_point(return_point))
            }
            Instruction::Collect { slot: begun, return_point, into } => {
                let word = if into == CollectedInto::List { "collect" } else { "collect-subjects" };
                format!("{word} {}{}", slot(begun), self.return_point(return_point))
            }
            Instruction::CollectSome { slot: begun, most, wanted, return_point } => match wanted {
                Wanted::First => {
                    format!("collect-first {}, {}{}", slot(most), slot(begun), self.return_point(return_point))
                }
                Wanted::Whether => format!("collect-whether {}{}", slot(begun), self.return_point(return_point)),
                Wanted::Number => format!("collect-number {}{}", slot(begun), self.return_point(return_point)),
            },
            Instruction::Collected { begun, slot: value } => format!("collected {}, {}", slot(begun), slot(value)),
            Instruction::NoteOpen { slot: value, dst, only_data } => {
                let word = if only_data { "note-open-data" } else { "note-open" };
                format!("{word} {} -> {}", slot(value), slot(dst))
            }
            Instruction::NoteEvaluated { slot: value, dst } => {
                format!("note-evaluated {} -> {}", slot(value), slot(dst))
            }
            Instruction::Resolve { slot: value, dst } => format!("resolve {} -> {}", slot(value), slot(dst)),
            Instruction::KeepEvaluated { slot: value, dst, .. } => {
                format!("keep-evaluated {} -> {}", slot(value), slot(dst))
            }
            Instruction::KeepOpen { flag, slot: value, dst } => {
                format!("keep-open {}, {} -> {}", slot(flag), slot(value), slot(dst))
            }
            Instruction::CheckReduct { slot: value, template, return_point, .. } => {
                let call = template.map_or_else(String::new, |call| format!(", of {}", self.template(call.get())));
                format!("check-reduct {}{call}{}", slot(value), self.return_point(return_point))
            }
            Instruction::NoteUnchangedCall { dst, .. } => format!("note-unchanged -> {}", slot(dst)),
            Instruction::MarkNormalForm { slot: value } => format!("mark-normal-form {}", slot(value)),
            Instruction::Body { slot: value, type_id, .. } => format!("body {}{}", slot(value), self.as_type(type_id)),
            Instruction::NameVariable { slot: value, .. } => format!("name {}", slot(value)),
            Instruction::Arithmetic { operation, left, right, return_point } => {
                self.made_of_two(Lowering::Arithmetic(operation), &slot(left), &slot(right), return_point)
            }
            Instruction::ArithmeticWith { operation, left, right, return_point } => {
                self.made_of_two(Lowering::Arithmetic(operation), &slot(left), &self.leaf(right), return_point)
            }
            Instruction::Compare { comparison, left, right, return_point } => {
                self.made_of_two(Lowering::Comparison(comparison), &slot(left), &slot(right), return_point)
            }
            Instruction::Logic { operation: Logic::Not, left, return_point, .. } => {
                let lowering = Lowering::Logic(Logic::Not);
                format!("{} {} {}{}", word(lowering), name_of(lowering), slot(left), self.return_point(return_point))
            }
            Instruction::Logic { operation, left, right, return_point } => {
                self.made_of_two(Lowering::Logic(operation), &slot(left), &slot(right), return_point)
            }
            Instruction::CompareJump { comparison, left, right, then, or } => {
                let (then, or) = (self.place(then), self.or(or));
                format!(
                    "compare {} {} {}: {then}{or}",
                    slot(left),
                    name_of(Lowering::Comparison(comparison)),
                    slot(right)
                )
            }
            Instruction::CompareJumpWith { comparison, left, right, then, or } => {
                let (then, or) = (self.place(then), self.or(or));
                format!(
                    "compare {} {} {}: {then}{or}",
                    slot(left),
                    name_of(Lowering::Comparison(comparison)),
                    self.leaf(right)
                )
            }
            Instruction::Cons { head, tail, dst, or } => {
                format!("cons {} {} -> {}{}", slot(head), slot(tail), slot(dst), self.or(or))
            }
            Instruction::Decons { slot: list, dst, or } => {
                format!("decons {} -> {}{}", slot(list), slot(dst), self.or(or))
            }
            Instruction::Head { slot: list, dst, or } => format!("head {} -> {}{}", slot(list), slot(dst), self.or(or)),
            Instruction::Tail { slot: list, dst, or } => format!("tail {} -> {}{}", slot(list), slot(dst), self.or(or)),
            Instruction::Size { slot: list, dst, or } => {
                format!("{} {} -> {}{}", word(Lowering::Size), slot(list), slot(dst), self.or(or))
            }
            Instruction::Element { slot: list, index, dst, or } => {
                format!("{} {} {} -> {}{}", word(Lowering::Element), slot(list), slot(index), slot(dst), self.or(or))
            }
            Instruction::Next { list, index, dst, or } => {
                format!("next {} {} -> {}{}", slot(list), slot(index), self.slots(dst, 2), self.or(or))
            }
            Instruction::Substitute { template, variables, values, count, dst, .. } => format!(
                "substitute {} = {} in {} -> {}",
                self.slots(variables, count),
                self.slots(values, count),
                slot(template),
                slot(dst)
            ),
            Instruction::Gathered { slot: list, dst } => format!("gathered {} -> {}", slot(list), slot(dst)),
            Instruction::LeaveList { slot: list } => format!("leave-list {}", slot(list)),
            Instruction::GetState { slot: state, return_point } => {
                format!("{} {}{}", word(Lowering::GetState), slot(state), self.return_point(return_point))
            }
            Instruction::ChangeState { slot: state, value, return_point } => {
                format!(
                    "{} {} {}{}",
                    word(Lowering::ChangeState),
                    slot(state),
                    slot(value),
                    self.return_point(return_point)
                )
            }
            Instruction::AddAtom { space, value, return_point } => {
                format!(
                    "{} {} {}{}",
                    word(Lowering::AddAtom),
                    slot(space),
                    slot(value),
                    self.return_point(return_point)
                )
            }
            Instruction::Query { query, space, return_point } => {
                let filters = self.filters(query);
                format!("{} {}{filters}{}", word(Lowering::Query), slot(space), self.return_point(return_point))
            }
            Instruction::QueryFused { query, space, return_point } => {
                let asked = &self.m.code.queries[query as usize];
                let others = asked.fused.iter().flat_map(|fused| fused.others.iter());
                let others: String = others.map(|&other| format!(" {}", slot(other))).collect();
                let (patterns, filters) = (asked.patterns.len(), self.filters(query));
                let to = self.return_point(return_point);
                format!("{}-fused {}{others}, patterns {patterns}{filters}{to}", word(Lowering::Query), slot(space))
            }
            Instruction::QuerySome { query, space, return_point } => {
                let filters = self.filters(query);
                format!("{}-some {}{filters}{}", word(Lowering::Query), slot(space), self.return_point(return_point))
            }
            Instruction::ReserveFrame { .. } => "reserve-frame".to_owned(),
            Instruction::Leave { slot: value, type_id, .. } | Instruction::LeaveKnown { slot: value, type_id, .. } => {
                format!("leave {}{}", slot(value), self.as_type(type_id))
            }
            Instruction::Reduct { slot: value } => format!("reduct {}", slot(value)),
            Instruction::Reduce { slot: value, return_point } => {
                format!("reduce {}{}", slot(value), self.return_point(return_point))
            }
            Instruction::ReduceNative { operation, first, count, return_point } => {
                format!(
                    "reduce-native {} {}{}",
                    self.leaf(operation),
                    self.slots(first, count),
                    self.return_point(return_point)
                )
            }
            Instruction::RunMinimal { slot: value, return_point, .. } => {
                format!("run {}{}", slot(value), self.return_point(return_point))
            }
            Instruction::LeaveFunction { slot: value, return_point, .. } => {
                format!("leave-function {}{}", slot(value), self.return_point(return_point))
            }
            Instruction::Unify { left, right, return_point, or } => {
                format!("unify {} {}{}{}", slot(left), slot(right), self.return_point(return_point), self.or(or))
            }
            Instruction::IfEqual { left, right, or } => {
                format!("{} {} {}{}", word(Lowering::IfEqual), slot(left), slot(right), self.or(or))
            }
            Instruction::IfError { slot: value, or } => {
                format!("{} {}{}", word(Lowering::IfError), slot(value), self.or(or))
            }
            Instruction::TailInterpret { template, type_id } => {
                format!("tail-interpret {}{}", self.template(template), self.as_type(type_id))
            }
        }
    }

    /// An instruction that makes a value of two others.
    fn made_of_two(&self, lowering: Lowering, left: &str, right: &str, return_point: u32) -> String {
        format!("{} {left} {} {right}{}", word(lowering), name_of(lowering), self.return_point(return_point))
    }

    /// How many tests a query makes of its answers, if any.
    fn filters(&self, query: u32) -> String {
        match self.m.code.queries[query as usize].filters.filters.len() {
            0 => String::new(),
            count => format!(", filters {count}"),
        }
    }

    /// A function and the arguments of a list.
    fn call_with(&self, function: u32, arguments: u32) -> String {
        let arguments = &self.m.code.arguments[arguments as usize];
        let sources = arguments.sources.iter().map(|source| match *source {
            ArgumentSource::Leaf(leaf) => self.leaf(leaf),
            ArgumentSource::Slot(slot) | ArgumentSource::Normal(slot) => self.slot(slot),
        });
        let sources: Vec<String> = sources.collect();
        let type_id = self.m.code.functions[function as usize].type_id;
        let text = format!("{} ({}){}", self.m.function_name(function), sources.join(" "), self.as_type(type_id));
        let needs_a_look = arguments.sources.iter().any(|source| matches!(source, ArgumentSource::Normal(_)));
        if needs_a_look { text + &self.or(arguments.or) } else { text }
    }

    /// A function and the slots of its arguments.
    fn function(&self, function: u32, first: Slot) -> String {
        let found = &self.m.code.functions[function as usize];
        let arguments = self.slots(first, found.arguments);
        format!("{} {arguments}{}", self.m.function_name(function), self.as_type(found.type_id))
    }
}

/// The return point that an instruction names.
fn return_point_named_by(instruction: Instruction) -> Option<u32> {
    match instruction {
        Instruction::Apply { tail: true, .. } => None,
        Instruction::End { return_point, .. }
        | Instruction::CallWith { return_point, .. }
        | Instruction::Reduce { return_point, .. }
        | Instruction::ReduceNative { return_point, .. }
        | Instruction::RunMinimal { return_point, .. }
        | Instruction::LeaveFunction { return_point, .. }
        | Instruction::Unify { return_point, .. }
        | Instruction::GetState { return_point, .. }
        | Instruction::ChangeState { return_point, .. }
        | Instruction::AddAtom { return_point, .. }
        | Instruction::Query { return_point, .. }
        | Instruction::Call { return_point, .. }
        | Instruction::Apply { return_point, .. }
        | Instruction::Value { return_point, .. }
        | Instruction::EvaluateWritten { return_point, .. }
        | Instruction::Arithmetic { return_point, .. }
        | Instruction::ArithmeticWith { return_point, .. }
        | Instruction::Compare { return_point, .. }
        | Instruction::Logic { return_point, .. }
        | Instruction::Native { return_point, .. }
        | Instruction::Interpret { return_point, .. }
        | Instruction::Superpose { return_point, .. }
        | Instruction::Alternative { return_point }
        | Instruction::Transact { return_point, .. }
        | Instruction::CollectSome { return_point, .. }
        | Instruction::QueryFused { return_point, .. }
        | Instruction::QuerySome { return_point, .. }
        | Instruction::Collect { return_point, .. } => Some(return_point),
        _ => None,
    }
}
