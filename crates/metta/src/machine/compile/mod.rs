//! From rules to code.
//!
//! 1. The rules of a function are what a query for them finds, in its order, variable-headed ones included.
//! 2. The head of a rule becomes matching instructions; the variables of its pattern are slots.
//! 3. The body is [lowered](super::lower) to [core](super::core), [passes](super::passes) rewrite that, and `emit` writes code that leaves
//!    the value in a slot or, in tail position, returns it. `data`, `query`, `collect`, `reduction` and `made` write that of some nodes.
//! 4. Where the meaning depends on what a slot holds (a number, say), a guard comes first; what does not meet it is evaluated
//!    as it stands, by code that is written behind the rest. Code after a call that may have changed types begins with a look at
//!    their number, for the same reason.

mod answers;
mod body;
mod collect;
mod data;
mod emit;
mod groups;
mod head;
mod held;
mod indexed;
mod made;
mod nested;
mod origins;
mod query;
mod reduction;

use super::code::{
    ESCAPE, HEADER, Instruction, Key, Kind, Pc, REDUCE, ReturnPoint, RuleCode, Slot, TemplatePart, TypeId, WELL_TYPED,
};
use super::core::{Called, CodeState, Core, Leave};
use super::depth::{DEPTH_MAX, SLOTS_MAX, is_deep};
use super::lower::{Facts, Lower, Place, Scope, may_be_code, may_be_function};
use super::types::Rule;
use super::{Halt, Running, changed_states};
use crate::instructions::{has_space, is_function};
use crate::names;
use crate::rules::AskedRules;
use crate::stdlib::forms::special_form;
use groups::exclusive;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, ShouldStop, Symbol, Variable, has_mark, variables};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

pub(super) use groups::list_of;

/// A place in code that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(u32);

/// Where the address of a label is to be put.
enum Fix {
    /// Into the instruction.
    Instruction(usize),
    /// Into the other address of a conditional jump.
    Then(usize),
    /// Into the error exit of a return point.
    Error(u32),
    /// Into the place where a return point goes on.
    GoOn(u32),
    /// Into the exit of a list of arguments.
    ArgumentsOr(u32),
    /// Into that of data.
    DataOr(u32),
    /// Into the two exits of a shape.
    ShapeOr(u32),
}

/// Where a value is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dest {
    /// It is the result of the frame.
    Tail,
    /// In this slot.
    Slot(Slot),
}

/// Where errors go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Errors {
    Escape,
    Destination(Label),
}

/// Code that is written behind the rest.
enum Later {
    /// What a node comes to where tests did not hold.
    Node {
        label: Label,
        node: Rc<Core>,
        dest: Dest,
        state: CodeState,
        join: Option<Label>,
        errors: Errors,
        gathers: Option<[Slot; 2]>,
    },
    /// Patterns of one form, any of which has met a space. Where one goes if it does not match may still be to be written: then it
    /// fails.
    Space {
        misses: Vec<Label>,
        marks: Option<Slot>,
        node: Rc<Core>,
        dest: Dest,
        state: CodeState,
        join: Option<Label>,
        errors: Errors,
    },
    /// The error of a part of an expression becomes the result of the expression.
    Barrier { label: Label, begun: Slot, value: Slot, return_point: u32 },
    /// Data whose children had to be evaluated.
    Unnormalized(Box<data::Unnormalized>),
    /// An error that is a value like any other.
    Raw { label: Label, dst: Slot, back: Label },
    /// An error that is collected like any other result.
    Caught { label: Label, begun: Slot, value: Slot },
}

