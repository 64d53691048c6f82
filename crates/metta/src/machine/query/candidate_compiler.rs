//! Compiling the atoms that may match the pattern of a `match`; see [`super::candidates`].
//!
//! 1. The pattern as it is written and an atom are gone through side by side. Where both say what must be there, that is
//!    decided now. A slot of the pattern, and a variable of either, becomes a step.
//! 2. The steps come in the order in which pattern and atom are written, so a variable of the atom is met for the first time
//!    at a place that is known.
//! 3. A new variable of the pattern that faces a variable of an atom is made before all atoms: it is older than what they make, so its
//!    name is the one that is left, and it is the same in all answers. Any other becomes what it faces, without a cell.
//! 4. An atom with a space or a state inside is compared in another way: then there is no code.

use super::candidates::{
    CandidateAtom, CandidatePath, CandidateSwitch, Candidates, Filter, List, MatchStep, MatchedPart, NO_KEY,
    NewVariable, word_key,
};
use crate::machine::code::{Query, QueryPart, Slot};
use crate::machine::values::Values;
use crate::machine::words::{FALSE, INTEGER, TERM, TRUE, is_plain_word, shape_key, small};
use region::{Full, Ref};
use rustc_hash::{FxHashMap, FxHashSet};
use space::{
    Atom, Candidate, Grounded, Number, SharedSpace, SpaceVersion, Symbol, Terms, TooMany, Variable, written_bytes_least,
};
use std::rc::Rc;

/// From how many atoms on they are looked up by what slots hold.
const SWITCH_FROM: usize = 6;
/// Children from this one on are not looked at for that.
const CHILDREN_SWITCHED: u32 = 8;
/// By how many paths atoms are looked up at most.
const SWITCHES_MAX: usize = 12;

/// Atoms that match whatever a slot holds stand in each list: where lists would have more than this many times the atoms, there are none.
const LISTED_PER_ATOM: usize = 8;

/// The variables of a pattern that stand for its slots have numbers from here on.
const SLOTS_FROM: u64 = 1 << 32;

/// Why no code is made.
enum NoCode {
    /// Something in an atom is compared in another way.
    Unfit,
    Full(Full),
}

