//! `metroon lsp`: spoken with as an editor does.

use crate::harness::{Ended, Folder, command, feed};
use serde_json::{Value, json};

/// A session of an editor: requests get numbers from 1.
#[derive(Default)]
struct Editor {
    sent: Vec<u8>,
    requests: u64,
}

impl Editor {
    fn new() -> Self {
        let mut editor = Self::default();
        editor.request("initialize", json!({ "capabilities": {} }));
        editor.notify("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.sent.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }

    fn notify(&mut self, method: &str, parameters: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    fn request(&mut self, method: &str, parameters: Value) -> u64 {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": parameters }));
        self.requests
    }

    fn open(&mut self, text: &str) {
        let document = json!({ "uri": URI, "languageId": "metta", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn ask(&mut self, method: &str, line: u32, character: u32, more: Value) -> u64 {
        let mut parameters =
            json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } });
        if let (Some(all), Some(more)) = (parameters.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        self.request(method, parameters)
    }

    /// Ends the session; gives what the server sent.
    fn end(mut self) -> Answers {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        let ended = feed(command(&["lsp"]), &self.sent);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        Answers(messages(&ended))
    }
}

struct Answers(Vec<Value>);

impl Answers {
    fn result(&self, request: u64) -> &Value {
        let answer = self.0.iter().find(|message| message["id"] == request).expect("the request is answered");
        assert!(answer["error"].is_null(), "{answer}");
        &answer["result"]
    }

    fn error(&self, request: u64) -> &str {
        let answer = self.0.iter().find(|message| message["id"] == request).expect("the request is answered");
        answer["error"]["message"].as_str().expect("it is refused")
    }

    /// The codes that were published, a list each time.
    fn published(&self) -> Vec<Vec<&str>> {
        let published = self.0.iter().filter(|message| message["method"] == "textDocument/publishDiagnostics");
        published
            .map(|message| {
                let findings = message["params"]["diagnostics"].as_array().expect("a list");
                findings.iter().map(|found| found["code"].as_str().expect("a code")).collect()
            })
            .collect()
    }
}

fn messages(ended: &Ended) -> Vec<Value> {
    let mut rest = ended.out.as_str();
    let mut messages = Vec::new();
    while let Some(after) = rest.strip_prefix("Content-Length: ") {
        let (length, body) = after.split_once("\r\n\r\n").expect("a head ends");
        let length: usize = length.parse().expect("a number");
        messages.push(serde_json::from_str(&body[..length]).expect("a body is JSON"));
        rest = &body[length..];
    }
    assert!(rest.is_empty(), "{rest}");
    messages
}

const URI: &str = "file:///nowhere/a.metta";

const TEXT: &str = "\
(: double (-> Number Number))
(= (double $number) (* 2 $number))
; \u{1d54f} counts twice in UTF-16.
!(println! (\"\u{1d54f}\" (double 21)))
!(duoble 4)
";

#[test]
fn findings_follow_the_text() {
    let mut editor = Editor::new();
    editor.open(TEXT);
    let change = json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [{ "text": "!(+ 1 2" }] });
    editor.notify("textDocument/didChange", change);
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    let answers = editor.end();
    assert_eq!(answers.published(), [vec!["unknown-function"], vec!["unclosed-expression"], vec![]]);
    let first = &answers.0[1]["params"];
    assert_eq!(first["version"], 1);
    let range = json!({ "start": { "line": 4, "character": 2 }, "end": { "line": 4, "character": 8 } });
    assert_eq!(first["diagnostics"][0]["range"], range);
}

#[test]
fn hover_shows_type_and_documentation() {
    let mut editor = Editor::new();
    editor.open(TEXT);
    let library = editor.ask("textDocument/hover", 1, 22, Value::Null);
    let own = editor.ask("textDocument/hover", 3, 19, Value::Null);
    let nothing = editor.ask("textDocument/hover", 2, 5, Value::Null);
    let answers = editor.end();
    let shown = |request| answers.result(request)["contents"]["value"].as_str().expect("a text").to_owned();
    assert!(shown(library).starts_with("```metta\n* : (-> Number Number Number)\n```"), "{}", shown(library));
    let expected = "```metta\ndouble : (-> Number Number)\n```\n(= (double $number) (* 2 $number))\n\n(: double (-> Number Number))";
    assert_eq!(shown(own), expected);
    assert!(answers.result(nothing).is_null());
}

#[test]
fn definitions_references_and_names_are_found() {
    let mut editor = Editor::new();
    editor.open(TEXT);
    // The sign before it counts twice.
    let defined = editor.ask("textDocument/definition", 3, 18, Value::Null);
    let variable = editor.ask("textDocument/references", 1, 27, Value::Null);
    let completed = editor.ask("textDocument/completion", 4, 4, Value::Null);
    let symbols = editor.request("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let answers = editor.end();
    let starts = |request: u64| -> Vec<(u64, u64)> {
        let all = answers.result(request).as_array().expect("a list");
        let start = |found: &Value| {
            let start = &found["range"]["start"];
            (start["line"].as_u64().expect("a line"), start["character"].as_u64().expect("a place"))
        };
        all.iter().map(start).collect()
    };
    assert_eq!(starts(defined), [(1, 4), (0, 3)]);
    assert_eq!(starts(variable), [(1, 11), (1, 25)]);
    let items = answers.result(completed)["items"].as_array().expect("a list");
    assert!(items.is_empty(), "nothing begins with `du`: {items:?}");
    assert_eq!(answers.result(symbols).as_array().expect("a list").len(), 2);
}

#[test]
fn a_name_is_renamed_everywhere_it_is_meant() {
    let mut editor = Editor::new();
    editor.open(TEXT);
    let function = editor.ask("textDocument/rename", 0, 4, json!({ "newName": "twice" }));
    let variable = editor.ask("textDocument/rename", 1, 13, json!({ "newName": "$n" }));
    let library = editor.ask("textDocument/rename", 1, 21, json!({ "newName": "times" }));
    let wrong = editor.ask("textDocument/rename", 0, 4, json!({ "newName": "two words" }));
    let answers = editor.end();
    let edits = |request| answers.result(request)["changes"][URI].as_array().expect("a list").clone();
    assert_eq!((edits(function).len(), edits(variable).len()), (3, 2));
    assert!(edits(variable).iter().all(|edit| edit["newText"] == "$n"));
    assert_eq!(answers.error(library), "`*` is not defined in this file, nor in one that it shares names with");
    assert_eq!(answers.error(wrong), "`two words` cannot be a name");
}

#[test]
fn a_text_is_laid_out() {
    let mut editor = Editor::new();
    editor.open("(=  (f)\n1)");
    let parameters = json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 4, "insertSpaces": true } });
    let once = editor.request("textDocument/formatting", parameters.clone());
    editor.open("(= (f)\n   1)\n");
    let again = editor.request("textDocument/formatting", parameters.clone());
    editor.open("(= (f");
    let open = editor.request("textDocument/formatting", parameters);
    let answers = editor.end();
    assert_eq!(answers.result(once)[0]["newText"], "(= (f)\n   1)\n");
    assert_eq!(answers.result(again), &json!([]));
    assert_eq!(answers.error(open), "what does not parse is not laid out");
}

#[test]
fn modules_beside_the_file_are_imported() {
    let folder = Folder::new("lsp_modules");
    folder.write("shapes.metta", "(= (area $side) (* $side $side))\n");
    let uri = format!("file://{}/main%20file.metta", folder.path().display());
    let mut editor = Editor::new();
    let text = "!(import! &self shapes)\n!(aera 2)\n";
    let document = json!({ "uri": uri, "languageId": "metta", "version": 1, "text": text });
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let answers = editor.end();
    assert_eq!(answers.published(), [vec!["unknown-function"]]);
}

#[test]
fn a_name_is_found_and_renamed_in_the_files_that_share_it() {
    let folder = Folder::new("lsp_workspace");
    folder.write("geometry/shapes.metta", "(= (area $side) (* $side $side))\n");
    folder.write("user.metta", "!(import! &self geometry:shapes)\n!(area 2)\n(= (both) (area (area 3)))\n");
    // What imports neither has a name of its own, and what another one is imported by is near.
    folder.write("stranger.metta", "(= (area $a $b) (* $a $b))\n");
    folder.write("more.metta", "!(import! &self user)\n!(both)\n!(area 4)\n");
    folder.write(".hidden/shapes.metta", "(= (area) 0)\n");
    let uri = |name: &str| format!("file://{}/{name}", folder.path().display());
    let mut editor = Editor::default();
    let workspace = json!([{ "uri": uri("").trim_end_matches('/'), "name": "w" }]);
    editor.request("initialize", json!({ "capabilities": {}, "workspaceFolders": workspace }));
    editor.notify("initialized", json!({}));
    let text = "!(import! &self geometry:shapes)\n!(area 5)\n";
    // What the editor shows comes before what is on the disk.
    let document = json!({ "uri": uri("user.metta"), "languageId": "metta", "version": 1, "text": text });
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let at = json!({ "textDocument": { "uri": uri("user.metta") }, "position": { "line": 1, "character": 3 } });
    let with = |more: Value| {
        let mut at = at.clone();
        at.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        at
    };
    let defined = editor.request("textDocument/definition", at.clone());
    let used = editor.request("textDocument/references", at.clone());
    let renamed = editor.request("textDocument/rename", with(json!({ "newName": "surface" })));
    let answers = editor.end();
    let places = |request: u64| -> Vec<String> {
        let all = answers.result(request).as_array().expect("a list");
        all.iter()
            .map(|place| format!("{} {}", place["uri"].as_str().expect("a URI"), place["range"]["start"]["line"]))
            .collect()
    };
    assert_eq!(places(defined), [format!("{} 0", uri("geometry/shapes.metta"))]);
    let expected = [("user.metta", 1), ("geometry/shapes.metta", 0), ("more.metta", 2)];
    assert_eq!(places(used), expected.map(|(name, line)| format!("{} {line}", uri(name))));
    let changes = answers.result(renamed)["changes"].as_object().expect("an object");
    let mut edited: Vec<(&str, usize)> =
        changes.iter().map(|(uri, edits)| (uri.as_str(), edits.as_array().expect("a list").len())).collect();
    edited.sort_unstable();
    let [shapes, more, user] = ["geometry/shapes.metta", "more.metta", "user.metta"].map(&uri);
    assert_eq!(edited, [(shapes.as_str(), 1), (more.as_str(), 1), (user.as_str(), 1)]);
}

#[test]
fn a_text_in_a_package_has_its_modules_or_hears_what_is_wrong_with_it() {
    let folder = Folder::new("lsp_package");
    folder.write("lib/shapes.metta", "(= (area $side) (* $side $side))\n");
    let uri = format!("file://{}/src/main.metta", folder.path().display());
    let published = |manifest: &str| {
        folder.write("metroon.toml", manifest);
        let mut editor = Editor::new();
        let text = "!(import! &self shapes)\n!(area 2)\n";
        let document = json!({ "uri": uri, "languageId": "metta", "version": 1, "text": text });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let answers = editor.end();
        answers.published().iter().map(|codes| codes.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(published("modules.shapes = \"lib/shapes.metta\"\n"), [""]);
    assert_eq!(published("modlues.shapes = \"lib/shapes.metta\"\n"), ["package cannot-define"]);
}

#[test]
fn rubbish_ends_nothing_that_it_need_not_end() {
    let mut editor = Editor::new();
    editor.sent.extend(b"Content-Length: 4\r\n\r\n{{{{");
    editor.send(&json!([1, 2]));
    let unknown = editor.request("textDocument/none", json!({ "textDocument": { "uri": URI } }));
    let closed = editor.ask("textDocument/hover", 0, 0, Value::Null);
    editor.open("(a)");
    let beyond = editor.ask("textDocument/hover", 900, 900, Value::Null);
    let answers = editor.end();
    assert_eq!(answers.error(unknown), "textDocument/none is not served");
    assert_eq!(answers.error(closed), format!("{URI} is not open"));
    assert!(answers.result(beyond).is_null());
    let ended = feed(command(&["lsp"]), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(ended.code, Some(1));
    assert_eq!(feed(command(&["lsp"]), b"").code, Some(1), "the editor is gone");
}
