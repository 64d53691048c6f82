//! Secrets in the tokens of a model, which say its text once more beside their probabilities: in pieces, as bytes, and among the likeliest tokens.

use crate::exchanges::Folder;
use crate::planted::by_form;
use cassette::redact::{BodyRedactor, LOOKAHEAD_BYTES, Redaction};
use cassette::{
    Cassette, Direction, ExchangeEnd, Header, Opcode, Recorder, RecorderOptions, Request, Response, WsFrame,
};
use serde_json::{Value, json};

/// How a model gives tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Chat,
    ChatWhole,
    Completion,
    Responses,
    ResponsesDone,
    Gemini,
    Lines,
    Messages,
}

const FORMS: [Form; 8] = [
    Form::Chat,
    Form::ChatWhole,
    Form::Completion,
    Form::Responses,
    Form::ResponsesDone,
    Form::Gemini,
    Form::Lines,
    Form::Messages,
];

fn objects(tokens: &[String]) -> Vec<Value> {
    let object = |token: &String| {
        let top = json!({"token": token, "logprob": -0.5, "bytes": token.as_bytes()});
        let other = json!({"token": "other", "logprob": -4.5, "bytes": "other".as_bytes()});
        json!({"token": token, "logprob": -0.5, "bytes": token.as_bytes(), "top_logprobs": [top, other]})
    };
    tokens.iter().map(object).collect()
}

impl Form {
    /// An event with some tokens.
    fn event(self, tokens: &[String]) -> Value {
        let objects = objects(tokens);
        match self {
            Self::Chat => json!({"choices": [{
                "index": 0, "logprobs": {"content": objects, "refusal": null}, "delta": {"content": tokens.concat()}
            }]}),
            Self::ChatWhole => json!({"choices": [{
                "index": 0, "message": {"content": tokens.concat()}, "logprobs": {"content": objects}, "finish_reason": "stop"
            }]}),
            Self::Completion => {
                let top: Vec<_> = tokens.iter().map(|token| json!({token: -0.5, "other": -4.5})).collect();
                let chances = vec![-0.5; tokens.len()];
                json!({"choices": [{
                    "index": 0, "text": tokens.concat(),
                    "logprobs": {"tokens": tokens, "token_logprobs": chances, "top_logprobs": top}
                }]})
            }
            Self::Responses | Self::Messages => json!({
                "type": "response.output_text.delta", "item_id": "msg_1", "delta": tokens.concat(), "logprobs": objects
            }),
            Self::ResponsesDone => {
                let part = json!({"type": "output_text", "text": tokens.concat(), "logprobs": objects});
                json!({"type": "response.completed", "response": {"output": [{"content": [part]}]}})
            }
            Self::Gemini => {
                let chosen = |token: &String| json!({"token": token, "tokenId": 7, "logProbability": -0.5});
                let chosen: Vec<_> = tokens.iter().map(chosen).collect();
                let top: Vec<_> = chosen.iter().map(|chosen| json!({"candidates": [chosen]})).collect();
                json!({"candidates": [{
                    "content": {"parts": [{"text": tokens.concat()}]},
                    "logprobsResult": {"topCandidates": top, "chosenCandidates": chosen}
                }]})
            }
            Self::Lines => json!({"response": tokens.concat(), "done": false, "logprobs": objects}),
        }
    }

    /// All tokens are in one event.
    fn is_whole(self) -> bool {
        matches!(self, Self::ChatWhole | Self::ResponsesDone)
    }

    fn events(self, tokens: &[String]) -> Vec<Value> {
        let each = if self.is_whole() { tokens.len() } else { 2 };
        tokens.chunks(each).map(|tokens| self.event(tokens)).collect()
    }

    fn wire(self, events: &[Value]) -> Vec<u8> {
        let texts = events.iter().map(|event| match self {
            Self::ChatWhole => event.to_string(),
            Self::Lines => format!("{event}\n"),
            _ => format!("data: {event}\n\n"),
        });
        texts.collect::<String>().into_bytes()
    }

    fn kind(self) -> &'static str {
        match self {
            Self::ChatWhole => "application/json",
            Self::Lines => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }
}

/// What tokens say in an event, in each way: as they are, as bytes, as the likeliest, and as members of an object.
fn said(value: &Value, texts: &mut [String; 3]) {
    let bytes = |value: &Value| {
        let bytes = value["bytes"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        String::from_utf8_lossy(&bytes.map(|byte| byte as u8).collect::<Vec<_>>()).into_owned()
    };
    match value {
        Value::Object(members) if members.contains_key("logprob") || members.contains_key("logProbability") => {
            texts[0] += value["token"].as_str().unwrap_or_default();
            texts[1] += &bytes(value);
            if let Some(top) = value.get("top_logprobs").and_then(|top| top.get(0)) {
                texts[2] += top["token"].as_str().unwrap_or_default();
                texts[2] += &bytes(top);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "tokens" => {
                        member.as_array().into_iter().flatten().for_each(|token| texts[0] += token.as_str().unwrap())
                    }
                    "top_logprobs" => {
                        let tops = member.as_array().into_iter().flatten().filter_map(Value::as_object);
                        tops.flat_map(|top| top.keys()).filter(|key| *key != "other").for_each(|key| texts[2] += key);
                    }
                    "topCandidates" => {
                        let tops = member.as_array().into_iter().flatten().map(|top| &top["candidates"][0]["token"]);
                        tops.for_each(|top| texts[2] += top.as_str().unwrap_or_default());
                    }
                    _ => said(member, texts),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| said(element, texts)),
        _ => {}
    }
}

/// The events of what was recorded.
fn events_in(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line)).filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line} is not JSON: {error}"))).collect()
}

