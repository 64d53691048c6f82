//! Profiles: how often each function is called while forms are evaluated, and where time goes.
//!
//! 1. While a profile is wanted, the machine has fuel for one call at a time, so that it comes here at each; otherwise nothing is asked.
//! 2. A call is a node below that of its caller. Its caller is known by the frame to which it returns; a tail call returns to the caller of
//!    the function that makes it, and is found there. A function that calls itself, also by way of others, is one node: the tree is as
//!    high as there are functions at most.
//! 3. Time from the beginning of one call to the beginning of the next belongs to the first of them. Calls of native functions begin one
//!    too. What a function does after such a call returns and before the next begins is so told of the call: take times as hints.
//!
//! 4. A function that has several rules has a node for each of them below its own: time from the moment when the head of a rule has matched
//!    belongs to that rule, and what it calls is below it.
//!
//! Counts are exact, and the same in every run. The clock is the caller's. A call costs a look at the clock, a walk of the ways up to the
//! node, and 16 bytes for each frame.

use crate::failure::Place;
use crate::names;
use rustc_hash::FxHashMap;
use space::{Atom, canonical};
use std::rc::Rc;

/// Tells the time in nanoseconds, from any beginning.
pub type Clock = Box<dyn FnMut() -> u64>;

/// What a function was called for and how long that took, below one way of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileNode {
    /// The function.
    pub function: Rc<str>,
    /// Which of its rules, if this is not the node of the function itself. It is below that.
    pub rule: Option<Atom>,
    /// The node of its caller, by its place in the list; the first node is the whole evaluation, its own caller.
    pub caller: usize,
    /// How often it was called from there.
    pub calls: u64,
    /// The nanoseconds that it took itself.
    pub nanoseconds: u64,
}

/// A profile while it is made.
pub(crate) struct Profile {
    clock: Clock,
    nodes: Vec<ProfileNode>,
    /// The node of a function below that of its caller.
    places: FxHashMap<(usize, Rc<str>), usize>,
    /// The rules that may be entered, by their number.
    rules: Vec<Atom>,
    /// Their numbers.
    numbers: FxHashMap<Vec<u8>, u32>,
    /// The node of a rule below that of its function.
    rule_places: FxHashMap<(usize, u32), usize>,
    /// Where frames begin that are being evaluated, with their nodes.
    frames: Vec<(usize, usize)>,
    /// To whom the time belongs that passes.
    current: usize,
    since: u64,
}

impl Profile {
    fn new(mut clock: Clock) -> Self {
        let since = clock();
        let whole = ProfileNode { function: "all".into(), rule: None, caller: 0, calls: 0, nanoseconds: 0 };
        Self {
            clock,
            nodes: vec![whole],
            places: FxHashMap::default(),
            rules: Vec::new(),
            numbers: FxHashMap::default(),
            rule_places: FxHashMap::default(),
            frames: Vec::new(),
            current: 0,
            since,
        }
    }

    /// The number of a rule, whatever its variables are called.
    pub(crate) fn number_of(&mut self, rule: Atom) -> u32 {
        let rules = &mut self.rules;
        *self.numbers.entry(canonical::key(&rule)).or_insert_with(|| {
            rules.push(rule);
            (rules.len() - 1) as u32
        })
    }

    /// Begins a form: what is outside of forms belongs to nobody.
    pub(crate) fn begin_form(&mut self) {
        self.frames.clear();
        self.nodes[0].calls += 1;
        self.current = 0;
        self.since = (self.clock)();
    }

    /// Ends a form.
    pub(crate) fn end_form(&mut self) {
        self.pass();
        self.current = 0;
    }

    /// Notes that a function is entered whose frame begins here, and that of its caller there.
    pub(crate) fn enter(&mut self, name: &str, (frame, caller): (usize, usize)) {
        self.pass();
        while self.frames.last().is_some_and(|&(known, _)| known > caller || known == frame) {
            self.frames.pop();
        }
        let above = self.frames.last().map_or(0, |&(_, node)| node);
        self.current = self.call(name, above);
        self.frames.push((frame, self.current));
        self.since = (self.clock)();
    }

