//! `metroon lsp`: the language in editors, by the Language Server Protocol on the standard input and output.
//!
//! 1. [`protocol`] frames messages. Each is answered before the next is read, so answers never overtake changes.
//! 2. A [`document`] is a text that is open in the editor, with what the checker found and the program that has read it. It is checked
//!    when it is opened and after each change, by the engine of `metroon check`.
//! 3. [`requests`] are answered from documents: hover, definition, completion, rename, layout. Names are looked for in the files of the
//!    [`workspace`] that share them.
//!
//! Nothing is run. Positions count as the client says: in UTF-16 units, or in bytes if it can do that.

mod document;
mod protocol;
mod requests;
mod workspace;

use crate::end::End;
use crate::output::fail;
use clap::Args;
use document::{Document, Encoding};
use protocol::{Message, Read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Editors start this command and speak with it on its standard input and output. It shows what `metroon check` finds while a text is written,
types and documentation at the pointer, definitions, completions, and renames and lays out. Nothing is run.

Exit code: 0 the editor has ended it as it should; 1 it has not.";

/// What `metroon lsp` is asked for.
#[derive(Debug, Args)]
pub(crate) struct LspArguments {
    /// What editors name the transport with; there is no other
    #[arg(long, hide = true)]
    stdio: bool,
}

/// The codes of errors that the protocol gives.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_REQUEST: i64 = -32600;
const NOT_INITIALIZED: i64 = -32002;

/// The state of the server.
#[derive(Default)]
struct Server {
    encoding: Encoding,
    documents: BTreeMap<String, Document>,
    /// The folders that the editor has open.
    folders: Vec<PathBuf>,
    is_initialized: bool,
    is_shut_down: bool,
}

/// Serves an editor until it ends.
pub(crate) fn serve(_: &LspArguments) -> End {
    let mut server = Server::default();
    let mut input = io::stdin().lock();
    loop {
        let message = match protocol::read(&mut input) {
            Ok(Read::Message(message)) => message,
            Ok(Read::End) => return if server.is_shut_down { End::Fine } else { End::Error },
            Ok(Read::Unreadable(reason)) => {
                if send(&protocol::error(Value::Null, -32700, &reason)).is_err() {
                    return End::Error;
                }
                continue;
            }
            Err(error) => return fail(&format!("cannot read from the editor: {error}"), "", End::Error),
        };
        if message.method == "exit" {
            return if server.is_shut_down { End::Fine } else { End::Error };
        }
        for answer in server.answer(&message) {
            if send(&answer).is_err() {
                return End::Error;
            }
        }
    }
}

fn send(message: &Value) -> io::Result<()> {
    protocol::write(&mut io::stdout().lock(), message)
}

impl Server {
    /// What is to be sent for a message.
    fn answer(&mut self, message: &Message) -> Vec<Value> {
        let Message { id, method, parameters } = message;
        let Some(id) = id else { return self.notified(method, parameters) };
        let refused = |code, reason: &str| vec![protocol::error(id.clone(), code, reason)];
        match method.as_str() {
            "initialize" => {
                self.is_initialized = true;
                vec![protocol::result(id.clone(), self.initialize(parameters))]
            }
            _ if !self.is_initialized => refused(NOT_INITIALIZED, "the first request is `initialize`"),
            _ if self.is_shut_down => refused(INVALID_REQUEST, "the server was shut down"),
            "shutdown" => {
                self.is_shut_down = true;
                vec![protocol::result(id.clone(), Value::Null)]
            }
            _ => match requests::answer(self, method, parameters) {
                Some(Ok(result)) => vec![protocol::result(id.clone(), result)],
                Some(Err(reason)) => refused(INVALID_REQUEST, &reason),
                None => refused(METHOD_NOT_FOUND, &format!("{method} is not served")),
            },
        }
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        let offered = parameters["capabilities"]["general"]["positionEncodings"].as_array();
        let can_bytes = offered.is_some_and(|offered| offered.iter().any(|one| one == "utf-8"));
        self.encoding = if can_bytes { Encoding::Utf8 } else { Encoding::Utf16 };
        let folders = parameters["workspaceFolders"].as_array().into_iter().flatten().map(|folder| &folder["uri"]);
        let uris = folders.chain([&parameters["rootUri"]]).filter_map(Value::as_str);
        self.folders = uris.filter_map(document::path_of).map(PathBuf::from).collect();
        self.folders.dedup();
        json!({
            "capabilities": {
                "positionEncoding": self.encoding.name(),
                "textDocumentSync": { "openClose": true, "change": 1 },
                "hoverProvider": true,
                "definitionProvider": true,
                "referencesProvider": true,
                "completionProvider": { "triggerCharacters": ["(", "$"] },
                "renameProvider": true,
                "documentFormattingProvider": true,
                "documentSymbolProvider": true,
            },
            "serverInfo": { "name": "metroon", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn notified(&mut self, method: &str, parameters: &Value) -> Vec<Value> {
        let document = &parameters["textDocument"];
        let Some(uri) = document["uri"].as_str() else { return Vec::new() };
        let version = document["version"].clone();
        match method {
            "textDocument/didOpen" => match document["text"].as_str() {
                Some(text) => vec![self.set(uri, text.to_owned(), version)],
                None => Vec::new(),
            },
            "textDocument/didChange" => {
                let last = parameters["contentChanges"].as_array().and_then(|changes| changes.last());
                match last.and_then(|change| change["text"].as_str()) {
                    Some(text) => vec![self.set(uri, text.to_owned(), version)],
                    None => Vec::new(),
                }
            }
            "textDocument/didClose" => {
                self.documents.remove(uri);
                vec![published(uri, &Value::Null, Vec::new())]
            }
            _ => Vec::new(),
        }
    }

    /// Takes the text of a document, and gives what is found in it.
    fn set(&mut self, uri: &str, text: String, version: Value) -> Value {
        let document = Document::new(uri, text);
        let findings = document.findings(self.encoding, uri);
        self.documents.insert(uri.to_owned(), document);
        published(uri, &version, findings)
    }
}

fn published(uri: &str, version: &Value, findings: Vec<Value>) -> Value {
    let mut parameters = json!({ "uri": uri, "diagnostics": findings });
    if !version.is_null() {
        parameters["version"] = version.clone();
    }
    protocol::notification("textDocument/publishDiagnostics", parameters)
}
