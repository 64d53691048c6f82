//! Looking for secrets before a cassette is sealed: what has a form that is known from everywhere.
//!
//! Redaction takes secrets out of what is recorded. This finds what came another way: from another form, from a recording with
//! rules of the user's own. Values of secret names are not looked for: there are dummies among them.
//!
//! A recording is looked through event by event, as it was recorded, so that long bodies need no memory.

use crate::error::{ExposedSecret, RecordError, SealError};
use crate::exchange::{Exchange, Note};
use crate::message::{Request, Response};
use crate::record::event::Event;
use crate::record::retell::{ExchangeEnd, MessageSide};
use crate::recorder::redacting::ExchangeRedactor;
use crate::redact::{Finding, Findings, Redacted, Redaction, kept_finding};
use crate::seal::options::SealOptions;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds secrets in what is to be sealed.
pub(crate) struct Scanner {
    redaction: Arc<Redaction>,
    /// Exchanges that are not over.
    open: BTreeMap<u64, ExchangeRedactor>,
    /// Notes of exchanges that are not over, of secrets that are not of a known form and stay.
    noted: BTreeMap<u64, Finding>,
    first: Option<SecretFound>,
    count: usize,
}

/// A secret, the exchange that has it, and whether it is in something that is not text.
struct SecretFound {
    exchange: Option<u64>,
    finding: Finding,
    is_kept: bool,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            redaction: Redaction::known_forms(),
            open: BTreeMap::new(),
            noted: BTreeMap::new(),
            first: None,
            count: 0,
        }
    }

    /// That nothing is found in exchanges and in what is known of their cassette, unless secrets are to be kept.
    pub(crate) fn of_content(
        exchanges: &[Exchange<'_>],
        meta: &[Note<'_>],
        options: &SealOptions,
        shown: &str,
    ) -> Result<(), SealError> {
        if options.keeps_secrets {
            return Ok(());
        }
        let mut scanner = Self::new();
        exchanges.iter().for_each(|exchange| scanner.exchange(exchange));
        meta.iter().for_each(|note| scanner.meta(note));
        scanner.finish(shown)
    }

    fn exchange(&mut self, exchange: &Exchange<'_>) {
        let noted = exchange.notes.iter().find_map(kept_finding);
        self.found(Some(exchange.number), self.redaction.scan(exchange), noted);
    }

    fn meta(&mut self, note: &Note<'_>) {
        let exchange = Exchange { notes: vec![note.borrowed()], ..Exchange::default() };
        self.found(None, self.redaction.scan(&exchange), None);
    }

    /// Takes what was found, or else what a note says that a recorder found by rules of the user's.
    fn found(&mut self, exchange: Option<u64>, redacted: Redacted, noted: Option<Finding>) {
        let mut found = Findings::default();
        found.add(&redacted);
        self.take(exchange, &found, noted);
    }

    fn take(&mut self, exchange: Option<u64>, found: &Findings, noted: Option<Finding>) {
        let noted = noted.filter(|_| found.kept == 0).map(|noted| (noted, true));
        self.count += found.count() as usize + noted.iter().count();
        if self.first.is_none() {
            let first = found.first.clone().or(noted);
            self.first = first.map(|(finding, is_kept)| SecretFound { exchange, finding, is_kept });
        }
    }

    /// The next event of a recording.
    pub(crate) fn event(&mut self, number: u64, event: &Event<'_>) {
        match event {
            Event::Meta(note) => self.meta(note),
            Event::Whole(exchange) => self.exchange(exchange),
            _ => {
                if let Event::Note(note) = event {
                    kept_finding(note).into_iter().for_each(|noted| drop(self.noted.insert(number, noted)));
                }
                let redaction = self.redaction.clone();
                let redactor = self.open.entry(number).or_insert_with(|| ExchangeRedactor::new(redaction));
                // What is given out goes nowhere, and nothing can go wrong there.
                let _ = look_through(redactor, event);
                if matches!(event, Event::End { .. }) {
                    self.close(number);
                }
            }
        }
    }

    fn close(&mut self, number: u64) {
        let Some(mut redactor) = self.open.remove(&number) else { return };
        let _ = redactor.settle(&mut |_| Ok(()));
        let noted = self.noted.remove(&number);
        self.take(Some(number), redactor.findings(), noted);
    }

    /// That nothing was found.
    pub(crate) fn finish(mut self, shown: &str) -> Result<(), SealError> {
        let left: Vec<_> = self.open.keys().copied().collect();
        left.into_iter().for_each(|number| self.close(number));
        match self.first {
            None => Ok(()),
            Some(SecretFound { exchange, finding, is_kept }) => {
                let others = self.count - 1;
                Err(SealError::Secret(Box::new(ExposedSecret {
                    file: shown.to_owned(),
                    exchange,
                    finding,
                    is_kept,
                    others,
                })))
            }
        }
    }
}

fn look_through(redactor: &mut ExchangeRedactor, event: &Event<'_>) -> Result<(), RecordError> {
    let give = &mut |_: &Event<'_>| Ok(());
    match event {
        Event::Begin { request, .. } => {
            // What came before its beginning is looked through as far as it goes.
            redactor.settle(give)?;
            redactor.begin(0, request, give)
        }
        Event::RequestChunk(piece) => {
            if !redactor.expects(MessageSide::Request) {
                redactor.begin(0, &Request::default(), give)?;
            }
            redactor.chunk(MessageSide::Request, piece.at_us, &piece.bytes, give)
        }
        Event::ResponseHead { response, .. } => redactor.response(response, give),
        Event::ResponseChunk(piece) => {
            if !redactor.expects(MessageSide::Response) {
                redactor.response(&Response::default(), give)?;
            }
            redactor.chunk(MessageSide::Response, piece.at_us, &piece.bytes, give)
        }
        Event::Informational(informational) => redactor.informational(informational, give),
        Event::WsOpen => redactor.open_websocket(give),
        Event::WsFrame(frame) => redactor.frame(frame, give),
        Event::Note(note) => redactor.note(note, give),
        Event::End { request, response, outcome, .. } => {
            let (request_trailers, response_trailers) = (request.clone(), response.clone());
            let outcome = outcome.clone();
            redactor.end(ExchangeEnd { request_trailers, response_trailers, outcome, ..ExchangeEnd::default() }, give)
        }
        Event::Meta(_) | Event::Whole(_) => Ok(()),
    }
}