    /// Notes that the function at a frame enters a rule: the first that matches, or the next one when that is taken up as an alternative.
    pub(crate) fn enter_rule(&mut self, rule: u32, (frame, caller): (usize, usize)) {
        // Code that was made for an earlier profile says nothing to this one.
        let Some(atom) = self.rules.get(rule as usize).cloned() else { return };
        let name = atom.children().and_then(|parts| parts.get(1)?.head()).map(names::brief).unwrap_or_default();
        self.pass();
        while self.frames.last().is_some_and(|&(known, _)| known > frame) {
            self.frames.pop();
        }
        let here = self.frames.pop_if(|(known, _)| *known == frame).map(|(_, node)| self.function_of(node));
        let function = here.filter(|&node| *self.nodes[node].function == *name);
        let function = function.unwrap_or_else(|| {
            // The frame was another function's since.
            while self.frames.last().is_some_and(|&(known, _)| known > caller) {
                self.frames.pop();
            }
            let above = self.frames.last().map_or(0, |&(_, node)| node);
            self.node_of(&name, above)
        });
        self.current = self.rule_below(function, rule, atom);
        self.nodes[self.current].calls += 1;
        self.frames.push((frame, self.current));
        self.since = (self.clock)();
    }

    /// The node of the function that a node belongs to.
    fn function_of(&self, node: usize) -> usize {
        if self.nodes[node].rule.is_some() { self.nodes[node].caller } else { node }
    }

    /// The node of a rule below that of its function.
    fn rule_below(&mut self, function: usize, rule: u32, atom: Atom) -> usize {
        let nodes = &mut self.nodes;
        *self.rule_places.entry((function, rule)).or_insert_with(|| {
            let name = Rc::clone(&nodes[function].function);
            nodes.push(ProfileNode { function: name, rule: Some(atom), caller: function, calls: 0, nanoseconds: 0 });
            nodes.len() - 1
        })
    }

    /// Notes that a native function is called, or a part of an evaluation that the interpreter does.
    pub(crate) fn enter_native(&mut self, name: &str) {
        self.pass();
        let above = self.frames.last().map_or(0, |&(_, node)| node);
        self.current = self.call(name, above);
        self.since = (self.clock)();
    }

    /// Gives the time that has passed to the node to which it belongs.
    fn pass(&mut self) {
        let now = (self.clock)();
        self.nodes[self.current].nanoseconds += now.saturating_sub(self.since);
        self.since = now;
    }

    /// Counts a call of a function below a node; gives its own.
    fn call(&mut self, name: &str, above: usize) -> usize {
        let node = self.node_of(name, above);
        self.nodes[node].calls += 1;
        node
    }

    /// The node of a function that is called from a node: that of a call of it which is on the way already, if there is one.
    fn node_of(&mut self, name: &str, above: usize) -> usize {
        let mut ways = std::iter::successors(Some(above), |&node| (node != 0).then(|| self.nodes[node].caller));
        let is_it = |node: &ProfileNode| node.rule.is_none() && *node.function == *name;
        let node = ways.find(|&node| node != 0 && is_it(&self.nodes[node]));
        node.unwrap_or_else(|| {
            let function: Rc<str> = name.into();
            *self.places.entry((above, Rc::clone(&function))).or_insert_with(|| {
                self.nodes.push(ProfileNode { function, rule: None, caller: above, calls: 0, nanoseconds: 0 });
                self.nodes.len() - 1
            })
        })
    }
}

impl super::Session {
    /// Begins a profile of what is evaluated from now on: how often each function is called by whom, and where the time of this clock goes.
    pub fn begin_profile(&mut self, clock: Clock) {
        self.profile = Some(Box::new(Profile::new(clock)));
    }

    /// Ends the profile. The first node is the whole evaluation, and callers come before those that they call. There are none if there was no
    /// profile.
    pub fn take_profile(&mut self) -> Vec<ProfileNode> {
        self.profile.take().map(|profile| profile.nodes).unwrap_or_default()
    }

