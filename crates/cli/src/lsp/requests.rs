//! The requests that are answered from documents.

use super::Server;
use super::document::{Document, Encoding, Text, Word};
use super::workspace::{self, Near};
use metroon::editing::{documentation_of, format, known_names, type_of};
use metroon::syntax::{Span, parse};
use serde_json::{Value, json};

/// The most names that a completion offers: an editor asks again when more was written.
const NAMES_MAX: usize = 200;

/// The result of a request, or why it is refused; `None` if there is no such request.
pub(super) fn answer(server: &mut Server, method: &str, parameters: &Value) -> Option<Result<Value, String>> {
    let serve = match method {
        "textDocument/hover" => hover,
        "textDocument/definition" => definition,
        "textDocument/references" => references,
        "textDocument/completion" => completion,
        "textDocument/rename" => rename,
        "textDocument/formatting" => formatting,
        "textDocument/documentSymbol" => symbols,
        _ => return None,
    };
    let encoding = server.encoding;
    let uri = parameters["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
    // Only names are looked for in other files.
    let is_of_names = matches!(method, "textDocument/definition" | "textDocument/references" | "textDocument/rename");
    let near = if is_of_names { workspace::near(&server.folders, &server.documents, &uri) } else { Vec::new() };
    let Some(document) = server.documents.get_mut(&uri) else { return Some(Err(format!("{uri} is not open"))) };
    Some(serve(&mut Asked { document, near, encoding, uri: &uri, parameters }))
}

/// A request about a document.
struct Asked<'a> {
    document: &'a mut Document,
    /// The other files that share its names.
    near: Vec<Near>,
    encoding: Encoding,
    uri: &'a str,
    parameters: &'a Value,
}

impl Asked<'_> {
    fn offset(&self) -> Option<usize> {
        self.document.text.offset(&self.parameters["position"], self.encoding)
    }

    fn word(&self) -> Option<Word> {
        self.document.text.word_at(self.offset()?)
    }

    /// The text that was asked about, and the others that share its names; a variable is of its own form.
    fn texts(&self, word: &Word) -> impl Iterator<Item = (&str, &Text)> {
        let near = if word.is_variable { &[][..] } else { &self.near[..] };
        std::iter::once((self.uri, &self.document.text)).chain(near.iter().map(|near| (near.uri.as_str(), &near.text)))
    }

    fn locations(&self, word: &Word, spans: impl Fn(&Text) -> Vec<Span>) -> Value {
        let of_text = |(uri, text): (&str, &Text)| {
            let location = |span| json!({ "uri": uri, "range": text.range(span, self.encoding) });
            spans(text).into_iter().map(location).collect::<Vec<_>>()
        };
        self.texts(word).flat_map(of_text).collect()
    }
}

fn hover(asked: &mut Asked<'_>) -> Result<Value, String> {
    let Some(word) = asked.word().filter(|word| !word.is_variable) else { return Ok(Value::Null) };
    let program = asked.document.checked.program();
    let mut lines = documentation_of(program, &word.name);
    if lines.is_empty() {
        lines.extend(type_of(program, &word.name).map(|type_text| format!("{} : {type_text}", word.name)));
        let rules = asked.document.text.definitions_of(&word.name);
        let shown = rules.iter().take(3).filter_map(|span| {
            let form = asked.document.text.form_at(span.start)?;
            Some(asked.document.text.parsed.tree.span(form).slice(&asked.document.text.text).to_owned())
        });
        lines.extend(shown.filter(|text| text.len() < 2_000));
    }
    if lines.is_empty() {
        return Ok(Value::Null);
    }
    let [first, others @ ..] = &lines[..] else { return Ok(Value::Null) };
    let value = format!("```metta\n{first}\n```\n{}", others.join("\n\n"));
    let range = asked.document.text.range(word.span, asked.encoding);
    Ok(json!({ "contents": { "kind": "markdown", "value": value.trim_end() }, "range": range }))
}

fn definition(asked: &mut Asked<'_>) -> Result<Value, String> {
    let Some(word) = asked.word() else { return Ok(Value::Null) };
    Ok(asked.locations(&word, |text| match word.is_variable {
        true => text.places_of(&word).into_iter().take(1).collect(),
        false => text.definitions_of(&word.name),
    }))
}

fn references(asked: &mut Asked<'_>) -> Result<Value, String> {
    let Some(word) = asked.word() else { return Ok(Value::Null) };
    Ok(asked.locations(&word, |text| text.places_of(&word)))
}

