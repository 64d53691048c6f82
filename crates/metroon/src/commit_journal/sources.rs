//! The sources of a run: which are known, and where their forms stand.

use metta::syntax::LineIndex;
use metta::{ModuleId, SourceContent, SourceId, SourceText};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How many texts that have ended are still known: a commit that comes late may name the last of them as its cause.
const TEXTS_LEFT_MAX: usize = 8;

/// A source that a run or its base knows.
#[derive(Debug)]
pub(crate) struct KnownSource {
    pub(crate) module: ModuleId,
    pub(crate) origin: String,
    /// Its path as the base writes it; `None` for a text that is no file.
    pub(crate) file: Option<String>,
    /// BLAKE3 of its text.
    pub(crate) content: [u8; 32],
    /// Its number in the base, given when something of it is first recorded there.
    pub(crate) number: Option<u32>,
    /// Whether this text ran to its end.
    pub(crate) is_complete: bool,
    /// Whether the base knows that this text began.
    pub(crate) is_recorded: bool,
    /// Whether it is to be recorded even if it causes nothing: another text of it was.
    pub(crate) is_edited: bool,
    lines: Option<Lines>,
}

/// All files of a run, and those of its texts that may still cause something, in the order in which the run met them.
///
/// A base is asked for a text by each call, so a text that has ended is forgotten soon: the journal knows where its commits come from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    known: BTreeMap<u32, KnownSource>,
    /// How many the run has met.
    met: u32,
    /// How many the base numbers.
    numbered: u32,
    /// The texts that have ended and are still known, in the order in which they ended.
    left: VecDeque<u32>,
}

/// What is known of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceMatch {
    New,
    Unchanged(SourceId),
    /// The very text of another file: it was moved if that is gone.
    Moved(SourceId),
    Changed(SourceId),
}

impl Sources {
    /// How many the base numbers.
    pub(crate) fn numbered(&self) -> u32 {
        self.numbered
    }

    /// Those that the base numbers, in the order of their numbers.
    pub(crate) fn in_base(&self) -> Vec<(u32, &KnownSource)> {
        let mut numbered: Vec<(u32, &KnownSource)> =
            self.known.values().filter_map(|source| Some((source.number?, source))).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered
    }

