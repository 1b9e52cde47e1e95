//! Hostile clients: smuggling, slow and huge requests, foreign hosts and pages.

use std::io::{ErrorKind, Read as _, Write as _};

use serde_json::json;

use super::Bank;
use super::client::{self, Reply, ask, exchange};
use super::relay::Relay;
use crate::common::Folder;

fn post(bank: &Bank, fields: &str, body: &str) -> String {
    let request = format!(
        "POST /objects/Account/withdraw HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{fields}\r\n{body}",
        bank.address
    );
    exchange(&bank.address, request.as_bytes())
}

#[test]
fn ambiguous_lengths_smuggle_no_request() {
    let mut bank = Bank::open("http-smuggling", &[]);
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
    assert_eq!(bank.post("withdraw", "[4242421]").status, 200);
    bank.server.wait_for_line("4242421", super::LIMIT);
    let served = bank.server.output();
    assert!(served.iter().all(|line| !line.text.contains("_get_balance")), "{served:?}");
}

#[test]
fn sizes_are_limited() {
    let bank = Bank::open("http-sizes", &["--max-body", "1000"]);
    let told = post(&bank, "Connection: close\r\nContent-Length: 1001\r\n", "[");
    Reply::parse(&told).problem(413);
    let chunk = format!("400\r\n{}\r\n0\r\n\r\n", " ".repeat(0x400));
    let found = post(&bank, "Transfer-Encoding: chunked\r\n", &chunk);
    Reply::parse(&found).problem(413);
    let field = format!("X: {}\r\nConnection: close\r\nContent-Length: 3\r\n", "x".repeat(40_000));
    // The kernel may drop the answer, because the gateway does not read the whole request.
    let head = client::until("an answer", || {
        let answer = post(&bank, &field, "[1]");
        (!answer.is_empty()).then_some(answer)
    });
    assert_eq!(Reply::parse(&head).status, 431, "{head}");
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let refused = bank.post("withdraw", &deep).problem(400);
    assert!(refused["detail"].to_string().contains("recursion limit"), "{refused}");
}

#[test]
fn slow_requests_are_closed() {
    let bank = Bank::open("http-slow", &["--read-timeout", "2000", "--connections", "2"]);
    // Connections beyond the limit are accepted only after those before them are closed.
    let begins =
        ["", "GET / HT", "PRI * HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n"];
    let mut waiting = begins.map(|begin| {
        let mut stream = client::connect(&bank.address);
        // The gateway may already have closed the connection.
        let _ = stream.write_all(begin.as_bytes());
        stream
    });
    for stream in &mut waiting {
        let mut answer = Vec::new();
        // A reset is as good as an end, but no end is an error.
        if let Err(error) = stream.read_to_end(&mut answer) {
            let is_open = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(!is_open, "{error}");
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    let body = client::until("an answer", || {
        let answer = post(&bank, "Connection: close\r\nContent-Length: 10\r\n", "[1");
        (!answer.is_empty()).then_some(answer)
    });
    Reply::parse(&body).problem(408);
}

#[test]
fn clients_without_a_token_keep_no_connection() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("http-no-token");
    let file = folder.file("tokens.txt", "0123456789abcdef\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let bank = Bank::open("http-refused", &["--tokens", &file, "--read-timeout", "3600000"]);
    let request = format!("GET /objects HTTP/1.1\r\nHost: {}\r\n\r\n", bank.address);
    let answer = Reply::parse(&exchange(&bank.address, request.as_bytes()));
    answer.problem(401);
    assert_eq!(answer.field("connection"), Some("close"));
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
    let readable = allowed.field("access-control-expose-headers");
    assert!(readable.is_some_and(|fields| fields.contains("retry-after")), "{allowed:?}");
    let asked = raw(page, "OPTIONS");
    assert_eq!((asked.status, asked.field("access-control-allow-methods").is_some()), (204, true));
    raw("Host: localhost\r\n", "OPTIONS").problem(405);
    raw("Host: localhost\r\n", "DELETE").problem(405);
    assert_eq!(raw("Host: localhost\r\n", "HEAD").body, "");
}

#[test]
fn calls_beyond_the_limit_are_refused_and_no_thread_is_lost() {
    let relay = Relay::new();
    let option = relay.option();
    let bank = Bank::open(
        "http-busy",
        &["--object", &option, "--calls", "1", "--queue", "0", "--timeout", "60000"],
    );
    let address = bank.address.clone();
    let json = "Content-Type: application/json\r\n";
    let running =
        std::thread::spawn(move || ask(&address, "POST", "/objects/Relayed/withdraw", json, "[5]"));
    let call = relay.accept();
    let refused = bank.post("withdraw", "[1]");
    refused.problem(503);
    assert_eq!(refused.field("retry-after"), Some("1"));
    relay.forward(call, &bank.port);
    assert_eq!(running.join().unwrap().json(), json!(5));
    // The thread may still end the job whose answer has arrived.
    let again = client::until("a free thread", || {
        let reply = bank.post("withdraw", "[1]");
        (reply.status != 503).then_some(reply)
    });
    assert_eq!(again.json(), json!(1));
}

#[test]
fn an_object_that_is_gone_is_a_problem_with_its_exception() {
    let bank = Bank::open("http-gone", &["--object", "Gone=corbaloc::127.0.0.1:1/Gone"]);
    let json = "Content-Type: application/json\r\n";
    let reply = ask(&bank.address, "POST", "/objects/Gone/withdraw", json, "[1]");
    let problem = reply.problem(503);
    assert_eq!(problem["name"], "TRANSIENT");
    assert!(problem.get("attempts").is_none(), "{problem}");
    assert!(!reply.body.contains("127.0.0.1"), "{reply:?}");
}

#[test]
fn without_tokens_no_host_name_leads_to_the_gateway() {
    let args = ["gateway", "http", "--listen", "0.0.0.0:0", "--no-tokens", "--format", "json"];
    let (_gateway, said) = super::started(&args, "url");
    let url = said["url"].as_str().expect("a URL");
    let address = format!("127.0.0.1:{}", url.rsplit_once(':').expect("a port").1);
    let get = |host: &str| {
        let fields = format!("Host: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n");
        let request = format!("GET /objects HTTP/1.1\r\n{fields}\r\n");
        Reply::parse(&exchange(&address, request.as_bytes()))
    };
    get("evil.example:8080").problem(421);
    assert_eq!(get("10.0.0.5:8080").status, 200);
    assert_eq!(get("localhost").status, 200);
}