fn completion(asked: &mut Asked<'_>) -> Result<Value, String> {
    let Some(offset) = asked.offset() else { return Ok(Value::Null) };
    let before = &asked.document.text.text[..offset];
    let begin = before
        .rfind(|one: char| one.is_whitespace() || "()!\"".contains(one))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let beginning = before[begin..].to_owned();
    if let Some(variable) = beginning.strip_prefix('$') {
        return Ok(variables(asked, offset, variable));
    }
    let program = asked.document.checked.program();
    let names = known_names(program);
    let found: Vec<String> = names.into_iter().filter(|name| name.starts_with(&beginning)).collect();
    let is_incomplete = found.len() > NAMES_MAX;
    let items: Vec<Value> = found
        .into_iter()
        .take(NAMES_MAX)
        .map(|name| json!({ "label": name, "kind": 3, "detail": type_of(program, &name) }))
        .collect();
    Ok(json!({ "isIncomplete": is_incomplete, "items": items }))
}

/// The variables of the form that is being written, which may not parse yet.
fn variables(asked: &Asked<'_>, offset: usize, beginning: &str) -> Value {
    let text = &asked.document.text.text;
    let start = text[..offset].rfind("\n(").map_or(0, |at| at + 1);
    let written = text[start..offset].split(|one: char| one.is_whitespace() || "()".contains(one));
    let mut names: Vec<&str> = written.filter_map(|word| word.strip_prefix('$')).collect();
    // The last is what is being written.
    names.pop();
    names.sort_unstable();
    names.dedup();
    let items = names.into_iter().filter(|name| name.starts_with(beginning));
    let items: Vec<Value> = items.map(|name| json!({ "label": format!("${name}"), "kind": 6 })).collect();
    json!({ "isIncomplete": false, "items": items })
}

fn rename(asked: &mut Asked<'_>) -> Result<Value, String> {
    let Some(word) = asked.word() else { return Err("there is no name here".to_owned()) };
    let wanted = asked.parameters["newName"].as_str().unwrap_or_default();
    let wanted = if word.is_variable { wanted.trim_start_matches('$') } else { wanted };
    let written = if word.is_variable { format!("${wanted}") } else { wanted.to_owned() };
    let parsed = parse(&format!("({written})"));
    let is_one = parsed.diagnostics.is_empty() && parsed.tree.forms().len() == 1 && {
        let children = parsed.tree.children(parsed.tree.forms()[0].node);
        children.len() == 1 && !wanted.is_empty() && parsed.tree.comments().is_empty()
    };
    if !is_one || written.starts_with('"') || written.starts_with('(') {
        return Err(format!("`{wanted}` cannot be a name"));
    }
    let is_defined = |(_, text): (&str, &Text)| !text.definitions_of(&word.name).is_empty();
    if !word.is_variable && !asked.texts(&word).any(is_defined) {
        return Err(format!("`{}` is not defined in this file, nor in one that it shares names with", word.name));
    }
    let mut changes = serde_json::Map::new();
    for (uri, text) in asked.texts(&word) {
        let edit = |span| json!({ "range": text.range(span, asked.encoding), "newText": written });
        let edits: Vec<Value> = text.places_of(&word).into_iter().map(edit).collect();
        if !edits.is_empty() {
            changes.insert(uri.to_owned(), edits.into());
        }
    }
    Ok(json!({ "changes": changes }))
}

fn formatting(asked: &mut Asked<'_>) -> Result<Value, String> {
    if asked.document.text.parsed.first_error().is_some() {
        return Err("what does not parse is not laid out".to_owned());
    }
    let laid_out = format(&asked.document.text.parsed);
    if laid_out == asked.document.text.text {
        return Ok(json!([]));
    }
    Ok(json!([{ "range": asked.document.text.whole(asked.encoding), "newText": laid_out }]))
}

fn symbols(asked: &mut Asked<'_>) -> Result<Value, String> {
    let document = &asked.document.text;
    let symbol = |form: &metroon::syntax::Form| {
        let (name, span) = document.defined_by(form.node).filter(|_| !form.bang)?;
        let range = document.range(form.span, asked.encoding);
        let selection = document.range(span, asked.encoding);
        Some(json!({ "name": name, "kind": 12, "range": range, "selectionRange": selection }))
    };
    Ok(document.parsed.tree.forms().iter().filter_map(symbol).collect())
}
