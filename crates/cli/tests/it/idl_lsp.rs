//! `oxorb idl lsp`: sessions of an editor.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use oxorb_testkit::{Watchdog, watchdog};
use serde_json::{Value, json};

use crate::common::Folder;

/// Time limit of a session, which no machine exceeds, however loaded.
const LONG: Duration = Duration::from_secs(120);

const SHARED: &str = "module shared {\n  // Of the \u{e9}lan.\n  struct Reading { double value; };\n  \
                      struct Level { long value; };\n};\n";

/// Absence of diagnostics.
const NONE: [Value; 0] = [];

/// Text with characters of two and four octets before the name on its third line.
const MAIN: &str = "#include \"shared.idl\"\ninterface Sensor {\n  /* \u{e9}\u{1f600} */ \
                    shared::Reading read();\n};\n";

/// Editor with a language server.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
    /// Notifications of the server so far.
    notifications: Vec<Value>,
    _guard: Watchdog,
}

impl Editor {
    fn start(args: &[&str]) -> Editor {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(["idl", "lsp"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        Editor {
            input: child.stdin.take().expect("a pipe"),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            requests: 0,
            notifications: Vec::new(),
            _guard: watchdog(LONG),
        }
    }

    /// Starts a server and the session; returns the answer to `initialize`, too.
    fn initialized(args: &[&str], params: &Value) -> (Editor, Value) {
        let mut editor = Editor::start(args);
        let answer = editor.result("initialize", params);
        editor.notify("initialized", &json!({}));
        (editor, answer)
    }

    fn send_octets(&mut self, octets: &[u8]) {
        self.input.write_all(octets).expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        let content = message.to_string();
        self.send_octets(format!("Content-Length: {}\r\n\r\n{content}", content.len()).as_bytes());
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Returns the next message of the server.
    fn receive(&mut self) -> Value {
        let mut length = None;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("the server writes");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse::<usize>().ok(),
                Some(_) => {}
                None => break,
            }
        }
        let mut content = vec![0; length.expect("a message, not the end of the output")];
        self.output.read_exact(&mut content).expect("the server writes");
        serde_json::from_slice(&content).expect("a message is JSON")
    }

    /// Sends a request, and returns the whole answer.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message);
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                return message;
            }
            self.notifications.push(message);
        }
    }

    fn result(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.request(method, params);
        assert_eq!(answer.get("error"), None, "{method}");
        answer["result"].clone()
    }

    /// Returns the message of the error that answers a request.
    fn refused(&mut self, method: &str, params: &Value) -> String {
        let answer = self.request(method, params);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "idl", "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    fn change(&mut self, uri: &str, version: i64, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        let changes = json!([{ "text": text }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.notify("textDocument/didChange", &params);
    }

    /// Waits for the diagnostics of a document, without a request.
    fn await_diagnostics(&mut self, uri: &str) -> Value {
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
            {
                return message["params"].clone();
            }
        }
    }

    /// Returns the present diagnostics of a document.
    fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        // All diagnostics are sent before the answer.
        self.result("textDocument/documentSymbol", &document(uri));
        let of_uri = |message: &&Value| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
        };
        let last = self.notifications.iter().rev().find(of_uri).expect("diagnostics");
        last["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    /// Ends the session; returns the exit code.
    fn end(mut self) -> Option<i32> {
        assert_eq!(self.result("shutdown", &Value::Null), Value::Null);
        self.notify("exit", &Value::Null);
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parameters of an editor with all capabilities.
fn capable(folder: &Folder) -> Value {
    json!({
        "processId": null,
        "rootUri": uri(folder, ""),
        "capabilities": {
            "textDocument": {
                "hover": { "contentFormat": ["markdown", "plaintext"] },
                "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
                "publishDiagnostics": { "relatedInformation": true },
            },
        },
    })
}

/// Returns the URI of a file in a folder, which may not exist.
fn uri(folder: &Folder, name: &str) -> String {
    let root = fs::canonicalize(&folder.0).expect("the folder exists");
    format!("file://{}/{name}", root.display())
}

fn document(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri } })
}

/// Returns the range of a word in a text, with positions in UTF-16.
fn range(text: &str, word: &str) -> Value {
    let at = text.find(word).expect("the text has the word");
    let place = |at: usize| {
        let line = text[..at].matches('\n').count();
        let before = text[..at].rsplit('\n').next().unwrap_or_default();
        json!({ "line": line, "character": before.encode_utf16().count() })
    };
    json!({ "start": place(at), "end": place(at + word.len()) })
}

