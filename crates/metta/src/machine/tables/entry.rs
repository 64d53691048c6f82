//! How a function is entered whose calls are remembered: by which policy, and what stands beside its code.

use crate::machine::Running;
use crate::machine::code::{Code, Instruction, Kind, Pc, REDUCE, ReturnPoint, Slot, Tabled};
use crate::tables::Policy;

impl Code {
    /// Makes the entry of a function that is tabled, or whose results are remembered, and whose code this is.
    fn table(&mut self, function: u32, arguments: Slot, body: Kind) {
        let known = self.tabled.get(&function).copied();
        let (return_point, begun) =
            known.map_or_else(|| self.table_return_point(arguments), |known| (known.return_point, known.begun));
        self.tabled.insert(function, Tabled { body, return_point, begun });
    }

    /// Calls of a function are not worth remembering: it is entered in place until the form ends.
    pub(super) fn give_up(&mut self, function: u32) {
        self.functions[function as usize].kind = self.tabled[&function].body;
        self.given_up.push(function);
    }

    /// The form has ended: calls of each function are tried anew.
    pub(in crate::machine) fn take_up_again(&mut self) {
        for function in std::mem::take(&mut self.given_up) {
            if let (Some(found), Some(tabled)) = (self.functions.get_mut(function as usize), self.tabled.get(&function))
                && found.kind == tabled.body
            {
                found.kind = Kind::Tabled(Policy::Automatic);
            }
        }
    }

    fn table_return_point(&mut self, arguments: Slot) -> (u32, Slot) {
        let (begun, slot) = (arguments, arguments + 1);
        let pc = self.instructions.len() as Pc;
        let collected = Instruction::Collected { begun, slot };
        self.instructions.extend([collected, Instruction::Take { dst: slot }, collected]);
        let live = (0..arguments).collect();
        self.return_points.push(ReturnPoint {
            pc,
            dst: slot,
            at: arguments + 2,
            error: pc + 1,
            slots: arguments + 2,
            live,
            is_as_written: false,
        });
        ((self.return_points.len() - 1) as u32, begun)
    }
}

impl Running<'_> {
    /// Says whether the machine remembers calls by itself in the form that begins.
    pub(in crate::machine) fn begin_remembering(&mut self) {
        let is_on = self.session.memoises && self.session.program.memoises();
        if self.m.code.memoises != is_on {
            self.m.code.memoises = is_on;
            self.m.next_version(false);
        }
    }

    /// How a function is entered that has this code: by a policy, if its calls are remembered.
    pub(in crate::machine) fn entry_of(&mut self, function: u32, kind: Kind) -> Kind {
        let found = self.m.code.functions[function as usize];
        let is_declared = found.type_id != REDUCE && self.session.tables.is_tabled(self.m.values.symbol_of(found.head));
        let has_rules = matches!(kind, Kind::Rule(_) | Kind::Group(_) | Kind::Exclusive(_));
        let policy = match is_declared {
            true => Policy::Declared,
            false if has_rules && self.is_remembered(function) => Policy::Automatic,
            false => return kind,
        };
        self.m.code.table(function, found.arguments, kind);
        Kind::Tabled(policy)
    }

    /// Whether the machine remembers the calls of a function by itself, as rules and settings stand.
    pub(in crate::machine) fn is_remembered(&mut self, function: u32) -> bool {
        let found = self.m.code.functions[function as usize];
        let may_be = self.m.code.memoises && !self.m.code.is_exact && found.type_id != REDUCE;
        may_be && self.is_pure_tree_recursion((found.head, found.arguments))
    }
}
