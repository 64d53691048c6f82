//! The layout of a source: the same program with spaces and indentation as everybody has them.
//!
//! Line breaks are the author's: where an expression continues on a new line, it does so afterwards. What is set is the space between
//! words, the indentation of lines, empty lines (one at most) and where `)` stand (behind the last word). An expression on one line that
//! is too long is broken. Comments stay where they are, between the same words.
//!
//! Invariants
//! - The layout of a layout is itself.
//! - Both texts parse to the same forms, and have the same comments.
//! - Nesting takes no native stack; time is linear in the text.
//!
//! How a form is laid out:
//! 1. The width of each node on one line is computed from the leaves up, and whether there is a line break or a comment inside.
//! 2. A node without breaks that fits into the line is written as it is.
//! 3. Any other is opened, and each child goes behind the one before it or on a line of its own: as in the text, or as the [`Style`] of the
//!    head says if the text has no breaks. Lines of their own are indented by that style as well.

use crate::syntax::{NodeId, NodeKind, Parsed, Span, SyntaxTree, Visit};

/// The columns that a line may have.
const WIDTH: usize = 100;

/// The source of these forms, laid out. What does not parse is not in it: ask for [`Parsed::first_error`] before.
pub fn format(parsed: &Parsed) -> String {
    let mut layout = Layout::new(&parsed.tree);
    for form in parsed.tree.forms() {
        layout.form(form.bang, form.node, form.span);
    }
    layout.comments_before(u32::MAX, 0);
    layout.end()
}

/// How an expression is broken and indented, by its head.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A form with a body: `beside` arguments stand behind the head, lines are indented by `indent` columns.
    Body { beside: usize, indent: usize },
    /// A call: lines begin below the first argument if it stands behind the head.
    Call,
    /// Data whose first element is no word: lines begin below it.
    List,
}

impl Style {
    fn of(tree: &SyntaxTree, head: Option<NodeId>) -> Self {
        match head.map(|head| tree.kind(head)) {
            Some(NodeKind::Word(word)) => Self::of_word(word),
            Some(NodeKind::Variable(_)) => Self::Call,
            _ => Self::List,
        }
    }

    fn of_word(word: &str) -> Self {
        let body = |beside| Self::Body { beside, indent: 2 };
        match word {
            "=" => Self::Body { beside: 1, indent: 3 },
            "let" | "match" | "chain" | "unify" | "map-atom" | "filter-atom" => body(2),
            "let*" | "case" | "switch" | "limit" => body(1),
            "function" | "transaction" | "collapse" | "once" => body(0),
            "foldl-atom" => body(4),
            _ => Self::Call,
        }
    }

    /// Whether a child of an expression that is too long goes on a line of its own.
    fn breaks_before(self, child: usize) -> bool {
        match self {
            Self::Body { beside, .. } => child > beside,
            Self::Call => child > 1,
            Self::List => child > 0,
        }
    }
}

/// What is known of a node.
#[derive(Clone, Copy, Default)]
struct Measure {
    /// Its columns on one line.
    width: usize,
    /// Whether it cannot be written on one line.
    is_broken: bool,
}

/// An expression that is being written.
struct OpenLayout {
    node: NodeId,
    next: usize,
    style: Style,
    /// The column of its bracket.
    column: usize,
    /// The column of its first argument, if that stands behind the head.
    first: Option<usize>,
    /// Whether the style says where it is broken, and not the text.
    is_too_long: bool,
    /// How many brackets close directly behind it.
    closing: usize,
}

impl OpenLayout {
    /// Where a line of its own begins.
    fn indent(&self) -> usize {
        match (self.style, self.first) {
            (Style::Body { indent, .. }, _) => self.column + indent,
            (Style::Call, Some(first)) => first,
            (Style::Call, None) => self.column + 2,
            (Style::List, _) => self.column + 1,
        }
    }
}

