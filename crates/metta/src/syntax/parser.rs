//! The parser: folds tokens into nodes, gathers the forms, and recovers after errors.
//!
//! 1. An opening bracket pushes a frame: its place, and how many items were pending.
//! 2. An atom becomes an item: pending in the innermost frame or, without a frame, a form (step 4).
//! 3. A closing bracket pops a frame and folds the items since into one: an expression or, if one of
//!    them is damaged, a damaged item. Without a frame the bracket is reported and skipped.
//! 4. At the top level the word `!` marks the next item for evaluation. A damaged item makes no form
//!    and takes its `!` with it.
//! 5. At the end of the text the frames that are left are unclosed. They and their items are gone
//!    through once, in the order of the text. An item or bracket that begins a line with `(` or `!`
//!    ends the unclosed expression before it, with one diagnostic, and stands at the top level.
//!    All other items of an unclosed expression are dropped.
//!
//! Step 5 needs no second reading: an expression that stays unclosed was never closed by a bracket of
//! a later form, so that form was folded just as it would have been at the top level. And it is done
//! only at the end: while all brackets match, a line that begins at the margin proves nothing.

use super::diagnostic::excerpt;
use super::lexer::{Lexer, Token};
use super::tree::SyntaxTree;
use super::{Diagnostic, Form, NodeId, NodeKind, Parsed, Span};
use std::sync::Arc;

/// Reads a text of at most `text_bytes_max` bytes.
pub(super) fn parse_within(text: &str, text_bytes_max: usize) -> Parsed {
    if text.len() > text_bytes_max {
        return Parsed { tree: SyntaxTree::new("".into()), diagnostics: vec![too_long(text.len(), text_bytes_max)] };
    }
    let mut parser = Parser::over(text, text.into());
    // The whole text is one piece, which `finish` takes.
    parser.read_piece(usize::MAX);
    parser.finish()
}

/// Reads a text.
pub(super) struct Parser<'text> {
    lexer: Lexer<'text>,
    tree: SyntaxTree,
    /// The expressions that are open, the innermost last.
    frames: Vec<OpenList>,
    /// What was read inside the open expressions.
    items: Vec<Item>,
    /// A `!` at the top level that has not met its atom.
    bang: Option<Span>,
}

/// An open expression.
struct OpenList {
    opener: u32,
    /// The index of its first item.
    first_item: usize,
}

/// An atom, or without a node the place where one was damaged.
#[derive(Clone, Copy)]
struct Item {
    span: Span,
    node: Option<NodeId>,
}

/// Nested expressions that the text leaves open.
#[derive(Clone, Copy)]
struct Unclosed {
    outermost: u32,
    innermost: u32,
    depth: usize,
}