/// Returns the parameters of a request about a word of a document.
fn about(uri: &str, text: &str, word: &str) -> Value {
    let position = range(text, word)["start"].clone();
    json!({ "textDocument": { "uri": uri }, "position": position })
}

fn renaming(uri: &str, text: &str, word: &str, new: &str) -> Value {
    let mut params = about(uri, text, word);
    params["newName"] = new.into();
    params
}

#[test]
fn an_editor_checks_reads_and_changes_documents() {
    let folder = Folder::new("lsp-session");
    folder.file("shared.idl", SHARED);
    let (main, shared) = (uri(&folder, "main.idl"), uri(&folder, "shared.idl"));
    let (mut editor, answer) = Editor::initialized(&["--stdio"], &capable(&folder));
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");

    let wrong = MAIN.replace("Reading", "Readin");
    editor.open(&main, &wrong);
    let params = editor.await_diagnostics(&main);
    assert_eq!(params["version"], 1);
    let found = params["diagnostics"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["range"], range(&wrong, "Readin"));
    assert_eq!(found[0]["range"]["start"], json!({ "line": 2, "character": 20 }));
    assert_eq!(found[0]["severity"], 1);
    assert!(found[0]["message"].as_str().unwrap().contains("`Readin`"), "{}", found[0]);
    editor.change(&main, 2, MAIN);
    let params = editor.await_diagnostics(&main);
    assert_eq!((&params["version"], &params["diagnostics"]), (&json!(2), &json!([])));

    let defined = editor.result("textDocument/definition", &about(&main, MAIN, "Reading"));
    assert_eq!(defined, json!({ "uri": shared, "range": range(SHARED, "Reading") }));
    let included = editor.result("textDocument/definition", &about(&main, MAIN, "shared.idl"));
    assert_eq!(included["uri"], shared.as_str());
    let nothing = editor.result("textDocument/definition", &about(&main, MAIN, "interface"));
    assert_eq!(nothing, Value::Null);

    let described = editor.result("textDocument/hover", &about(&main, MAIN, "Reading"));
    assert_eq!(described["range"], range(MAIN, "Reading"));
    assert_eq!(
        described["contents"],
        json!({
            "kind": "markdown",
            "value": "```idl\nstruct Reading { double value; };\n```\n\n`shared::Reading`, a struct\n\n\
                      Repository id: `IDL:shared/Reading:1.0`\n\nOf the \u{e9}lan.",
        })
    );

    let symbols = editor.result("textDocument/documentSymbol", &document(&main));
    let sensor = &symbols[0];
    assert_eq!((&sensor["name"], &sensor["kind"]), (&json!("Sensor"), &json!(11)));
    assert_eq!(sensor["selectionRange"], range(MAIN, "Sensor"));
    assert_eq!(sensor["range"]["end"], json!({ "line": 3, "character": 2 }));
    assert_eq!(
        (&sensor["children"][0]["name"], symbols.as_array().unwrap().len()),
        (&json!("read"), 1)
    );

    let renamed = editor.result("textDocument/rename", &renaming(&main, MAIN, "Reading", "Sample"));
    let edit = |text: &str| json!([{ "range": range(text, "Reading"), "newText": "Sample" }]);
    let mut changes = json!({});
    changes[&main] = edit(MAIN);
    changes[&shared] = edit(SHARED);
    assert_eq!(renamed, json!({ "changes": changes }));

    let loose = uri(&folder, "loose.idl");
    editor.open(&loose, "struct  A{long a;};\n");
    let mut params = document(&loose);
    params["options"] = json!({ "tabSize": 8, "insertSpaces": true });
    let formatted = editor.result("textDocument/formatting", &params);
    let all = json!({
        "start": { "line": 0, "character": 0 },
        "end": { "line": 1, "character": 0 },
    });
    assert_eq!(formatted, json!([{ "range": all, "newText": "struct A { long a; };\n" }]));
    editor.change(&loose, 2, "struct A {");
    let refused = editor.refused("textDocument/formatting", &params);
    assert!(refused.starts_with("line 1: "), "{refused}");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn names_that_cannot_be_changed_are_refused() {
    let folder = Folder::new("lsp-rename");
    let path = folder.file("shared.idl", SHARED);
    let main = uri(&folder, "main.idl");
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    editor.open(&main, MAIN);
    let mut refused = |text: &str, word: &str, new: &str, why: &str| {
        editor.change(&main, 2, text);
        let refused = editor.refused("textDocument/rename", &renaming(&main, text, word, new));
        assert!(refused.contains(why), "{word} as {new}: {refused}");
    };
    refused(MAIN, "Reading", "struct", "`struct` is a keyword");
    refused(MAIN, "Reading", "Struct", "`struct` is a keyword");
    refused(MAIN, "Reading", "a-b", "letters, digits");
    refused(MAIN, "Reading", "Level", "is rejected at");
    refused(MAIN, "Reading", "level", "is rejected at");
    refused(MAIN, "interface", "other", "there is no name");
    // A name that would hide the one that another name means.
    let hidden = "interface A {};\nmodule m {\n  interface B {};\n  typedef A C;\n};\n";
    refused(hidden, "B {", "A", "change their meaning");
    let produced = "#define NAME Thing\ninterface NAME {};\ntypedef Thing T;\n";
    refused(produced, "Thing T", "Other", "a macro produces it");
    // A macro makes another name out of the name.
    let made = "#define OF(n) interface n {}; interface n##Impl {}\nOF(J);\ntypedef J T;\n";
    refused(made, "J T", "K", "the name `JImpl` becomes `KImpl`");
    // A pragma contains the name twice.
    let twice = "module m { module n { interface m {}; }; };\n#pragma ID m::n::m \"IDL:x:1.0\"\n";
    refused(twice, "m { module", "k", "its exact position is unknown");
    refused("interface A {};\ntypedef Nowhere N;\n", "A {", "B", "has errors");
    refused("#include <orb.idl>\ntypedef CORBA::StringSeq S;\n", "StringSeq", "B", "read-only");
    let mut rights = fs::metadata(&path).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&path, rights).unwrap();
    refused(MAIN, "Reading", "Sample", "shared.idl` contains the name and is read-only");
    assert_eq!(editor.end(), Some(0));
}

