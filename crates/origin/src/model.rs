//! A language model, as far as its interface goes: the answer of `/v1/chat/completions`, whole or as a stream of events.

use serde_json::{Value, json};

/// The pieces that the answer comes in.
pub(crate) const PIECES: [&str; 5] = ["A frog", " croaks,", " and", " eats flies", "."];

const CREATED: u64 = 1_760_000_000;

/// Whether a request asks for a stream.
pub(crate) fn streams(request: &[u8]) -> bool {
    serde_json::from_slice::<Value>(request).is_ok_and(|request| request["stream"] == true)
}

/// The answer in one piece.
pub(crate) fn whole() -> String {
    let message = json!({"role": "assistant", "content": PIECES.concat()});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop", "logprobs": null});
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12});
    let id = "chatcmpl-1";
    json!({"id": id, "object": "chat.completion", "created": CREATED, "model": "frog-1", "choices": [choice], "usage": usage}).to_string()
}

/// The events of a stream, each with the empty line that ends it.
pub(crate) fn events() -> Vec<String> {
    let delta = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason, "logprobs": null});
        let object = "chat.completion.chunk";
        let chunk =
            json!({"id": "chatcmpl-1", "object": object, "created": CREATED, "model": "frog-1", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let first = delta(json!({"role": "assistant", "content": ""}), Value::Null);
    let pieces = PIECES.iter().map(|piece| delta(json!({"content": piece}), Value::Null));
    let last = [delta(json!({}), json!("stop")), "data: [DONE]\n\n".to_owned()];
    [first].into_iter().chain(pieces).chain(last).collect()
}