/// Writes the code of a function.
pub(super) struct Compiler<'c, 'r> {
    run: &'c mut Running<'r>,
    labels: Vec<Option<Pc>>,
    fixes: Vec<(Fix, Label)>,
    later: Vec<(Later, usize)>,
    /// Where the expressions that are being compiled end, whether code elsewhere leads there, and the slots of their values.
    joins: Vec<(Label, bool, Slot)>,
    state: CodeState,
    errors: Errors,
    next: usize,
    most: usize,
    depth: usize,
    /// The rule being compiled, whole: to see where else a variable occurs.
    whole: Atom,
    /// How often each variable occurs in it, once that was asked.
    counts: Rc<OnceCell<FxHashMap<Variable, usize>>>,
    /// How many values have got names.
    locals: Cell<u64>,
    is_too_large: bool,
    /// Whether it is a form of the program, whose variables keep their names, or a part of one, which shows it in errors.
    is_form: bool,
    shows_form: bool,
    /// The slot in which a collector is noted, and that of each result for its list, if nothing else is done with it.
    gathers: Option<[Slot; 2]>,
    /// Whether what is being compiled is well typed, so that no types are checked.
    is_well_typed: bool,
    /// The return points from here on are its own.
    first_return_point: usize,
    function: u32,
    /// Where the body of the rule begins, and the first slot of what its head takes apart.
    body: Pc,
    unpacked: Slot,
    /// The instructions that want to know how many slots the frame has.
    reserved: Vec<usize>,
    /// The templates of the calls that the bodies of `function` at hand stand for.
    functions: Vec<u32>,
    /// The variables among the parts of the expression at hand that may be bound before their turn, and the slots that say
    /// whether they were open.
    held: held::Held,
    /// The variables of the head that may hold what is not evaluated.
    raw: Option<Vec<Variable>>,
    /// How many arguments the head has; the whole begins with them.
    heads: usize,
}

/// Something that is not compiled.
pub(super) struct TooLarge;

/// Whether a function has other rules than those that are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    None,
    /// The arguments of the calls for which these are compiled rule the others out.
    RuledOut,
}

