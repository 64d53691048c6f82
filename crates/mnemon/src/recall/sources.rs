//! The sources of a run: which are known, and where their forms stand.

use metta::syntax::LineIndex;
use metta::{ModuleId, SourceId, SourceText};

/// A source that a run or its base knows.
#[derive(Debug)]
pub(crate) struct KnownSource {
    pub(crate) module: ModuleId,
    pub(crate) origin: String,
    /// Its path as the base writes it; `None` for a text that is no file.
    pub(crate) file: Option<String>,
    /// BLAKE3 of its text.
    pub(crate) content: [u8; 32],
    /// Whether this text ran to its end.
    pub(crate) is_complete: bool,
    /// Whether the base knows that this text began.
    pub(crate) is_recorded: bool,
    /// Whether it is to be recorded even if it causes nothing: another text of it was.
    pub(crate) is_edited: bool,
    lines: Option<Lines>,
}

/// All sources, by number.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    all: Vec<KnownSource>,
    /// How many of them, from the first on, the base knows by number.
    numbered: usize,
}

/// What is known of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    New,
    Unchanged(SourceId),
    Changed(SourceId),
}

impl Sources {
    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&KnownSource> {
        self.all.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: SourceId) -> Option<&mut KnownSource> {
        self.all.get_mut(id.0 as usize)
    }

    /// Looks for a text by its file, else by its content: a file that was moved is no new one.
    pub(crate) fn find(&self, module: ModuleId, file: Option<&str>, content: &[u8; 32]) -> Found {
        let Some(file) = file else { return Found::New };
        let files = || self.all.iter().enumerate().filter(|(_, known)| known.module == module && known.file.is_some());
        if let Some((index, known)) = files().find(|(_, known)| known.file.as_deref() == Some(file)) {
            let id = SourceId(index as u32);
            let is_unchanged = known.is_complete && known.content == *content;
            return if is_unchanged { Found::Unchanged(id) } else { Found::Changed(id) };
        }
        let moved = files().find(|(_, known)| known.is_complete && known.content == *content);
        moved.map_or(Found::New, |(index, _)| Found::Unchanged(SourceId(index as u32)))
    }

    /// A source that begins, known by this number if it is known.
    pub(crate) fn begin(
        &mut self,
        source: &SourceText<'_>,
        file: Option<String>,
        content: [u8; 32],
        found: Found,
    ) -> SourceId {
        let lines = Some(Lines::new(source.text));
        match found {
            Found::New => self.add(KnownSource {
                module: source.module,
                origin: source.origin.to_owned(),
                file,
                content,
                is_complete: false,
                is_recorded: false,
                is_edited: false,
                lines,
            }),
            Found::Unchanged(id) => {
                self.all[id.0 as usize].lines = lines;
                id
            }
            Found::Changed(id) => {
                let known = &mut self.all[id.0 as usize];
                known.is_edited = true;
                known.is_recorded &= known.content == content;
                (known.content, known.is_complete, known.lines) = (content, false, lines);
                source.origin.clone_into(&mut known.origin);
                id
            }
        }
    }

    /// The sources to be recorded as begun before something names this one: it, unless it is, and those before it that
    /// never were, so that numbers have no gaps. They are recorded from now on.
    pub(crate) fn begin_recording(&mut self, id: SourceId) -> Vec<SourceId> {
        let index = id.0 as usize;
        let first = self.numbered.min(index);
        self.numbered = self.numbered.max(index + 1);
        let Some(known) = self.all.get_mut(first..=index) else { return Vec::new() };
        let unrecorded = known.iter_mut().zip(first..).filter(|(source, _)| !source.is_recorded);
        let record = |(source, index): (&mut KnownSource, usize)| {
            source.is_recorded = true;
            SourceId(index as u32)
        };
        unrecorded.map(record).collect()
    }

    /// Makes nothing known of a source whose run was undone.
    pub(crate) fn forget(&mut self, id: SourceId) {
        if let Some(source) = self.get_mut(id) {
            source.content = [0; 32];
            source.is_complete = false;
        }
    }

    /// A source that the base has recorded.
    pub(crate) fn add_recorded(&mut self, source: KnownSource) {
        self.add(source);
        self.numbered = self.all.len();
    }

    fn add(&mut self, source: KnownSource) -> SourceId {
        self.all.push(source);
        SourceId(self.all.len() as u32 - 1)
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
    pub(crate) fn recorded(module: ModuleId, origin: &str, file: Option<&str>, content: [u8; 32]) -> Self {
        Self {
            module,
            origin: origin.to_owned(),
            file: file.map(str::to_owned),
            content,
            is_complete: false,
            is_recorded: true,
            is_edited: false,
            lines: None,
        }
    }
}

/// A text with the beginnings of its lines.
#[derive(Debug)]
struct Lines {
    text: String,
    starts: Vec<u32>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(offset, _)| offset as u32 + 1)).collect();
        Self { text: text.to_owned(), starts }
    }

    fn position(&self, offset: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1] as usize;
        // The column is counted as in diagnostics.
        let line_text = &self.text[start..self.starts.get(line).map_or(self.text.len(), |&next| next as usize)];
        let column = LineIndex::new(line_text).position(offset - start as u32).column;
        (line as u32, column)
    }
}
