//! References: what a word of the heap holds.

/// The tags of references. The heap follows 4 to 7; the meaning of 0 to 3 is the owner's.
pub mod tag {
    /// An immediate: the payload is the value.
    pub const IMMEDIATE_0: u32 = 0;
    /// An immediate of a second kind.
    pub const IMMEDIATE_1: u32 = 1;
    /// An immediate of a third kind.
    pub const IMMEDIATE_2: u32 = 2;
    /// An immediate that stands for something the owner keeps elsewhere; a copy reports each one it meets.
    pub const IMMEDIATE_3: u32 = 3;
    /// A number: 64 raw bits in a cell. The lowest bit of the payload is the number's kind.
    pub const NUMBER: u32 = 4;
    /// A variable: a cell with a binding and a label.
    pub const VARIABLE: u32 = 5;
    /// An expression: a header and its children.
    pub const EXPRESSION: u32 = 6;
    /// An expression, seen through a reference that carries the owner's mark.
    pub const MARKED: u32 = 7;
}

/// A tagged reference: three bits of tag below 29 bits of payload.
///
/// The mark of [`tag::MARKED`] is a bit of the reference, not of the expression: both kinds address the same cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Ref(u32);

pub(crate) const TAG_BITS: u32 = 3;

impl Ref {
    /// The payloads that fit.
    pub const PAYLOAD_MAX: u32 = u32::MAX >> TAG_BITS;

    /// A reference of this tag and payload, which must fit: at most 7 and [`Ref::PAYLOAD_MAX`].
    #[inline]
    pub const fn new(tag: u32, payload: u32) -> Ref {
        debug_assert!(tag <= tag::MARKED && payload <= Ref::PAYLOAD_MAX);
        Ref(payload << TAG_BITS | tag)
    }

    /// What kind of thing this refers to, one of the numbers in [`tag`].
    #[inline]
    pub const fn tag(self) -> u32 {
        self.0 & tag::MARKED
    }

    /// The value of an immediate, the place of anything else.
    #[inline]
    pub const fn payload(self) -> u32 {
        self.0 >> TAG_BITS
    }

    /// Whether this refers to an expression, marked or not.
    #[inline]
    pub const fn is_expression(self) -> bool {
        self.tag() >= tag::EXPRESSION
    }

    /// Whether this refers to nothing in a heap.
    #[inline]
    pub const fn is_immediate(self) -> bool {
        self.tag() <= tag::IMMEDIATE_3
    }

    /// Whether this refers to a variable, bound or not.
    #[inline]
    pub const fn is_variable(self) -> bool {
        self.tag() == tag::VARIABLE
    }

    /// Whether this refers to a number.
    #[inline]
    pub const fn is_number(self) -> bool {
        self.tag() == tag::NUMBER
    }

    /// This expression with the owner's mark. For expressions only.
    #[inline]
    pub const fn marked(self) -> Ref {
        debug_assert!(self.is_expression());
        Ref(self.0 | tag::MARKED)
    }

    /// This expression without the owner's mark; anything else as it is.
    #[inline]
    pub const fn unmarked(self) -> Ref {
        if self.tag() == tag::MARKED { Ref(self.0 ^ (tag::MARKED ^ tag::EXPRESSION)) } else { self }
    }

    /// The word itself, for tables that store words.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The reference with these [`Ref::bits`].
    #[inline]
    pub const fn from_bits(bits: u32) -> Ref {
        Ref(bits)
    }

    /// The cell of what is not an immediate. The payload of a number has its kind below the cell.
    #[inline]
    pub(crate) const fn cell(self) -> u32 {
        if self.tag() == tag::NUMBER { self.payload() >> 1 } else { self.payload() }
    }

    /// A reference of this kind to another cell.
    #[inline]
    pub(crate) const fn at_cell(self, cell: u32) -> Ref {
        let payload = if self.tag() == tag::NUMBER { cell << 1 | self.payload() & 1 } else { cell };
        Ref::new(self.tag(), payload)
    }
}
