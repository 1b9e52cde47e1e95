//! Limits on the time, memory and connections that clients and servers cost.

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::Bank;
use super::client::{Reply, ask, ask_as_other, connect, exchange, until};
use super::relay::Relay;

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn the_bodies_of_all_requests_are_limited() {
    let bank = Bank::open("http-bodies", &["--max-body", "2000", "--max-bodies", "1000"]);
    let padded = |length: usize| format!("{:>length$}", "[5]");
    let refused = bank.post("withdraw", &padded(1500));
    refused.problem(503);
    assert_eq!(refused.field("retry-after"), Some("1"));
    // The memory of each body is free again before the next one arrives, or soon after.
    for _ in 0..3 {
        let reply = super::client::until("free memory", || {
            let reply = bank.post("withdraw", &padded(900));
            (reply.status != 503).then_some(reply)
        });
        assert_eq!(reply.json(), json!(5));
    }
}

#[test]
fn bodies_of_one_client_leave_memory_for_others() {
    let limits = ["--max-body", "1000", "--max-bodies", "4000", "--read-timeout", "3600000"];
    let bank = Bank::open("http-body-share", &[&limits[..], &["--min-rate", "0"][..]].concat());
    let path = "/objects/Account/withdraw";
    let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n{JSON}", bank.address);
    // Bodies that lack their last octet occupy half of the memory.
    let _waiting = [(); 2].map(|()| {
        let mut stream = connect(&bank.address);
        let body = " ".repeat(999);
        stream.write_all(format!("{head}Content-Length: 1000\r\n\r\n{body}").as_bytes()).unwrap();
        stream
    });
    let body = format!("{:>900}", "[5]");
    let refused = until("occupied memory", || {
        let reply = bank.post("withdraw", &body);
        (reply.status != 200).then_some(reply)
    });
    let refused = refused.problem(503);
    assert!(refused["detail"].to_string().contains("this client"), "{refused}");
    let other = ask_as_other(&bank.address, "POST", path, JSON, &body);
    assert_eq!((other.status, other.json()), (200, json!(5)));
}

#[test]
fn a_connection_may_carry_any_number_of_octets_in_requests() {
    let bank = Bank::open("http-many-octets", &[]);
    let address = &bank.address;
    let field = format!("X: {}\r\n", "x".repeat(4000));
    let request = format!("GET /objects/Account/balance HTTP/1.1\r\nHost: {address}\r\n{field}");
    let mut requests = format!("{request}\r\n").repeat(60);
    // Chunks of few octets, as of a program that writes small parts.
    let text = json!(["x".repeat(200 << 10)]).to_string();
    let chunks = text.as_bytes().chunks(16).map(|chunk| {
        let chunk = str::from_utf8(chunk).expect("ASCII");
        format!("{:x}\r\n{chunk}\r\n", chunk.len())
    });
    let path = "/objects/Account/echo";
    requests.push_str(&format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n{JSON}"));
    requests.push_str(&format!("Transfer-Encoding: chunked\r\n\r\n{}", chunks.collect::<String>()));
    requests.push_str("0\r\n\r\n");
    let mut stream = connect(address);
    let mut writer = stream.try_clone().expect("a second handle");
    let sent = std::thread::spawn(move || writer.write_all(requests.as_bytes()));
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers until the end");
    sent.join().expect("a thread").expect("all requests are received");
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 61, "{answers:.2000}");
}

#[test]
fn tiny_chunks_end_the_connection() {
    let bank = Bank::open("http-tiny-chunks", &[]);
    let path = "/objects/Account/withdraw";
    let mut request = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n{JSON}", bank.address);
    request.push_str("Transfer-Encoding: chunked\r\n\r\n");
    request.push_str(&"1\r\n \r\n".repeat(100_000));
    request.push_str("3\r\n[5]\r\n0\r\n\r\n");
    let answer = exchange(&bank.address, request.as_bytes());
    assert!(!answer.contains(" 200 "), "{answer}");
    assert_eq!(bank.post("withdraw", "[5]").json(), json!(5));
}

