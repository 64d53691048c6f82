//! CSV and TSV: a line is an expression `(HEAD value …)`.

use super::text;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use metta::{Format, Out, Words};

/// How much one line may hold. What is above is left out.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of values, a power of two.
    bytes: usize,
    /// Values, a power of two.
    values: usize,
}

const LIMITS: Limits = Limits { bytes: 1 << 28, values: 1 << 20 };

/// The room for a line to begin with, and the most that is kept after one: bytes and values.
const FEW: (usize, usize) = (4096, 32);
const KEPT_MAX: (usize, usize) = (1 << 20, 1 << 14);

const NOT_UTF8: &str = "a value is not UTF-8";
const UNCLOSED: &str = "a quote that is not closed";
const TOO_LONG: &str = "a line of more than 2^28 bytes: is a quote missing?";
const TOO_MANY: &str = "a line of more than 2^20 values";
const OTHER_WIDTH: &str = "another number of values than the first line has";
const HEADINGS: &str = "headings";

/// Reads lines of values.
pub(super) struct Separated {
    reader: Reader,
    kind: &'static str,
    head: String,
    has_headings: bool,
    words: Words,
    /// The values of the line at hand, one after the other, and where each ends.
    values: Vec<u8>,
    ends: Vec<usize>,
    /// How much of both is filled.
    filled: (usize, usize),
    limits: Limits,
    /// Why the line at hand is left out, if it is too long, and how many line breaks were in what was dropped of it.
    too_long: Option<&'static str>,
    newlines_dropped: usize,
    /// Whether the first line was met.
    has_begun: bool,
    /// Whether the end of the file was read.
    has_ended: bool,
    /// How many values the first line that could be read has.
    width: Option<usize>,
}

impl Separated {
    pub(super) fn by_commas(head: String, has_headings: bool, words: Words) -> Self {
        Self::new(Reader::new(), "csv", head, has_headings, words)
    }

    /// As the media type has it: what stands between tabs is the value, quotes included.
    pub(super) fn by_tabs(head: String, has_headings: bool, words: Words) -> Self {
        let reader = ReaderBuilder::new().delimiter(b'\t').quoting(false).build();
        Self::new(reader, "tsv", head, has_headings, words)
    }

    fn new(reader: Reader, kind: &'static str, head: String, has_headings: bool, words: Words) -> Self {
        Self {
            reader,
            kind,
            head,
            has_headings,
            words,
            values: vec![0; FEW.0],
            ends: vec![0; FEW.1],
            filled: (0, 0),
            limits: LIMITS,
            too_long: None,
            newlines_dropped: 0,
            has_begun: false,
            has_ended: false,
            width: None,
        }
    }

    /// Begins a record with the line at hand, which ended with this byte; gives how many bytes and values it has.
    fn begin(&mut self, last: Option<&u8>, out: &mut dyn Out) -> (usize, usize) {
        let (length, count) = std::mem::take(&mut self.filled);
        // The reader stands behind it, and values may hold line breaks.
        let dropped = std::mem::take(&mut self.newlines_dropped);
        let newlines = dropped + newlines(&self.values[..length]) + usize::from(last == Some(&b'\n'));
        out.record(self.reader.line().saturating_sub(newlines as u64));
        (length, count)
    }

    /// Hands out the line at hand, which ended with this byte.
    fn take(&mut self, last: Option<&u8>, out: &mut dyn Out) {
        let (length, count) = self.begin(last, out);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if let Some(reason) = self.too_long.take() {
            return out.skip(reason, true);
        }
        let width = *self.width.get_or_insert(count);
        if is_first && self.has_headings {
            return out.skip(HEADINGS, false);
        }
        if width != count {
            return out.skip(OTHER_WIDTH, true);
        }
        // Where one value ends and another begins is a boundary of characters: separators are ASCII.
        let Ok(values) = std::str::from_utf8(&self.values[..length]) else { return out.skip(NOT_UTF8, true) };
        let mut start = 0;
        if self.ends[..count].iter().any(|&end| !values.is_char_boundary(end)) {
            return out.skip(NOT_UTF8, true);
        }
        out.open();
        out.symbol(&self.head);
        for &end in &self.ends[..count] {
            text::value(&values[start..end], &self.words, out);
            start = end;
        }
        out.close();
    }

    /// Makes room for more of the line at hand; if it is too long, what was read of it is dropped.
    fn make_room(&mut self, is_for_values: bool) {
        let (room, max, reason) = if is_for_values {
            (self.ends.len(), self.limits.values, TOO_MANY)
        } else {
            (self.values.len(), self.limits.bytes, TOO_LONG)
        };
        if self.too_long.is_none() && room < max {
            return if is_for_values { self.ends.resize(room * 2, 0) } else { self.values.resize(room * 2, 0) };
        }
        self.too_long.get_or_insert(reason);
        self.newlines_dropped += newlines(&self.values[..self.filled.0]);
        self.filled = (0, 0);
    }

