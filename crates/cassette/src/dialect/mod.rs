//! What the events of a stream say in the dialects of models: which texts they give, piece by piece.
//!
//! 1. A body is cut into [units](units): events, lines or elements of an array. A message of a WebSocket is one.
//! 2. An event is read as JSON with the places of its values. Each [`Delta`] in it is a piece of one text, which is named by what the dialect
//!    tells texts apart with: the number of a choice, of a tool call, of a block, or the identifier of an item.
//! 3. An event may also say that texts are over.
//! 4. What a model says may be there once more as [tokens](tokens) with their probabilities, which are pieces of a text of their own.
//!
//! An event of no dialect has no deltas. Cost: an event is read twice, and not at all if no word of a dialect is in it.

mod located;
mod tokens;
pub(crate) mod units;

use located::LocatedValue;
pub(crate) use located::next_char;
use std::ops::Range;
pub(crate) use tokens::Mirror;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// What a model says.
    Said,
    /// A text of JSON with which a tool is to be called.
    Arguments,
}

/// A piece of a text that comes in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delta {
    /// Which text it is a piece of. Of texts that may be over, one name begins with the other.
    pub(crate) field: String,
    pub(crate) kind: TextKind,
    /// Where the piece stands in the event: between the quotes of a string, with escapes.
    pub(crate) content: Range<usize>,
    /// What says the same in other places of the event.
    pub(crate) mirrors: Vec<Mirror>,
}

/// What an event says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    pub(crate) deltas: Vec<Delta>,
    /// Names with which texts begin that are over. An empty one: all are.
    pub(crate) over: Vec<String>,
}

/// Words one of which is in each event that is of a dialect.
const WORDS: [&[u8]; 9] = [
    b"delta\"",
    b"choices\"",
    b"candidates\"",
    b"message\"",
    b"response\"",
    b"_stop\"",
    b".done\"",
    b"-delta",
    tokens::WORD,
];

/// An identifier that is longer is cut: a name is kept as long as its text goes on.
const IDENTIFIER_BYTES_MAX: usize = 128;

/// Whether lists of tokens may be in a text.
pub(crate) fn may_have_tokens(text: &[u8]) -> bool {
    memchr::memmem::find(text, tokens::WORD).is_some()
}

/// Reads an event.
pub(crate) fn read(text: &[u8]) -> StreamEvent {
    if text.trim_ascii() == b"[DONE]" {
        return StreamEvent { over: vec![String::new()], ..StreamEvent::default() };
    }
    if !WORDS.iter().any(|word| memchr::memmem::find(text, word).is_some()) {
        return StreamEvent::default();
    }
    let Some(root) = LocatedValue::read(text) else { return StreamEvent::default() };
    let mut reader = EventReader { text, said: StreamEvent::default() };
    reader.chat(&root);
    reader.typed(&root);
    reader.candidates(&root);
    reader.lines(&root);
    if may_have_tokens(text) {
        reader.tokens(&root);
    }
    reader.said
}

struct EventReader<'t> {
    text: &'t [u8],
    said: StreamEvent,
}