#[test]
fn bodies_of_many_small_values_are_limited_by_their_memory() {
    let bank = Bank::open("http-parsed", &["--max-bodies", "20000"]);
    // Each of these objects takes hundreds of octets in memory.
    let small = format!("[[{}{{}}]]", "{\"\":0},".repeat(1000));
    let refused = bank.post("book", &small).problem(413);
    assert!(refused["detail"].to_string().contains("--max-bodies"), "{refused}");
    let text = json!(["x".repeat(small.len())]).to_string();
    assert_eq!(bank.post("echo", &text).status, 200);
}

#[test]
fn answers_that_wait_to_be_sent_are_limited() {
    let bank = Bank::open("http-answers-limit", &["--max-answers", "1000"]);
    bank.get("/openapi.json").problem(503);
    for _ in 0..3 {
        let reply = super::client::until("free memory", || {
            let reply = bank.post("echo", &json!(["x".repeat(800)]).to_string());
            (reply.status != 503).then_some(reply)
        });
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

#[test]
fn queries_about_an_interface_end_with_the_time_of_the_request() {
    // The relay accepts connections and forwards nothing, so no query has an answer.
    let relay = Relay::new();
    let option = relay.option();
    let bank = Bank::open("http-queries", &["--object", &option, "--timeout", "3600000"]);
    let hurry = format!("{JSON}Request-Timeout: 0.5\r\n");
    let late = ask(&bank.address, "POST", "/objects/Relayed/withdraw", &hurry, "[5]").problem(504);
    assert_eq!(late["name"], "TIMEOUT");
    ask(&bank.address, "GET", "/objects/Relayed", &hurry, "").problem(504);
    // The document describes the objects that are known.
    let document = ask(&bank.address, "GET", "/openapi.json", &hurry, "").json();
    let has = |path: &str| document["paths"].get(path).is_some();
    assert!(has("/objects/Account/withdraw") && !has("/objects/Relayed/withdraw"), "{document}");
}

#[test]
fn a_client_has_a_limited_number_of_connections() {
    // An idle connection stays open for the time for headers.
    let limits = ["--connections-per-client", "1", "--read-timeout", "3600000"];
    let bank = Bank::open("http-per-client", &limits);
    let request = format!("GET /objects/Account/balance HTTP/1.1\r\nHost: {}\r\n", bank.address);
    let mut first = connect(&bank.address);
    first.write_all(format!("{request}\r\n").as_bytes()).unwrap();
    // The connection is open once there is an answer, and stays open.
    let mut part = [0; 1000];
    let count = first.read(&mut part).expect("an answer");
    assert!(part[..count].starts_with(b"HTTP/1.1 200 OK"));
    let last = format!("{request}Connection: close\r\n\r\n");
    assert_eq!(exchange(&bank.address, last.as_bytes()), "");
    drop(first);
    let answer = until("an answer", || {
        let answer = exchange(&bank.address, last.as_bytes());
        (!answer.is_empty()).then_some(answer)
    });
    assert_eq!(Reply::parse(&answer).json(), json!(100));
}

#[test]
fn a_server_that_does_not_answer_leaves_threads_for_others() {
    let relay = Relay::new();
    let option = relay.option();
    let limits = ["--calls", "4", "--queue", "4", "--timeout", "3600000"];
    let bank = Bank::open("http-hung", &[&["--object", &option][..], &limits[..]].concat());
    // As many calls as may run or wait.
    let hung = [(); 8].map(|()| {
        let address = bank.address.clone();
        std::thread::spawn(move || {
            ask(&address, "POST", "/objects/Relayed/withdraw", JSON, "[5]").status
        })
    });
    let call = relay.accept();
    // The client has a share of six, of which the object has four, so four calls are refused.
    until("refused calls", || {
        (hung.iter().filter(|call| call.is_finished()).count() == 4).then_some(())
    });
    assert_eq!(bank.post("withdraw", "[1]").json(), json!(1));
    relay.forward(call, &bank.port);
    let mut statuses = hung.map(|call| call.join().unwrap());
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 503, 503, 503, 503]);
}