    /// Gives back the room that a long line needed.
    fn shrink(&mut self) {
        if self.values.len() > KEPT_MAX.0 {
            self.values = vec![0; FEW.0];
        }
        if self.ends.len() > KEPT_MAX.1 {
            self.ends = vec![0; FEW.1];
        }
    }

    /// Reads these bytes until nobody wants more; gives how many that were, and how many of them are part of values.
    fn read_all(&mut self, bytes: &[u8], out: &mut dyn Out) -> (usize, usize) {
        let (mut at, mut copied) = (0, 0);
        // No bytes say to the reader that the file has ended.
        while at < bytes.len() && !out.is_full() {
            let (length, count) = self.filled;
            let (result, read, written, ended) =
                self.reader.read_record(&bytes[at..], &mut self.values[length..], &mut self.ends[count..]);
            at += read;
            copied += written;
            self.filled = (length + written, count + ended);
            match result {
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
                ReadRecordResult::OutputFull => self.make_room(false),
                ReadRecordResult::OutputEndsFull => self.make_room(true),
                ReadRecordResult::Record => {
                    self.take(bytes[..at].last(), out);
                    self.shrink();
                }
            }
        }
        (at, copied)
    }

    /// Ends the last line. The reader itself would end it without a word about a quote that is open: only there a line break is part of
    /// a value, and anywhere else one more changes nothing.
    fn end(&mut self, out: &mut dyn Out) {
        if self.read_all(b"\n", out).1 > 0 {
            self.begin(None, out);
            out.skip(UNCLOSED, true);
        }
    }
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

impl Format for Separated {
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let (at, _) = self.read_all(bytes, out);
        if is_end && at == bytes.len() && !out.is_full() && !std::mem::replace(&mut self.has_ended, true) {
            self.end(out);
        }
        at
    }

    fn manner(&self) -> String {
        format!("{} {} {}", self.kind, self.has_headings, self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metta::{MemoryWorld, Session};
    use space::Atom;

    /// The records, and the line and reason of each that is left out.
    #[derive(Default)]
    struct Seen {
        line: u64,
        records: Vec<u64>,
        skipped: Vec<(u64, String)>,
    }

    impl Out for Seen {
        fn record(&mut self, line: u64) {
            self.line = line;
        }

        fn open(&mut self) {}

        fn symbol(&mut self, _: &str) {}

        fn leaf(&mut self, _: Atom) {}

        fn close(&mut self) {
            self.records.push(self.line);
        }

        fn atom(&mut self, _: Atom) {}

        fn skip(&mut self, reason: &str, _: bool) {
            self.skipped.push((self.line, reason.to_owned()));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_named_with_its_place_and_its_room_given_back() {
        let limits = Limits { bytes: 1 << 13, values: 1 << 6 };
        let long = format!("\"{}\"", "0123456\n".repeat(5_000));
        let many = "1,".repeat(2_000);
        let text = format!("a,b\n1,2\n{long},3\n4,5\n{many}\n6,7\n");
        for piece in [1, 7, 4096, text.len()] {
            let words = Session::new(Box::new(MemoryWorld::default())).words();
            let mut format = Separated { limits, ..Separated::by_commas("t".to_owned(), true, words) };
            let mut seen = Seen::default();
            for bytes in text.as_bytes().chunks(piece) {
                assert_eq!(format.read(bytes, false, &mut seen), bytes.len());
                assert!(format.values.len() <= limits.bytes && format.ends.len() <= limits.values);
            }
            format.read(&[], true, &mut seen);
            assert_eq!(seen.records, [2, 5_004, 5_006], "pieces of {piece}");
            let expected = [(1, HEADINGS), (3, TOO_LONG), (5_005, TOO_MANY)];
            assert_eq!(seen.skipped, expected.map(|(line, reason)| (line, reason.to_owned())), "pieces of {piece}");
        }
    }

    #[test]
    fn room_that_a_long_line_needed_is_given_back() {
        let words = Session::new(Box::new(MemoryWorld::default())).words();
        let mut format = Separated::by_commas("t".to_owned(), false, words);
        let text = format!("{}{}\n", "x".repeat(3 << 20), ",y".repeat(1 << 15));
        format.read(text.as_bytes(), true, &mut Seen::default());
        assert!(format.values.len() <= KEPT_MAX.0 && format.ends.len() <= KEPT_MAX.1);
    }

    #[test]
    fn a_quote_is_open_until_it_is_closed() {
        let cases = [
            ("", false),
            ("a", false),
            ("\"a", true),
            ("1,\"4", true),
            ("\"3\",\"4", true),
            ("\"a\"", false),
            ("\"a\"\"", true),
            ("a\r", false),
        ];
        for (text, is_open) in cases {
            let words = Session::new(Box::new(MemoryWorld::default())).words();
            let mut seen = Seen::default();
            Separated::by_commas("t".to_owned(), false, words).read(text.as_bytes(), true, &mut seen);
            let expected: &[_] = if is_open { &[(1, UNCLOSED.to_owned())] } else { &[] };
            assert_eq!(seen.skipped, expected, "{text}");
            assert_eq!(seen.records.len(), usize::from(!is_open && !text.is_empty()), "{text}");
        }
    }
}
