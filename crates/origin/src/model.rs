//! A language model, as far as its interfaces go: the answers of `/v1/chat/completions` and `/v1/messages`, whole or as a stream of
//! events.

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

/// The answer of `/v1/messages` in one piece.
pub(crate) fn message() -> Value {
    let content = json!([{"type": "text", "text": PIECES.concat()}]);
    let usage = json!({"input_tokens": 7, "output_tokens": 5});
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "frog-1", "content": content,
        "stop_reason": "end_turn", "stop_sequence": null, "usage": usage,
    })
}

/// The events of a stream of `/v1/messages`, each with its name and the empty line that ends it.
pub(crate) fn message_events() -> Vec<String> {
    let event =
        |content: Value| format!("event: {}\ndata: {content}\n\n", content["type"].as_str().unwrap_or_default());
    let mut begun = message();
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    let block = json!({"type": "text", "text": ""});
    let first = [
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
    ];
    let piece =
        |text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let end = json!({"stop_reason": "end_turn", "stop_sequence": null});
    let last = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    first.into_iter().chain(PIECES.map(piece)).chain(last).map(event).collect()
}
