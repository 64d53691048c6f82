//! Core as text, for people.

use super::{AtomTest, Core, Effect, Evaluator, ListOperation, Operation, Shortcut, Test};
use crate::lowering::Lowering;
use crate::machine::code::{CollectedInto, Guard, Position, TypeId};
use region::Ref;
use space::{Atom, Variable};
use std::fmt::Write;

/// How what is only a number in a node is written.
pub(in crate::machine) trait Words {
    /// A leaf.
    fn leaf(&self, leaf: Ref) -> String;
    /// A type, by its number.
    fn type_name(&self, type_id: TypeId) -> String;
    /// A function, by its number: its name and how many arguments it takes.
    fn function(&self, function: u32) -> String;
    /// What a test asks.
    fn guard(&self, guard: Guard) -> String;
}

/// A node as text, a line for each node inside of it.
pub(in crate::machine) fn show(node: &Core, words: &dyn Words) -> String {
    let mut text = String::new();
    let mut writer = Writer { words, text: &mut text, locals: Vec::new(), named: Vec::new() };
    writer.node(node, 0);
    text
}

struct Writer<'w> {
    words: &'w dyn Words,
    text: &'w mut String,
    /// Locals in the order in which they get values: they are shown by their places.
    locals: Vec<Variable>,
    /// The first variable of each name.
    named: Vec<Variable>,
}

