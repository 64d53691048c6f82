//! What stays under a secret name: what only speaks of values, and words that models give beside their probabilities.
//!
//! 1. `api_key` in the schema of a tool is the name of a parameter, and its value is a schema (JSON Schema). An object is one if all that it
//!    has are words of schemas, and its `type`, if it has one, is a type. What its `default`, `const` and `examples` say are values.
//! 2. `token` beside `logprob` is a word that a model may have said.
//! 3. What a tool is called with is data of the program: it calls the tool with it.
//!
//! The text may end anywhere: then it is not known yet which of these something is.

use super::quotes::{begins_string, level, skip_space, string};
use std::ops::Range;

/// Whether something is the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    Absent,
    /// The text ends before that can be told.
    Unknown,
}

/// Words of schemas whose values are schemas, or lists of some.
const OF_SCHEMAS: [&[u8]; 17] = [
    b"additionalItems",
    b"additionalProperties",
    b"allOf",
    b"anyOf",
    b"contains",
    b"contentSchema",
    b"else",
    b"if",
    b"items",
    b"not",
    b"oneOf",
    b"prefixItems",
    b"propertyNames",
    b"then",
    b"unevaluatedItems",
    b"unevaluatedProperties",
    b"returns",
];
/// Words whose values have schemas under names of any kind.
const OF_NAMED_SCHEMAS: [&[u8]; 5] =
    [b"$defs", b"definitions", b"dependentSchemas", b"patternProperties", b"properties"];
/// Words whose values are such as are described.
const OF_VALUES: [&[u8]; 4] = [b"const", b"default", b"example", b"examples"];
/// Others.
const OTHERS: [&[u8]; 38] = [
    b"$anchor",
    b"$comment",
    b"$id",
    b"$ref",
    b"$schema",
    b"contentEncoding",
    b"contentMediaType",
    b"dependentRequired",
    b"deprecated",
    b"description",
    b"discriminator",
    b"enum",
    b"exclusiveMaximum",
    b"exclusiveMinimum",
    b"format",
    b"maxContains",
    b"maxItems",
    b"maxLength",
    b"maxProperties",
    b"maximum",
    b"minContains",
    b"minItems",
    b"minLength",
    b"minProperties",
    b"minimum",
    b"multipleOf",
    b"nullable",
    b"pattern",
    b"propertyOrdering",
    b"readOnly",
    b"required",
    b"strict",
    b"summary",
    b"title",
    b"type",
    b"uniqueItems",
    b"writeOnly",
    b"xml",
];
const TYPES: [&[u8]; 7] = [b"array", b"boolean", b"integer", b"null", b"number", b"object", b"string"];

/// Schemas are seldom deeper, and what is read by recursion has an end.
const DEPTH_MAX: usize = 64;

/// A schema that was read.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) end: usize,
    /// Where values begin that it speaks of.
    pub(crate) values: Vec<usize>,
}

/// Reads the object that begins at a place, on a level of strings, as a schema. `Err` with whether the text ends before it is known to be
/// none.
pub(crate) fn schema(text: &[u8], at: usize, level: usize) -> Result<Schema, Presence> {
    let mut reader = SchemaReader { text, level, values: Vec::new() };
    let end = reader.schema(at, 0)?;
    Ok(Schema { end, values: reader.values })
}

struct SchemaReader<'t> {
    text: &'t [u8],
    level: usize,
    values: Vec<usize>,
}

