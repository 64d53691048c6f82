//! Results of a form: how they leave its evaluation.
//!
//! 1. A result of the whole stays where it is, with everything that is bound put in; no choice gives its memory back.
//! 2. When the form has ended, its region closes. What its results lead to [leaves](region::Heap::transmigrate) it: the region
//!    becomes theirs if much of it does, else they are copied.
//! 3. From there they are made atoms. If the owner of the run asks for it, they are frozen as well: copied to where nothing
//!    moves, for any thread to read while the next form is evaluated.

use super::code::ANSWER;
use super::control::choices::{Choice, ChoiceKind, Choices};
use super::frozen::FrozenResults;
use super::values::{Ceiling, Scope, Values};
use super::words::{FOREIGN, SYMBOL, TERM};
use super::{Machine, MachineEvaluator};
use crate::session::Session;
use region::{Bound, FreezeError, Ref, Region, tag};
use rustc_hash::{FxHashMap, FxHashSet};
use space::Atom;

/// Freezes results, all variables of which have names.
fn freeze(values: &mut Values, kept: &Region, results: &[Ref]) -> Result<FrozenResults, FreezeError> {
    let frozen = values.heap.freeze(kept, results, Bound::Replaced, |foreign| foreign)?;
    let mut leaves = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut open: Vec<Ref> = frozen.roots().to_vec();
    while let Some(reference) = open.pop() {
        match reference.tag() {
            tag::EXPRESSION | tag::MARKED if seen.insert(reference.unmarked()) => {
                open.extend(frozen.children(reference));
            }
            tag::VARIABLE => {
                let name = values.name_of_label(frozen.label(reference)).expect("what was made an atom has a name");
                leaves.insert(reference, Atom::Variable(name.clone()));
            }
            SYMBOL | TERM | FOREIGN => {
                leaves.entry(reference).or_insert_with(|| values.leaf_atom(reference));
            }
            _ => {}
        }
    }
    Ok(FrozenResults { frozen, leaves })
}

/// Closes the region of the evaluation. The results leave it, and are given as atoms, as many as the limits allow; says
/// whether those are not all. Where a limit of memory has ended the evaluation, they are not copied before: what was freed
/// since may not have gone back to the system, and a copy and its table would be asked for beside it.
pub(super) fn results_leave(
    m: &mut Machine,
    results: &mut Vec<Ref>,
    (session, evaluator): (&mut Session, &MachineEvaluator),
    has_room: bool,
) -> (Vec<Atom>, bool) {
    // An alternative that was not ended may have bound what an earlier result holds.
    m.undo_to(0);
    let values = &mut m.values;
    values.marks_terms = false;
    values.kept.forget();
    let mut kept = values.heap.open();
    let evaluation = std::mem::replace(&mut values.region, values.heap.open());
    values.heap.set_limit(None);
    if has_room {
        let left = values.heap.transmigrate(results, evaluation, &mut kept);
        left.expect("a region without a limit takes what is joined to it");
    } else {
        // There is no memory to copy them with: the region stays until they are atoms.
        kept = evaluation;
    }
    values.ceiling = Ceiling::of_results(&session.limits, &session.form_steps);
    let source = session.program.variables();
    let mut atoms = Vec::new();
    for &result in &*results {
        // Each takes some memory, even if it is too small for a look on the way.
        if values.ceiling.is_passed() {
            break;
        }
        let Ok(atom) = values.store(result, &mut Scope::default(), source) else { break };
        atoms.push(atom);
    }
    let is_cut = atoms.len() < results.len();
    results.truncate(atoms.len());
    if evaluator.freezes_results.get() && session.is_outermost() {
        evaluator.frozen.replace(Some(freeze(values, &kept, &*results)));
    }
    values.heap.close(kept);
    (atoms, is_cut)
}

/// Adds what the outermost expression has found so far, but for its errors, which a later result might hide.
pub(super) fn add_results_so_far(results: &mut Vec<Ref>, choices: &mut Choices, values: &mut Values) {
    let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = choices.stack.first_mut() else {
        return;
    };
    if collector.return_point != ANSWER {
        return;
    }
    // At a limit of memory there is no room for a copy of them.
    let mut found = std::mem::take(&mut collector.results).into_values();
    found.retain(|&value| !values.is_error(value) || values.is_never_hidden(value));
    if results.is_empty() {
        *results = found;
    } else {
        results.extend(found);
    }
}
