//! Profiles: how often each function is called while forms are evaluated, and where time goes.
//!
//! 1. While a profile is wanted, the machine has fuel for one call at a time, so that it comes here at each; otherwise nothing is asked.
//! 2. A call is a node below that of its caller. Its caller is known by the frame to which it returns; a tail call returns to the caller of
//!    the function that makes it, and is found there. A function that calls itself, also by way of others, is one node: the tree is as
//!    high as there are functions at most.
//! 3. Time from the beginning of one call to the beginning of the next belongs to the first of them. Calls of native functions begin one
//!    too. What a function does after such a call returns and before the next begins is so told of the call: take times as hints.
//!
//! Counts are exact, and the same in every run. The clock is the caller's. A call costs a look at the clock, a walk of the ways up to the
//! node, and 16 bytes for each frame.

use crate::failure::Place;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Tells the time in nanoseconds, from any beginning.
pub type Clock = Box<dyn FnMut() -> u64>;

/// What a function was called for and how long that took, below one way of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileNode {
    /// The function.
    pub function: Rc<str>,
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
    /// Where frames begin that are being evaluated, with their nodes.
    frames: Vec<(usize, usize)>,
    /// To whom the time belongs that passes.
    current: usize,
    since: u64,
}

impl Profile {
    fn new(mut clock: Clock) -> Self {
        let since = clock();
        let whole = ProfileNode { function: "all".into(), caller: 0, calls: 0, nanoseconds: 0 };
        Self { clock, nodes: vec![whole], places: FxHashMap::default(), frames: Vec::new(), current: 0, since }
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
    pub(crate) fn enter(&mut self, name: &str, frame: usize, caller: usize) {
        self.pass();
        while self.frames.last().is_some_and(|&(known, _)| known > caller || known == frame) {
            self.frames.pop();
        }
        let above = self.frames.last().map_or(0, |&(_, node)| node);
        self.current = self.call(name, above);
        self.frames.push((frame, self.current));
        self.since = (self.clock)();
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
        let mut ways = std::iter::successors(Some(above), |&node| (node != 0).then(|| self.nodes[node].caller));
        let node = ways.find(|&node| node != 0 && *self.nodes[node].function == *name);
        let node = node.unwrap_or_else(|| {
            let function: Rc<str> = name.into();
            *self.places.entry((above, Rc::clone(&function))).or_insert_with(|| {
                self.nodes.push(ProfileNode { function, caller: above, calls: 0, nanoseconds: 0 });
                self.nodes.len() - 1
            })
        });
        self.nodes[node].calls += 1;
        node
    }
}

impl super::Session {
    /// Begins a profile of the forms from now on, with this clock.
    pub(crate) fn begin_profile(&mut self, clock: Clock) {
        self.profile = Some(Box::new(Profile::new(clock)));
    }

    /// Ends the profile; gives its nodes, callers before those whom they call. There are none if there was no profile.
    pub(crate) fn take_profile(&mut self) -> Vec<ProfileNode> {
        self.profile.take().map(|profile| profile.nodes).unwrap_or_default()
    }

    /// Where a function has its first rule, as the file and line; `None` if the texts that ran have none.
    pub(crate) fn place_of_function(&self, name: &str) -> Option<Place> {
        self.texts.first_rule_of(name)
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
            let mut names = vec![&*node.function];
            let mut caller = node.caller;
            while caller != 0 {
                names.push(&profile.nodes[caller].function);
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
        profile.enter("f", 10, 0);
        profile.enter("g", 20, 10);
        profile.enter_native("sort");
        // It returns, and another is called from the same frame.
        profile.enter("h", 20, 10);
        // A tail call of `h`: its frame is taken over.
        profile.enter("i", 20, 10);
        // `i` calls `f`, which is on the way already.
        profile.enter("f", 30, 20);
        profile.enter("g", 40, 30);
        profile.end_form();
        let expected = [("f", 2), ("f/g", 2), ("f/g/sort", 1), ("f/h", 1), ("f/i", 1)];
        assert_eq!(ways(&profile), expected.map(|(way, calls)| (way.to_owned(), calls)));
    }

    #[test]
    fn all_time_belongs_to_somebody() {
        let mut profile = Profile::new(counting());
        profile.begin_form();
        profile.enter("f", 10, 0);
        profile.enter("g", 20, 10);
        profile.end_form();
        // Each call looks at the clock twice, so that what the profile itself takes belongs to nobody.
        assert_eq!(profile.nodes.iter().map(|node| node.nanoseconds).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
