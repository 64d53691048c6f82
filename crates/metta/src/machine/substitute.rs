//! Replacing variables in what a slot holds: what `atom-subst` does, and each turn of a loop whose template is not compiled.
//!
//! Parts without variables are shared. Where a template is instantiated anew, its other variables become new ones of the same
//! names.

use super::Halt;
use super::notes::Notes;
use super::values::Values;
use region::{Full, Ref, tag};
use rustc_hash::FxHashMap;
use space::Outcomes;

/// An expression of the template whose children are being replaced.
struct OpenTemplate {
    expression: Ref,
    done: Vec<Ref>,
    is_changed: bool,
}

/// What becomes of variables.
struct Replacement<'a> {
    variables: &'a [Ref],
    values: &'a [Ref],
    /// The new variables, if others than these are replaced by such.
    fresh: Option<FxHashMap<Ref, Ref>>,
}

impl Replacement<'_> {
    fn of(&mut self, variable: Ref, values: &mut Values) -> Result<Ref, Full> {
        if let Some(place) = self.variables.iter().position(|&known| known == variable) {
            return Ok(self.values[place]);
        }
        let Some(fresh) = &mut self.fresh else { return Ok(variable) };
        if let Some(&known) = fresh.get(&variable) {
            return Ok(known);
        }
        let made = values.variable_like(variable)?;
        fresh.insert(variable, made);
        Ok(made)
    }
}

/// A template with values in place of variables, all at once; `renames` says whether its other variables become new ones.
pub(super) fn substitute(
    values: &mut Values,
    notes: Notes,
    template: Ref,
    (variables, replacements): (&[Ref], &[Ref]),
    renames: bool,
) -> Result<Ref, Halt> {
    let mut replacement = Replacement { variables, values: replacements, fresh: renames.then(FxHashMap::default) };
    let mut open: Vec<OpenTemplate> = Vec::new();
    let mut known: Outcomes<(), Ref> = Outcomes::default();
    let mut current = template;
    loop {
        let value = values.heap.walk(current);
        let mut found = match value.tag() {
            tag::VARIABLE => Some(replacement.of(value, values)?),
            tag::EXPRESSION if values.heap.length(value) > 0 && !notes.hold(values.heap.note(value)) => {
                let again = known.of(value.payload() as usize);
                if again.is_none() {
                    let done = Vec::with_capacity(values.heap.length(value));
                    open.push(OpenTemplate { expression: value, done, is_changed: false });
                }
                again
            }
            _ => Some(value),
        };
        loop {
            let Some(top) = open.last_mut() else { return Ok(found.expect("nothing is open")) };
            if let Some(part) = found.take() {
                let before = values.heap.child(top.expression, top.done.len());
                top.is_changed |= part != before;
                top.done.push(part);
            }
            if top.done.len() < values.heap.length(top.expression) {
                current = values.heap.child(top.expression, top.done.len());
                break;
            }
            let OpenTemplate { expression, done, is_changed } = open.pop().expect("it is open");
            let made = match is_changed {
                true => values.heap.expression(&mut values.region, &done)?,
                false => expression,
            };
            known.keep(expression.payload() as usize, &(), &made);
            found = Some(made);
        }
    }
}
