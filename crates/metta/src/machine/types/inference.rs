//! The types of rules, found by inference.
//!
//! Nothing is said (`None`) of what has several types, a metatype or `%Undefined%` in its type, or a meaning that types do not
//! tell: errors, `Empty`, tuples with other heads than symbols, forms that collect or match.

use super::arrows::{arity_of_arrow, holds_arrow};
use super::rules::FunctionTypes;
use super::signatures::HeadKind;
use super::type_graph::{Graph, GraphNode, Instance};
use crate::instructions::is_odd;
use crate::lowering::{Comparison, Form, Lowering};
use crate::machine::code::{Callee, Slot};
use crate::machine::words::EMPTY;
use crate::names;
use crate::operation::lowering_of;
use crate::types;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, Variable, variables};

/// What is known of a variable.
#[derive(Clone, Copy)]
struct Known {
    node: GraphNode,
    /// How many arguments it takes, if the rule's function takes it as a function.
    callable: Option<Slot>,
}

/// What a function type says of results. Variables that the instance does not have are hidden: each result has its own.
struct Declared<'a> {
    result: &'a Atom,
    instance: Instance,
}

/// A rule or an expression that is being looked at.
pub(super) struct Inference<'i, 'q> {
    functions: &'i mut FunctionTypes<'q>,
    graph: Graph,
    variables: FxHashMap<Variable, Known>,
    /// What has no type: it agrees with every type, but must not be called.
    untyped: Vec<GraphNode>,
    calls: Vec<Callee>,
}

