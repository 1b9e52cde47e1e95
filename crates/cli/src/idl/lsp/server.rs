//! State of the server: what it does with each message.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use oxorb_idl::Options;
use oxorb_idl::format::FormatOptions;
use oxorb_idl::source::Span;
use serde_json::{Value, json};

use super::documents::Documents;
use super::framing::Frame;
use super::message::{self, Message, Refusal};
use super::position::{Encoding, Lines, Position};
use super::rename::Renaming;
use super::unit::{Ranges, Unit};
use super::{diagnostics, formatting, hover, symbols, uri};

/// Maximum number of diagnostics of a document.
const MAX_DIAGNOSTICS: usize = 200;

/// Maximum number of octets of a document and of all files that it includes. Each document has its own copy of them.
const MAX_SOURCE: usize = 16 << 20;

/// Language server of one client.
pub(super) struct Server {
    options: Options,
    style: FormatOptions,
    stage: Stage,
    client: Client,
    documents: Documents,
    /// Compiled documents by their URIs.
    units: BTreeMap<String, Unit>,
    /// URIs of the documents to compile again.
    stale: BTreeSet<String>,
    /// Messages to send.
    out: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Stage before the request `initialize`.
    New,
    Running,
    /// Stage after the request `shutdown`.
    ShutDown,
}

/// Capabilities of the client.
#[derive(Default)]
struct Client {
    encoding: Encoding,
    /// Whether the client shows Markdown.
    markdown: bool,
    /// Whether the client shows symbols as a tree.
    tree: bool,
    /// Whether the client shows places that explain a diagnostic.
    related: bool,
}

impl Server {
    pub(super) fn new(options: Options, style: FormatOptions) -> Self {
        Server {
            options,
            style,
            stage: Stage::New,
            client: Client::default(),
            documents: Documents::default(),
            units: BTreeMap::new(),
            stale: BTreeSet::new(),
            out: Vec::new(),
        }
    }

    /// Handles a part of the client's stream. Breaks at the end of the session, with whether the client announced it.
    pub(super) fn receive(&mut self, frame: Frame) -> ControlFlow<bool> {
        let content = match frame {
            Frame::Message(content) => content,
            Frame::Malformed(why) => {
                let refusal = Refusal::parse_error(why);
                self.out.push(message::answer(Value::Null, Err(refusal)));
                return ControlFlow::Continue(());
            }
        };
        match message::parse(&content) {
            Ok(Message::Request { id, method, params }) => {
                let result = self.request(&method, &params);
                self.out.push(message::answer(id, result));
            }
            Ok(Message::Notification { method, .. }) if method == "exit" => {
                return ControlFlow::Break(self.is_shut_down());
            }
            Ok(Message::Notification { method, params }) => {
                if let Err(refusal) = self.notified(&method, &params) {
                    self.show_error(&format!("{method}: {}", refusal.why));
                }
            }
            Ok(Message::Answer) => {}
            Err((id, refusal)) => self.out.push(message::answer(id, Err(refusal))),
        }
        ControlFlow::Continue(())
    }

    /// Reports whether the client has sent `shutdown`.
    pub(super) fn is_shut_down(&self) -> bool {
        self.stage == Stage::ShutDown
    }

    /// Compiles all documents whose text or includes have changed, and reports their diagnostics.
    pub(super) fn refresh(&mut self) {
        if self.stale.is_empty() {
            return;
        }
        let overlay = self.documents.overlay();
        for uri in std::mem::take(&mut self.stale) {
            let Ok(document) = self.documents.get(&uri) else { continue };
            let unit = Unit::analyse(document, overlay.clone(), &self.options);
            let ranges = Ranges::new(&unit, self.client.encoding);
            let (documents, related) = (&self.documents, self.client.related);
            let params = diagnostics::of_document(document, &unit, documents, ranges, related);
            self.out.push(message::notification("textDocument/publishDiagnostics", params));
            self.units.insert(uri, unit);
        }
    }

