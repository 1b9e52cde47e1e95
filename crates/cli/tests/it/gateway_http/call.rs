//! `oxorb call` of objects behind the gateway.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value;

use super::client::until;
use super::relay::Relay;
use super::{Bank, secret};
use crate::common::{Folder, command, run, text};

fn call(url: &str, words: &[&str]) -> Output {
    run(&[&["call", url][..], words].concat())
}

/// Makes a call that must fail, and returns its message.
#[track_caller]
fn fails(url: &str, words: &[&str]) -> String {
    let failed = call(url, words);
    assert_eq!(failed.status.code(), Some(1), "{words:?}: {failed:?}");
    text(&failed.stderr)
}

/// Starts a server that gives one answer; returns its address.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut octet = [0];
            stream.read_exact(&mut octet).expect("a request");
            request.extend(octet);
        }
        stream.write_all(answer.as_bytes()).expect("the client reads");
        // Wait for the client to close the connection.
        let _ = stream.read_to_end(&mut request);
    });
    address
}

#[test]
fn a_call_over_http_prints_what_a_call_by_reference_prints() {
    let bank = Bank::open("http-call", &[]);
    let url = bank.url();
    let who = r#"[{"name": "Ada", "sort": "checking", "photo": "AQL/"}]"#;
    let calls: [&[&str]; 12] = [
        &["withdraw", "10"],
        &["withdraw", "1000"],
        &["book", who, "a memo"],
        &["book", "--args", r#"{"who": [], "memo": "none"}"#],
        &["grow", r#"{"v": 1, "kids": [{"v": 2, "kids": []}]}"#],
        &["note", r#"{"text": "x"}"#],
        &["echo", r#"{"type": "short", "value": 5}"#],
        &["peer", &bank.reference],
        &["balance"],
        &["balance=\"9007199254740993\""],
        &["balance"],
        &["tell", "closed"],
    ];
    for words in calls {
        let direct = run(&[&["call", "--idl", &bank.idl, &bank.reference][..], words].concat());
        let over = call(&url, words);
        assert_eq!(text(&over.stdout), text(&direct.stdout), "{words:?}: {over:?}");
        assert_eq!(text(&over.stderr), text(&direct.stderr), "{words:?}");
        assert_eq!(over.status.code(), direct.status.code(), "{words:?}: {over:?}");
    }
    let raised = call(&url, &["withdraw", "7"]);
    assert_eq!(raised.status.code(), Some(1), "{raised:?}");
    let exception: Value = serde_json::from_slice(&raised.stdout).expect("JSON");
    assert_eq!(exception["exception"], "IDL:omg.org/CORBA/TRANSIENT:1.0");
    assert_eq!(exception["minor"], 5);
    assert_eq!(exception["completed"], "MAYBE");
    assert_eq!(exception.get("detail"), None, "{exception}");
}

#[test]
fn mistakes_in_a_call_over_http_are_reported() {
    let bank = Bank::open("http-call-mistakes", &[]);
    let url = bank.url();
    let mistakes: [(&[&str], &str); 8] = [
        (&["withdraw", "x"], "args[0] (amount)"),
        (&["withdraw"], "the operation takes 1 argument, not 0"),
        (&["withdraw", "1", "2"], "the operation takes 1 argument, not 2"),
        (&["withdrw", "1"], "did you mean withdraw?"),
        (&["version=1"], "the attribute version is readonly"),
        (&["_is_a", "IDL:bank/Account:1.0"], "no operation or attribute _is_a"),
        (&["balance", "--idl", &bank.idl], "--idl does not apply"),
        (&["balance", "--oneway"], "--oneway does not apply"),
    ];
    for (words, why) in mistakes {
        let said = fails(&url, words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    let nobody = fails(&format!("http://{}/objects/Nobody", bank.address), &["balance"]);
    assert!(nobody.contains("404 Not Found: there is no object with this name"), "{nobody}");
    let page = fails(&format!("http://{}/page.js", bank.address), &["balance"]);
    assert!(page.contains("not JSON"), "{page}");
    let token = fails(&bank.reference, &["balance", "--token", "token.txt"]);
    assert!(token.contains("--token applies only to objects behind an HTTP gateway"), "{token}");
}

#[test]
fn a_token_comes_from_a_file_or_the_environment() {
    let folder = Folder::new("http-call-token");
    let file = secret(&folder, "token.txt", "0123456789abcdef ada\n");
    let bank = Bank::open("http-call-tokens", &["--tokens", &file]);
    let url = bank.url();
    let refused = fails(&url, &["balance"]);
    assert!(refused.contains("401") && refused.contains("--token FILE"), "{refused}");
    let admitted = call(&url, &["balance", "--token", &file]);
    assert_eq!(text(&admitted.stdout), "100\n", "{admitted:?}");
    let with = |token: &str| {
        let mut command = command(&["call", &url, "balance"]);
        command.env("OXORB_HTTP_TOKEN", token).output().expect("the command starts")
    };
    let admitted = with("0123456789abcdef");
    assert_eq!(text(&admitted.stdout), "100\n", "{admitted:?}");
    for wrong in ["0123456789abcdeg", "short", "0123456789abcdef 0123456789abcdef"] {
        let refused = with(wrong);
        assert_eq!(refused.status.code(), Some(1), "{wrong}");
        assert!(!text(&refused.stderr).contains(wrong), "{refused:?}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = fails(&url, &["balance", "--token", &file]);
    assert!(refused.contains("chmod 600"), "{refused}");
}

#[test]
fn answers_that_are_late_long_or_foreign_are_refused() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = |address: &str| format!("http://{address}/objects/Account");
    let late = url(&silent.local_addr().expect("an address").to_string());
    let late = fails(&late, &["balance", "--timeout", "500"]);
    // On a busy machine there may be no time for the connection.
    assert!(
        late.contains("answer arrived within the time limit") || late.contains("timed out"),
        "{late}"
    );
    for (answer, why) in [
        ("SSH-2.0-server\r\n", "not the answer of an HTTP server"),
        ("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", "does not follow redirections"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "is not the description of an object"),
        ("HTTP/1.1 200 OK\r\n\r\n{}", "does not state its length"),
    ] {
        let said = fails(&url(&answering(answer)), &["balance"]);
        assert!(said.contains(why), "{answer:?}: {said}");
    }
    let bank = Bank::open("http-call-long", &[]);
    let long = fails(&bank.url(), &["balance", "--max-answer", "100"]);
    assert!(long.contains("more than 100 octets"), "{long}");
}

#[test]
fn the_gateway_knows_the_time_limit_of_a_call() {
    // The relay forwards nothing, so the gateway has no answer.
    let relay = Relay::new();
    let option = relay.option();
    let bank = Bank::open("http-call-late", &["--object", &option, "--timeout", "3600000"]);
    let url = format!("http://{}/objects/Relayed", bank.address);
    // On a busy machine, the exception may come too late for the command.
    let exception: Value = until("the exception of the gateway", || {
        let late = call(&url, &["withdraw", "1", "--timeout", "1000"]);
        assert_eq!(late.status.code(), Some(1), "{late:?}");
        serde_json::from_slice(&late.stdout).ok()
    });
    assert_eq!(exception["name"], "TIMEOUT");
}

#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_https_is_refused() {
    let refused = fails("https://localhost:1/objects/Account", &["balance"]);
    assert!(refused.contains("--features tls"), "{refused}");
    assert_eq!(refused.lines().count(), 1, "{refused}");
}
