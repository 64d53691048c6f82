//! CSV and TSV: a line is an expression `(HEAD value …)`.

use super::text;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use metta::{Format, Out, Words};

/// The most bytes of values that a line has.
const LINE_BYTES_MAX: usize = 256 << 20;

const NOT_UTF8: &str = "a value is not UTF-8";
const TOO_LONG: &str = "a line of more than 2^28 bytes: is a quote missing?";
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
    /// How many values the first line has.
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
        let (values, ends) = (vec![0; 4096], vec![0; 32]);
        Self { reader, kind, head, has_headings, words, values, ends, filled: (0, 0), width: None }
    }

    /// Hands out the line at hand, which ended with this byte.
    fn take(&mut self, last: Option<&u8>, out: &mut dyn Out) {
        let (length, count) = std::mem::take(&mut self.filled);
        // The reader stands behind it, and values may hold line breaks.
        let newlines = memchr::memchr_iter(b'\n', &self.values[..length]).count() + usize::from(last == Some(&b'\n'));
        out.record(self.reader.line().saturating_sub(newlines as u64));
        let is_first = self.width.is_none();
        let width = *self.width.get_or_insert(count);
        if is_first && self.has_headings {
            return out.skip(HEADINGS, false);
        }
        if width != count {
            return out.skip(OTHER_WIDTH, true);
        }
        if length > LINE_BYTES_MAX {
            self.values.truncate(4096);
            return out.skip(TOO_LONG, true);
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
}

impl Format for Separated {
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let mut at = 0;
        loop {
            // No bytes say that the file has ended.
            if at == bytes.len() && !is_end {
                return at;
            }
            let (length, count) = self.filled;
            let (result, read, written, ended) =
                self.reader.read_record(&bytes[at..], &mut self.values[length..], &mut self.ends[count..]);
            at += read;
            self.filled = (length + written, count + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.values.len() > LINE_BYTES_MAX => self.filled.0 = 0,
                ReadRecordResult::OutputFull => self.values.resize(self.values.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => self.take(bytes[..at].last().filter(|_| read > 0), out),
                ReadRecordResult::End => return at,
            }
        }
    }

    fn manner(&self) -> String {
        format!("{} {} {}", self.kind, self.has_headings, self.head)
    }
}
