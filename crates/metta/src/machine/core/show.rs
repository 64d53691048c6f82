//! Core as text, for people.

use super::{
    AtomTest, Called, Collected, Core, Effect, Evaluator, Given, ListOperation, Operation, Query, QueryTest, Reducer,
    Shortcut, Test,
};
use crate::lowering::{Lowering, Wanted};
use crate::machine::code::{Guard, Position, TypeId};
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
            Test::Says(function, said) => format!("{} says {}", self.words.function(*function), said.text()),
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
            Core::Evaluated(variable) => {
                let line = format!("{}, evaluated", self.variable(variable));
                self.line(depth, &line);
            }
            Core::Resolved(value) => {
                self.line(depth, "resolved");
                self.node(value, depth + 1);
            }
            Core::UnlessEvaluated { variable, otherwise } => {
                let line = format!("{}, unless it needs to be evaluated", self.variable(variable));
                self.line(depth, &line);
                self.node(otherwise, depth + 1);
            }
            Core::Written(written) => {
                let (atom, expected) = (self.atom(&written.atom), self.expected(written.type_id));
                let by = match written.by {
                    Evaluator::Machine | Evaluator::MachineAsAnswer => "as written",
                    Evaluator::Interpreter | Evaluator::InterpreterWithArguments => "interpret",
                };
                self.line(depth, &format!("{by} {atom}{expected}"));
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
            Core::Collect { goal, into } => {
                let into = match into {
                    Collected::List => "as one list",
                    Collected::Subjects(_) => "as subjects",
                    Collected::Transaction => "in a transaction",
                    Collected::Wanted { wanted: Wanted::First, .. } => "the first of them",
                    Collected::Wanted { wanted: Wanted::Whether, .. } => "whether there are any",
                    Collected::Wanted { wanted: Wanted::Number, .. } => "how many there are",
                };
                self.block(depth, &format!("collect, {into}"), &[goal]);
            }
            Core::Alternatives(nodes) => self.block(depth, "alternatives", &all(nodes)),
            Core::Each(list) => self.block(depth, "each of", &[list]),
            Core::Effect { effect, operands } => {
                let lowering = match effect {
                    Effect::GetState => Lowering::GetState,
                    Effect::ChangeState => Lowering::ChangeState,
                    Effect::AddAtom => Lowering::AddAtom,
                };
                self.block(depth, crate::stdlib::lowered(lowering).name, &all(operands));
            }
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
                self.block(depth, &format!("native {name}"), &all(&native.arguments));
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
                let name = list_operation(list.operation);
                self.block(depth, name, &all(&list.operands));
                self.block(depth, "else", &[&list.as_written]);
            }
            Core::IfAtoms(parts) => {
                let asks = match parts.asks {
                    AtomTest::AreEqual => "if these atoms are equal",
                    AtomTest::IsError => "if this atom is an error",
                };
                self.block(depth, asks, &all(&parts.operands));
                self.block(depth, "then", &[&parts.then]);
                self.block(depth, "else", &[&parts.otherwise]);
            }
            Core::AsValue(node) => self.block(depth, "as a value", &[node]),
            Core::Reduce(reduce) => {
                let by = match reduce.by {
                    Reducer::Function(function) => format!(" {}", self.words.function(function)),
                    Reducer::Native(operation) => format!(" native {}", self.words.leaf(operation)),
                    Reducer::Head => String::new(),
                };
                self.block(depth, &format!("reduce{by}"), &all(&reduce.operands));
            }
            Core::Run { code, is_only_function } => {
                self.block(depth, if *is_only_function { "run if a function" } else { "run" }, &[code]);
            }
            Core::Function { call, body } => {
                let call = self.called(call);
                self.block(depth, &format!("function of {call}"), &[body]);
            }
            Core::Proceed(node) => self.block(depth, "proceed with", &[node]),
            Core::Unify(parts) => {
                let pattern = self.atom(&parts.pattern);
                self.block(depth, &format!("unify with {pattern}"), &[&parts.left]);
                self.block(depth, "then", &[&parts.then]);
                self.block(depth, "else", &[&parts.otherwise]);
            }
            Core::IfDecons(parts) => {
                let (element, rest) = (self.atom(&parts.element), self.atom(&parts.rest));
                let place = parts.position.as_ref().map(|position| format!(" at {}", self.variable(position)));
                let place = place.unwrap_or_default();
                self.block(depth, &format!("take apart{place}, as {element} and {rest}"), &[&parts.list]);
                self.block(depth, "then", &[&parts.then]);
                self.block(depth, "else", &[&parts.otherwise]);
            }
            Core::Substitute(parts) => {
                let pair = |(variable, value): &(Variable, Variable)| [variable, value].map(|name| self.variable(name));
                let pairs: Vec<String> = parts.pairs.iter().map(pair).map(|pair| pair.join(" is ")).collect();
                let template = self.variable(&parts.template);
                self.line(depth, &format!("{template} where {}", pairs.join(", ")));
            }
            Core::Made(made) => {
                let call = self.atom(&made.call);
                let open = if made.is_open { ", results at once" } else { "" };
                self.block(depth, &format!("own frame for {call}{open}"), &all(&made.further));
            }
            Core::Again(arguments) => self.block(depth, "again with", &all(arguments)),
            Core::Leave(leave) => {
                let call = self.called(&leave.call);
                self.block(depth, &format!("result of {call}"), &[&leave.value]);
            }
            Core::LeaveList(list) => self.block(depth, "result, a list", &[list]),
            Core::Shown { node, .. } => self.block(depth, "shown", &[node]),
            Core::Apply(parts) => self.block(depth, "apply", &all(&parts.children)),
            Core::Query(query) => self.query(query, depth),
            Core::Fail | Core::Leaf(_) | Core::Quote(_) | Core::Variable(_) => unreachable!("it is one line"),
        }
    }

    fn query(&mut self, query: &Query, depth: usize) {
        let (space, pattern) = (self.variable(&query.space), self.atom(&query.pattern));
        let fused = if query.one_by_one.is_some() { "fused " } else { "" };
        self.line(depth, &format!("{fused}query {space} for {pattern}"));
        query.filters.iter().for_each(|filter| {
            let filter = self.query_test(filter, &query.given);
            self.line(depth + 1, &filter);
        });
        self.node(&query.then, depth);
        query.one_by_one.iter().for_each(|node| self.block(depth, "else", &[node]));
    }

    /// A test that drops answers.
    fn query_test(&mut self, test: &QueryTest, given: &[Given]) -> String {
        let given = given.iter().map(|given| match given {
            Given::Variable(variable) => self.variable(variable),
            Given::Leaf(leaf) => self.words.leaf(*leaf),
        });
        match test {
            QueryTest::Values(filter) => {
                let given: Vec<String> = given.collect();
                format!("filter {filter:?} of {}", given.join(" "))
            }
            QueryTest::Absence { patterns, drops, .. } => {
                let patterns: Vec<String> = patterns.iter().map(|(_, pattern)| self.atom(pattern)).collect();
                let dropped = if *drops { "there is" } else { "there is not" };
                format!("without those for which {dropped} {}", patterns.join(" "))
            }
        }
    }

    fn called(&mut self, call: &Called) -> String {
        match call {
            Called::Own(_) => "the call".to_owned(),
            Called::Written { atom, .. } => self.atom(atom),
        }
    }

    fn block(&mut self, depth: usize, head: &str, parts: &[&Core]) {
        self.line(depth, head);
        parts.iter().for_each(|part| self.node(part, depth + 1));
    }
}

fn all(nodes: &[Core]) -> Vec<&Core> {
    nodes.iter().collect()
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

/// What is done to a list, in words.
fn list_operation(operation: ListOperation) -> &'static str {
    match operation {
        ListOperation::Head => "first of",
        ListOperation::Tail => "rest of",
        ListOperation::Cons => "with a child in front, the list",
        ListOperation::Decons => "first and rest of",
        ListOperation::Size => "size of",
        ListOperation::Element => "element of",
        ListOperation::InOrder => "found, in order,",
    }
}