impl<'i, 'q> Inference<'i, 'q> {
    pub(super) fn new(functions: &'i mut FunctionTypes<'q>) -> Self {
        Self {
            functions,
            graph: Graph::default(),
            variables: FxHashMap::default(),
            untyped: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// What a rule calls, if it follows from the type of its function.
    pub(super) fn rule(
        mut self,
        function: &Atom,
        patterns: &[Atom],
        body: &Atom,
        is_hidden: bool,
    ) -> Option<Vec<Callee>> {
        let (formals, result) = types::function_parts(function);
        let mut instance = Instance::default();
        let nodes: Option<Vec<GraphNode>> =
            formals.iter().map(|formal| self.graph.instance(formal, &mut instance)).collect();
        let nodes = nodes?;
        if !is_hidden {
            self.graph.instance(result, &mut instance)?;
        }
        for ((formal, &node), pattern) in formals.iter().zip(&nodes).zip(patterns) {
            match (pattern, arity_of_arrow(formal)) {
                (Atom::Variable(variable), callable @ Some(_)) if !self.variables.contains_key(variable) => {
                    self.variables.insert(variable.clone(), Known { node, callable });
                }
                _ => self.pattern(pattern, node)?,
            }
        }
        self.graph.freeze_all();
        self.answer(body, &Declared { result, instance })?;
        self.finish()
    }

    /// Looks at what a rule may come to: each is of the declared type, with hidden types of its own.
    fn answer(&mut self, atom: &Atom, declared: &Declared) -> Option<()> {
        if is_odd(atom) {
            return None;
        }
        let outer = self.variables.clone();
        match self.form_of(atom) {
            Some((Form::If, [condition, then, otherwise])) => {
                self.infer_condition(condition)?;
                for branch in [then, otherwise] {
                    self.answer(branch, declared)?;
                    self.variables.clone_from(&outer);
                }
            }
            Some((Form::Let, [pattern, value, body])) => {
                let value = self.infer(value)?;
                self.pattern(pattern, value)?;
                self.answer(body, declared)?;
            }
            _ => {
                let found = self.infer(atom)?;
                let result = self.graph.instance(declared.result, &mut declared.instance.clone())?;
                self.same(found, result)?;
            }
        }
        self.variables = outer;
        Some(())
    }

    /// The special form that an expression is, and its arguments.
    fn form_of<'a>(&mut self, atom: &'a Atom) -> Option<(Form, &'a [Atom])> {
        match atom.children()? {
            [Atom::Symbol(name), arguments @ ..] => {
                Some((self.functions.rules.special_form(name.as_str(), arguments.len())?, arguments))
            }
            _ => None,
        }
    }

    /// What an expression calls, if it is well typed and of an expected type.
    pub(super) fn expression(mut self, atom: &Atom, expected: Option<&Atom>) -> Option<Vec<Callee>> {
        let found = self.infer(atom)?;
        if let Some(expected) = expected {
            let expected = self.graph.instance(expected, &mut Instance::default())?;
            self.same(found, expected)?;
        }
        self.finish()
    }

    fn finish(self) -> Option<Vec<Callee>> {
        let is_called = |&node: &GraphNode| self.graph.holds_arrow(node);
        if self.untyped.iter().any(is_called) { None } else { Some(self.calls) }
    }

    fn same(&mut self, left: GraphNode, right: GraphNode) -> Option<()> {
        self.graph.unify(left, right, &self.functions.rules.types().types.schemes.table).then_some(())
    }

    fn untyped(&mut self) -> GraphNode {
        let node = self.graph.open();
        self.untyped.push(node);
        node
    }

    /// The type of an atom that is evaluated.
    fn infer(&mut self, atom: &Atom) -> Option<GraphNode> {
        match atom {
            Atom::Variable(variable) => self.variables.get(variable).map(|known| known.node),
            Atom::Expression(expression) => self.infer_expression(expression.children()),
            leaf => self.infer_leaf(leaf),
        }
    }

    fn infer_leaf(&mut self, leaf: &Atom) -> Option<GraphNode> {
        let found = match leaf {
            Atom::Symbol(name) if [names::EMPTY, names::NOT_REDUCIBLE].contains(&name.as_str()) => return None,
            Atom::Symbol(_) => self.functions.rules.types().only_type(leaf)?,
            Atom::Grounded(value @ (Grounded::Number(_) | Grounded::Bool(_) | Grounded::Text(_))) => {
                types::grounded_type(value)
            }
            _ => return None,
        };
        if found.is_symbol(names::UNDEFINED) {
            return Some(self.untyped());
        }
        if let Some(arity) = arity_of_arrow(&found) {
            let head = self.functions.rules.types().values.constant_leaf(leaf)?;
            self.calls.push((head, arity));
        }
        self.graph.instance(&found, &mut Instance::default())
    }

    fn infer_expression(&mut self, children: &[Atom]) -> Option<GraphNode> {
        let (head, arguments) = children.split_first()?;
        match head {
            Atom::Variable(variable) => {
                let Known { node, callable } = *self.variables.get(variable)?;
                if callable != Some(arguments.len() as Slot) {
                    return None;
                }
                let found: Option<Vec<GraphNode>> = arguments.iter().map(|argument| self.infer(argument)).collect();
                let result = self.graph.open();
                let called = self.graph.arrow(&found?, result);
                self.same(node, called)?;
                Some(result)
            }
            Atom::Symbol(name) => match self.functions.rules.special_form(name.as_str(), arguments.len()) {
                Some(form) => self.infer_form(form, arguments),
                None => self.infer_call(head, arguments),
            },
            operation => self.infer_operation(lowering_of(operation)?, operation, arguments),
        }
    }

    fn infer_call(&mut self, head: &Atom, arguments: &[Atom]) -> Option<GraphNode> {
        let leaf = self.functions.rules.types().values.constant_leaf(head).filter(|&leaf| leaf != EMPTY)?;
        let arity = arguments.len();
        match self.functions.rules.types().head_kind(leaf, arity) {
            HeadKind::Untyped => self.infer_tuple(leaf, arguments),
            HeadKind::Typed(_) | HeadKind::Parametric(_) => self.infer_typed(head, leaf, arguments),
            HeadKind::Raw { .. } if arity == 0 => self.infer_typed(head, leaf, arguments),
            HeadKind::Raw { .. } | HeadKind::Other => None,
        }
    }

    /// Data of no type.
    fn infer_tuple(&mut self, head: Ref, arguments: &[Atom]) -> Option<GraphNode> {
        let arity = arguments.len();
        let is_data = self.functions.rules.types().makes_open(head, arity)
            && self.functions.rules.rules_of((head, arity as Slot)).is_some_and(|rules| rules.is_empty());
        if !is_data {
            return None;
        }
        for argument in arguments {
            self.infer(argument)?;
        }
        Some(self.untyped())
    }

    fn infer_typed(&mut self, head: &Atom, leaf: Ref, arguments: &[Atom]) -> Option<GraphNode> {
        let callee = (leaf, arguments.len() as Slot);
        let function = self.functions.rules.types().only_type(head)?;
        self.calls.push(callee);
        let is_hidden = self.functions.rules.types().types.well_typed.hidden.contains(&callee);
        self.apply(&function, arguments, is_hidden)
    }

    /// What a function type makes of arguments.
    fn apply(&mut self, function: &Atom, arguments: &[Atom], is_hidden: bool) -> Option<GraphNode> {
        let (formals, result) = types::function_parts(function);
        if formals.len() != arguments.len() {
            return None;
        }
        let mut instance = Instance::default();
        for (formal, argument) in formals.iter().zip(arguments) {
            let node = self.graph.instance(formal, &mut instance)?;
            let found = match arity_of_arrow(formal) {
                Some(arity) => self.infer_callable(argument, arity)?,
                None if holds_arrow(formal) => return None,
                None => self.infer(argument)?,
            };
            self.same(found, node)?;
        }
        let named = instance.len();
        let result = self.graph.instance(result, &mut instance)?;
        if is_hidden && instance.len() > named {
            for (variable, &node) in &instance {
                if !formals.iter().any(|formal| variables(formal).contains(variable)) {
                    self.graph.freeze(node);
                }
            }
        }
        Some(result)
    }

    /// The type of an argument that is taken as a function.
    fn infer_callable(&mut self, argument: &Atom, arity: Slot) -> Option<GraphNode> {
        match argument {
            Atom::Variable(variable) => {
                let known = self.variables.get(variable)?;
                (known.callable == Some(arity)).then_some(known.node)
            }
            Atom::Symbol(_) => {
                let leaf = self.functions.rules.types().values.constant_leaf(argument)?;
                self.functions.takes_no_functions(leaf).then(|| self.infer_leaf(argument))?
            }
            operation => {
                let is_plain = lowering_of(operation)?.is_plain();
                let function = self
                    .functions
                    .rules
                    .types()
                    .only_type(operation)
                    .filter(|function| is_plain && function.is_ground())?;
                self.graph.instance(&function, &mut Instance::default())
            }
        }
    }

    fn infer_operation(&mut self, lowering: Lowering, operation: &Atom, arguments: &[Atom]) -> Option<GraphNode> {
        match (lowering, arguments) {
            (Lowering::LetAll, [pairs, body]) if self.functions.rules.special_form("let", 3).is_some() => {
                let outer = self.variables.clone();
                for pair in pairs.children()? {
                    let [pattern, value] = pair.children()? else { return None };
                    let found = self.infer(value)?;
                    self.pattern(pattern, found)?;
                }
                let found = self.infer(body);
                self.variables = outer;
                found
            }
            (Lowering::Comparison(Comparison::Equal), [left, right]) => {
                let (left, right) = (self.infer(left)?, self.infer(right)?);
                self.same(left, right)?;
                Some(self.graph.leaf(names::BOOL))
            }
            _ => {
                let function = self.functions.rules.types().only_type(operation).filter(is_of_plain_values)?;
                self.apply(&function, arguments, false)
            }
        }
    }

    fn infer_form(&mut self, form: Form, arguments: &[Atom]) -> Option<GraphNode> {
        match (form, arguments) {
            (Form::If, [condition, then, otherwise]) => {
                self.infer_condition(condition)?;
                let (then, otherwise) = (self.infer_within(then)?, self.infer_within(otherwise)?);
                self.same(then, otherwise)?;
                Some(then)
            }
            (Form::Let, [pattern, value, body]) => {
                let value = self.infer(value)?;
                let outer = self.variables.clone();
                self.pattern(pattern, value)?;
                let found = self.infer_answer(body);
                self.variables = outer;
                found
            }
            (Form::Case, [subject, branches]) => self.infer_case(subject, branches),
            (Form::Empty, []) => Some(self.graph.open()),
            _ => None,
        }
    }

    fn infer_condition(&mut self, condition: &Atom) -> Option<()> {
        let (condition, truth) = (self.infer(condition)?, self.graph.leaf(names::BOOL));
        self.same(condition, truth)
    }

    /// The type of what a form comes to.
    fn infer_answer(&mut self, atom: &Atom) -> Option<GraphNode> {
        if is_odd(atom) { None } else { self.infer(atom) }
    }

    fn infer_within(&mut self, branch: &Atom) -> Option<GraphNode> {
        let outer = self.variables.clone();
        let found = self.infer_answer(branch);
        self.variables = outer;
        found
    }

    fn infer_case(&mut self, subject: &Atom, branches: &Atom) -> Option<GraphNode> {
        let (subject, result) = (self.infer(subject)?, self.graph.open());
        for branch in branches.children()? {
            let [pattern, body] = branch.children()? else { return None };
            let outer = self.variables.clone();
            match pattern {
                // It may stand for an error: what comes after does not know it.
                Atom::Variable(variable) if !outer.contains_key(variable) => {}
                Atom::Variable(_) => return None,
                none if none.is_symbol(names::EMPTY) => {}
                pattern => self.pattern(pattern, subject)?,
            }
            let found = self.infer_answer(body)?;
            self.same(found, result)?;
            self.variables = outer;
        }
        Some(result)
    }

    /// Learns what a pattern says of what it meets.
    fn pattern(&mut self, pattern: &Atom, expected: GraphNode) -> Option<()> {
        match pattern {
            Atom::Variable(variable) => match self.variables.get(variable) {
                Some(known) => self.same(known.node, expected),
                None => {
                    self.variables.insert(variable.clone(), Known { node: expected, callable: None });
                    Some(())
                }
            },
            Atom::Expression(expression) => {
                let (head, parts) = expression.children().split_first()?;
                let leaf = match head {
                    Atom::Symbol(_) => self.functions.rules.types().values.constant_leaf(head)?,
                    _ => return None,
                };
                match self.functions.rules.types().head_kind(leaf, parts.len()) {
                    HeadKind::Typed(_) | HeadKind::Parametric(_) => {}
                    HeadKind::Raw { .. } if parts.is_empty() => {}
                    _ => return None,
                }
                let function = self.functions.rules.types().only_type(head)?;
                let (formals, result) = types::function_parts(&function);
                let mut instance = Instance::default();
                let result = self.graph.instance(result, &mut instance)?;
                self.same(result, expected)?;
                for (formal, part) in formals.iter().zip(parts) {
                    let node = self.graph.instance(formal, &mut instance)?;
                    self.pattern(part, node)?;
                }
                Some(())
            }
            leaf => {
                // What is called stands in a pattern as any other leaf.
                let calls = self.calls.len();
                let found = self.infer_leaf(leaf)?;
                self.calls.truncate(calls);
                self.same(found, expected)
            }
        }
    }
}

/// Whether an operation takes numbers, truth values and texts, and gives one.
fn is_of_plain_values(function: &Atom) -> bool {
    let plain = [names::NUMBER, names::BOOL, names::STRING];
    types::is_function(function)
        && function.children().unwrap_or_default()[1..].iter().all(|part| plain.iter().any(|name| part.is_symbol(name)))
}