impl<'text> Parser<'text> {
    /// Reads this text; the trees share it.
    pub(super) fn over(text: &'text str, shared: Arc<str>) -> Parser<'text> {
        let lexer = Lexer::new(text);
        Parser { lexer, tree: SyntaxTree::new(shared), frames: Vec::new(), items: Vec::new(), bang: None }
    }

    /// Where the next token is looked for.
    pub(super) fn at(&self) -> usize {
        self.lexer.at
    }

    /// Reads up to the end of the form that ends the next `bytes` or more; `None` if the text ends before: [`Parser::finish`] gives what
    /// was read then.
    pub(super) fn read_piece(&mut self, bytes: usize) -> Option<Parsed> {
        let end = self.lexer.at.saturating_add(bytes);
        // As long as the text.
        while let Some((token, span)) = self.lexer.next_token() {
            self.take(token, span);
            if self.lexer.at >= end && self.frames.is_empty() && self.bang.is_none() {
                return Some(self.take_piece());
            }
        }
        None
    }

    /// What was read since the last piece.
    fn take_piece(&mut self) -> Parsed {
        // What a long form took is given back before the form runs.
        (self.frames, self.items) = (Vec::new(), Vec::new());
        let next = self.tree.next_piece(self.lexer.at);
        let mut tree = std::mem::replace(&mut self.tree, next);
        tree.set_gathered(
            std::mem::take(&mut self.lexer.values),
            std::mem::take(&mut self.lexer.comments),
            self.lexer.at,
        );
        Parsed { tree, diagnostics: self.lexer.diagnostics.take() }
    }

    fn take(&mut self, token: Token, span: Span) {
        match token {
            Token::Open => self.frames.push(OpenList { opener: span.start, first_item: self.items.len() }),
            Token::Close => self.close(span),
            Token::Leaf(shape) => {
                let node = self.tree.add_leaf(shape, span);
                self.place(Item { span, node: Some(node) });
            }
            Token::Damaged => self.place(Item { span, node: None }),
        }
    }

    fn close(&mut self, bracket: Span) {
        let Some(frame) = self.frames.pop() else {
            return self.skip_close(bracket);
        };
        let span = Span { start: frame.opener, end: bracket.end };
        let items = &self.items[frame.first_item..];
        let sound = items.iter().all(|item| item.node.is_some());
        let node = sound.then(|| self.tree.add_expression(items.iter().filter_map(|item| item.node), span));
        self.items.truncate(frame.first_item);
        self.place(Item { span, node });
    }

    fn skip_close(&mut self, bracket: Span) {
        self.bang = None;
        self.lexer.diagnostics.report(unexpected_close(bracket));
    }

    fn place(&mut self, item: Item) {
        if self.frames.is_empty() {
            self.place_form(item);
        } else {
            self.items.push(item);
        }
    }

    /// Takes an item at the top level: a form, the `!` of the next one, or damage.
    fn place_form(&mut self, item: Item) {
        let bang_span = self.bang.take();
        let Some(node) = item.node else { return };
        let word = self.word(node);
        if word == Some("!") {
            self.bang = Some(item.span);
            return;
        }
        let bang_symbol = word.filter(|word| bang_span.is_none() && word.starts_with('!'));
        if let Some(word) = bang_symbol {
            let warning = bang_symbol_warning(word, item.span);
            self.lexer.diagnostics.report(warning);
        }
        let span = Span { start: bang_span.unwrap_or(item.span).start, end: item.span.end };
        self.tree.add_form(Form { bang: bang_span.is_some(), bang_span, node, span });
    }

    fn word(&self, node: NodeId) -> Option<&str> {
        match self.tree.kind(node) {
            NodeKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// What is left at the end of the text.
    pub(super) fn finish(mut self) -> Parsed {
        self.recover();
        if let Some(bang) = self.bang {
            self.lexer.diagnostics.report(bang_without_atom(bang));
        }
        let Lexer { diagnostics, values, comments, text, .. } = self.lexer;
        self.tree.set_gathered(values, comments, text.len());
        Parsed { tree: self.tree, diagnostics: diagnostics.finish() }
    }
}

/// Step 5: what happens to the expressions that the text leaves open.
impl Parser<'_> {
    fn recover(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        let items = std::mem::take(&mut self.items);
        let ends = frames.iter().skip(1).map(|next| next.first_item).chain([items.len()]);
        let mut open = None;
        for (frame, end) in frames.iter().zip(ends) {
            open = Some(self.recover_opener(open, frame.opener));
            for item in &items[frame.first_item..end] {
                open = self.recover_item(open, *item);
            }
        }
        self.recover_end(open);
    }

    /// Goes past an opening bracket that was never matched.
    fn recover_opener(&mut self, open: Option<Unclosed>, opener: u32) -> Unclosed {
        self.bang = None;
        match open {
            Some(unclosed) if !self.lexer.begins_form(opener) => unclosed.with_inner(opener),
            Some(unclosed) => {
                self.lexer.diagnostics.report(unclosed.report(Some(opener)));
                Unclosed::new(opener)
            }
            None => Unclosed::new(opener),
        }
    }

    /// Goes past an item; what stays open after it is the answer.
    fn recover_item(&mut self, open: Option<Unclosed>, item: Item) -> Option<Unclosed> {
        if let Some(unclosed) = open {
            if !self.lexer.begins_form(item.span.start) {
                return open;
            }
            self.lexer.diagnostics.report(unclosed.report(Some(item.span.start)));
        }
        self.place_form(item);
        None
    }

    /// If the text ended inside a string, the brackets may be in that string: its own error says enough.
    fn recover_end(&mut self, open: Option<Unclosed>) {
        if let Some(unclosed) = open
            && !self.lexer.ended_in_string
        {
            self.lexer.diagnostics.report(unclosed.report(None));
        }
    }
}

impl Unclosed {
    fn new(opener: u32) -> Unclosed {
        Unclosed { outermost: opener, innermost: opener, depth: 1 }
    }

    fn with_inner(self, opener: u32) -> Unclosed {
        Unclosed { innermost: opener, depth: self.depth + 1, ..self }
    }

    /// The error, with the place of the form that seems to begin too early, if there is one.
    fn report(self, margin: Option<u32>) -> Diagnostic {
        let brackets =
            if self.depth == 1 { "a `)` is missing".into() } else { format!("{} `)` are missing", self.depth) };
        let message = format!("Unexpected end of expression: {brackets}");
        let mut diagnostic = Diagnostic::error("unclosed-expression", character(self.outermost), message)
            .with_label("this expression is never closed")
            .with_help(self.next_step(margin));
        if self.depth > 1 {
            diagnostic =
                diagnostic.with_related(character(self.innermost), "the innermost expression left open begins here");
        }
        if let Some(start) = margin {
            let words = "this line begins at the margin while the expression is still open";
            diagnostic = diagnostic.with_related(character(start), words);
        }
        diagnostic
    }

    fn next_step(self, margin: Option<u32>) -> String {
        let brackets =
            if self.depth == 1 { "the missing `)`".into() } else { format!("the {} missing `)`", self.depth) };
        let place = if margin.is_some() {
            "before the line that begins at the margin"
        } else {
            "where the expression should end"
        };
        format!("add {brackets} {place}")
    }
}

/// The span of an ASCII character.
fn character(offset: u32) -> Span {
    Span { start: offset, end: offset + 1 }
}

fn unexpected_close(span: Span) -> Diagnostic {
    Diagnostic::error("unexpected-close", span, "Unexpected right bracket: no expression is open here")
        .with_label("closes nothing")
        .with_help("delete this `)`, or add the `(` that it should close")
}

fn bang_without_atom(span: Span) -> Diagnostic {
    Diagnostic::error("bang-without-atom", span, "`!` without an atom: the text ends after it")
        .with_label("marks nothing for evaluation")
        .with_help("write the atom to evaluate after the `!`, or delete the `!`")
}

fn bang_symbol_warning(word: &str, span: Span) -> Diagnostic {
    let (word, rest) = (excerpt(word), excerpt(&word[1..]));
    let message = format!("`{word}` is a symbol: it is added to the space and not evaluated");
    Diagnostic::warning("bang-symbol", span, message)
        .with_label("no space between `!` and the word")
        .with_help(format!("write `! {rest}` to evaluate it, or `{rest}` if it is meant as a fact"))
}

/// The error of a text that is too long.
pub(super) fn too_long(text_bytes: usize, text_bytes_max: usize) -> Diagnostic {
    let message = format!("The source is {text_bytes} bytes long; at most {text_bytes_max} can be read");
    Diagnostic::error("source-too-long", Span::new(0, 0), message)
        .with_label("here begins a text that is too long")
        .with_help("split the source into several files")
}