struct Layout<'a> {
    tree: &'a SyntaxTree,
    measures: Vec<Measure>,
    comments: &'a [Span],
    /// The end of what was written last, in the source.
    end: u32,
    out: String,
    column: usize,
    /// Whether the line ends with a comment, so that nothing can follow on it.
    is_line_over: bool,
}

impl<'a> Layout<'a> {
    fn new(tree: &'a SyntaxTree) -> Self {
        let mut layout = Self {
            tree,
            measures: Vec::new(),
            comments: tree.comments(),
            end: 0,
            out: String::with_capacity(tree.text().len()),
            column: 0,
            is_line_over: false,
        };
        layout.measure();
        layout
    }

    fn measure(&mut self) {
        for form in self.tree.forms() {
            for visit in self.tree.walk(form.node) {
                let node = match visit {
                    Visit::Open(_) => continue,
                    Visit::Leaf(node) | Visit::Close(node) => node,
                };
                if self.measures.len() <= node.index() {
                    self.measures.resize(node.index() + 1, Measure::default());
                }
                self.measures[node.index()] = self.measure_of(node);
            }
        }
    }

    fn measure_of(&self, node: NodeId) -> Measure {
        let text = self.tree.span(node).slice(self.tree.text());
        let NodeKind::Expression(children) = self.tree.kind(node) else {
            return Measure { width: text.chars().count(), is_broken: text.contains('\n') };
        };
        let parts = children.iter().map(|child| self.measures[child.index()]);
        let width = parts.clone().map(|part| part.width + 1).sum::<usize>().max(1) + 1;
        let is_broken = parts.clone().any(|part| part.is_broken) || self.has_breaks(node, children);
        Measure { width, is_broken }
    }

    /// Whether there is a line break between the parts of an expression, its brackets included, or a comment.
    fn has_breaks(&self, node: NodeId, children: &[NodeId]) -> bool {
        let span = self.tree.span(node);
        let mut before = span.start + 1;
        let ends =
            children.iter().map(|child| self.tree.span(*child)).chain([Span { start: span.end - 1, end: span.end }]);
        let last = children.len();
        for (index, part) in ends.enumerate() {
            let gap = Span { start: before, end: part.start }.slice(self.tree.text());
            // A `)` on a line of its own goes behind the last word.
            if gap.contains(';') || (index < last && index > 0 && gap.contains('\n')) {
                return true;
            }
            before = part.end;
        }
        false
    }

    fn form(&mut self, bang: bool, node: NodeId, span: Span) {
        self.comments_before(span.start, 0);
        self.separate(span.start, 0, self.measures[node.index()], true);
        if bang {
            self.write("!");
            let is_expression = matches!(self.tree.kind(node), NodeKind::Expression(_));
            self.end = span.start + 1;
            self.comments_before(self.tree.span(node).start, 0);
            if self.is_line_over {
                self.new_line(0);
            } else if !is_expression {
                self.write(" ");
            }
        }
        self.node(node);
    }

    /// Writes a node, with a stack of its own for the expressions around.
    fn node(&mut self, node: NodeId) {
        let mut open: Vec<OpenLayout> = Vec::new();
        self.begin(node, 0, &mut open);
        while let Some(top) = open.last_mut() {
            let NodeKind::Expression(children) = self.tree.kind(top.node) else {
                unreachable!("only expressions are opened")
            };
            let Some(&child) = children.get(top.next) else {
                let top = open.pop().expect("it is there");
                self.close(&top);
                continue;
            };
            let index = top.next;
            top.next += 1;
            let closing = if index + 1 == children.len() { top.closing + 1 } else { 0 };
            self.before_child(top, index, child);
            self.begin(child, closing, &mut open);
        }
    }

    /// Brings the line to where a child begins.
    fn before_child(&mut self, top: &mut OpenLayout, index: usize, child: NodeId) {
        let start = self.tree.span(child).start;
        let indent = if index == 0 { top.column + 1 } else { top.indent() };
        self.comments_before(start, indent);
        let breaks = match index {
            0 => self.is_line_over,
            _ if top.is_too_long => top.style.breaks_before(index),
            _ => self.is_line_over || self.newlines_before(start) > 0,
        };
        match (breaks, index) {
            (true, _) => self.new_lines(start, indent),
            (false, 0) => {}
            (false, _) => self.write(" "),
        }
        if index == 1 && !breaks {
            top.first = Some(self.column);
        }
    }

