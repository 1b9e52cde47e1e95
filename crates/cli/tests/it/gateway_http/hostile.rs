//! Hostile clients: smuggling, slow and huge requests, foreign hosts and pages.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::Bank;
use super::client::{self, Reply, ask, exchange};

fn post(bank: &Bank, fields: &str, body: &str) -> String {
    let request = format!(
        "POST /objects/Account/withdraw HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{fields}\r\n{body}",
        bank.address
    );
    exchange(&bank.address, request.as_bytes())
}

#[test]
fn ambiguous_lengths_smuggle_no_request() {
    let bank = Bank::open("http-smuggling", &[]);
    let hidden = format!("GET /objects/Account/balance HTTP/1.1\r\nHost: {}\r\n\r\n", bank.address);
    // The body ends with the chunk of length 0; a proxy that heeds Content-Length would pass the rest as the body.
    let body = format!("3\r\n[1]\r\n0\r\n\r\n{hidden}");
    for fields in [
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", body.len()),
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", body.len()),
    ] {
        let answer = post(&bank, &fields, &body);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!([200, 400].contains(&Reply::parse(&answer).status), "{answer}");
    }
    for fields in [
        "Content-Length: 3\r\nContent-Length: 30\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 3, 30\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length: 3\r\n folded: 1\r\n",
    ] {
        let answer = post(&bank, fields, &format!("[1]{hidden}"));
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{fields:?}: {answer}");
        assert_eq!(Reply::parse(&answer).status, 400, "{fields:?}: {answer}");
    }
    assert_eq!(bank.get("/objects/Account/balance").json(), json!(100));
}

#[test]
fn sizes_are_limited() {
    let bank = Bank::open("http-sizes", &["--max-body", "1000"]);
    let told = post(&bank, "Connection: close\r\nContent-Length: 1001\r\n", "[");
    Reply::parse(&told).problem(413);
    let chunk = format!("400\r\n{}\r\n0\r\n\r\n", " ".repeat(0x400));
    let found = post(&bank, "Transfer-Encoding: chunked\r\n", &chunk);
    Reply::parse(&found).problem(413);
    let field = format!("X: {}\r\nConnection: close\r\nContent-Length: 3\r\n", "x".repeat(100_000));
    let head = post(&bank, &field, "[1]");
    assert!(head.is_empty() || Reply::parse(&head).status == 431, "{head}");
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let refused = bank.post("withdraw", &deep).problem(400);
    assert!(refused["detail"].to_string().contains("recursion limit"), "{refused}");
    assert_eq!(bank.get("/objects/Account/balance").json(), json!(100));
}

#[test]
fn slow_requests_are_closed() {
    let bank = Bank::open("http-slow", &["--read-timeout", "300", "--connections", "2"]);
    // Connections beyond the limit are accepted only after those before them are closed.
    let begins =
        ["", "GET / HT", "PRI * HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n"];
    let mut waiting = begins.map(|begin| {
        let mut stream = client::connect(&bank.address);
        stream.write_all(begin.as_bytes()).unwrap();
        stream
    });
    for stream in &mut waiting {
        let mut answer = Vec::new();
        // A reset is as good as an end.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    let body = post(&bank, "Connection: close\r\nContent-Length: 10\r\n", "[1");
    Reply::parse(&body).problem(408);
    assert_eq!(bank.get("/objects/Account/balance").json(), json!(100));
}

#[test]
fn other_hosts_and_pages_are_refused() {
    let bank = Bank::open("http-hosts", &["--allow-origin", "https://page.example"]);
    let raw = |fields: &str, method: &str| {
        let request = format!(
            "{method} /objects/Account/balance HTTP/1.1\r\n{fields}Connection: close\r\n\r\n"
        );
        Reply::parse(&exchange(&bank.address, request.as_bytes()))
    };
    raw("Host: evil.example\r\n", "GET").problem(421);
    raw("Host: 127.0.0.1.evil.example:8080\r\n", "GET").problem(421);
    raw("", "GET").problem(400);
    raw("Host: localhost\r\nHost: localhost\r\n", "GET").problem(400);
    raw("Host: localhost\r\nOrigin: https://evil.example\r\n", "GET").problem(403);
    raw("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", "GET").problem(403);
    let own = raw("Host: localhost\r\nOrigin: http://localhost\r\n", "GET");
    assert_eq!((own.status, own.field("access-control-allow-origin")), (200, None));
    let page = "Host: localhost\r\nOrigin: https://page.example\r\n";
    let allowed = raw(page, "GET");
    let origin = Some("https://page.example");
    assert_eq!((allowed.status, allowed.field("access-control-allow-origin")), (200, origin));
    let asked = raw(page, "OPTIONS");
    assert_eq!((asked.status, asked.field("access-control-allow-methods").is_some()), (204, true));
    raw("Host: localhost\r\n", "OPTIONS").problem(405);
    raw("Host: localhost\r\n", "DELETE").problem(405);
    assert_eq!(raw("Host: localhost\r\n", "HEAD").body, "");
}

#[test]
fn calls_beyond_the_limit_are_refused_and_no_thread_is_lost() {
    let bank = Bank::open("http-busy", &["--calls", "1", "--queue", "0"]);
    let address = bank.address.clone();
    let slow = std::thread::spawn(move || client::patient(&address, "/objects/Account/slow"));
    let refused = loop {
        let reply = bank.post("withdraw", "[1]");
        if reply.status == 503 {
            break reply;
        }
        assert!(!slow.is_finished(), "the slow call was refused, or ended early");
    };
    assert_eq!(refused.field("retry-after"), Some("1"));
    assert_eq!(slow.join().unwrap().json(), Value::Null);
    let again = client::patient(&bank.address, "/objects/Account/nothing");
    again.problem(404);
}

#[test]
fn an_object_that_is_gone_is_a_problem_with_its_exception() {
    let bank = Bank::open("http-gone", &["--object", "Gone=corbaloc::127.0.0.1:1/Gone"]);
    let json = "Content-Type: application/json\r\n";
    let reply = ask(&bank.address, "POST", "/objects/Gone/withdraw", json, "[1]");
    let problem = reply.problem(503);
    assert_eq!(problem["name"], "TRANSIENT");
    assert!(problem.get("attempts").is_none(), "{problem}");
}