impl SchemaReader<'_> {
    fn schema(&mut self, at: usize, depth: usize) -> Result<usize, Presence> {
        match self.text.get(at) {
            None => return Err(Presence::Unknown),
            Some(b'{') if depth < DEPTH_MAX => {}
            Some(b't' | b'f') if depth > 0 => return after_value(self.text, at, self.level),
            _ => return Err(Presence::Absent),
        }
        let mut count = 0;
        let end = self.children(at, true, |reader, name, value| {
            count += 1;
            reader.keyword(name, value, depth)
        })?;
        if count == 0 && depth == 0 { Err(Presence::Absent) } else { Ok(end) }
    }

    fn keyword(&mut self, name: &[u8], value: usize, depth: usize) -> Result<usize, Presence> {
        if OF_NAMED_SCHEMAS.contains(&name) {
            return self.children(value, true, |reader, _, value| reader.schema(value, depth + 1));
        }
        if OF_SCHEMAS.contains(&name) {
            return match self.text.get(value) {
                Some(b'[') => self.children(value, false, |reader, _, value| reader.schema(value, depth + 1)),
                _ => self.schema(value, depth + 1),
            };
        }
        if OF_VALUES.contains(&name) {
            self.values.push(value);
        } else if name == b"type" {
            return match self.text.get(value) {
                Some(b'[') => self.children(value, false, |reader, _, value| reader.kind(value)),
                _ => self.kind(value),
            };
        } else if !OTHERS.contains(&name) && !name.starts_with(b"x-") {
            return Err(Presence::Absent);
        }
        after_value(self.text, value, self.level)
    }

    /// The name of a type.
    fn kind(&mut self, at: usize) -> Result<usize, Presence> {
        let end = after_value(self.text, at, self.level)?;
        if !begins_string(self.text, at, self.level) {
            return Err(Presence::Absent);
        }
        let (begin, behind, _) = string(self.text, at, self.level);
        let name = self.text[begin..behind].to_ascii_lowercase();
        if TYPES.contains(&&name[..]) { Ok(end) } else { Err(Presence::Absent) }
    }

    /// Goes through an object or an array, whose children `each` goes over. Gives where it ends.
    fn children(
        &mut self,
        at: usize,
        has_names: bool,
        mut each: impl FnMut(&mut Self, &[u8], usize) -> Result<usize, Presence>,
    ) -> Result<usize, Presence> {
        let (text, level) = (self.text, self.level);
        let (open, close) = if has_names { (b'{', b'}') } else { (b'[', b']') };
        match text.get(at) {
            None => return Err(Presence::Unknown),
            Some(byte) if *byte != open => return Err(Presence::Absent),
            Some(_) => {}
        }
        let mut at = skip_space(text, at + 1, level);
        while text.get(at) != Some(&close) {
            let name = if has_names {
                let (name, colon) = name_at(text, at, level)?;
                at = skip_space(text, colon + 1, level);
                name
            } else {
                0..0
            };
            at = skip_space(text, each(self, &text[name], at)?, level);
            match text.get(at) {
                None => return Err(Presence::Unknown),
                Some(b',') => at = skip_space(text, at + 1, level),
                Some(byte) if *byte == close => {}
                Some(_) => return Err(Presence::Absent),
            }
        }
        Ok(at + 1)
    }
}

/// The name that stands at a place, and where its colon does.
fn name_at(text: &[u8], at: usize, level: usize) -> Result<(Range<usize>, usize), Presence> {
    let end = after_string(text, at, level)?;
    let (begin, behind, _) = string(text, at, level);
    let colon = skip_space(text, end, level);
    match text.get(colon) {
        None => Err(Presence::Unknown),
        Some(b':') => Ok((begin..behind, colon)),
        Some(_) => Err(Presence::Absent),
    }
}

fn after_string(text: &[u8], at: usize, level: usize) -> Result<usize, Presence> {
    if at + super::quotes::backslashes(level) >= text.len() {
        return Err(Presence::Unknown);
    }
    if !begins_string(text, at, level) {
        return Err(Presence::Absent);
    }
    let (_, end, behind) = string(text, at, level);
    match behind > end {
        true => Ok(behind),
        false if behind == text.len() => Err(Presence::Unknown),
        false => Err(Presence::Absent),
    }
}

/// Where a value ends that begins at a place.
pub(crate) fn after_value(text: &[u8], at: usize, own: usize) -> Result<usize, Presence> {
    match text.get(at) {
        None => Err(Presence::Unknown),
        Some(b'{' | b'[') => after_children(text, at, own),
        Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => {
            let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let end = at + text[at..].iter().take_while(is_of_word).count();
            if end == text.len() { Err(Presence::Unknown) } else { Ok(end) }
        }
        Some(_) => after_string(text, at, own),
    }
}

fn after_children(text: &[u8], at: usize, own: usize) -> Result<usize, Presence> {
    let (mut depth, mut at) = (0_usize, at);
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' if level(text, at) < own => return Err(Presence::Absent),
            _ if begins_string(text, at, own) => {
                at = after_string(text, at, own)?;
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(Presence::Unknown)
}

/// A member of an object: where its name begins, with the quote and what escapes it; where its value does; and on which level they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberPlace {
    pub(crate) name: usize,
    pub(crate) value: usize,
    pub(crate) level: usize,
}

/// How many members beside one are looked at, and how far.
const SIBLINGS_MAX: usize = 12;
const SIBLING_BYTES_MAX: usize = 16 << 10;

impl MemberPlace {
    /// Whether the member is one that has a sibling with such a name and value, in the same object.
    fn has_sibling(self, text: &[u8], is_it: impl Fn(&[u8], &[u8]) -> bool) -> Presence {
        if self.sibling_before(text, &is_it) {
            return Presence::Present;
        }
        self.sibling_behind(text, &is_it)
    }

    fn sibling_behind(self, text: &[u8], is_it: &impl Fn(&[u8], &[u8]) -> bool) -> Presence {
        let mut at = match after_value(text, self.value, self.level) {
            Ok(end) => end,
            Err(presence) => return presence,
        };
        let first = at;
        for _ in 0..SIBLINGS_MAX {
            at = skip_space(text, at, self.level);
            match text.get(at) {
                None => return Presence::Unknown,
                Some(b',') if at - first < SIBLING_BYTES_MAX => at = skip_space(text, at + 1, self.level),
                Some(_) => return Presence::Absent,
            }
            let read = name_at(text, at, self.level).map(|(name, colon)| {
                let value = skip_space(text, colon + 1, self.level);
                (name, value, after_value(text, value, self.level))
            });
            match read {
                Ok((name, value, end)) => {
                    let known = &text[value..*end.as_ref().unwrap_or(&text.len())];
                    if end.is_ok() && is_it(&text[name.clone()], known) || end.is_err() && is_it(&text[name], b"") {
                        return Presence::Present;
                    }
                    match end {
                        Ok(end) => at = end,
                        Err(presence) => return presence,
                    }
                }
                Err(presence) => return presence,
            }
        }
        Presence::Absent
    }

