//! Whether the evaluation of an expression says of which type it is, where its declared type leaves that open.
//!
//! 1. With `(: vector (-> Number (Vec Number $n)))` the evaluation of `(vector 2)` to `(Vec Number $m)` goes on with the right side of its
//!    rule, to the same type; where that comes to data, `$m` becomes what the type of the data says.
//! 2. What is declared to give anything, as a `let` or a `superpose`, is evaluated to `%Undefined%`, and so is what it comes to: of `$m`
//!    nothing is said there. At a variable that ends a right side, it depends on how the value came about: what a `let` gives is not
//!    evaluated again, what a `superpose` gives is.
//!    What is declared to give an `Expression` makes that the type, so that a call which is evaluated to it behind is taken as it stands.
//! 3. A well-typed function that takes what its result is of, as `(-> (Vec $t $n) (Vec $t $n))`, gives what its arguments have said.
//! 4. So all ends of a function are looked at as they are written. Where some say a type and others do not, this is known of no single
//!    call, and the specification is followed step by step.
//! 5. Where a function without a type has such ends, or what is called stands in a variable, it is taken for said: programs in which
//!    constructors alone have types stay in the machine. If the types do not agree then, the call is begun again as the specification has
//!    it ([`crate::machine::begun_again`]), unless its arguments have an effect.

use super::TypeChecker;
use super::rules::FunctionTypes;
use super::said::Said;
use super::signatures::HeadKind;
use crate::instructions::is_function;
use crate::lowering::Form;
use crate::machine::code::{Callee, Slot};
use crate::machine::halt::Halt;
use crate::machine::words::{EMPTY, ERROR, FOREIGN, SYMBOL, TERM};
use crate::names;
use crate::types;
use region::Ref;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, variables};
use std::rc::Rc;

/// Of what ends in more functions than this, nothing is known.
const FUNCTIONS_MAX: usize = 128;

/// Nor of what nests deeper than this, calls of functions included.
const LEVELS_MAX: usize = 64;

/// What the ends of an evaluation are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::machine) struct TypeFlow {
    /// At one of them a type is said.
    has_said: bool,
    /// At one of them nothing is said.
    has_lost: bool,
    /// At one of them that is so whatever is given there. At a variable, leaves say a type.
    is_declared: bool,
    /// At one of them what is given is declared to be taken as it stands: so is another argument of the same open type.
    is_raw: bool,
    /// Some are of functions without types, or of what is not looked into.
    is_vague: bool,
}

impl TypeFlow {
    const NONE: Self = Self { has_said: false, has_lost: false, is_declared: false, is_raw: false, is_vague: false };
    const SAID: Self = Self { has_said: true, ..Self::NONE };
    const LOST: Self = Self { has_lost: true, is_declared: true, ..Self::NONE };
    const RAW: Self = Self { is_raw: true, ..Self::LOST };
    const VARIABLE: Self = Self { has_said: true, has_lost: true, ..Self::NONE };
    const VAGUE: Self = Self { is_declared: true, is_vague: true, ..Self::VARIABLE };

    /// Whether it depends on the way that an evaluation takes.
    pub(super) fn depends(self) -> bool {
        self.has_said && self.has_lost && !self.is_vague || self.is_raw
    }

    /// Whether it is not known if a type is said.
    pub(super) fn is_taken_for_said(self) -> bool {
        self.has_said && self.has_lost
    }

    /// Whether a type is said. An evaluation that never ends says nothing that anything could contradict.
    pub(in crate::machine) fn is_said(self) -> bool {
        self.has_said || !self.has_lost
    }

    fn is_certain(self) -> bool {
        !self.has_lost
    }

    /// What is said of results if expressions may have types, or only leaves have some.
    fn said(self, has_types: bool) -> Said {
        match self {
            Self { is_raw: true, .. } | Self { is_vague: true, .. } => Said::Depends,
            Self { has_lost: false, .. } => Said::Own,
            Self { is_declared: false, .. } if !has_types => Said::Own,
            Self { has_said: false, .. } => Said::Nothing,
            _ => Said::Depends,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            has_said: self.has_said || other.has_said,
            has_lost: self.has_lost || other.has_lost,
            is_declared: self.is_declared || other.is_declared,
            is_raw: self.is_raw || other.is_raw,
            is_vague: self.is_vague || other.is_vague,
        }
    }
}

/// A value, or a part of a right side.
#[derive(Clone, Copy)]
enum FlowPart<'a> {
    Value(Ref),
    Written(&'a Atom),
}

/// What an expression is evaluated to.
enum End {
    /// Of this nothing more is to be looked at.
    Known(TypeFlow),
    /// Data: to what it is, if its parts are.
    Data,
    /// One of its last two parts.
    Branches,
    /// What the right side of a rule is evaluated to.
    Rules(Callee),
}

/// The arguments of a function that may say what its result is of.
struct OpenArguments {
    places: Vec<bool>,
    /// All that is open in the type of the result is in theirs.
    are_enough: bool,
}