/// A unit may know only a forward declaration of what another one defines.
#[test]
fn a_name_is_changed_in_all_open_documents() {
    let folder = Folder::new("lsp-documents");
    let forward = "interface Pump;\n";
    folder.file("forward.idl", forward);
    let using = "#include \"forward.idl\"\nstruct Pair { Pump one; };\n";
    let defining = "#include \"forward.idl\"\ninterface Pump { void stop(); };\n";
    let [a, b, f] = ["a.idl", "b.idl", "forward.idl"].map(|name| uri(&folder, name));
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    editor.open(&a, using);
    editor.open(&b, defining);
    let renamed = editor.result("textDocument/rename", &renaming(&b, defining, "Pump", "Valve"));
    let edit = |text: &str| json!([{ "range": range(text, "Pump"), "newText": "Valve" }]);
    let mut changes = json!({});
    changes[&a] = edit(using);
    changes[&b] = edit(defining);
    changes[&f] = edit(forward);
    assert_eq!(renamed, json!({ "changes": changes }));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn open_documents_replace_their_files() {
    let folder = Folder::new("lsp-overlay");
    folder.file("shared.idl", SHARED);
    let (main, shared) = (uri(&folder, "main.idl"), uri(&folder, "shared.idl"));
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    editor.open(&main, MAIN);
    assert_eq!(editor.diagnostics(&main), NONE);
    editor.open(&shared, &SHARED.replace("Reading", "Sample"));
    assert_eq!(editor.diagnostics(&main).len(), 1);
    editor.change(&shared, 2, SHARED);
    assert_eq!(editor.diagnostics(&main), NONE);
    // An error of an included file is shown at the `#include`, with the place of the error.
    let wrong = SHARED.replace("double", "doubt");
    editor.change(&shared, 3, &wrong);
    let found = editor.diagnostics(&main);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["range"], range(MAIN, "\"shared.idl\""));
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("shared.idl:3:20: "), "{message}");
    let place = &found[0]["relatedInformation"][0]["location"];
    assert_eq!(*place, json!({ "uri": shared, "range": range(&wrong, "doubt") }));
    assert_eq!(editor.diagnostics(&shared)[0]["range"], range(&wrong, "doubt"));
    editor.notify("textDocument/didClose", &document(&shared));
    assert_eq!(editor.diagnostics(&main), NONE);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn include_folders_are_relative_to_the_workspace() {
    let folder = Folder::new("lsp-include");
    fs::create_dir(folder.path("lib")).unwrap();
    folder.file("lib/shared.idl", SHARED);
    let main = uri(&folder, "main.idl");
    let (mut editor, _) = Editor::initialized(&["-I", "lib"], &capable(&folder));
    editor.open(&main, MAIN);
    assert_eq!(editor.diagnostics(&main), NONE);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn positions_count_octets_if_the_editor_offers_it() {
    let folder = Folder::new("lsp-utf-8");
    folder.file("shared.idl", SHARED);
    let main = uri(&folder, "main.idl");
    let offered = json!({ "general": { "positionEncodings": ["utf-32", "utf-8", "utf-16"] } });
    let (mut editor, answer) = Editor::initialized(&[], &json!({ "capabilities": offered }));
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
    editor.open(&main, &MAIN.replace("Reading", "Readin"));
    let found = editor.diagnostics(&main);
    assert_eq!(found[0]["range"]["start"], json!({ "line": 2, "character": 23 }));
    editor.change(&main, 2, MAIN);
    let position = json!({ "line": 2, "character": 23 });
    let params = json!({ "textDocument": { "uri": main }, "position": position });
    let described = editor.result("textDocument/hover", &params);
    assert_eq!(described["contents"]["kind"], "plaintext");
    assert_eq!(described["range"]["end"], json!({ "line": 2, "character": 30 }));
    // Without a tree, symbols are a list with locations.
    let symbols = editor.result("textDocument/documentSymbol", &document(&main));
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Sensor", "read"]);
    assert_eq!(symbols[1]["containerName"], "Sensor");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn the_order_of_preference_of_the_editor_decides() {
    let folder = Folder::new("lsp-preference");
    folder.file("shared.idl", SHARED);
    let main = uri(&folder, "main.idl");
    let capabilities = json!({
        "general": { "positionEncodings": ["utf-16", "utf-8"] },
        "textDocument": { "hover": { "contentFormat": ["plaintext", "markdown"] } },
    });
    let (mut editor, answer) = Editor::initialized(&[], &json!({ "capabilities": capabilities }));
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
    editor.open(&main, MAIN);
    let described = editor.result("textDocument/hover", &about(&main, MAIN, "Reading"));
    assert_eq!(described["contents"]["kind"], "plaintext");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn a_change_whose_range_is_null_has_the_whole_text() {
    let (mut editor, _) = Editor::initialized(&[], &json!({ "capabilities": {} }));
    let uri = "untitled:1";
    editor.open(uri, "struct {");
    assert_ne!(editor.diagnostics(uri), NONE);
    let changes = json!([{ "range": null, "text": "" }]);
    let document = json!({ "uri": uri, "version": 2 });
    let params = json!({ "textDocument": document, "contentChanges": changes });
    editor.notify("textDocument/didChange", &params);
    assert_eq!(editor.diagnostics(uri), NONE);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn no_diagnostics_follow_the_answer_to_shutdown() {
    let (mut editor, _) = Editor::initialized(&[], &json!({ "capabilities": {} }));
    editor.open("untitled:1", "struct {");
    assert_eq!(editor.result("shutdown", &Value::Null), Value::Null);
    let before = editor.notifications.len();
    editor.refused("textDocument/hover", &json!({}));
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.notifications.len(), before, "{:?}", editor.notifications);
    assert_eq!(editor.child.wait().unwrap().code(), Some(0));
}

/// An editor may replace a link by the file that it saves.
#[test]
fn a_document_keeps_its_text_when_its_path_gets_another_file() {
    let folder = Folder::new("lsp-link");
    let target = folder.file("target.idl", "struct {");
    symlink(&target, folder.path("link.idl")).unwrap();
    let link = uri(&folder, "link.idl");
    let text = "interface A {};\ntypedef A T;\n";
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    editor.open(&link, text);
    assert_eq!(editor.diagnostics(&link), NONE);
    fs::remove_file(folder.path("link.idl")).unwrap();
    folder.file("link.idl", "struct {");
    editor.notify("textDocument/didSave", &document(&link));
    assert_eq!(editor.diagnostics(&link), NONE);
    let renamed = editor.result("textDocument/rename", &renaming(&link, text, "A T", "B"));
    assert_eq!(renamed["changes"][&link].as_array().map(Vec::len), Some(2), "{renamed}");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn the_size_of_included_files_is_limited() {
    let folder = Folder::new("lsp-large");
    let large = fs::File::create(folder.path("large.idl")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    let main = uri(&folder, "main.idl");
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    editor.open(&main, "#include \"large.idl\"\n");
    let found = editor.diagnostics(&main);
    assert!(found[0]["message"].as_str().unwrap().contains("16777216 octets"), "{found:?}");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn diagnostics_beyond_the_limit_are_counted() {
    let (mut editor, _) = Editor::initialized(&[], &json!({ "capabilities": {} }));
    let uri = "untitled:1";
    let text: String = (0..250).map(|n| format!("typedef Nowhere{n} T{n};\n")).collect();
    editor.open(uri, &text);
    let found = editor.diagnostics(uri);
    assert_eq!(found.len(), 201);
    assert_eq!(found[200]["message"], "50 more problems are not shown");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn wrong_messages_are_answered_and_end_nothing() {
    let mut editor = Editor::start(&[]);
    let code = |message: &Value| message["error"]["code"].as_i64();
    assert_eq!(code(&editor.request("textDocument/hover", &json!({}))), Some(-32002));
    editor.result("initialize", &json!({ "capabilities": {} }));
    for octets in [
        &b"Content-Length: many\r\n\r\n"[..],
        b"nonsense\r\n\r\n",
        b"Content-Length: 3\r\n\r\n{]}",
        b"Content-Length: 99999999999999999999999\r\n\r\n",
    ] {
        editor.send_octets(octets);
        let answer = editor.receive();
        assert_eq!((code(&answer), &answer["id"]), (Some(-32700), &Value::Null), "{answer}");
    }
    let long = vec![b' '; 9_000_000];
    editor.send_octets(format!("Content-Length: {}\r\n\r\n", long.len()).as_bytes());
    editor.send_octets(&long);
    let answer = editor.receive();
    assert!(answer["error"]["message"].as_str().unwrap().contains("8388608"), "{answer}");
    assert_eq!(code(&editor.request("initialize", &json!({}))), Some(-32600));
    assert_eq!(code(&editor.request("oxorb/nonsense", &json!({}))), Some(-32601));
    assert_eq!(code(&editor.request("textDocument/hover", &json!({}))), Some(-32602));
    assert_eq!(code(&editor.request("textDocument/hover", &json!(7))), Some(-32600));
    let unopened = about("file:///nowhere.idl", "a", "a");
    assert_eq!(code(&editor.request("textDocument/definition", &unopened)), Some(-32602));
    // A wrong notification has no answer, and so shows a message.
    editor.change("file:///nowhere.idl", 1, "");
    let shown = editor.receive();
    assert_eq!(shown["method"], "window/showMessage");
    assert!(shown["params"]["message"].as_str().unwrap().contains("is not open"), "{shown}");
    // An include of the stream with the messages would wait for its end.
    let uri = "untitled:Untitled-1";
    editor.open(uri, "#include \"/dev/stdin\"\n");
    let found = editor.diagnostics(uri);
    assert!(found[0]["message"].as_str().unwrap().contains("not a regular file"), "{found:?}");
    editor.result("shutdown", &Value::Null);
    assert_eq!(code(&editor.request("textDocument/hover", &json!({}))), Some(-32600));
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_number_of_open_documents_is_limited() {
    let folder = Folder::new("lsp-many");
    let (mut editor, _) = Editor::initialized(&[], &capable(&folder));
    for n in 0..256 {
        let uri = format!("untitled:{n}");
        editor.open(&uri, "");
        assert_eq!(editor.diagnostics(&uri), NONE);
    }
    editor.open("untitled:256", "");
    let refused = editor.refused("textDocument/documentSymbol", &document("untitled:256"));
    assert!(refused.contains("is not open"), "{refused}");
    let shown: Vec<_> =
        editor.notifications.iter().filter(|one| one["method"] == "window/showMessage").collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0]["params"]["message"].as_str().unwrap().contains("256 documents"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn a_session_that_ends_without_shutdown_failed() {
    let mut editor = Editor::start(&[]);
    editor.result("initialize", &json!({ "capabilities": {} }));
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.child.wait().unwrap().code(), Some(1));
    let mut ended = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    let ended = ended.args(["idl", "lsp"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("without `shutdown`"));
}
