//! The syntax tree: nodes in one vector, so that depth costs no stack.
//!
//! Invariants:
//! - A node comes after its children, and a form's nodes after those of the form before it.
//! - The children of an expression are neighbours in `children`, in the order of the text.
//! - Forms are in the order of the text and do not overlap.
//! - The tree owns its text: words, variables and plain strings are slices of it. Only the value of
//!   a string with escapes is stored apart, in `values`.
//!
//! Copying, dropping and walking a tree take time linear in it and constant native stack.

use super::Span;
use super::lines::LineStarts;
use std::sync::Arc;

/// A node of one [`SyntaxTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The number of the node: from 0, larger than those of its children.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind<'tree> {
    /// A word: a symbol, a number or whatever else the tokenizer of a module makes of it.
    Word(&'tree str),
    /// A variable, by its name without the `$`; the name may be empty.
    Variable(&'tree str),
    /// A string, by its value: without quotes, escapes replaced.
    String(&'tree str),
    /// An expression, by its children.
    Expression(&'tree [NodeId]),
}

/// An atom at the top level of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether a `!` asks for the atom to be evaluated; else it is added to the space.
    pub bang: bool,
    /// The place of that `!`; of the last one if there are several.
    pub bang_span: Option<Span>,
    /// The atom.
    pub node: NodeId,
    /// From the `!`, or from the atom if there is none, to the end of the atom.
    pub span: Span,
}

/// How a node is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeShape {
    Word,
    Variable,
    PlainString,
    /// A string whose value is this range of the values.
    EscapedString(Span),
    /// An expression whose children are this range of the children.
    Expression(Span),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    shape: NodeShape,
    span: Span,
}

/// The sound forms of a text, or of a piece of one.
#[derive(Clone, Debug)]
pub struct SyntaxTree {
    text: Arc<str>,
    line_starts: Arc<LineStarts>,
    values: String,
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    forms: Vec<Form>,
    comments: Vec<Span>,
    /// The part of the text that it is of.
    piece: Span,
}

impl SyntaxTree {
    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text that was read, to be kept.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Where its lines begin, found when that is first asked for.
    pub(crate) fn line_starts(&self) -> &Arc<LineStarts> {
        &self.line_starts
    }

    /// The atoms at the top level that have no error inside them, in order.
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// About how many bytes a form takes by its part of the text: in the tree, in its text, and where that was read from.
    pub(crate) fn bytes_of(&self, form: &Form) -> usize {
        let nodes = self.nodes.capacity() * size_of::<Node>() + self.children.capacity() * size_of::<NodeId>();
        let length = (form.span.end - form.span.start) as usize;
        let part = length as f64 / f64::from((self.piece.end - self.piece.start).max(1));
        ((nodes + self.values.len()) as f64 * part) as usize + 2 * length
    }

    /// The comments, in order: each from its `;` up to the end of the line, without the `\n`.
    pub fn comments(&self) -> &[Span] {
        &self.comments
    }

    /// What a node is. Panics if the node is of another tree and not in this one.
    pub fn kind(&self, node: NodeId) -> NodeKind<'_> {
        let Node { shape, span } = self.nodes[node.index()];
        match shape {
            NodeShape::Word => NodeKind::Word(span.slice(&self.text)),
            NodeShape::Variable => NodeKind::Variable(Span { start: span.start + 1, ..span }.slice(&self.text)),
            NodeShape::PlainString => {
                NodeKind::String(Span { start: span.start + 1, end: span.end - 1 }.slice(&self.text))
            }
            NodeShape::EscapedString(range) => NodeKind::String(range.slice(&self.values)),
            NodeShape::Expression(range) => NodeKind::Expression(self.child_slice(range)),
        }
    }

    /// Where a node stands in the text, with its `$`, quotes or brackets.
    pub fn span(&self, node: NodeId) -> Span {
        self.nodes[node.index()].span
    }

    /// The children of a node, in order: none unless it is an expression.
    pub fn children(&self, node: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + '_ {
        let range = match self.nodes[node.index()].shape {
            NodeShape::Expression(range) => range,
            _ => Span { start: 0, end: 0 },
        };
        self.child_slice(range).iter().copied()
    }

    /// Walks a node and all below it in the order of the text, with a stack of its own.
    pub fn walk(&self, node: NodeId) -> Walk<'_> {
        let mut pending = Vec::with_capacity(16);
        pending.push(Visit::Open(node));
        Walk { tree: self, pending }
    }

    fn child_slice(&self, range: Span) -> &[NodeId] {
        &self.children[range.start as usize..range.end as usize]
    }
}

/// What the parser does to a tree.
impl SyntaxTree {
    /// A tree of nothing over a text.
    pub(super) fn new(text: Arc<str>) -> SyntaxTree {
        // A short text has about this many nodes, and gets room for them at once.
        let nodes = (text.len() / 2).min(32);
        SyntaxTree {
            line_starts: Arc::default(),
            text,
            values: String::new(),
            nodes: Vec::with_capacity(nodes),
            children: Vec::with_capacity(nodes),
            forms: Vec::new(),
            comments: Vec::new(),
            piece: Span { start: 0, end: 0 },
        }
    }

    /// A tree of nothing over the same text, for what is behind `at`.
    pub(super) fn next_piece(&self, at: usize) -> SyntaxTree {
        SyntaxTree {
            line_starts: Arc::clone(&self.line_starts),
            piece: Span::new(at, at),
            ..SyntaxTree::new(Arc::clone(&self.text))
        }
    }

    /// Leaves out all forms.
    pub(super) fn leave_out_forms(&mut self) {
        self.forms.clear();
    }

    /// Adds a node without children.
    pub(super) fn add_leaf(&mut self, shape: NodeShape, span: Span) -> NodeId {
        let node = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { shape, span });
        node
    }

    /// Adds an expression over nodes that are already here.
    pub(super) fn add_expression(&mut self, children: impl Iterator<Item = NodeId>, span: Span) -> NodeId {
        let start = self.children.len();
        self.children.extend(children);
        let range = Span::new(start, self.children.len());
        self.add_leaf(NodeShape::Expression(range), span)
    }

    /// Adds a form after all others.
    pub(super) fn add_form(&mut self, form: Form) {
        self.forms.push(form);
    }

    /// Takes what the lexer gathered up to `end`.
    pub(super) fn set_gathered(&mut self, values: String, comments: Vec<Span>, end: usize) {
        self.values = values;
        self.comments = comments;
        self.piece.end = end as u32;
    }
}

/// A step of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// A word, a variable or a string.
    Leaf(NodeId),
    /// An expression begins.
    Open(NodeId),
    /// The expression ends; all its children were visited.
    Close(NodeId),
}

/// A walk over a part of a tree; see [`SyntaxTree::walk`].
#[derive(Clone, Debug)]
pub struct Walk<'tree> {
    tree: &'tree SyntaxTree,
    /// Nodes yet to open and expressions yet to close, the next one last.
    pending: Vec<Visit>,
}

impl Iterator for Walk<'_> {
    type Item = Visit;

    fn next(&mut self) -> Option<Visit> {
        match self.pending.pop()? {
            Visit::Open(node) => Some(self.open(node)),
            visit => Some(visit),
        }
    }
}

impl Walk<'_> {
    fn open(&mut self, node: NodeId) -> Visit {
        let NodeKind::Expression(children) = self.tree.kind(node) else {
            return Visit::Leaf(node);
        };
        self.pending.push(Visit::Close(node));
        self.pending.extend(children.iter().rev().map(|child| Visit::Open(*child)));
        Visit::Open(node)
    }
}
