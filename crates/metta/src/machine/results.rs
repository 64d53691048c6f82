//! Results of a form: how they leave its evaluation.
//!
//! 1. A result of the whole stays where it is, with everything that is bound put in; no choice gives its memory back.
//! 2. When the form has ended, its region closes. What its results lead to [leaves](region::Heap::transmigrate) it: the region
//!    becomes theirs if much of it does, else they are copied.
//! 3. From there they are made atoms. If the owner of the run asks for it, they are frozen as well: copied to where nothing
//!    moves, for any thread to read while the next form is evaluated.

use super::choices::{Choice, ChoiceKind};
use super::code::ANSWER;
use super::frozen::FrozenResults;
use super::values::{Ceiling, Scope, Values};
use super::words::{FOREIGN, SYMBOL, TERM};
use super::{Halt, Running};
use region::{Bound, FreezeError, Ref, Region, tag};
use rustc_hash::{FxHashMap, FxHashSet};
use space::Atom;

impl Running<'_> {
    /// A result of the whole.
    pub(super) fn answer(&mut self) -> Result<(), Halt> {
        let value = self.m.read(0);
        let value = self.resolve(value)?;
        self.results.push(value);
        self.m.keep_memory_of(value);
        self.fail()
    }

    /// The results of the whole, and what its outermost expression has found so far.
    pub(super) fn found_so_far(&self) -> Vec<Ref> {
        let mut found = self.results.clone();
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.m.choices.stack.first()
            && collector.return_point == ANSWER
        {
            found.extend(collector.results.values());
        }
        found
    }

    /// Adds what the outermost expression has found so far, but for its errors, which a later result might hide.
    pub(super) fn add_results_so_far(&mut self) {
        let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.m.choices.stack.first_mut() else {
            return;
        };
        if collector.return_point != ANSWER {
            return;
        }
        // At a limit of memory there is no room for a copy of them.
        let mut found = std::mem::take(&mut collector.results).into_values();
        found.retain(|&value| !self.m.is_error(value) || self.m.is_overflow(value));
        if self.results.is_empty() {
            self.results = found;
        } else {
            self.results.extend(found);
        }
    }

    /// Closes the region of the evaluation. The results leave it, and are given as atoms, as many as the limits allow; says
    /// whether those are not all. Where a limit of memory has ended the evaluation, they are not copied before: what was freed
    /// since may not have gone back to the system, and a copy and its table would be asked for beside it.
    pub(super) fn results_leave(&mut self, is_full: bool) -> (Vec<Atom>, bool) {
        // An alternative that was not ended may have bound what an earlier result holds.
        self.m.undo_to(0);
        let has_room = !is_full && self.has_room_to_collect();
        let values = &mut self.m.values;
        values.marks_terms = false;
        values.kept.forget();
        let mut kept = values.heap.open();
        let evaluation = std::mem::replace(&mut values.region, values.heap.open());
        values.heap.set_limit(None);
        if has_room {
            let left = values.heap.transmigrate(&mut self.results, evaluation, &mut kept);
            left.expect("a region without a limit takes what is joined to it");
        } else {
            // There is no memory to copy them with: the region stays until they are atoms.
            kept = evaluation;
        }
        values.ceiling = Ceiling::of_results(&self.session.limits, &self.session.form_steps);
        let source = self.session.program.variables();
        let mut atoms = Vec::new();
        for &result in &self.results {
            // Each takes some memory, even if it is too small for a look on the way.
            if values.ceiling.is_passed() {
                break;
            }
            let Ok(atom) = values.store(result, &mut Scope::default(), source) else { break };
            atoms.push(atom);
        }
        let is_cut = atoms.len() < self.results.len();
        self.results.truncate(atoms.len());
        if self.evaluator.freezes_results.get() && self.session.is_outermost() {
            self.evaluator.frozen.replace(Some(values.freeze(&kept, &self.results)));
        }
        values.heap.close(kept);
        (atoms, is_cut)
    }
}

impl Values {
    /// Freezes results, all variables of which have names.
    fn freeze(&mut self, kept: &Region, results: &[Ref]) -> Result<FrozenResults, FreezeError> {
        let frozen = self.heap.freeze(kept, results, Bound::Replaced, |foreign| foreign)?;
        let mut leaves = FxHashMap::default();
        let mut seen = FxHashSet::default();
        let mut open: Vec<Ref> = frozen.roots().to_vec();
        while let Some(reference) = open.pop() {
            match reference.tag() {
                tag::EXPRESSION | tag::MARKED if seen.insert(reference.unmarked()) => {
                    open.extend(frozen.children(reference));
                }
                tag::VARIABLE => {
                    let name = self.name_of_label(frozen.label(reference)).expect("what was made an atom has a name");
                    leaves.insert(reference, Atom::Variable(name.clone()));
                }
                SYMBOL | TERM | FOREIGN => {
                    leaves.entry(reference).or_insert_with(|| self.leaf_atom(reference));
                }
                _ => {}
            }
        }
        Ok(FrozenResults { frozen, leaves })
    }
}
