//! How many exchanges and messages there are.

use crate::exchange::Exchange;
use crate::websocket::Opcode;

/// How many exchanges there are, and how many messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeCounts {
    /// All exchanges, WebSockets among them.
    pub exchanges: u64,
    /// Exchanges that became WebSockets.
    pub websockets: u64,
    /// Their messages: texts and binary ones, in however many frames. Pings, pongs and the close frames are none.
    pub messages: u64,
}

impl ExchangeCounts {
    /// Counts an exchange, of which bodies are not looked at.
    pub fn count(&mut self, exchange: &Exchange<'_>) {
        self.exchanges += 1;
        self.websockets += u64::from(exchange.is_websocket());
        let frames = exchange.frames.iter().flatten();
        self.messages += frames.filter(|frame| [Opcode::TEXT, Opcode::BINARY].contains(&frame.opcode)).count() as u64;
    }

    /// Those of exchanges in memory.
    pub(crate) fn of<'e>(exchanges: impl IntoIterator<Item = &'e Exchange<'e>>) -> Self {
        let mut counts = Self::default();
        exchanges.into_iter().for_each(|exchange| counts.count(exchange));
        counts
    }
}
