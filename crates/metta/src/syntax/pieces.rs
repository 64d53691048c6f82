//! A text that is read a piece at a time, each piece when the forms before it have run.
//!
//! The tree of a text takes some six times the memory of the text, and whoever runs a text needs the tree of one form at a time. So it is
//! read in pieces of [`PIECE_BYTES`] or a little more, each up to the end of a form. All pieces together are what
//! [`parse`](super::parse) makes of the text. If a bracket is never closed, the rest of the text is one piece.

use super::parser::Parser;
use super::{Diagnostic, Parsed, Severity, Span, TEXT_BYTES_MAX, parser};
use std::sync::Arc;

/// How much of a text is read at once, if a form ends there.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// The pieces of a text.
pub(crate) struct Pieces<'text> {
    text: &'text str,
    /// The text, which the trees of all pieces share.
    shared: Arc<str>,
    /// Where the bytes were not UTF-8: nothing from there on is read.
    flaw: Option<&'text Diagnostic>,
    /// What reads the pieces that are left.
    parser: Option<Parser<'text>>,
    piece_bytes: usize,
    diagnostics: Vec<Diagnostic>,
    forms: usize,
    last: Span,
}

impl<'text> Pieces<'text> {
    /// The pieces of a text that was decoded with this flaw.
    pub(crate) fn new(text: &'text str, flaw: Option<&'text Diagnostic>) -> Self {
        Self::of_shared(text, text.into(), flaw, PIECE_BYTES)
    }

    fn of_shared(text: &'text str, shared: Arc<str>, flaw: Option<&'text Diagnostic>, piece_bytes: usize) -> Self {
        let parser = (text.len() <= TEXT_BYTES_MAX).then(|| Parser::over(text, Arc::clone(&shared)));
        let refused = match parser {
            Some(_) => Vec::new(),
            None => vec![parser::too_long(text.len(), TEXT_BYTES_MAX)],
        };
        let last = Span { start: 0, end: 0 };
        Self { text, shared, flaw, parser, piece_bytes, diagnostics: refused, forms: 0, last }
    }

    /// The pieces of this text from its beginning.
    pub(crate) fn again(&self) -> Self {
        Self::of_shared(self.text, Arc::clone(&self.shared), self.flaw, self.piece_bytes)
    }

    /// The text, to be kept.
    pub(crate) fn shared_text(&self) -> &Arc<str> {
        &self.shared
    }

    /// Whether what was read so far has an error, so that no form behind it may run.
    pub(crate) fn has_error(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }

    /// How many forms that may run were read so far, and where the last of them stands.
    pub(crate) fn forms(&self) -> (usize, Span) {
        (self.forms, self.last)
    }