impl Running<'_> {
    /// Compiles a function as rules stand now.
    pub(super) fn compile(&mut self, function: u32) -> Result<(), Halt> {
        let found = &self.m.code.functions[function as usize];
        let (head, count) = (found.head, found.arguments);
        if let Some(made) = self.m.code.made.get(&function).cloned() {
            self.compile_made(function, &made);
            self.end_piece();
            return Ok(());
        }
        let (kind, slots) = if self.has_many_rules(head, count) {
            let kind = self.index_rules(function);
            (self.entry_of(function, kind), usize::from(count))
        } else {
            self.compile_few(function)?
        };
        let version = self.m.code.version;
        let found = &mut self.m.code.functions[function as usize];
        (found.kind, found.slots, found.version) = (kind, slots.max(usize::from(count)), version);
        self.end_piece();
        Ok(())
    }

    /// Compiles all rules of a function, of which there are few.
    fn compile_few(&mut self, function: u32) -> Result<(Kind, usize), Halt> {
        let found = &self.m.code.functions[function as usize];
        let (head, count) = (found.head, found.arguments);
        let arguments = usize::from(count);
        Ok(match self.rules_of(head, count) {
            Some(rules) if rules.is_empty() => (self.kind_without_rules(head, count), arguments),
            Some(rules) => match self.guarded(function) {
                Some(kind) => (kind, arguments),
                None => {
                    let type_id = self.type_to_compile_for(function);
                    let (kind, slots) = self.compile_rules(function, count, type_id, &rules, Rest::None)?;
                    (self.entry_of(function, kind), slots)
                }
            },
            None => (Kind::Interpreted, arguments),
        })
    }

    /// The type that results of a function are compiled for: well-typed code that is still called after rules have changed, so that
    /// they are not well typed any more, becomes code with checks.
    fn type_to_compile_for(&mut self, function: u32) -> TypeId {
        let found = self.m.code.functions[function as usize];
        if found.type_id != WELL_TYPED || self.function_types().is_well_typed((found.head, found.arguments)) {
            return found.type_id;
        }
        let declared = self.types().declared_result(found.head).unwrap_or(0);
        self.m.types.evaluated_as(declared)
    }

    /// What is compiled for a link belongs to the piece that links to it.
    fn end_piece(&mut self) {
        if self.m.code.links == 0 {
            self.m.code.end_piece();
        }
    }

    /// Without rules a call is data, unless it is an instruction or a name of the library that is missing.
    fn kind_without_rules(&mut self, head: Ref, count: Slot) -> Kind {
        let name = self.m.values.symbol_of(head).clone();
        let call = Atom::expression(vec![Atom::Symbol(name); usize::from(count) + 1]);
        if crate::instructions::is_instruction(&call) { Kind::Interpreted } else { Kind::Constructor }
    }

    /// The rules of a head: for each its arguments and its body. `None` if one of them is not for the machine, or if there are more
    /// than are looked through at once.
    pub(super) fn rules_of(&mut self, head: Ref, count: Slot) -> Option<Vec<Rule>> {
        if self.has_many_rules(head, count) {
            return None;
        }
        self.all_rules_of(head, count, &|| false)
    }

    /// All rules of a head, however many there are. `None` as well if the caller has given up.
    fn all_rules_of(&mut self, head: Ref, count: Slot, should_stop: ShouldStop<'_>) -> Option<Vec<Rule>> {
        let asked = self.rules_asked(head, count)?;
        let source = self.session.program.variables();
        if head == super::words::COMPOUND {
            let is_ruled = match self.m.rule_cache.compound_ruled.get(&count) {
                Some(&known) => known,
                None => {
                    let found = self.space.query_unless(&asked.rule, source, should_stop)?;
                    self.has_compound_head(&found, &asked.rule)
                }
            };
            self.m.rule_cache.compound_ruled.insert(count, is_ruled);
            // What reduces an expression with a compound head is left to the interpreter.
            return (!is_ruled).then(Vec::new);
        }
        let found = self.space.query_unless(&asked.rule, source, should_stop)?;
        let rules = found.iter().map(|solution| {
            let (arguments, body) = asked.found(solution);
            // A space that is written in a head is asked, which the interpreter does.
            let is_plain = !should_stop() && !arguments.iter().any(has_space);
            is_plain.then_some((arguments, body))
        });
        rules.collect()
    }

    /// What asks for the rules of a head; `None` if no rule of it is for the machine.
    fn rules_asked(&mut self, head: Ref, count: Slot) -> Option<AskedRules> {
        if head.tag() != super::words::SYMBOL {
            return None;
        }
        let source = self.session.program.variables();
        let head = match head == super::words::COMPOUND {
            true => Atom::Variable(source.fresh(names::asked())),
            false => Atom::Symbol(self.m.values.symbol_of(head).clone()),
        };
        let asked: Vec<Variable> = (0..count).map(|_| source.fresh(&Symbol::new("a"))).collect();
        let arguments = asked.iter().map(|variable| Atom::Variable(variable.clone()));
        let call = Atom::expression(std::iter::once(head).chain(arguments).collect::<Vec<_>>());
        // A name of the library that is missing is an error where no rule matches.
        if crate::instructions::is_instruction(&call) || crate::stdlib::not_supported(&call).is_some() {
            return None;
        }
        Some(AskedRules::new(call, asked, source))
    }

    /// Whether one of the rules found for a variable head has a head that is no symbol and no native function.
    fn has_compound_head(&self, found: &[space::Solution], rule: &Atom) -> bool {
        let call = rule.children().and_then(|children| children.get(1)).and_then(Atom::head);
        let Some(Atom::Variable(asked)) = call else { return true };
        found.iter().any(|solution| {
            let head = solution.iter().find(|(bound, _)| bound == asked).map(|(_, value)| value);
            !matches!(head, Some(Atom::Symbol(_)))
        })
    }

    /// The code of these rules, and how many slots its frames need.
    ///
    /// # Errors
    /// A limit was reached.
    pub(super) fn compile_rules(
        &mut self,
        function: u32,
        count: Slot,
        type_id: TypeId,
        rules: &[Rule],
        rest: Rest,
    ) -> Result<(Kind, usize), Halt> {
        let (mut compiled, mut entries) = (Vec::new(), Vec::new());
        let mut classes: FxHashMap<Box<[Key]>, u32> = FxHashMap::default();
        let mut slots = usize::from(count);
        let is_single = rules.len() == 1 && rest == Rest::None;
        let mut is_plain = false;
        for (arguments, body) in rules {
            self.m.values.ceiling.look()?;
            let whole = Atom::expression(arguments.iter().chain([body]).cloned().collect::<Vec<_>>());
            let mut compiler = Compiler::new(self, usize::from(count), whole);
            compiler.function = function;
            let Ok((pc, is_irrefutable)) = compiler.rule(arguments, body, type_id, !is_single) else {
                return Ok((Kind::Interpreted, usize::from(count)));
            };
            slots = slots.max(compiler.most);
            is_plain = is_irrefutable;
            let (body, dst) = (compiler.body, compiler.unpacked);
            entries.push((body, dst));
            let keys: Box<[Key]> = arguments.iter().map(|argument| self.key_of(argument)).collect();
            let class = *classes.entry(keys.clone()).or_insert(compiled.len() as u32);
            let goes_on = compiled.last().and_then(|before: &RuleCode| self.m.code.taken_apart_alike(before.pc, pc));
            compiled.push(RuleCode { pc, keys, class, goes_on });
        }
        let may_stand = self.m.code.is_exact && rules.iter().any(|(_, body)| groups::may_stand(body));
        if is_single && is_plain && !may_stand {
            return Ok((Kind::Rule(compiled[0].pc), slots));
        }
        // Other functions may be compiled for this.
        let are_facts = self.are_facts(compiled.iter().map(|rule| rule.pc));
        let index = self.m.code.groups.len() as u32;
        let exclusive = exclusive(index, &compiled, rules, &entries).filter(|_| !may_stand);
        let mut group = self.group(function, compiled, usize::from(count));
        (group.are_facts, group.slots, group.sources) = (are_facts, slots, rules.into());
        group.compares_values = changed_states::compare_values(rules.iter().map(|(head, _)| head.as_slice()));
        group.has_others = rest == Rest::RuledOut;
        self.m.code.groups.push(group);
        let Some(exclusive) = exclusive else { return Ok((Kind::Group(index), slots)) };
        self.m.code.exclusives.push(exclusive);
        Ok((Kind::Exclusive((self.m.code.exclusives.len() - 1) as u32), slots))
    }

    /// The code of a form, as a function without arguments; `None` if it is to be evaluated as it stands.
    pub(super) fn compile_form(&mut self, atom: &Atom) -> Result<Option<Pc>, Halt> {
        // What a word stands for may be marked as evaluated, which code does not see.
        if !matches!(atom, Atom::Expression(_)) || has_mark(atom) {
            return Ok(None);
        }
        let mut compiler = Compiler::new(self, 0, atom.clone());
        compiler.is_form = true;
        let compiled = compiler.rule(&[], atom, 0, false);
        let most = compiler.most;
        self.m.code.end_piece();
        match compiled {
            Ok((pc, _)) => {
                self.m.frames.ensure(most + HEADER)?;
                Ok(Some(pc))
            }
            Err(TooLarge) => Ok(None),
        }
    }
}