    /// Writes a leaf, or an expression that fits into the line; opens any other.
    fn begin(&mut self, node: NodeId, closing: usize, open: &mut Vec<OpenLayout>) {
        let measure = self.measures[node.index()];
        let NodeKind::Expression(children) = self.tree.kind(node) else {
            self.leaf(node);
            return;
        };
        if children.is_empty() && !measure.is_broken {
            self.write("()");
            self.end = self.tree.span(node).end;
            return;
        }
        if !measure.is_broken && self.column + measure.width + closing <= WIDTH {
            self.flat(node);
            return;
        }
        let (style, column) = (Style::of(self.tree, children.first().copied()), self.column);
        self.write("(");
        self.end = self.tree.span(node).start + 1;
        open.push(OpenLayout { node, next: 0, style, column, first: None, is_too_long: !measure.is_broken, closing });
    }

    fn close(&mut self, open: &OpenLayout) {
        let end = self.tree.span(open.node).end;
        self.comments_before(end - 1, open.indent());
        if self.is_line_over {
            self.new_line(open.indent());
        }
        self.write(")");
        self.end = end;
    }

    fn leaf(&mut self, node: NodeId) {
        let span = self.tree.span(node);
        let text = span.slice(self.tree.text());
        self.write(text);
        self.end = span.end;
    }

    /// Writes a node on one line.
    fn flat(&mut self, node: NodeId) {
        let mut is_first = true;
        for visit in self.tree.walk(node) {
            if !is_first && !matches!(visit, Visit::Close(_)) {
                self.write(" ");
            }
            match visit {
                Visit::Open(_) => self.write("("),
                Visit::Close(_) => self.write(")"),
                Visit::Leaf(leaf) => self.leaf(leaf),
            }
            is_first = matches!(visit, Visit::Open(_));
        }
        self.end = self.tree.span(node).end;
    }

    /// Writes the comments before an offset: behind what stands on their line, or on lines of their own.
    fn comments_before(&mut self, offset: u32, indent: usize) {
        while let [comment, rest @ ..] = self.comments
            && comment.start < offset
        {
            self.comments = rest;
            let is_beside = self.newlines_before(comment.start) == 0 && !self.is_line_over && !self.out.is_empty();
            if is_beside {
                self.write(if self.out.ends_with('(') { "" } else { "  " });
            } else {
                self.new_lines(comment.start, indent);
            }
            let text = comment.slice(self.tree.text()).trim_end();
            self.write(text);
            self.end = comment.end;
            self.is_line_over = true;
        }
    }

    /// Separates a form from what stands before it.
    fn separate(&mut self, start: u32, indent: usize, measure: Measure, fits_on_line: bool) {
        let is_beside = self.newlines_before(start) == 0 && !self.is_line_over && fits_on_line;
        if self.out.is_empty() {
        } else if is_beside && !measure.is_broken && self.column + measure.width + 2 <= WIDTH {
            self.write(" ");
        } else {
            self.new_lines(start, indent);
        }
    }

    /// The line breaks between what was written last and an offset.
    fn newlines_before(&self, offset: u32) -> usize {
        let gap = Span { start: self.end, end: offset }.slice(self.tree.text());
        // That of a comment is not a part of it.
        gap.bytes().filter(|byte| *byte == b'\n').count()
    }

    /// Ends the line, and leaves one empty if there was one.
    fn new_lines(&mut self, offset: u32, indent: usize) {
        if self.out.is_empty() {
            return;
        }
        if self.newlines_before(offset) > 1 {
            self.out.push('\n');
        }
        self.new_line(indent);
    }

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
        self.is_line_over = false;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = last.chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn end(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}