    /// Where the first rule of a function is written, if that was noted: see [`Session::run_explaining`](super::Session::run_explaining).
    pub fn place_of_function(&self, name: &str) -> Option<Place> {
        self.texts.first_rule_of(name)
    }

    /// Where a rule is written, as a profile names it; `None` if no text that ran states it.
    pub fn place_of_rule(&self, rule: &Atom) -> Option<Place> {
        self.texts.place_of_rule(rule, &self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> Clock {
        let mut time = 0;
        Box::new(move || {
            time += 1;
            time
        })
    }

    fn ways(profile: &Profile) -> Vec<(String, u64)> {
        let way = |node: &ProfileNode| {
            let said = |node: &ProfileNode| match &node.rule {
                Some(rule) => rule.to_string(),
                None => node.function.to_string(),
            };
            let mut names = vec![said(node)];
            let mut caller = node.caller;
            while caller != 0 {
                names.push(said(&profile.nodes[caller]));
                caller = profile.nodes[caller].caller;
            }
            names.reverse();
            (names.join("/"), node.calls)
        };
        profile.nodes[1..].iter().map(way).collect()
    }

    #[test]
    fn calls_are_below_their_callers_and_tail_calls_beside_them() {
        let mut profile = Profile::new(counting());
        profile.begin_form();
        profile.enter("f", (10, 0));
        profile.enter("g", (20, 10));
        profile.enter_native("sort");
        // It returns, and another is called from the same frame.
        profile.enter("h", (20, 10));
        // A tail call of `h`: its frame is taken over.
        profile.enter("i", (20, 10));
        // `i` calls `f`, which is on the way already.
        profile.enter("f", (30, 20));
        profile.enter("g", (40, 30));
        profile.end_form();
        let expected = [("f", 2), ("f/g", 2), ("f/g/sort", 1), ("f/h", 1), ("f/i", 1)];
        assert_eq!(ways(&profile), expected.map(|(way, calls)| (way.to_owned(), calls)));
    }

    fn rule(function: &str, argument: &str) -> Atom {
        let call = Atom::expression([Atom::symbol(function), Atom::symbol(argument)]);
        Atom::expression([Atom::symbol("="), call, Atom::unit()])
    }

    #[test]
    fn what_a_rule_calls_is_below_it_and_alternatives_are_beside_it() {
        let mut profile = Profile::new(counting());
        let [first, second] = ["a", "b"].map(|argument| profile.number_of(rule("f", argument)));
        assert_eq!(profile.number_of(rule("f", "a")), first);
        profile.begin_form();
        profile.enter("f", (10, 0));
        profile.enter_rule(first, (10, 0));
        profile.enter("g", (20, 10));
        // `g` calls `f` in place of itself, which enters its second rule.
        profile.enter("f", (20, 10));
        profile.enter_rule(second, (20, 10));
        // The first call of `f` takes up its second rule, with nothing of what it called left.
        profile.enter_rule(second, (10, 0));
        profile.enter("g", (20, 10));
        // The frame of a function that was called in place of `f` is that of `f` again.
        profile.enter("h", (10, 0));
        profile.enter_rule(first, (10, 0));
        profile.end_form();
        let expected = [
            ("f", 2),
            ("f/(= (f a) ())", 2),
            ("f/(= (f a) ())/g", 1),
            ("f/(= (f b) ())", 2),
            ("f/(= (f b) ())/g", 1),
            ("h", 1),
        ];
        assert_eq!(ways(&profile), expected.map(|(way, calls)| (way.to_owned(), calls)));
    }

    #[test]
    fn all_time_belongs_to_somebody() {
        let mut profile = Profile::new(counting());
        profile.begin_form();
        profile.enter("f", (10, 0));
        profile.enter("g", (20, 10));
        profile.end_form();
        // Each call looks at the clock twice, so that what the profile itself takes belongs to nobody.
        assert_eq!(profile.nodes.iter().map(|node| node.nanoseconds).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