    /// The number of a source in the base. A source that nothing was recorded of takes up none.
    pub(crate) fn number(&mut self, id: SourceId) -> u32 {
        let next = self.numbered;
        let Some(source) = self.known.get_mut(&id.0) else { return next };
        let number = *source.number.get_or_insert(next);
        self.numbered = next.max(number + 1);
        number
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&KnownSource> {
        self.known.get(&id.0)
    }

    pub(crate) fn get_mut(&mut self, id: SourceId) -> Option<&mut KnownSource> {
        self.known.get_mut(&id.0)
    }

    /// Whether a module was read from a file of this name.
    pub(crate) fn has_file(&self, module: ModuleId, file: &str) -> bool {
        self.known.values().any(|known| known.module == module && known.file.as_deref() == Some(file))
    }

    /// Looks for a text by its file, else by its content: a file that was moved is no new one.
    pub(crate) fn find(&self, module: ModuleId, file: Option<&str>, content: &[u8; 32]) -> SourceMatch {
        let Some(file) = file else { return SourceMatch::New };
        let files = || self.known.iter().filter(|(_, known)| known.module == module && known.file.is_some());
        if let Some((&index, known)) = files().find(|(_, known)| known.file.as_deref() == Some(file)) {
            let id = SourceId(index);
            let is_unchanged = known.is_complete && known.content == *content;
            return if is_unchanged { SourceMatch::Unchanged(id) } else { SourceMatch::Changed(id) };
        }
        let moved = files().find(|(_, known)| known.is_complete && known.content == *content);
        moved.map_or(SourceMatch::New, |(&index, _)| SourceMatch::Moved(SourceId(index)))
    }

    /// A source that begins, known by this number if it is known.
    pub(crate) fn begin(
        &mut self,
        source: &SourceText<'_>,
        file: Option<String>,
        content: [u8; 32],
        found: SourceMatch,
    ) -> SourceId {
        let lines = Some(match source.content {
            SourceContent::Text(text) => Lines::new(text),
            SourceContent::Rows(_) => Lines::Counted,
        });
        match found {
            SourceMatch::New => self.add(KnownSource {
                module: source.module,
                origin: source.origin.to_owned(),
                file,
                content,
                number: None,
                is_complete: false,
                is_recorded: false,
                is_edited: false,
                lines,
            }),
            SourceMatch::Unchanged(id) => {
                self.found(id).lines = lines;
                id
            }
            SourceMatch::Moved(id) => {
                let known = self.found(id);
                (known.file, known.lines) = (file, lines);
                // The base is to know it by its new name: it begins once more.
                (known.is_edited, known.is_recorded, known.is_complete) = (true, false, false);
                source.origin.clone_into(&mut known.origin);
                id
            }
            SourceMatch::Changed(id) => {
                let known = self.found(id);
                known.is_edited = true;
                known.is_recorded &= known.content == content;
                (known.content, known.is_complete, known.lines) = (content, false, lines);
                source.origin.clone_into(&mut known.origin);
                id
            }
        }
    }

    /// Makes nothing known of a source whose run was undone.
    pub(crate) fn forget(&mut self, id: SourceId) {
        let Some(source) = self.get_mut(id) else { return };
        source.content = [0; 32];
        source.is_complete = false;
        if source.file.is_none() {
            source.lines = None;
            self.leave_text(id);
        }
    }

    /// A file that was found before.
    fn found(&mut self, id: SourceId) -> &mut KnownSource {
        self.known.get_mut(&id.0).expect("files are known as long as the run goes on")
    }

    /// A source that has ended, and all that it caused is committed. Its places are not asked for any more; and if it is the text that came
    /// last, is no file, and caused nothing, it is as if it had not been.
    pub(crate) fn leave(&mut self, id: SourceId) {
        let is_last = id.0 + 1 == self.met;
        let Some(source) = self.known.get_mut(&id.0) else { return };
        source.lines = None;
        if source.file.is_some() {
            return;
        }
        if source.number.is_none() && is_last {
            self.known.remove(&id.0);
            self.met -= 1;
            return;
        }
        self.leave_text(id);
    }

    fn leave_text(&mut self, id: SourceId) {
        self.left.push_back(id.0);
        if self.left.len() > TEXTS_LEFT_MAX {
            self.forget_left();
        }
    }

    /// Forgets the text that ended first, unless it has the highest number: the next source is to get another one, also when the base is opened
    /// from a checkpoint.
    fn forget_left(&mut self) {
        let has_highest =
            |id: &u32| self.known.get(id).and_then(|source| source.number) == self.numbered.checked_sub(1);
        let place = self.left.iter().position(|id| !has_highest(id));
        if let Some(id) = place.and_then(|place| self.left.remove(place)) {
            self.known.remove(&id);
        }
    }

    /// Adds a source that the run meets.
    pub(crate) fn add(&mut self, source: KnownSource) -> SourceId {
        let id = self.met;
        self.known.insert(id, source);
        self.met += 1;
        SourceId(id)
    }

    /// Leaves out the numbers before this one that no source has yet: a checkpoint has no texts that have ended.
    pub(crate) fn skip_to(&mut self, number: u32) {
        self.met = self.met.max(number);
        self.numbered = self.numbered.max(number);
    }

    /// The line and column of a place in a source that is being run.
    pub(crate) fn position(&self, id: SourceId, offset: u32) -> (u32, u32) {
        let lines = self.get(id).and_then(|known| known.lines.as_ref());
        lines.map_or((0, 0), |lines| lines.position(offset))
    }

    /// What a source is called.
    pub(crate) fn origin(&self, id: SourceId) -> &str {
        self.get(id).map_or("?", |known| &known.origin)
    }
}

impl KnownSource {
    /// A source as a base has recorded it.
    pub(crate) fn recorded(number: u32, module: ModuleId, origin: &str, file: Option<&str>, content: [u8; 32]) -> Self {
        Self {
            module,
            origin: origin.to_owned(),
            file: file.map(str::to_owned),
            content,
            number: Some(number),
            is_complete: false,
            is_recorded: true,
            is_edited: false,
            lines: None,
        }
    }
}

/// Where the lines of a source begin.
#[derive(Debug)]
enum Lines {
    /// A text with the beginnings of its lines, which are looked for when they are first needed, and the line that was asked for
    /// last.
    Text { text: Arc<str>, starts: OnceCell<Vec<u32>>, last: Cell<usize> },
    /// A place is a line.
    Counted,
}

impl Lines {
    fn new(text: &Arc<str>) -> Self {
        Self::Text { text: Arc::clone(text), starts: OnceCell::new(), last: Cell::new(0) }
    }