impl From<Full> for NoCode {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

impl Query {
    /// Makes its code for a space if that is worth it now.
    pub(super) fn make_candidates(
        &mut self,
        values: &mut Values,
        space: &SharedSpace,
    ) -> Result<Option<Rc<Candidates>>, Full> {
        if self.candidates.is_unfit {
            return Ok(None);
        }
        let Some(most) = self.candidates.due() else { return Ok(None) };
        let Some(pattern) = pattern_of(self, values) else {
            self.candidates.is_unfit = true;
            return Ok(None);
        };
        let version = SpaceVersion::of(space);
        let found = match space.candidates(&pattern, most) {
            Ok(found) => found,
            Err(TooMany(count)) => {
                self.candidates.is_in_vain(count);
                return Ok(None);
            }
        };
        match compile(self, values, &pattern, &found, version) {
            Ok(made) => {
                let made = Rc::new(made);
                self.candidates.keep(&made, found.len());
                Ok(Some(made))
            }
            Err(NoCode::Unfit) => {
                self.candidates.is_in_vain(found.len());
                Ok(None)
            }
            Err(NoCode::Full(full)) => Err(full),
        }
    }
}

/// An atom that is written with this many bytes or more is not compiled.
const COMPILED_BYTES_MAX: u64 = 1 << 20;

/// The pattern of a query as it is written, with variables for its slots; `None` if there is no code for it.
fn pattern_of(query: &Query, values: &Values) -> Option<Atom> {
    let [parts] = &*query.patterns else { return None };
    if query.may_join || !matches!(parts[..], [QueryPart::Open(1..), ..]) {
        return None;
    }
    let name = Symbol::new("");
    let variable = |number: u64| Atom::Variable(Variable::with_id(name.clone(), number));
    let mut slots = query.slots.len() as u64;
    // What was written last is taken first.
    let mut made: Vec<Atom> = Vec::new();
    for part in parts.iter().rev() {
        let atom = match *part {
            QueryPart::Open(length) => {
                let children: Vec<Atom> = (0..length).filter_map(|_| made.pop()).collect();
                Atom::expression(children)
            }
            QueryPart::Leaf(leaf) => values.leaf_atom(leaf),
            QueryPart::New(new) => variable(u64::from(new)),
            QueryPart::Slot(_) => {
                slots -= 1;
                variable(SLOTS_FROM + slots)
            }
        };
        if matches!(&atom, Atom::Grounded(_)) && !atom.is_rigid() {
            return None;
        }
        made.push(atom);
    }
    made.pop()
}

fn compile(
    query: &Query,
    values: &mut Values,
    pattern: &Atom,
    found: &[Candidate],
    version: SpaceVersion,
) -> Result<Candidates, NoCode> {
    let shared = values.terms.clone();
    let terms = shared.read().expect("no panic while terms are locked");
    let mut compiler = Compiler {
        values,
        terms: &terms,
        fresh: &query.fresh,
        parts: Vec::new(),
        steps: Vec::new(),
        cells: Vec::new(),
        constants: Vec::new(),
        is_known: Vec::new(),
        is_set: Vec::new(),
        shared: Vec::new(),
        slots: query.slots.len(),
    };
    let (mut atoms, mut filters, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    for candidate in found {
        // Code has a part for each part of an atom, wherever it stands.
        if written_bytes_least(&candidate.atom, COMPILED_BYTES_MAX) == COMPILED_BYTES_MAX {
            return Err(NoCode::Unfit);
        }
        let Some(mut atom) = compiler.candidate(pattern, candidate)? else { continue };
        let from = filters.len();
        filters.extend(compiler.filters_of(&atom));
        atom.filters = from as u32..filters.len() as u32;
        listed.extend(std::iter::repeat_n(atoms.len() as u32, candidate.copies as usize));
        atoms.push(atom);
    }
    let all = (0, listed.len() as u32);
    let Compiler { parts, steps, mut cells, constants, .. } = compiler;
    cells.sort_unstable();
    let switches = if listed.len() < SWITCH_FROM {
        Vec::new()
    } else {
        Facing { parts: &parts, steps: &steps, atoms: &atoms }.switches(&mut listed)
    };
    Ok(Candidates {
        version,
        parts: parts.into(),
        steps: steps.into(),
        cells: cells.into(),
        values: constants.into(),
        atoms: atoms.into(),
        filters: filters.into(),
        listed: listed.into(),
        all,
        switches: switches.into(),
        variables: found.iter().map(|candidate| candidate.names.len()).max().unwrap_or(0),
        is_form: query.is_form,
    })
}

struct Compiler<'a> {
    values: &'a mut Values,
    terms: &'a Terms,
    /// The slots of the new variables of the pattern, and their names.
    fresh: &'a [(Slot, u32)],
    parts: Vec<MatchedPart>,
    steps: Vec<MatchStep>,
    cells: Vec<NewVariable>,
    constants: Vec<Atom>,
    /// Which variables of the atom at hand were met.
    is_known: Vec<bool>,
    /// Which new variables of the pattern are there.
    is_set: Vec<bool>,
    /// The steps of the atom at hand that come first.
    shared: Vec<MatchStep>,
    /// How many slots the pattern is read from.
    slots: usize,
}

/// What is written down next.
enum Work<'a> {
    Atom(&'a Atom),
    /// The extent of the expression that begins here.
    Close(usize),
}

impl Compiler<'_> {
    /// The code of an atom; `None` if it does not match whatever the slots hold.
    fn candidate(&mut self, pattern: &Atom, candidate: &Candidate) -> Result<Option<CandidateAtom>, NoCode> {
        let begun = (self.parts.len(), self.steps.len(), self.constants.len());
        if candidate.names.len() > usize::from(u16::MAX) {
            return Err(NoCode::Unfit);
        }
        self.is_known.clear();
        self.is_known.resize(candidate.names.len(), false);
        self.is_set.clear();
        self.is_set.resize(self.fresh.len(), false);
        self.shared.clear();
        let mut work = vec![(pattern, &candidate.atom)];
        while let Some((pattern, stored)) = work.pop() {
            if !self.pair(pattern, stored, &candidate.names, &mut work)? {
                self.parts.truncate(begun.0);
                self.steps.truncate(begun.1);
                self.constants.truncate(begun.2);
                return Ok(None);
            }
        }
        self.steps.splice(begun.1..begun.1, self.shared.drain(..));
        Ok(Some(CandidateAtom { steps: begun.1 as u32..self.steps.len() as u32, filters: 0..0 }))
    }