    /// Returns the messages to send, in their order.
    pub(super) fn take_messages(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.out)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        match (self.stage, method) {
            (Stage::New, "initialize") => Ok(self.initialize(params)),
            (Stage::New, _) => Err(Refusal::not_initialized()),
            (Stage::Running, "initialize") => {
                Err(Refusal::invalid_request("`initialize` can only be the first request"))
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::ShutDown;
                // The client expects no diagnostics after the answer.
                self.stale.clear();
                Ok(Value::Null)
            }
            (Stage::Running, _) => self.query(method, params),
            (Stage::ShutDown, _) => {
                Err(Refusal::invalid_request("after `shutdown`, only `exit` may follow"))
            }
        }
    }

    /// Answers a question about a document.
    fn query(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let answer: fn(&Self, &Value) -> Result<Value, Refusal> = match method {
            "textDocument/definition" => Self::definition,
            "textDocument/documentSymbol" => Self::document_symbols,
            "textDocument/formatting" => Self::formatting,
            "textDocument/hover" => Self::hover,
            "textDocument/rename" => {
                // Files that are not open may have changed on disk.
                self.all_stale();
                Self::rename
            }
            _ => return Err(Refusal::unknown_method(method)),
        };
        self.refresh();
        answer(self, params)
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let capabilities = &params["capabilities"];
        // Lists are in the client's order of preference.
        let listed = |place: &str| {
            let list = capabilities.pointer(place).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str)
        };
        let encoding = listed("/general/positionEncodings").find_map(Encoding::of_name);
        let format = listed("/textDocument/hover/contentFormat")
            .find(|format| matches!(*format, "markdown" | "plaintext"));
        let is_set = |place: &str| capabilities.pointer(place) == Some(&Value::Bool(true));
        self.client = Client {
            encoding: encoding.unwrap_or_default(),
            markdown: format == Some("markdown"),
            tree: is_set("/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            related: is_set("/textDocument/publishDiagnostics/relatedInformation"),
        };
        if let Some(root) = root(params) {
            // The editor may have started the server in any folder.
            for folder in &mut self.options.include_dirs {
                *folder = root.join(&*folder);
            }
        }
        self.options.limits.diagnostics = MAX_DIAGNOSTICS;
        self.options.limits.source_octets = MAX_SOURCE;
        self.stage = Stage::Running;
        json!({
            "capabilities": {
                "positionEncoding": self.client.encoding.name(),
                "textDocumentSync": { "openClose": true, "change": WHOLE_TEXT, "save": true },
                "definitionProvider": true,
                "hoverProvider": true,
                "documentSymbolProvider": true,
                "documentFormattingProvider": true,
                "renameProvider": true,
            },
            "serverInfo": { "name": "oxorb idl lsp", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn notified(&mut self, method: &str, params: &Value) -> Result<(), Refusal> {
        if self.stage != Stage::Running {
            return Ok(());
        }
        match method {
            "textDocument/didOpen" => {
                self.put(params, message::string(params, "/textDocument/text")?)?;
            }
            "textDocument/didChange" => {
                self.documents.get(message::string(params, "/textDocument/uri")?)?;
                self.put(params, new_text(params)?)?;
            }
            "textDocument/didSave" => self.all_stale(),
            "textDocument/didClose" => {
                let uri = message::string(params, "/textDocument/uri")?;
                if let Some(document) = self.documents.close(uri) {
                    self.units.remove(uri);
                    self.including_stale(&document.identity);
                    let params = json!({ "uri": uri, "diagnostics": [] });
                    self.out.push(message::notification("textDocument/publishDiagnostics", params));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens a document or changes its text.
    fn put(&mut self, params: &Value, text: &str) -> Result<(), Refusal> {
        let uri = message::string(params, "/textDocument/uri")?;
        let version = params.pointer("/textDocument/version").and_then(Value::as_i64);
        self.documents.put(uri, version, text)?;
        let identity = self.documents.get(uri)?.identity.clone();
        self.stale.insert(uri.to_owned());
        self.including_stale(&identity);
        Ok(())
    }

    /// Marks the documents to compile again after a change of a file: those that include it, and those that lack some
    /// file.
    fn including_stale(&mut self, file: &Path) {
        let all = self.units.iter();
        let including = all.filter(|(_, unit)| unit.contains(file) || unit.lacks_file());
        self.stale.extend(including.map(|(uri, _)| uri.clone()));
    }

    /// Marks all documents to compile again, because files may have changed on disk.
    fn all_stale(&mut self) {
        self.documents.update_identities();
        self.stale.extend(self.documents.iter().map(|document| document.uri.clone()));
    }

    /// Shows a message that belongs to no request.
    fn show_error(&mut self, text: &str) {
        let params = json!({ "type": ERROR, "message": text });
        self.out.push(message::notification("window/showMessage", params));
    }

    fn formatting(&self, params: &Value) -> Result<Value, Refusal> {
        let uri = message::string(params, "/textDocument/uri")?;
        formatting::edits(&self.documents.get(uri)?.text, &self.style, self.client.encoding)
    }

    fn document_symbols(&self, params: &Value) -> Result<Value, Refusal> {
        let uri = message::string(params, "/textDocument/uri")?;
        let unit = self.unit(uri)?;
        let ranges = Ranges::new(unit, self.client.encoding);
        Ok(match self.client.tree {
            true => symbols::tree(unit, ranges),
            false => symbols::list(unit, ranges, uri),
        })
    }

    fn definition(&self, params: &Value) -> Result<Value, Refusal> {
        let (unit, offset) = self.cursor(params)?;
        let named = unit.name_at(offset).map(|found| unit.index.symbols()[found.symbol].span);
        let included = unit.included_by(offset).map(|file| Span { file, ..Span::default() });
        let mut ranges = Ranges::new(unit, self.client.encoding);
        let location = included
            .or(named)
            .and_then(|span| diagnostics::location(unit, &self.documents, &mut ranges, span));
        Ok(location.unwrap_or(Value::Null))
    }

    fn hover(&self, params: &Value) -> Result<Value, Refusal> {
        let (unit, offset) = self.cursor(params)?;
        let Some(found) = unit.name_at(offset) else { return Ok(Value::Null) };
        let symbol = &unit.index.symbols()[found.symbol];
        let mut ranges = Ranges::new(unit, self.client.encoding);
        Ok(json!({
            "contents": hover::contents(unit.sources(), symbol, self.client.markdown),
            "range": ranges.range(found.span),
        }))
    }

    fn rename(&self, params: &Value) -> Result<Value, Refusal> {
        let new = message::string(params, "/newName")?;
        let (unit, offset) = self.cursor(params)?;
        let named = unit.name_at(offset);
        let of = named.ok_or_else(|| {
            Refusal::failed("there is no name at this position that could be changed")
        })?;
        let renaming = Renaming {
            documents: &self.documents,
            units: &self.units,
            options: &self.options,
            encoding: self.client.encoding,
        };
        renaming.edits(unit, of, new)
    }

    /// Returns the document and the offset to which a request refers.
    fn cursor(&self, params: &Value) -> Result<(&Unit, usize), Refusal> {
        let uri = message::string(params, "/textDocument/uri")?;
        let line = message::number(params, "/position/line")?;
        let character = message::number(params, "/position/character")?;
        let encoding = self.client.encoding;
        let unit = self.unit(uri)?;
        let offset = Lines::new(unit.text(), encoding).offset(Position { line, character });
        Ok((unit, offset))
    }

    /// Returns a compiled document.
    fn unit(&self, uri: &str) -> Result<&Unit, Refusal> {
        self.documents.get(uri)?;
        let unit = self.units.get(uri);
        unit.ok_or_else(|| Refusal::failed(format!("`{uri}` cannot be compiled")))
    }
}

/// Kind of synchronization of the protocol in which each change has the whole text.
const WHOLE_TEXT: u8 = 1;

/// Type of an error message in the protocol.
const ERROR: u8 = 1;

/// Returns the text after all changes of a notification.
fn new_text(params: &Value) -> Result<&str, Refusal> {
    let changes = params["contentChanges"].as_array();
    let whole = |change: &&Value| change.get("range").is_none_or(Value::is_null);
    let last = changes.and_then(|changes| changes.last()).filter(whole);
    let text = last.and_then(|change| change["text"].as_str());
    text.ok_or_else(|| {
        Refusal::invalid_params("each change must contain the whole text, without a range")
    })
}

/// Returns the folder of the client's workspace.
fn root(params: &Value) -> Option<PathBuf> {
    let places = ["/workspaceFolders/0/uri", "/rootUri"];
    let mut found = places.iter().filter_map(|place| params.pointer(place)?.as_str());
    found.find_map(uri::to_path)
}