    /// Reads what is left; gives what there is to say about the whole text, sorted by place.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.read_rest();
        // The note that more was left out may be about a piece before the last.
        self.diagnostics.sort_by_key(|found| found.span.start);
        self.diagnostics
    }

    /// Whether a form that may run states something, and asks for no evaluation; reads what is left.
    pub(crate) fn state_something(mut self) -> bool {
        self.any(|piece| piece.forms_before_error().iter().any(|form| !form.bang))
    }

    /// How many forms may run; reads what is left.
    pub(crate) fn forms_in_all(&mut self) -> usize {
        self.read_rest();
        self.forms
    }

    /// Reads what is left, of which nothing is to be run.
    pub(crate) fn read_rest(&mut self) {
        self.for_each(drop);
    }

    /// Leaves out of a piece what lies behind the flaw, if that is in it; `read` is where the piece ends.
    fn end_at_flaw(&mut self, parsed: &mut Parsed, read: usize) {
        if let Some(flaw) = self.flaw.filter(|flaw| (flaw.span.start as usize) < read) {
            parsed.diagnostics.retain(|found| found.span.start < flaw.span.start);
            parsed.diagnostics.push(flaw.clone());
            self.parser = None;
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Parsed;

    /// The next piece. Behind an error pieces have no forms, so that none of them is run.
    fn next(&mut self) -> Option<Parsed> {
        let mut parser = self.parser.take()?;
        let had_error = self.has_error();
        let (mut parsed, read) = match parser.read_piece(self.piece_bytes) {
            Some(piece) => {
                let read = parser.at();
                self.parser = Some(parser);
                (piece, read)
            }
            None => (parser.finish(), self.text.len()),
        };
        self.end_at_flaw(&mut parsed, read);
        if had_error {
            parsed.tree.leave_out_forms();
        }
        let forms = parsed.forms_before_error();
        self.forms += forms.len();
        self.last = forms.last().map_or(self.last, |form| form.span);
        self.diagnostics.extend(parsed.diagnostics.iter().cloned());
        Some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::decode::parse_with_flaw;
    use crate::syntax::{Decoded, decode};
    use proptest::prelude::*;

    /// Forms as they are read: their atoms as text, whether they are evaluated, and where they stand.
    fn forms_of(parsed: &Parsed) -> Vec<(String, bool, Span, Option<Span>)> {
        let shown = |form: &crate::syntax::Form| {
            let parts = parsed.tree.walk(form.node).map(|visit| match visit {
                crate::syntax::Visit::Leaf(node) => format!("{:?} ", parsed.tree.kind(node)),
                crate::syntax::Visit::Open(_) => "(".to_owned(),
                crate::syntax::Visit::Close(_) => ")".to_owned(),
            });
            (parts.collect(), form.bang, form.span, form.bang_span)
        };
        parsed.forms_before_error().iter().map(shown).collect()
    }

    proptest! {
        #[test]
        fn pieces_are_what_the_text_is(
            parts in prop::collection::vec("[()!$ \\n;\"#a-c1.\\\\]{0,6}|\\(a \"\\\\n\" b\\)\\n|! \\(c \\$x\\)|; a\\n|a\\$", 0..60),
            damage in prop::option::of(0..200_usize),
            piece_bytes in 0..40_usize,
        ) {
            let mut bytes = parts.concat().into_bytes();
            if let Some(at) = damage.filter(|at| *at < bytes.len()) {
                bytes[at] = 0xff;
            }
            let Decoded { text, flaw } = decode(&bytes);
            let whole = parse_with_flaw(&text, flaw.as_ref());
            let mut pieces = Pieces::of_shared(&text, Arc::from(&*text), flaw.as_ref(), piece_bytes);
            let mut forms = Vec::new();
            for piece in pieces.by_ref() {
                forms.extend(forms_of(&piece));
            }
            prop_assert_eq!(&forms, &forms_of(&whole));
            prop_assert_eq!(pieces.forms().0, forms.len());
            prop_assert_eq!(pieces.has_error(), whole.first_error().is_some());
            prop_assert_eq!(pieces.into_diagnostics(), whole.diagnostics);
        }
    }

    #[test]
    fn a_long_text_is_read_in_many_pieces() {
        let text = "(edge a b)\n".repeat(100_000);
        let mut pieces = Pieces::new(&text, None);
        let sizes: Vec<usize> = pieces.by_ref().map(|piece| piece.tree.forms().len()).collect();
        assert!(sizes.len() > 4 && sizes.iter().all(|forms| *forms <= PIECE_BYTES / 11 + 2), "{sizes:?}");
        assert_eq!(pieces.forms().0, 100_000);
        assert_eq!(pieces.again().map(|piece| piece.tree.forms().len()).sum::<usize>(), 100_000);
    }

    #[test]
    fn what_is_left_out_is_counted_over_all_pieces() {
        let text = "a$b$c \n".repeat(500);
        let pieces = Pieces::of_shared(&text, Arc::from(&*text), None, 10);
        let whole = crate::syntax::parse(&text).diagnostics;
        assert_eq!(pieces.into_diagnostics(), whole);
    }
}