    /// What a part of the pattern and a part of the atom have to do with each other; `false` if they do not match.
    fn pair<'p>(
        &mut self,
        pattern: &'p Atom,
        stored: &'p Atom,
        names: &[Symbol],
        work: &mut Vec<(&'p Atom, &'p Atom)>,
    ) -> Result<bool, NoCode> {
        match (pattern, stored) {
            (Atom::Variable(variable), _) => {
                let step = self.facing(variable.id(), matches!(stored, Atom::Variable(_)));
                let at = self.write(stored, Some(names))?;
                self.steps.push(step(at));
            }
            (_, Atom::Variable(variable)) => {
                let own = variable.id() as u16;
                let is_first = !std::mem::replace(&mut self.is_known[usize::from(own)], true);
                let at = self.write(pattern, None)?;
                self.steps.push(MatchStep::MatchOwn { own, at, is_first });
            }
            (_, Atom::Grounded(_)) if !stored.is_rigid() => return Err(NoCode::Unfit),
            _ if pattern.is_rigid() && stored.is_rigid() => return Ok(pattern == stored),
            (Atom::Expression(pattern), Atom::Expression(stored)) if pattern.len() == stored.len() => {
                work.extend(pattern.children().iter().zip(stored.children()).rev());
            }
            // What is inside may be compared in another way; the whole does not match all the same.
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The step for a slot or a new variable of the pattern that faces a part of the atom, given where that part begins.
    fn facing(&mut self, number: u64, is_variable: bool) -> impl Fn(u32) -> MatchStep + use<> {
        let input = number.checked_sub(SLOTS_FROM);
        let (slot, sets) = match input {
            Some(input) => (input as u16, false),
            None => {
                let place = number as usize;
                let slot = self.fresh[place].0;
                let is_set = self.is_set[place] || is_variable;
                if is_variable {
                    self.need_cell(place);
                }
                self.is_set[place] = true;
                (slot, !is_set)
            }
        };
        move |at| match input {
            Some(_) => MatchStep::MatchInput { input: slot, at },
            None if sets => MatchStep::SetNew { slot, at },
            None => MatchStep::MatchNew { slot, at },
        }
    }

    /// A new variable that is not there yet is made before the steps.
    fn need_cell(&mut self, place: usize) {
        if std::mem::replace(&mut self.is_set[place], true) {
            return;
        }
        let (slot, name) = self.fresh[place];
        let input = match self.cells.iter().find(|cell| cell.place as usize == place) {
            Some(cell) => cell.input,
            None => {
                let input = (self.slots + self.cells.len()) as u16;
                self.cells.push(NewVariable { place: place as u32, name, input });
                input
            }
        };
        self.shared.push(MatchStep::SetShared { slot, input });
    }

    /// Writes down an atom: a part of the one at hand, whose variables have these names, or else of the pattern. Gives where it
    /// begins.
    fn write(&mut self, atom: &Atom, names: Option<&[Symbol]>) -> Result<u32, NoCode> {
        let begin = self.parts.len();
        let mut work = vec![Work::Atom(atom)];
        while let Some(next) = work.pop() {
            let at = self.parts.len();
            match next {
                Work::Close(begun) => {
                    let (MatchedPart::Open { extent, .. } | MatchedPart::Term { extent, .. }) = &mut self.parts[begun]
                    else {
                        unreachable!("an expression begins there")
                    };
                    *extent = (at - begun) as u32;
                }
                Work::Atom(Atom::Variable(variable)) => {
                    let part = self.variable(variable.id(), names);
                    self.parts.push(part);
                }
                Work::Atom(atom @ Atom::Expression(expression)) => {
                    if let Some(term) = self.term_of(atom)? {
                        self.parts.push(MatchedPart::Term { term, extent: 0 });
                        work.push(Work::Close(at));
                    }
                    work.push(Work::Close(self.parts.len()));
                    self.parts.push(MatchedPart::Open { length: expression.len() as u32, extent: 0 });
                    work.extend(expression.children().iter().rev().map(Work::Atom));
                }
                Work::Atom(leaf) => {
                    let part = self.leaf(leaf)?;
                    self.parts.push(part);
                }
            }
        }
        Ok(begin as u32)
    }

    fn variable(&mut self, number: u64, names: Option<&[Symbol]>) -> MatchedPart {
        match (names, number.checked_sub(SLOTS_FROM)) {
            (Some(names), _) => {
                let own = number as u16;
                if std::mem::replace(&mut self.is_known[usize::from(own)], true) {
                    return MatchedPart::Again(own);
                }
                MatchedPart::First { own, name: self.values.symbol(&names[usize::from(own)]) }
            }
            (None, Some(input)) => MatchedPart::Input(input as u16),
            (None, None) => {
                self.need_cell(number as usize);
                MatchedPart::New(self.fresh[number as usize].0)
            }
        }
    }

    fn leaf(&mut self, leaf: &Atom) -> Result<MatchedPart, NoCode> {
        match leaf {
            _ if !leaf.is_rigid() => return Err(NoCode::Unfit),
            Atom::Symbol(symbol) => return Ok(MatchedPart::Word(self.values.symbol(symbol))),
            Atom::Grounded(Grounded::Bool(true)) => return Ok(MatchedPart::Word(TRUE)),
            Atom::Grounded(Grounded::Bool(false)) => return Ok(MatchedPart::Word(FALSE)),
            Atom::Grounded(Grounded::Number(Number::Int(word))) => {
                if let Some(word) = small(*word) {
                    return Ok(MatchedPart::Word(word));
                }
            }
            _ => {}
        }
        self.constants.push(leaf.clone());
        Ok(MatchedPart::Value(self.constants.len() as u32 - 1))
    }

    /// The term of an expression, if it is known as one.
    fn term_of(&mut self, atom: &Atom) -> Result<Option<Ref>, Full> {
        if !atom.is_rigid() || atom.children().is_none_or(<[Atom]>::is_empty) {
            return Ok(None);
        }
        let Some(term) = self.terms.find(atom) else { return Ok(None) };
        let term = self.values.term(term, self.terms)?;
        Ok((term.tag() == TERM).then_some(term))
    }

    /// What the keys of inputs must be for an atom to match.
    fn filters_of(&self, atom: &CandidateAtom) -> impl Iterator<Item = Filter> {
        let steps = &self.steps[atom.steps.start as usize..atom.steps.end as usize];
        steps.iter().filter_map(|step| match *step {
            MatchStep::MatchInput { input, at } => {
                let key = key_of(&self.parts, at as usize);
                (key != NO_KEY).then_some(Filter { input, key })
            }
            _ => None,
        })
    }
}

/// The key that a value must have, if it has one, to match the part that begins here.
fn key_of(parts: &[MatchedPart], at: usize) -> u64 {
    match parts[at] {
        MatchedPart::Word(word) if is_plain_word(word) || word.tag() == INTEGER => word_key(word),
        MatchedPart::Term { .. } => key_of(parts, at + 1),
        MatchedPart::Open { length: length @ 1.., .. } => match parts[at + 1] {
            MatchedPart::Word(head) if is_plain_word(head) => shape_key(length, head),
            _ => NO_KEY,
        },
        _ => NO_KEY,
    }
}

/// What an atom asks of what is at a path of an input.
enum Asked {
    /// Anything, or what has no key.
    Anything,
    Key(u64),
    /// Something that has no such path.
    Other,
}

/// The parts of an atom that faces the values of inputs.
#[derive(Clone, Copy)]
struct Facing<'a> {
    parts: &'a [MatchedPart],
    steps: &'a [MatchStep],
    atoms: &'a [CandidateAtom],
}