/// Functions that are looked at, again and again until nothing more is found.
#[derive(Default)]
struct Look {
    bodies: FxHashMap<Callee, Option<Rc<[Atom]>>>,
    flows: FxHashMap<Callee, TypeFlow>,
    seen: FxHashSet<Callee>,
    /// Of expressions that may have been looked into before in this round: values share parts.
    values: FxHashMap<Ref, TypeFlow>,
    has_found: bool,
}

impl FunctionTypes<'_> {
    /// What the evaluation of a value says of its type; what is found out about functions is kept until rules change.
    pub(in crate::machine) fn type_flow(&mut self, value: Ref) -> Result<TypeFlow, Halt> {
        self.found_flow(|types, look| types.flow_of_part(FlowPart::Value(value), LEVELS_MAX, look))
    }

    /// What a function without a type says of the types of its results.
    pub(in crate::machine) fn said_by(&mut self, callee: Callee) -> Result<Said, Halt> {
        let known = self.rules.types().types.flows.get(&callee).copied();
        let flow = match known {
            Some(known) => known,
            None => self.found_flow(|types, look| types.flow_of_function(callee, LEVELS_MAX, look))?,
        };
        Ok(flow.said(self.rules.types().types.has_types))
    }

    /// What is found when nothing more is found about functions.
    fn found_flow(
        &mut self,
        mut find: impl FnMut(&mut Self, &mut Look) -> Result<TypeFlow, Halt>,
    ) -> Result<TypeFlow, Halt> {
        let mut look = Look::default();
        loop {
            look.has_found = false;
            look.seen.clear();
            look.values.clear();
            let flow = find(self, &mut look)?;
            if !look.has_found {
                self.rules.types().types.flows.extend(look.flows);
                return Ok(flow);
            }
        }
    }

    /// What the evaluation of a part says. A variable stands for a value, the type of which is seen.
    fn flow_of_part(&mut self, part: FlowPart<'_>, levels: usize, look: &mut Look) -> Result<TypeFlow, Halt> {
        let Some(levels) = levels.checked_sub(1) else { return Ok(TypeFlow::VAGUE) };
        let FlowPart::Value(value) = part else { return self.flow_of_expression(part, levels, look) };
        let value = self.rules.types().values.heap.walk(value);
        if let Some(&known) = look.values.get(&value) {
            return Ok(known);
        }
        let flow = self.flow_of_expression(part, levels, look)?;
        if value.tag() == TERM || value.is_expression() {
            look.values.insert(value, flow);
        }
        Ok(flow)
    }

    fn flow_of_expression(&mut self, part: FlowPart<'_>, levels: usize, look: &mut Look) -> Result<TypeFlow, Halt> {
        let Some(parts) = self.parts_to_evaluate(part)? else { return Ok(TypeFlow::SAID) };
        let end = match self.head_of_part(parts[0]) {
            Some(head) => self.end_of(head, parts.len() - 1),
            None => End::Known(TypeFlow::VAGUE),
        };
        match end {
            End::Known(flow) => Ok(flow),
            End::Data => Ok(TypeFlow::SAID.join(self.flow_of_parts(&parts[1..], levels, look)?)),
            End::Branches => {
                let then = self.flow_of_end(parts[2], levels, look)?;
                Ok(then.join(self.flow_of_end(parts[3], levels, look)?))
            }
            End::Rules(callee) => self.flow_of_call(callee, &parts[1..], levels, look),
        }
    }

    /// What is said by the evaluation of the part that a right side ends in.
    fn flow_of_end(&mut self, part: FlowPart<'_>, levels: usize, look: &mut Look) -> Result<TypeFlow, Halt> {
        match part {
            FlowPart::Written(Atom::Variable(_)) => Ok(TypeFlow::VARIABLE),
            // What its code returns is evaluated.
            FlowPart::Written(code) if is_function(code) => Ok(TypeFlow::VAGUE),
            part => self.flow_of_part(part, levels, look),
        }
    }

    fn flow_of_parts(&mut self, parts: &[FlowPart<'_>], levels: usize, look: &mut Look) -> Result<TypeFlow, Halt> {
        parts.iter().try_fold(TypeFlow::default(), |flow, part| Ok(flow.join(self.flow_of_part(*part, levels, look)?)))
    }

    fn flow_of_call(
        &mut self,
        callee: Callee,
        arguments: &[FlowPart<'_>],
        levels: usize,
        look: &mut Look,
    ) -> Result<TypeFlow, Halt> {
        let inside = self.flow_of_function(callee, levels, look)?;
        if inside.is_certain() {
            return Ok(inside);
        }
        if inside.depends() && matches!(self.rules.types().head_kind(callee.0, arguments.len()), HeadKind::Untyped) {
            return Ok(inside.join(TypeFlow::VAGUE));
        }
        let Some(open) = self.open_arguments(callee) else { return Ok(inside) };
        let gives_what_it_takes = open.are_enough && self.is_well_typed(callee);
        let says = arguments.iter().zip(&open.places).filter(|(_, is_open)| **is_open);
        let says: Vec<_> = says.map(|(argument, _)| *argument).collect();
        let given = self.flow_of_parts(&says, levels, look)?;
        Ok(if gives_what_it_takes && given.is_certain() { given } else { inside.join(given) })
    }

    /// What the ends of a function are, as far as that was found out.
    fn flow_of_function(&mut self, callee: Callee, levels: usize, look: &mut Look) -> Result<TypeFlow, Halt> {
        if let Some(&known) = self.rules.types().types.flows.get(&callee) {
            return Ok(known);
        }
        let before = look.flows.get(&callee).copied().unwrap_or_default();
        if !look.seen.insert(callee) {
            return Ok(before);
        }
        if look.seen.len() > FUNCTIONS_MAX {
            return Ok(TypeFlow::VAGUE);
        }
        let mut flow = before;
        let Some(bodies) = self.right_sides(callee, look) else { return Ok(TypeFlow::VAGUE) };
        for body in &*bodies {
            flow = flow.join(self.flow_of_end(FlowPart::Written(body), levels, look)?);
        }
        look.has_found |= flow != before;
        look.flows.insert(callee, flow);
        Ok(flow)
    }

    /// The right sides of the rules of a function; `None` if they are not for the machine.
    fn right_sides(&mut self, callee: Callee, look: &mut Look) -> Option<Rc<[Atom]>> {
        if let Some(known) = look.bodies.get(&callee) {
            return known.clone();
        }
        let rules = self.rules.rules_taking_no_numbers(callee);
        let bodies: Option<Rc<[Atom]>> = rules.map(|rules| rules.into_iter().map(|(_, body)| body).collect());
        look.bodies.insert(callee, bodies.clone());
        bodies
    }

    /// The head and the arguments of what is still to be evaluated; `None` if it is a value, or a leaf.
    fn parts_to_evaluate<'a>(&mut self, part: FlowPart<'a>) -> Result<Option<Vec<FlowPart<'a>>>, Halt> {
        let value = match part {
            FlowPart::Written(atom) => {
                let parts = atom.children().filter(|parts| !parts.is_empty());
                return Ok(parts.map(|parts| parts.iter().map(FlowPart::Written).collect()));
            }
            FlowPart::Value(value) => value,
        };
        let TypeChecker { types, values, .. } = self.rules.types();
        let value = values.heap.walk(value);
        if types.own_result(values, value, 0).is_some() {
            return Ok(None);
        }
        let value = if value.tag() == TERM { values.open_term(value)? } else { value };
        if !value.is_expression() {
            return Ok(None);
        }
        let children = values.heap.children(value);
        Ok((!children.is_empty()).then(|| children.iter().map(|&child| FlowPart::Value(child)).collect()))
    }

    /// The head of an expression if it is a name or a native function.
    fn head_of_part(&mut self, part: FlowPart<'_>) -> Option<Ref> {
        let head = match part {
            FlowPart::Value(head) => self.rules.types().values.heap.walk(head),
            FlowPart::Written(head) => self.rules.types().values.constant_leaf(head)?,
        };
        matches!(head.tag(), SYMBOL | FOREIGN).then_some(head)
    }

    fn end_of(&mut self, head: Ref, count: usize) -> End {
        if let Some(declared) = self.rules.types().declared_result(head) {
            let TypeChecker { types, .. } = self.rules.types();
            let declared = types.ids.atom(declared);
            return End::Known(match () {
                () if declared.is_symbol(names::UNDEFINED) || declared.is_symbol(names::ATOM) => TypeFlow::LOST,
                () if names::is_metatype(declared) => TypeFlow::RAW,
                () => TypeFlow::SAID,
            });
        }
        if head.tag() == FOREIGN {
            return End::Known(TypeFlow::VAGUE);
        }
        let name = self.rules.types().values.symbol_of(head).clone();
        match (self.rules.special_form(name.as_str(), count), Slot::try_from(count)) {
            (Some(Form::If), _) => End::Branches,
            (None, Ok(slots)) if self.rules.has_rules((head, slots)) => End::Rules((head, slots)),
            (None, Ok(_)) if head != ERROR && head != EMPTY => End::Data,
            _ => End::Known(TypeFlow::VAGUE),
        }
    }

    /// The arguments whose types have variables; `None` if there are none, or the function has no type of its own.
    fn open_arguments(&mut self, (head, count): Callee) -> Option<OpenArguments> {
        let HeadKind::Parametric(function) = self.rules.types().head_kind(head, usize::from(count)) else {
            return None;
        };
        let (formals, result) = types::function_parts(&function);
        let places: Vec<bool> = formals.iter().map(|formal| !formal.is_ground()).collect();
        let are_enough =
            variables(result).iter().all(|one| formals.iter().any(|formal| variables(formal).contains(one)));
        places.contains(&true).then_some(OpenArguments { places, are_enough })
    }
}
