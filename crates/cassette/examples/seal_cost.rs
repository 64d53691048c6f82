use cassette::*;
use std::time::Instant;
fn ex(number: u64) -> Exchange<'static> {
    Exchange { number, started_ns: number as i64 * 1000, request: Request { method: "GET".into(), scheme: "https".into(), host: "api.example.com".into(), port: 443, target: format!("/resource/{number}").into(), headers: vec![Header::new("Content-Type", "application/json"), Header::new("Authorization", format!("Bearer token-{number}"))], body: Some(Body::new(0, format!("{{\"request\": {number}, \"data\": \"test data\"}}"))), ..Request::default() }, response: Some(Response { status: 200, headers: vec![Header::new("Content-Type", "application/json")], body: Some(Body::new(0, format!("{{\"response\": {number}, \"result\": [1,2,3,4,5], \"message\": \"success\"}}"))), ..Response::default() }), ..Exchange::default() }
}
fn best(mut f: impl FnMut()) -> f64 { (0..60).map(|_| { let t = Instant::now(); f(); t.elapsed().as_nanos() as f64 / 1000.0 }).fold(f64::MAX, f64::min) }
fn main() {
    let all: Vec<_> = (0..500).map(ex).collect();
    let content = Content { exchanges: all.clone(), meta: Vec::new() };
    let dir = std::env::temp_dir().join("sealcost"); std::fs::create_dir_all(&dir).unwrap();
    let p = dir.join("a.tape");
    println!("seal keep  {:.0} us", best(|| write_tape(&p, &all, &[], SealOptions::new(KeyScheme::target()).keep_secrets()).unwrap()));
    println!("seal scan  {:.0} us", best(|| write_tape(&p, &all, &[], KeyScheme::target()).unwrap()));
    let known = redact::Redaction::known_forms(); let usual = redact::Redaction::usual();
    println!("scan known {:.0} us", best(|| all.iter().for_each(|e| drop(known.scan(e)))));
    println!("scan usual {:.0} us", best(|| all.iter().for_each(|e| drop(usual.scan(e)))));
    let text = content.to_text(); let json = content.to_json(true).unwrap();
    println!("text {} bytes json {} bytes", text.len(), json.len());
    println!("to_text {:.0} us", best(|| drop(content.to_text())));
    println!("to_json {:.0} us", best(|| drop(content.to_json(true))));
    println!("from_text {:.0} us", best(|| drop(Content::from_text(text.as_bytes()).unwrap())));
    println!("from_json {:.0} us", best(|| drop(Content::from_json(&json).unwrap())));
}