impl EventReader<'_> {
    /// A piece, if there is one.
    fn delta(&mut self, kind: TextKind, field: String, value: Option<&LocatedValue>) {
        if let Some(value) = value.filter(|value| value.is_string()) {
            self.said.deltas.push(Delta { field, kind, content: value.range.clone(), mirrors: Vec::new() });
        }
    }

    /// What a member says, such as a number or an identifier.
    fn word(&self, value: &LocatedValue, name: &str) -> Option<String> {
        let word = value.get(name)?.word(self.text)?;
        let end = word.floor_char_boundary(IDENTIFIER_BYTES_MAX);
        Some(word[..end].to_owned())
    }

    /// Which element of a list something is: what it says, or where it stands.
    fn index(&self, value: &LocatedValue, position: usize) -> String {
        self.word(value, "index").unwrap_or_else(|| position.to_string())
    }

    /// OpenAI chat and completions, and those who speak as they do.
    fn chat(&mut self, root: &LocatedValue) {
        for (position, choice) in root.get("choices").map(LocatedValue::elements).unwrap_or_default().iter().enumerate()
        {
            let name = format!("choice {}/", self.index(choice, position));
            self.delta(TextKind::Said, format!("{name}text"), choice.get("text"));
            if let Some(delta) = choice.get("delta") {
                self.chat_delta(&name, delta);
            }
            if self.word(choice, "finish_reason").is_some_and(|reason| reason != "null") {
                self.said.over.push(name);
            }
        }
    }

    fn chat_delta(&mut self, name: &str, delta: &LocatedValue) {
        for part in ["content", "refusal", "reasoning_content", "reasoning"] {
            self.delta(TextKind::Said, format!("{name}{part}"), delta.get(part));
        }
        for part in delta.get("content").map(LocatedValue::elements).unwrap_or_default() {
            self.delta(TextKind::Said, format!("{name}content"), part.get("text"));
        }
        self.delta(TextKind::Said, format!("{name}transcript"), delta.at(&["audio", "transcript"]));
        self.delta(TextKind::Arguments, format!("{name}call"), delta.at(&["function_call", "arguments"]));
        for (position, call) in
            delta.get("tool_calls").map(LocatedValue::elements).unwrap_or_default().iter().enumerate()
        {
            let name = format!("{name}call {}", self.index(call, position));
            self.delta(TextKind::Arguments, name.clone(), call.at(&["function", "arguments"]));
            self.delta(TextKind::Arguments, name, call.at(&["custom", "input"]));
        }
    }

    /// Tokens with their probabilities. Those of an event that gives no piece of a text are all that there are of theirs.
    fn tokens(&mut self, root: &LocatedValue) {
        let kind = self.word(root, "type").unwrap_or_default();
        let stem = kind.strip_suffix(".delta").map(|stem| format!("{stem}/{}", self.ids(root)));
        let is_line = root.get("done").is_some();
        for (name, list) in root.members() {
            match name.as_str() {
                "choices" | "candidates" => {
                    for (position, choice) in list.elements().iter().enumerate() {
                        let of = name.strip_suffix('s').unwrap_or(name);
                        let way = format!("{of} {}/tokens", self.index(choice, position));
                        self.token_lists(choice, &way);
                    }
                }
                _ if stem.is_some() || is_line => {
                    let way = format!("{}tokens/{name}", stem.as_deref().unwrap_or("line/"));
                    self.token_lists(list, &way);
                }
                _ => {
                    let way = format!("once/{name}");
                    self.token_lists(list, &way);
                    self.said.over.push(way);
                }
            }
        }
    }

    fn token_lists(&mut self, value: &LocatedValue, way: &str) {
        let said = &mut self.said;
        tokens::find(value, way, &mut |way, tokens| {
            let field = &way[..way.floor_char_boundary(2 * IDENTIFIER_BYTES_MAX)];
            said.deltas.extend(tokens.into_iter().map(|token| Delta {
                field: field.to_owned(),
                kind: TextKind::Said,
                content: token.content,
                mirrors: token.mirrors,
            }));
        });
    }

    /// What an event that has a type tells its text apart with.
    fn ids(&self, root: &LocatedValue) -> String {
        let parts =
            ["response_id", "item_id", "output_index", "content_index", "summary_index", "index", "id", "toolCallId"];
        let ids = parts.iter().filter_map(|part| Some(format!("{part} {}/", self.word(root, part)?)));
        ids.collect()
    }

    /// Events that have a type: Anthropic, OpenAI Responses and Realtime, Cohere, and streams to user interfaces.
    fn typed(&mut self, root: &LocatedValue) {
        let Some(kind) = self.word(root, "type") else { return };
        let ids = |reader: &Self| reader.ids(root);
        match kind.as_str() {
            "content_block_delta" | "content_block_start" | "content-delta" | "tool-call-delta" => {
                let (name, delta) = (ids(self), root.get("delta").or_else(|| root.get("content_block")));
                let Some(delta) = delta else { return };
                let is_thought = self.word(delta, "type").is_some_and(|kind| kind.starts_with("thinking"));
                self.delta(TextKind::Said, format!("{name}text"), delta.get("text").filter(|_| !is_thought));
                self.delta(TextKind::Said, format!("{name}thinking"), delta.get("thinking"));
                self.delta(TextKind::Arguments, format!("{name}call"), delta.get("partial_json"));
                self.delta(TextKind::Said, format!("{name}text"), delta.at(&["message", "content", "text"]));
                let arguments = delta.at(&["message", "tool_calls", "function", "arguments"]);
                self.delta(TextKind::Arguments, format!("{name}call"), arguments);
            }
            "content_block_stop" => self.said.over.push(ids(self)),
            "message_stop" => self.said.over.push(String::new()),
            _ => {
                if let Some(stem) = kind.strip_suffix(".delta").or_else(|| kind.strip_suffix("-delta")) {
                    self.stem(stem, ids(self), root);
                } else if let Some(stem) = kind.strip_suffix(".done") {
                    let name = format!("{stem}/{}", ids(self));
                    self.said.over.push(name);
                } else if matches!(&*kind, "response.completed" | "response.failed" | "response.incomplete") {
                    self.said.over.push(String::new());
                }
            }
        }
    }

    fn stem(&mut self, stem: &str, ids: String, root: &LocatedValue) {
        // Sound is not text.
        if stem.ends_with("audio") {
            return;
        }
        let is_call = ["arguments", "custom_tool_call_input", "tool-input"].iter().any(|end| stem.ends_with(end));
        let kind = if is_call { TextKind::Arguments } else { TextKind::Said };
        let name = format!("{stem}/{ids}");
        self.delta(kind, name.clone(), root.get("delta"));
        self.delta(kind, name, root.get("inputTextDelta"));
    }

    /// Gemini.
    fn candidates(&mut self, root: &LocatedValue) {
        let candidates = root.get("candidates").map(LocatedValue::elements).unwrap_or_default();
        for (position, candidate) in candidates.iter().enumerate() {
            let name = format!("candidate {}/", self.index(candidate, position));
            let parts = candidate.at(&["content", "parts"]).map(LocatedValue::elements).unwrap_or_default();
            for part in parts {
                let is_thought = self.word(part, "thought").is_some_and(|thought| thought == "true");
                let field = if is_thought { "thought" } else { "text" };
                self.delta(TextKind::Said, format!("{name}{field}"), part.get("text"));
            }
            if self.word(candidate, "finishReason").is_some_and(|reason| reason != "null") {
                self.said.over.push(name);
            }
        }
    }

    /// Ollama: a line says whether it is the last.
    fn lines(&mut self, root: &LocatedValue) {
        let Some(done) = self.word(root, "done") else { return };
        for path in [&["message", "content"][..], &["message", "thinking"], &["response"], &["thinking"]] {
            self.delta(TextKind::Said, format!("line/{}", path.join("/")), root.at(path));
        }
        if done == "true" {
            self.said.over.push(String::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of texts in an event with their pieces, and what is over.
    fn said(event: &str) -> (Vec<(String, TextKind, &str)>, Vec<String>) {
        let StreamEvent { deltas, over } = read(event.as_bytes());
        let piece = |delta: &Delta| (delta.field.clone(), delta.kind, &event[delta.content.clone()]);
        (deltas.iter().map(piece).collect(), over)
    }

    #[test]
    fn each_dialect_is_read() {
        use TextKind::{Arguments, Said};
        for (event, field, kind) in [
            (r#"{"choices":[{"index":1,"delta":{"content":"x\n"}}]}"#, "choice 1/content", Said),
            (r#"{"choices":[{"index":0,"text":"x\n","logprobs":null}]}"#, "choice 0/text", Said),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"index":2,"id":"call_1","function":{"name":"f","arguments":"x\n"}}]}}]}"#,
                "choice 0/call 2",
                Arguments,
            ),
            (
                r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"x\n"}"#,
                "response.output_text/item_id msg_1/output_index 0/content_index 0/",
                Said,
            ),
            (
                r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"x\n"}"#,
                "response.function_call_arguments/item_id fc_1/output_index 1/",
                Arguments,
            ),
            (
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x\n"}}"#,
                "index 0/text",
                Said,
            ),
            (
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"x\n"}}"#,
                "index 1/call",
                Arguments,
            ),
            (
                r#"{"model":"m","message":{"role":"assistant","content":"x\n"},"done":false}"#,
                "line/message/content",
                Said,
            ),
            (r#"{"response":"x\n","done":false}"#, "line/response", Said),
            (r#"{"candidates":[{"content":{"parts":[{"text":"x\n"}],"role":"model"}}]}"#, "candidate 0/text", Said),
            (r#"{"type":"text-delta","id":"a","delta":"x\n"}"#, "text/id a/", Said),
        ] {
            assert_eq!(said(event), (vec![(field.to_owned(), kind, r"x\n")], vec![]), "{event}");
        }
        for (event, over) in [
            ("[DONE]", ""),
            (r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#, "choice 1/"),
            (r#"{"type":"content_block_stop","index":1}"#, "index 1/"),
            (r#"{"type":"message_stop"}"#, ""),
            (r#"{"type":"response.output_text.done","item_id":"a","text":"x"}"#, "response.output_text/item_id a/"),
        ] {
            assert_eq!(said(event), (vec![], vec![over.to_owned()]), "{event}");
        }
        for event in [r#"{"type":"response.audio.delta","delta":"AAAA"}"#, r#"{"message":"x"}"#, r#"{"choices":[1, {"#]
        {
            assert_eq!(read(event.as_bytes()), StreamEvent::default(), "{event}");
        }
    }
}
