//! What is said of a cassette that was written: what is in it, and what is not.

use super::damaged;
use crate::end::End;
use crate::output::counted;
use crate::render;
use cassette::{Cassette, ExchangeCounts, Form, Note};
use serde_json::{Value, json};
use std::path::Path;

/// What was written, and what the form has no place for.
#[derive(Default)]
pub(super) struct WrittenReport {
    pub(super) counts: ExchangeCounts,
    pub(super) left_out: ExchangeCounts,
    pub(super) lost: Vec<String>,
}

impl WrittenReport {
    /// `1 of 2 exchanges, 3 messages of 1 WebSocket`.
    pub(super) fn counted(&self) -> String {
        let of = |written: u64, left_out: u64, what: &str| match left_out {
            0 => counted(written, what),
            left_out => format!("{written} of {}", counted(written + left_out, what)),
        };
        let Self { counts, left_out, .. } = self;
        let mut text = of(counts.exchanges, left_out.exchanges, "exchange");
        let websockets = counts.websockets.max(left_out.websockets);
        if websockets > 0 {
            let messages = of(counts.messages, left_out.messages, "message");
            text += &format!(", {messages} of {}", counted(websockets, "WebSocket"));
        }
        text
    }

    pub(super) fn json(&self, to: &Path, form: Form, is_gzip: bool, bytes: u64) -> Value {
        let Self { counts, left_out, lost } = self;
        json!({
            "file": to.display().to_string(),
            "form": form.to_string(),
            "gzip": is_gzip,
            "bytes": bytes,
            "exchanges": counts.exchanges,
            "websockets": counts.websockets,
            "messages": counts.messages,
            "exchanges_left_out": left_out.exchanges,
            "messages_left_out": left_out.messages,
            "lost": lost,
        })
    }
}

/// Says that a file has the times at which exchanges were over, which stand for those at which they began.
pub(super) fn tell_untimed(cassette: &Cassette, form: Form, from: &Path) -> Result<(), End> {
    let unreadable = |error| damaged(from, &error);
    let is_theirs = |note: &Note<'_>| *note.name == *b"report.version";
    let is_report =
        matches!(form, Form::Json | Form::MessagePack) && cassette.meta().map_err(unreadable)?.iter().any(is_theirs);
    if form != Form::VcrRuby && !is_report {
        return Ok(());
    }
    let mut untimed = 0;
    for at in 0..cassette.len() {
        let exchange = cassette.outline(at).map_err(unreadable)?.exchange;
        untimed += u64::from(exchange.ended_us.is_none() && exchange.started_ns != 0);
    }
    if untimed > 0 {
        let (from, exchanges) = (from.display(), counted(untimed, "exchange"));
        let they = if untimed == 1 { "it" } else { "they" };
        render::say(&format!(
            "note: {from} says when {exchanges} had been answered, and not when {they} began: that time stands for both"
        ));
    }
    Ok(())
}
