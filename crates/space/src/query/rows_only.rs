//! Whether rows alone answer a plan.

use super::filter::Filter;
use super::loops::Loops;
use super::pattern::PatternPart;
use super::plan::Plan;
use super::view::View;
use crate::term::Term;

impl View<'_> {
    /// Whether an atom that is not a row may match one of the patterns of a plan; without `parameters` the
    /// answer holds whatever they are.
    pub(super) fn may_match_others(self, plan: &Plan, parameters: Option<&[Term]>) -> bool {
        let subqueries = plan.filters.all().iter().filter_map(Filter::subquery);
        self.may_match_others_of(&plan.loops, parameters)
            || subqueries.into_iter().any(|subquery| self.may_match_others_of(subquery.loops(), None))
    }

    fn may_match_others_of(self, loops: &Loops, parameters: Option<&[Term]>) -> bool {
        let mut room = Vec::new();
        loops.each_pattern().any(|(place, parts)| {
            let mut trees = self.of(place).iter().map(|contents| contents.patterns()).filter(|tree| !tree.is_empty());
            trees.any(|tree| match parameters {
                Some(parameters) if parts.iter().any(|part| matches!(part, PatternPart::Parameter(_))) => {
                    room.clear();
                    room.extend(parts.iter().map(|&part| match part {
                        PatternPart::Parameter(parameter) => PatternPart::Key(parameters[parameter as usize]),
                        part => part,
                    }));
                    tree.may_match(&room, self.terms)
                }
                _ => tree.may_match(parts, self.terms),
            })
        })
    }

    /// Whether a space has rows that may answer one of the patterns of a plan, whatever its parameters are.
    pub(super) fn may_answer(self, plan: &Plan) -> bool {
        let mut subqueries = plan.filters.all().iter().filter_map(Filter::subquery);
        self.may_answer_loops(&plan.loops) || subqueries.any(|subquery| self.may_answer_loops(subquery.loops()))
    }

    fn may_answer_loops(self, loops: &Loops) -> bool {
        loops.steps.iter().any(|step| {
            self.of(step.place).iter().any(|contents| {
                let relation = contents.relation_of_length(step.length);
                step.may_answer(&loops.known, None, relation, self.terms)
            })
        })
    }

    /// Whether rows alone answer a plan, whose steps are made then.
    #[inline]
    pub(super) fn is_answered(self, plan: &mut Plan, parameters: &[Term]) -> bool {
        plan.make() && !self.may_match_others(plan, Some(parameters))
    }
}