    /// Goes back over siblings that are words and strings.
    fn sibling_before(self, text: &[u8], is_it: &impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let mut end = self.name;
        for _ in 0..SIBLINGS_MAX {
            let before = text[..end].trim_ascii_end();
            let Some(before) = before.strip_suffix(b",").map(<[u8]>::trim_ascii_end) else { return false };
            let Some(value) = before_scalar(before, self.level) else { return false };
            let named = text[..value].trim_ascii_end();
            let Some(named) = named.strip_suffix(b":").map(<[u8]>::trim_ascii_end) else { return false };
            let Some(name) = before_scalar(named, self.level).filter(|name| *name < named.len()) else { return false };
            let (begin, behind, _) = string(text, name, self.level);
            if begins_string(text, name, self.level) && is_it(&text[begin..behind], &before[value..]) {
                return true;
            }
            end = name;
        }
        false
    }

    /// The name of the member that the object is the value of.
    fn parent<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let before = text[..self.name].trim_ascii_end().strip_suffix(b"{")?.trim_ascii_end();
        let named = before.strip_suffix(b":")?.trim_ascii_end();
        let name = before_scalar(named, self.level)?;
        let (begin, behind, _) = string(text, name, self.level);
        begins_string(text, name, self.level).then(|| &text[begin..behind])
    }
}

/// Where a string or a word begins with which a text ends.
fn before_scalar(text: &[u8], own: usize) -> Option<usize> {
    match text.last()? {
        b'"' => {
            let last = text.len() - 1;
            if level(text, last) != own {
                return None;
            }
            let content = last - super::quotes::backslashes(own);
            let open = memchr::memrchr_iter(b'"', &text[..content]).find(|&quote| level(text, quote) <= own)?;
            (level(text, open) == own).then(|| open - super::quotes::backslashes(own))
        }
        _ => {
            let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let count = text.iter().rev().take_while(is_of_word).count();
            (count > 0).then_some(text.len() - count)
        }
    }
}

/// Names of what a model gives beside a word, of which it is the probability.
const PROBABILITIES: [&[u8]; 5] = [b"logprob", b"logProbability", b"log_probability", b"logprobs", b"token_logprob"];

/// Whether a member is a word that a model gives with its probability.
pub(crate) fn is_word_of_model(text: &[u8], member: MemberPlace) -> Presence {
    member.has_sibling(text, |name, _| PROBABILITIES.contains(&name))
}

/// Beginnings of identifiers that services give to calls, messages, answers and requests.
const IDENTIFIERS: [&[u8]; 14] = [
    b"asst_",
    b"call_",
    b"chatcmpl-",
    b"cmpl-",
    b"fc_",
    b"gen-",
    b"msg_",
    b"msgbatch_",
    b"req_",
    b"resp_",
    b"run_",
    b"srvtoolu_",
    b"thread_",
    b"toolu_",
];

/// Whether a value is an identifier, and not a credential.
pub(crate) fn is_identifier(value: &[u8]) -> bool {
    IDENTIFIERS.iter().any(|beginning| value.starts_with(beginning))
}

/// Whether a member is what a tool is called with, or a piece of it.
pub(crate) fn is_arguments(text: &[u8], name: &[u8], member: MemberPlace) -> Presence {
    let has = |names: &'static [&'static [u8]]| member.has_sibling(text, |name, _| names.contains(&name));
    match name {
        b"partial_json" | b"inputTextDelta" => Presence::Present,
        b"arguments" if matches!(member.parent(text), Some(b"function" | b"function_call")) => Presence::Present,
        b"arguments" => has(&[b"name", b"call_id", b"item_id"]),
        b"args" => has(&[b"name"]),
        b"input" => member.has_sibling(text, |name, value| match name {
            b"type" => [&b"tool_use"[..], b"custom_tool_call"].iter().any(|kind| has_word(value, kind)),
            b"id" => has_word(value, b"toolu_"),
            b"toolUseId" | b"call_id" => true,
            _ => false,
        }),
        b"delta" => member.has_sibling(text, |name, value| {
            let kinds: [&[u8]; 3] = [b"arguments.delta", b"tool_call_input.delta", b"tool-input-delta"];
            name == b"type" && kinds.iter().any(|kind| has_word(value, kind))
        }),
        _ => Presence::Absent,
    }
}

fn has_word(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}