impl Facing<'_> {
    /// The inputs that an atom faces, and where the part begins that each faces.
    fn inputs(&self, atom: u32) -> impl Iterator<Item = (u16, usize)> {
        let steps = &self.atoms[atom as usize].steps;
        let steps = &self.steps[steps.start as usize..steps.end as usize];
        steps.iter().filter_map(|step| match *step {
            MatchStep::MatchInput { input, at } => Some((input, at as usize)),
            _ => None,
        })
    }

    /// What is asked of a path of an input; of several steps for it the first that asks for something counts.
    fn asked(&self, atom: u32, path: &CandidatePath) -> Asked {
        let mut asked = Asked::Anything;
        for (_, at) in self.inputs(atom).filter(|(input, _)| *input == path.input) {
            match self.asked_at(at, path.children()) {
                Asked::Anything => {}
                Asked::Other => asked = Asked::Other,
                key @ Asked::Key(_) => return key,
            }
        }
        asked
    }

    fn asked_at(&self, mut at: usize, children: &[u8]) -> Asked {
        for &child in children {
            at += usize::from(matches!(self.parts[at], MatchedPart::Term { .. }));
            match self.parts[at] {
                MatchedPart::Open { length, .. } if length > u32::from(child) => at = self.child(at, child),
                MatchedPart::Open { .. } | MatchedPart::Word(_) | MatchedPart::Value(_) => return Asked::Other,
                _ => return Asked::Anything,
            }
        }
        match key_of(self.parts, at) {
            NO_KEY => Asked::Anything,
            key => Asked::Key(key),
        }
    }

    /// Where a child of the expression that begins at a part begins.
    fn child(&self, open: usize, child: u8) -> usize {
        (0..child).fold(open + 1, |at, _| match self.parts[at] {
            MatchedPart::Open { extent, .. } | MatchedPart::Term { extent, .. } => at + extent as usize,
            _ => at + 1,
        })
    }

    /// The paths at which atoms ask for something, those with the most different keys first.
    fn paths(&self, all: &[u32]) -> Vec<CandidatePath> {
        let mut found: FxHashSet<(CandidatePath, u64)> = FxHashSet::default();
        let mut work: Vec<(usize, CandidatePath)> = Vec::new();
        for &atom in all {
            for (input, at) in self.inputs(atom) {
                work.push((at, CandidatePath::to_input(input)));
                while let Some((at, path)) = work.pop() {
                    let key = key_of(self.parts, at);
                    let open = at + usize::from(matches!(self.parts[at], MatchedPart::Term { .. }));
                    if let MatchedPart::Open { length, .. } = self.parts[open] {
                        let inside = (1..length.min(CHILDREN_SWITCHED) as u8)
                            .filter_map(|child| Some((self.child(open, child), path.child(child)?)));
                        work.extend(inside);
                    }
                    if key != NO_KEY {
                        found.insert((path, key));
                    }
                }
            }
        }
        let mut keys: FxHashMap<CandidatePath, usize> = FxHashMap::default();
        found.into_iter().for_each(|(path, _)| *keys.entry(path).or_default() += 1);
        let mut paths: Vec<(CandidatePath, usize)> = keys.into_iter().filter(|(_, keys)| *keys > 1).collect();
        paths.sort_by(|(path, keys), (other, others)| others.cmp(keys).then_with(|| path.cmp(other)));
        paths.truncate(SWITCHES_MAX);
        paths.into_iter().map(|(path, _)| path).collect()
    }

    /// Lists of the atoms by what is at paths of inputs, in their order.
    fn switches(&self, listed: &mut Vec<u32>) -> Vec<CandidateSwitch> {
        let all = listed.len();
        let mut made = Vec::new();
        // The atoms that a key leaves, as places in the list of all, and those that match whatever the key is.
        let (mut keyed, mut open): (Vec<(u64, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
        for path in self.paths(listed) {
            keyed.clear();
            open.clear();
            for place in 0..all as u32 {
                match self.asked(listed[place as usize], &path) {
                    Asked::Key(key) => keyed.push((key, place)),
                    Asked::Anything => open.push(place),
                    Asked::Other => {}
                }
            }
            keyed.sort_unstable();
            let keys = keyed.chunk_by(|one, other| one.0 == other.0).count();
            if open.len() * keys > LISTED_PER_ATOM * all {
                continue;
            }
            let mut cases = FxHashMap::with_capacity_and_hasher(keys, Default::default());
            let mut fitting: Vec<u32> = Vec::new();
            for alike in keyed.chunk_by(|one, other| one.0 == other.0) {
                fitting.clear();
                fitting.extend(alike.iter().map(|&(_, place)| place).chain(open.iter().copied()));
                fitting.sort_unstable();
                cases.insert(alike[0].0, put(listed, &fitting));
            }
            let otherwise = put(listed, &open);
            made.push(CandidateSwitch { path, cases, otherwise });
        }
        made
    }
}

/// Adds a list of the atoms at these places of the list of all.
fn put(listed: &mut Vec<u32>, places: &[u32]) -> List {
    let from = listed.len() as u32;
    for &place in places {
        listed.push(listed[place as usize]);
    }
    (from, listed.len() as u32)
}