    fn position(&self, offset: u32) -> (u32, u32) {
        let Self::Text { text, starts, last } = self else { return (offset, 1) };
        // A text of one form needs no lines.
        if offset == 0 {
            return (1, 1);
        }
        let starts = starts.get_or_init(|| {
            let newlines = memchr::memchr_iter(b'\n', text.as_bytes());
            std::iter::once(0).chain(newlines.map(|newline| newline as u32 + 1)).collect()
        });
        // Forms are mostly asked for one after the other: the line is the last one or the next.
        let is_line = |line: usize| {
            let next = starts.get(line).is_none_or(|&next| offset < next);
            next && starts.get(line.wrapping_sub(1)).is_some_and(|&start| start <= offset)
        };
        let near = [last.get(), last.get() + 1].into_iter().find(|&line| is_line(line));
        let line = near.unwrap_or_else(|| starts.partition_point(|&start| start <= offset).max(1));
        last.set(line);
        let start = starts[line - 1] as usize;
        if offset as usize == start {
            return (line as u32, 1);
        }
        // The column is counted as in diagnostics.
        let line_text = &text[start..starts.get(line).map_or(text.len(), |&next| next as usize)];
        let column = LineIndex::new(line_text).position(offset - start as u32).column;
        (line as u32, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sources: &mut Sources) -> SourceId {
        let source = KnownSource {
            number: None,
            is_recorded: false,
            ..KnownSource::recorded(0, ModuleId::TOP, "text", None, [0; 32])
        };
        sources.add(source)
    }

    #[test]
    fn texts_that_have_ended_are_forgotten_and_numbers_go_on() {
        let mut sources = Sources::default();
        let file = KnownSource {
            number: None,
            ..KnownSource::recorded(0, ModuleId::TOP, "a.metta", Some("a.metta"), [1; 32])
        };
        let file = sources.add(file);
        assert_eq!(sources.number(file), 0);
        // One that goes on while others come and go.
        let long = text(&mut sources);
        assert_eq!(sources.number(long), 1);
        for number in 2..10_000 {
            let id = text(&mut sources);
            match number % 3 {
                // Nothing was recorded of it, or it was undone.
                0 => {
                    let unused = text(&mut sources);
                    sources.leave(unused);
                }
                1 => {
                    let undone = text(&mut sources);
                    sources.forget(undone);
                }
                _ => {}
            }
            assert_eq!((sources.number(id), sources.number(id)), (number, number));
            sources.leave(id);
            assert!(sources.known.len() <= TEXTS_LEFT_MAX + 3, "{}", sources.known.len());
        }
        assert_eq!((sources.number(long), sources.number(file), sources.numbered()), (1, 0, 10_000));
        assert_eq!(sources.find(ModuleId::TOP, Some("a.metta"), &[1; 32]), SourceMatch::Changed(file));
        let kept: Vec<u32> = sources.in_base().iter().map(|(number, _)| *number).collect();
        assert!(kept.starts_with(&[0, 1]) && kept.ends_with(&[9_999]) && kept.is_sorted(), "{kept:?}");
        // A checkpoint of them gives the next one its number.
        let mut read = Sources::default();
        for number in kept {
            read.skip_to(number);
            let id = read.add(KnownSource::recorded(number, ModuleId::TOP, "text", None, [0; 32]));
            assert_eq!((read.number(id), id), (number, SourceId(number)));
            read.leave(id);
        }
        let next = text(&mut read);
        assert_eq!(read.number(next), 10_000);
    }
}