fn streamed(form: Form, wire: &[u8], chunk: usize) -> String {
    let headers = [Header::new("Content-Type", form.kind())];
    let mut stream = BodyRedactor::of_response(Redaction::usual(), &headers);
    let mut given = Vec::new();
    wire.chunks(chunk).for_each(|chunk| given.extend_from_slice(stream.push(0, chunk).bytes()));
    given.extend_from_slice(stream.finish().bytes());
    String::from_utf8(given).unwrap()
}

/// The messages of a WebSocket that says this, as they are on a cassette.
fn conversation(events: &[Value]) -> String {
    let folder = Folder::new();
    let recorder = Recorder::open(folder.join("a"), RecorderOptions::default()).unwrap();
    let call = recorder.begin(5, &Request { host: "api.test".into(), ..Request::default() }).unwrap();
    call.response(&Response { status: 101, ..Response::default() }).unwrap();
    call.open_websocket().unwrap();
    for event in events {
        call.frame(&WsFrame::new(0, Direction::Received, Opcode::TEXT, event.to_string())).unwrap();
    }
    call.end(ExchangeEnd::default()).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(folder.join("a")).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    let frames = exchange.frames.iter().flatten().map(|frame| frame.payload.to_text_lossy().into_owned());
    frames.collect::<Vec<_>>().join("\n")
}

fn recorded(form: Form, events: &[Value], chunk: usize) -> String {
    match form {
        Form::Messages => conversation(events),
        form => streamed(form, &form.wire(events), chunk),
    }
}

/// What becomes of a text that comes as a whole.
fn redacted(text: &str) -> String {
    let body = json!({"text": text}).to_string();
    let out = streamed(Form::ChatWhole, body.as_bytes(), body.len());
    let out: Value = serde_json::from_str(&out).unwrap();
    out["text"].as_str().unwrap().to_owned()
}

fn tokens(text: &str, each: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(each).map(String::from_iter).collect()
}

#[test]
fn no_token_says_a_part_of_a_secret() {
    for (at, (_, secret)) in by_form(11).into_iter().enumerate() {
        let secret = secret.replace("\\n", "\n");
        let text = format!("It is {secret} and that is all.");
        let expected = redacted(&text);
        assert_ne!(expected, text);
        let words = secret.split(|char: char| !char.is_ascii_alphanumeric());
        let core = words.max_by_key(|word| word.len()).unwrap_or_default();
        let core = &core[core.len() - 10..];
        for form in FORMS {
            let each = [1, 3, 4, 7][(at + form as usize) % 4];
            let tokens = tokens(&text, each);
            for chunk in [13, 90, 100_000] {
                let out = recorded(form, &form.events(&tokens), chunk);
                let mut texts = <[String; 3]>::default();
                events_in(&out).iter().for_each(|event| said(event, &mut texts));
                let told = format!("{form:?} by {each} in chunks of {chunk}: {out}");
                for said in &texts {
                    let is_said = (0..=core.len() - 6).any(|from| said.contains(&core[from..from + 6]));
                    assert!(!is_said, "{core}: {said:?}: {told}");
                }
                assert_eq!(texts[0], expected, "{told}");
                if form != Form::Completion && form != Form::Gemini {
                    assert!(texts[1].ends_with("all.") && !texts[2].is_empty(), "{told}");
                }
            }
        }
    }
}

/// One value of more than a redactor looks ahead, of which the tokens come chunk by chunk.
#[test]
fn the_tokens_of_a_long_answer_wait_for_its_end() {
    let (before, key, after) = ("a frog ".repeat(60), "sk-proj-0123456789abcdefABCDEF", " and a toad".repeat(60));
    let text = format!("{before}{key}{after}");
    for form in [Form::ChatWhole, Form::ResponsesDone, Form::Completion, Form::Gemini] {
        for each in [2, 5] {
            let event = form.event(&tokens(&text, each));
            let wire = form.wire(std::slice::from_ref(&event));
            assert!(wire.len() > 2 * LOOKAHEAD_BYTES || form == Form::Completion || form == Form::Gemini);
            let out = streamed(form, &wire, 1_000);
            let mut texts = <[String; 3]>::default();
            events_in(&out).iter().for_each(|event| said(event, &mut texts));
            assert_eq!(texts[0], redacted(&text), "{form:?}");
            assert!(!texts.iter().any(|said| said.contains("abcdef")), "{form:?} {texts:?}");
        }
    }
}

#[test]
fn tokens_of_other_texts_stay() {
    for form in FORMS {
        for each in [1, 4] {
            let tokens = tokens("It is sk-, or skimmed \"milk\" \\ and bearer of news\u{e9}.", each);
            let events = form.events(&tokens);
            for chunk in [1, 40, 100_000] {
                assert_eq!(events_in(&recorded(form, &events, chunk)), events, "{form:?}");
            }
        }
    }
}