impl<'c, 'r> Compiler<'c, 'r> {
    /// What is known of expressions where the code stands.
    fn facts(&mut self) -> Facts<'_> {
        self.lower().facts
    }

    /// Lowers expressions from where the code stands.
    fn lower(&mut self) -> Lower<'_> {
        let (is_form, is_stale, depth) = (self.is_form, self.state.is_stale, self.depth);
        let (scope, is_well_typed) = (Scope::new(&self.state.variables), self.is_well_typed);
        let (whole, counts) = (self.whole.clone(), Rc::clone(&self.counts));
        let facts = Facts { run: self.run, scope, whole, counts, is_well_typed };
        Lower { facts, locals: &self.locals, is_form, answer: None, is_stale, depth, is_too_large: false }
    }

    fn new(run: &'c mut Running<'r>, slots: usize, whole: Atom) -> Self {
        let first_return_point = run.m.code.return_points.len();
        Self {
            run,
            labels: Vec::new(),
            fixes: Vec::new(),
            later: Vec::new(),
            joins: Vec::new(),
            state: CodeState::default(),
            errors: Errors::Escape,
            next: slots,
            most: slots,
            depth: 0,
            whole,
            counts: Rc::default(),
            locals: Cell::new(0),
            is_too_large: false,
            is_form: false,
            shows_form: false,
            gathers: None,
            is_well_typed: false,
            first_return_point,
            function: 0,
            body: 0,
            unpacked: 0,
            reserved: Vec::new(),
            functions: Vec::new(),
            held: Vec::new(),
            raw: None,
            heads: 0,
        }
    }

    /// Compiles a rule: where its code begins, and whether its head matches everything.
    fn rule(
        &mut self,
        arguments: &[Atom],
        body: &Atom,
        type_id: TypeId,
        is_one_of_many: bool,
    ) -> Result<(Pc, bool), TooLarge> {
        if is_deep(&self.whole) {
            return Err(TooLarge);
        }
        let pc = self.here();
        let first_slot = self.next;
        if !self.is_form {
            (self.raw, self.heads) = (None, arguments.len());
        }
        let is_irrefutable = self.head(arguments);
        if is_one_of_many || !is_irrefutable {
            self.emit(Instruction::Commit);
        }
        self.body = self.here();
        self.unpacked = first_slot as Slot;
        if is_one_of_many && !self.is_form {
            self.note_rule(arguments, body);
        }
        // An alternative before may have changed what forms mean.
        self.state.is_stale = is_one_of_many && self.run.m.code.is_exact;
        if !self.open_form(arguments.len(), type_id) {
            self.body_of_rule(arguments.len(), body, type_id);
        }
        self.complete()?;
        Ok((pc, is_irrefutable))
    }

    /// If a profile is wanted, it is told when this rule is entered.
    fn note_rule(&mut self, arguments: &[Atom], body: &Atom) {
        let head = self.run.m.code.functions[self.function as usize].head;
        let Some(profile) = self.run.session.profile.as_mut().filter(|_| head.tag() == super::words::SYMBOL) else {
            return;
        };
        let head = Atom::Symbol(self.run.m.values.symbol_of(head).clone());
        let call = Atom::expression(std::iter::once(head).chain(arguments.iter().cloned()).collect::<Vec<_>>());
        let rule = profile.number_of(Atom::expression([names::equal(), call, body.clone()]));
        self.emit(Instruction::EnterRule { rule });
    }

    /// The code of the body of a rule, for a call with a number of arguments.
    fn body_of_rule(&mut self, count: usize, body: &Atom, type_id: TypeId) {
        self.is_well_typed = type_id == WELL_TYPED;
        let expected = if self.is_well_typed { 0 } else { type_id };
        let function = self.function;
        match body {
            Atom::Symbol(name) if name.as_str() == names::NOT_REDUCIBLE => {
                self.emit(Instruction::Unreduced { function });
            }
            _ if type_id == REDUCE => self.reduced(count, body),
            _ if !self.is_form && !self.is_well_typed && is_function(body) => self.in_last_place(|lower| {
                let (value, call) = (lower.function(body, Called::Own(count)), Called::Own(count));
                Core::Leave(Box::new(Leave { value, call, type_id, is_rule: true, is_code: true }))
            }),
            _ if !self.is_form && !self.is_well_typed && may_be_function(body) => {
                let slot = self.slot();
                self.raw(body, Dest::Slot(slot));
                self.emit(Instruction::Body { slot, type_id, function });
            }
            // A form is not what a rule says.
            Atom::Expression(_) if self.is_form => self.in_last_place(|lower| lower.value(body, type_id, Place::Tail)),
            Atom::Variable(variable) => {
                let slot = self.slot_of(variable);
                self.emit(Instruction::Body { slot, type_id: expected, function });
            }
            _ => self.in_last_place(|lower| lower.reduct(body, expected, Place::Tail)),
        }
    }

    /// The body of a rule for a call whose results are not evaluated further.
    fn reduced(&mut self, count: usize, body: &Atom) {
        if is_function(body) {
            return self.in_last_place(|lower| lower.function(body, Called::Own(count)));
        }
        let node = self.lower_with_passes(|lower| match body {
            Atom::Variable(_) => Core::Resolved(Box::new(lower.quote(body))),
            body => lower.quote(body),
        });
        let slot = self.slot();
        self.node(&node, Dest::Slot(slot));
        let may_be_code = matches!(body, Atom::Variable(_)) || may_be_code(body);
        self.emit(if may_be_code { Instruction::Reduct { slot } } else { Instruction::Return { slot } });
    }

    /// Code in front of the only rule of a function of the library, which is used where the arguments are what the code expects. Says whether
    /// they always are.
    fn open_form(&mut self, count: usize, type_id: TypeId) -> bool {
        if self.is_form {
            return false;
        }
        let head = self.run.m.code.functions[self.function as usize].head;
        if head.tag() != super::words::SYMBOL || head == super::words::COMPOUND {
            return false;
        }
        let name = self.run.m.values.symbol_of(head).clone();
        if !special_form(name.as_str()).is_some_and(|special| special.form.has_open_code()) {
            return false;
        }
        let Some(form) = self.run.special_form(name.as_str(), count) else { return false };
        let before = self.state.clone();
        let arguments: Vec<Variable> = (0..count).map(|slot| self.name_slot(slot as Slot)).collect();
        let mut tests = Vec::new();
        let node = self.lower_with_passes(|lower| match lower.open_form(form, &arguments, type_id) {
            Some((asked, node)) => {
                tests = asked;
                node
            }
            None => unreachable!("{form:?} has code for arguments that are values"),
        });
        let otherwise = self.label();
        tests.iter().for_each(|test| self.test_or(test, otherwise));
        self.node(&node, Dest::Tail);
        self.place(otherwise);
        self.state = before;
        tests.is_empty()
    }

    /// A name for what a slot holds.
    fn name_slot(&mut self, slot: Slot) -> Variable {
        let local = self.lower().local();
        self.state.variables.insert(local.clone(), slot);
        local
    }

    /// Writes what comes behind the rest and puts addresses in.
    fn complete(&mut self) -> Result<(), TooLarge> {
        while let Some((later, next)) = self.later.pop() {
            self.next = next;
            self.write_later(later);
        }
        self.patch();
        self.patch_reserved();
        self.patch_return_points();
        if self.is_too_large || self.most > SLOTS_MAX { Err(TooLarge) } else { Ok(()) }
    }

    /// Says at all return points how many slots a frame has.
    fn patch_return_points(&mut self) {
        for return_point in &mut self.run.m.code.return_points[self.first_return_point..] {
            return_point.slots = self.most as Slot;
        }
    }

    fn here(&self) -> Pc {
        self.run.m.code.instructions.len() as Pc
    }

    fn emit(&mut self, instruction: Instruction) -> usize {
        self.run.m.code.instructions.push(instruction);
        self.run.m.code.instructions.len() - 1
    }

    fn label(&mut self) -> Label {
        self.labels.push(None);
        Label((self.labels.len() - 1) as u32)
    }

    fn place(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.here());
    }

    /// An instruction whose `or` or `to` is a label.
    fn emit_to(&mut self, instruction: Instruction, label: Label) {
        let at = self.emit(instruction);
        self.fixes.push((Fix::Instruction(at), label));
    }

    fn patch(&mut self) {
        for (fix, label) in std::mem::take(&mut self.fixes) {
            let to = self.labels[label.0 as usize].expect("every label is placed");
            let code = &mut self.run.m.code;
            match fix {
                Fix::Instruction(at) => {
                    *code.instructions[at].other_place().expect("the instruction leads elsewhere") = to;
                }
                Fix::Then(at) => set_then(&mut code.instructions[at], to),
                Fix::Error(return_point) => code.return_points[return_point as usize].error = to,
                Fix::GoOn(return_point) => code.return_points[return_point as usize].pc = to,
                Fix::DataOr(data) => code.data[data as usize].or = to,
                Fix::ArgumentsOr(list) => code.arguments[list as usize].or = to,
                Fix::ShapeOr(shape) => code.shapes[shape as usize].or = to,
            }
        }
    }

    /// A new slot.
    fn slot(&mut self) -> Slot {
        self.slots(1)
    }

    /// The first of `count` new slots in a row.
    fn slots(&mut self, count: usize) -> Slot {
        let first = self.next;
        self.next += count;
        self.most = self.most.max(self.next);
        if self.next > SLOTS_MAX {
            self.is_too_large = true;
            self.next = first;
            return 0;
        }
        first as Slot
    }

    fn mark_live(&mut self, slot: Slot) {
        if !self.state.live.contains(&slot) {
            self.state.live.push(slot);
        }
    }

    /// The slots from here on belonged to a callee: nothing is known of them any more.
    fn forget_from(&mut self, at: Slot) {
        let CodeState { variables, live, .. } = &mut self.state;
        variables.retain(|_, slot| *slot < at);
        live.retain(|slot| *slot < at);
    }

    /// A return_point for what is emitted next, its result in a slot; frames begin behind all slots used so far, or at `at`.
    fn return_point(&mut self, dst: Slot, at: Option<Slot>) -> u32 {
        let at = at.unwrap_or(self.next as Slot);
        self.most = self.most.max(usize::from(at) + HEADER);
        // What lies behind belongs to the callee.
        let live = match self.state.live.iter().all(|&slot| slot < at) {
            true => self.state.live.as_slice().into(),
            false => self.state.live.iter().copied().filter(|&slot| slot < at).collect(),
        };
        let return_point =
            ReturnPoint { pc: self.here() + 1, dst, at, error: ESCAPE, slots: 0, live, is_as_written: false };
        self.run.m.code.return_points.push(return_point);
        let index = (self.run.m.code.return_points.len() - 1) as u32;
        if let Errors::Destination(label) = self.errors {
            self.fixes.push((Fix::Error(index), label));
        }
        index
    }

    /// The template of an atom as it stands; its variables get slots if they have none.
    fn template(&mut self, atom: &Atom) -> u32 {
        self.make_variables(atom);
        let mut parts = Vec::with_capacity(16);
        self.parts(atom, &mut parts);
        self.add_template(parts)
    }

    fn add_template(&mut self, parts: Vec<TemplatePart>) -> u32 {
        self.run.m.code.templates.push(parts.into());
        (self.run.m.code.templates.len() - 1) as u32
    }

    fn parts(&mut self, atom: &Atom, parts: &mut Vec<TemplatePart>) {
        enum Visit<'a> {
            Atom(&'a Atom),
            Close(u32),
        }
        let mut work = vec![Visit::Atom(atom)];
        while let Some(visit) = work.pop() {
            match visit {
                Visit::Close(count) => parts.push(TemplatePart::Expression(count)),
                Visit::Atom(Atom::Expression(expression)) => {
                    work.push(Visit::Close(expression.len() as u32));
                    work.extend(expression.children().iter().rev().map(Visit::Atom));
                }
                Visit::Atom(Atom::Variable(variable)) => parts.push(TemplatePart::Slot(self.state.variables[variable])),
                Visit::Atom(leaf) => {
                    let leaf = self.run.m.values.constant_leaf(leaf).expect("it is a leaf");
                    parts.push(TemplatePart::Leaf(leaf));
                }
            }
        }
    }

    /// Makes the variables of an atom that have no slot yet.
    fn make_variables(&mut self, atom: &Atom) {
        for variable in variables(atom) {
            if !self.state.variables.contains_key(&variable) {
                self.make_variable(&variable);
            }
        }
    }

    /// Makes variables that have no slot yet.
    fn make_each(&mut self, variables: &[Variable]) {
        variables.iter().for_each(|variable| _ = self.slot_of(variable));
    }

    fn make_variable(&mut self, variable: &Variable) -> Slot {
        let dst = self.slot();
        self.emit_variable(variable, dst);
        self.put_variable(variable, dst);
        self.mark_live(dst);
        dst
    }

    fn emit_variable(&mut self, variable: &Variable, dst: Slot) {
        let name = self.run.m.values.symbol(variable.name());
        match self.is_form {
            true => {
                let index = self.run.m.values.form_variable(variable);
                self.emit(Instruction::FormVariable { dst, index });
            }
            false => _ = self.emit(Instruction::Variable { dst, name }),
        }
    }

    /// From here on a slot holds what a variable stands for.
    fn put_variable(&mut self, variable: &Variable, slot: Slot) {
        self.state.variables.insert(variable.clone(), slot);
        let here = self.here();
        if let Some(names) = &mut self.run.m.code.names {
            names.push((here, slot, variable.name().clone()));
        }
    }

    /// Writes some code behind the rest. Its slots begin behind those that are used here.
    fn write_behind(&mut self, later: Later) {
        self.later.push((later, self.next));
    }

    fn write_later(&mut self, later: Later) {
        match later {
            Later::Node { label, node, dest, state, join, errors, gathers } => {
                (self.state, self.errors, self.gathers) = (state, errors, gathers);
                self.place(label);
                self.going_on_at(&node, dest, join);
            }
            Later::Space { misses, marks, node, dest, state, join, errors } => {
                (self.state, self.errors) = (state, errors);
                self.space_met(&misses, marks);
                self.going_on_at(&node, dest, join);
            }
            Later::Unnormalized(unnormalized) => self.write_unnormalized(*unnormalized),
            Later::Barrier { label, begun, value, return_point } => {
                self.place(label);
                self.emit(Instruction::Take { dst: value });
                self.emit(Instruction::End { begun, value, return_point });
            }
            Later::Raw { label, dst, back } => {
                self.place(label);
                self.emit(Instruction::Take { dst });
                self.emit_to(Instruction::Jump { to: 0 }, back);
            }
            Later::Caught { label, begun, value } => {
                self.place(label);
                self.emit(Instruction::Take { dst: value });
                self.emit(Instruction::Collected { begun, slot: value });
            }
        }
    }

    /// Notes that patterns that have met a space go on here.
    fn space_met(&mut self, misses: &[Label], marks: Option<Slot>) {
        for miss in misses {
            if self.labels[miss.0 as usize].is_none() {
                self.place(*miss);
                self.emit(Instruction::Fail);
            }
        }
        let here = self.here();
        for miss in misses {
            let missed = self.labels[miss.0 as usize].expect("it is placed");
            self.run.m.code.spaces.insert(missed, here);
        }
        if let Some(slot) = marks {
            self.emit(Instruction::Undo { slot });
        }
    }

    /// The code of a node, and on at a label.
    fn going_on_at(&mut self, node: &Core, dest: Dest, join: Option<Label>) {
        match (node, join) {
            (Core::Written(written), Some(join)) => self.written(written, dest, Some(join)),
            (node, join) => {
                self.node(node, dest);
                join.iter().for_each(|join| self.jump(*join));
            }
        }
    }
}

/// Puts the address for a comparison that holds into an instruction.
fn set_then(instruction: &mut Instruction, target: Pc) {
    match instruction {
        Instruction::CompareJump { then, .. } | Instruction::CompareJumpWith { then, .. } => *then = target,
        other => unreachable!("{other:?} has one address"),
    }
}