impl Writer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        _ = writeln!(self.text, "{:indent$}{text}", "", indent = depth * 2);
    }

    fn variable(&mut self, variable: &Variable) -> String {
        if *variable.name() != *crate::names::asked() {
            // Variables of one name are told apart by their numbers, all but the first.
            let first = match self.named.iter().find(|known| known.name() == variable.name()) {
                Some(first) => first,
                None => {
                    self.named.push(variable.clone());
                    variable
                }
            };
            return if first == variable { format!("${}", variable.name()) } else { variable.to_string() };
        }
        let place = self.locals.iter().position(|local| local == variable).unwrap_or_else(|| {
            self.locals.push(variable.clone());
            self.locals.len() - 1
        });
        format!("%{}", place + 1)
    }

    fn atom(&mut self, atom: &Atom) -> String {
        match atom {
            Atom::Variable(variable) => self.variable(variable),
            Atom::Expression(expression) => {
                let parts: Vec<String> = expression.children().iter().map(|part| self.atom(part)).collect();
                format!("({})", parts.join(" "))
            }
            leaf => leaf.to_string(),
        }
    }

    fn expected(&self, type_id: TypeId) -> String {
        if type_id == 0 { String::new() } else { format!(" as {}", self.words.type_name(type_id)) }
    }

    fn test(&mut self, test: &Test) -> String {
        match test {
            Test::Is(variable, guard) => format!("{} {}", self.variable(variable), self.words.guard(*guard)),
            Test::SameType(left, right) => {
                let (left, right) = (self.variable(left), self.variable(right));
                format!("{left} and {right} have types that agree")
            }
            Test::Unchanged => "types are as they were".to_owned(),
        }
    }

    /// A node in one line, if nothing in it can go elsewhere.
    fn in_one_line(&mut self, node: &Core) -> Option<String> {
        Some(match node {
            Core::Fail => "fail".to_owned(),
            Core::Leaf(leaf) => self.words.leaf(*leaf),
            Core::Quote(atom) => format!("(quote {})", self.atom(atom)),
            Core::Variable(variable) => self.variable(variable),
            Core::Compute(compute) => {
                let operands: Option<Vec<String>> =
                    compute.operands.iter().map(|operand| self.in_one_line(operand)).collect();
                format!("({} {})", name_of(compute.operation), operands?.join(" "))
            }
            _ => return None,
        })
    }

    fn node(&mut self, node: &Core, depth: usize) {
        if let Some(line) = self.in_one_line(node) {
            return self.line(depth, &line);
        }
        match node {
            Core::Evaluate { variable, type_id, position } => {
                let (variable, expected) = (self.variable(variable), self.expected(*type_id));
                let place = if *position == Position::Answer { ", an answer" } else { "" };
                self.line(depth, &format!("evaluate {variable}{expected}{place}"));
            }
            Core::Written(written) => {
                let (atom, expected) = (self.atom(&written.atom), self.expected(written.type_id));
                let by = if written.by == Evaluator::Interpreter { "interpret" } else { "as written" };
                self.line(depth, &format!("{by} {atom}{expected}"));
            }
            Core::Form(form) => {
                let (atom, expected) = (self.atom(&form.atom), self.expected(form.type_id));
                self.line(depth, &format!("form {atom}{expected}"));
            }
            Core::Fresh { variables, then } => {
                let variables: Vec<String> = variables.iter().map(|variable| self.variable(variable)).collect();
                self.line(depth, &format!("fresh {}", variables.join(" ")));
                self.node(then, depth);
            }
            Core::Gathered(node) => self.block(depth, "gathered", &[node]),
            Core::Let { variable, value, then } => {
                let variable = self.variable(variable);
                self.block(depth, &format!("let {variable} ="), &[value]);
                self.node(then, depth);
            }
            Core::Match(parts) => {
                let (subject, pattern) = (self.variable(&parts.subject), self.atom(&parts.pattern));
                self.line(depth, &format!("match {subject} = {pattern}, else fail"));
                if let Some(met_space) = &parts.met_space {
                    self.block(depth, "if it meets a space", &[met_space]);
                }
                self.node(&parts.then, depth);
            }
            Core::ListAround { first, call, as_written } => {
                self.block(depth, "list of", &[first]);
                self.block(depth, "and then", &[call]);
                self.block(depth, "else", &[as_written]);
            }
            Core::Reduct { value, call, .. } => {
                let call = call.as_ref().map(|call| self.atom(call));
                let of = call.map_or(String::new(), |call| format!(" of {call}"));
                self.block(depth, &format!("reduct{of}"), &[value]);
            }
            Core::Run(atom) => {
                let atom = self.atom(atom);
                self.line(depth, &format!("run {atom}"));
            }
            Core::Collect { goal, into } => {
                let into = if *into == CollectedInto::List { "one list" } else { "subjects" };
                self.block(depth, &format!("collect, as {into}"), &[goal]);
            }
            Core::Alternatives(nodes) => self.block(depth, "alternatives", &nodes.iter().collect::<Vec<_>>()),
            Core::Each(list) => self.block(depth, "each of", &[list]),
            Core::Effect { effect, operands } => {
                let lowering = match effect {
                    Effect::GetState => Lowering::GetState,
                    Effect::ChangeState => Lowering::ChangeState,
                    Effect::AddAtom => Lowering::AddAtom,
                };
                self.block(depth, crate::stdlib::lowered(lowering).name, &operands.iter().collect::<Vec<_>>());
            }
            node => self.larger(node, depth),
        }
    }

    fn larger(&mut self, node: &Core, depth: usize) {
        match node {
            Core::Guarded(guarded) => {
                let tests: Vec<String> = guarded.tests.iter().map(|test| self.test(test)).collect();
                let small = if guarded.is_passed_by_small { "; small integers pass" } else { "" };
                let leaf = guarded.leaf.as_ref().map_or("", |_| "; a leaf is the value");
                self.block(depth, &format!("guarded {}{small}{leaf}", tests.join(", ")), &[&guarded.fast]);
                self.block(depth, "else", &[&guarded.as_written]);
            }
            Core::Compute(compute) => {
                let operands: Vec<&Core> = compute.operands.iter().collect();
                self.block(depth, name_of(compute.operation), &operands);
            }
            Core::If(branches) => {
                let shortcut = match branches.shortcut {
                    Some(Shortcut::BeforeTests) => ", small integers compared before the tests",
                    Some(Shortcut::BeforeCondition) => ", small integers compared at once",
                    None => "",
                };
                self.block(depth, &format!("if{shortcut}"), &[&branches.condition]);
                self.block(depth, "then", &[&branches.then]);
                self.block(depth, "else", &[&branches.otherwise]);
            }
            Core::Call(call) => {
                let function = self.words.function(call.function);
                let how = if call.direct.is_some() { ", arguments as they are" } else { "" };
                let gathered = if call.is_gathered { ", arguments gathered" } else { "" };
                let arguments: Vec<&Core> = call.arguments.iter().collect();
                self.block(depth, &format!("call {function}{how}{gathered}"), &arguments);
            }
            Core::Data(data) => {
                let head = self.words.leaf(data.head);
                let at_once = if data.is_at_once { ", at once" } else { "" };
                let gathered = if data.is_gathered { ", children gathered" } else { "" };
                let children: Vec<&Core> = data.children.iter().collect();
                self.block(depth, &format!("data {head}{at_once}{gathered}"), &children);
                if let Some(around) = &data.around {
                    self.block(depth, "around", &[&around.call]);
                }
            }
            Core::Native(native) => {
                let name = self.words.leaf(native.operation);
                self.block(depth, &format!("native {name}"), &native.arguments.iter().collect::<Vec<_>>());
            }
            Core::Branches(parts) => {
                let subject = self.variable(&parts.subject);
                self.line(depth, &format!("branches of {subject}"));
                parts.branches.iter().for_each(|branch| {
                    let pattern = self.atom(&branch.pattern);
                    self.block(depth + 1, &format!("if it matches {pattern}"), &[&branch.body]);
                });
                self.block(depth + 1, "if a pattern meets a space", &[&parts.met_space]);
            }
            Core::List(list) => {
                let name = match list.operation {
                    ListOperation::Head => "first of",
                    ListOperation::Tail => "rest of",
                    ListOperation::Cons => "with a child in front, the list",
                    ListOperation::Decons => "first and rest of",
                    ListOperation::Size => "size of",
                    ListOperation::Element => "element of",
                };
                self.block(depth, name, &list.operands.iter().collect::<Vec<_>>());
                self.block(depth, "else", &[&list.as_written]);
            }
            Core::IfAtoms(parts) => {
                let asks = match parts.asks {
                    AtomTest::AreEqual => "if these atoms are equal",
                    AtomTest::IsError => "if this atom is an error",
                };
                self.block(depth, asks, &parts.operands.iter().collect::<Vec<_>>());
                self.block(depth, "then", &[&parts.then]);
                self.block(depth, "else", &[&parts.otherwise]);
            }
            node => unreachable!("{node:?} is written by `node`"),
        }
    }

    fn block(&mut self, depth: usize, head: &str, parts: &[&Core]) {
        self.line(depth, head);
        parts.iter().for_each(|part| self.node(part, depth + 1));
    }
}

/// The name of the native function that computes this.
fn name_of(operation: Operation) -> &'static str {
    let lowering = match operation {
        Operation::Arithmetic(operation) => Lowering::Arithmetic(operation),
        Operation::Comparison(operation) => Lowering::Comparison(operation),
        Operation::Logic(operation) => Lowering::Logic(operation),
    };
    crate::stdlib::lowered(lowering).name
}
