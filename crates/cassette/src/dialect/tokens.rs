//! Words of a model with their probabilities: the text once more, in pieces that are tokens.
//!
//! 1. A list of tokens is an array of objects with `token` and its probability, wherever it stands; or `tokens` beside `token_logprobs`; or the
//!    `chosenCandidates` of Gemini.
//! 2. What says a token once more is its mirror: its bytes, its number, and the likeliest tokens at its place, of which it is mostly one. Where a
//!    token is replaced, they are emptied.

use super::located::LocatedValue;
use std::ops::Range;

/// A place in an event that says what a piece says, and what takes its place if the piece is replaced.
pub(crate) type Mirror = (Range<usize>, &'static str);

/// One token, by the place of its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) content: Range<usize>,
    pub(super) mirrors: Vec<Mirror>,
}

/// A word that is in each event with such a list.
pub(super) const WORD: &[u8] = b"logprob";

/// Gives all lists of tokens in a value, each with the way to it.
pub(super) fn find(value: &LocatedValue, way: &str, found: &mut impl FnMut(&str, Vec<Token>)) {
    if let Some(tokens) = of_objects(value).or_else(|| of_strings(value)).or_else(|| of_candidates(value)) {
        return found(way, tokens);
    }
    for (position, element) in value.elements().iter().enumerate() {
        find(element, &format!("{way}/{position}"), found);
    }
    for (name, member) in value.members() {
        if member.inner().is_some() {
            find(member, &format!("{way}/{name}"), found);
        }
    }
}

fn has_probability(value: &LocatedValue) -> bool {
    value.get("logprob").or_else(|| value.get("logProbability")).is_some()
}

fn of_objects(list: &LocatedValue) -> Option<Vec<Token>> {
    let is_token =
        |value: &LocatedValue| value.get("token").is_some_and(LocatedValue::is_string) && has_probability(value);
    list.elements().iter().any(is_token).then(|| list.elements().iter().filter_map(token).collect())
}

fn token(value: &LocatedValue) -> Option<Token> {
    let content = value.get("token").filter(|token| token.is_string())?.range.clone();
    let lists = ["bytes", "top_logprobs"].iter().filter_map(|name| value.get(name)?.inner());
    let numbers = ["tokenId", "token_id"].iter().filter_map(|name| value.get(name).filter(|id| id.inner().is_none()));
    let numbers = numbers.filter(|id| !id.is_string()).map(|id| (id.range.clone(), "0"));
    Some(Token { content, mirrors: lists.map(|inner| (inner, "")).chain(numbers).collect() })
}

/// As completions of OpenAI have them: each member beside `tokens` that is a list has an element for each of them.
fn of_strings(value: &LocatedValue) -> Option<Vec<Token>> {
    value.get("token_logprobs")?;
    let top = value.get("top_logprobs").map(LocatedValue::elements).unwrap_or_default();
    let token = |(position, token): (usize, &LocatedValue)| {
        let mirror = top.get(position).and_then(LocatedValue::inner);
        let content = token.is_string().then(|| token.range.clone())?;
        Some(Token { content, mirrors: mirror.map(|inner| (inner, "")).into_iter().collect() })
    };
    Some(value.get("tokens")?.elements().iter().enumerate().filter_map(token).collect())
}

fn of_candidates(value: &LocatedValue) -> Option<Vec<Token>> {
    let top = value.get("topCandidates").map(LocatedValue::elements).unwrap_or_default();
    let candidates = value.get("chosenCandidates")?.elements().iter().enumerate();
    let candidate = |(position, candidate): (usize, &LocatedValue)| {
        let mut token = token(candidate)?;
        let others = top.get(position).and_then(|top| top.get("candidates")?.inner());
        token.mirrors.extend(others.map(|inner| (inner, "")));
        Some(token)
    };
    Some(candidates.filter_map(candidate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of tokens: the way to it, and each token with what mirrors it.
    type Listed<'a> = (String, Vec<(&'a str, Vec<&'a str>)>);

    fn lists(text: &str) -> Vec<Listed<'_>> {
        let root = LocatedValue::read(text.as_bytes()).expect("it is JSON");
        let mut all = Vec::new();
        find(&root, "", &mut |way, tokens| {
            let token = |token: &Token| {
                let mirrors = token.mirrors.iter().map(|(range, _)| &text[range.clone()]);
                (&text[token.content.clone()], mirrors.collect())
            };
            all.push((way.to_owned(), tokens.iter().map(token).collect()));
        });
        all
    }

    #[test]
    fn lists_are_found_with_what_says_the_same() {
        for (text, way, tokens) in [
            (
                r#"{"a":[{"content":[{"token":"x","logprob":-1,"bytes":[120],"top_logprobs":[{"token":"x","logprob":-1}]},{"token":"y","logprob":0,"bytes":null}]}]}"#,
                "/a/0/content",
                vec![("x", vec!["120", r#"{"token":"x","logprob":-1}"#]), ("y", vec![])],
            ),
            (
                r#"{"tokens":["x","y"],"token_logprobs":[-1,-2],"top_logprobs":[{"x":-1},null]}"#,
                "",
                vec![("x", vec![r#""x":-1"#]), ("y", vec![])],
            ),
            (
                r#"{"chosenCandidates":[{"token":"x","tokenId":7,"logProbability":-1}],"topCandidates":[{"candidates":[{"token":"x","logProbability":-1}]}]}"#,
                "",
                vec![("x", vec!["7", r#"{"token":"x","logProbability":-1}"#])],
            ),
        ] {
            assert_eq!(lists(text), [(way.to_owned(), tokens)], "{text}");
        }
        for text in [r#"{"token":"x","logprob":-1}"#, r#"[{"token":"x"}]"#, r#"{"tokens":["x"]}"#, "[[],{}]"] {
            assert_eq!(lists(text), [], "{text}");
        }
    }
}
