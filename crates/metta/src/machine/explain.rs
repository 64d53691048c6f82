//! Code as text.

use super::Machine;

impl Machine {
    pub(super) fn dump(&self, from: usize) {
        for (at, instruction) in self.code.instructions.iter().enumerate().skip(from) {
            eprintln!("{at:5} {instruction:?}");
        }
        for (at, site) in self.code.sites.iter().enumerate() {
            eprintln!("site {at} {site:?}");
        }
    }
}
