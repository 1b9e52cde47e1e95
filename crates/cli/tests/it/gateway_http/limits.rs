//! Limits on the time and memory that clients and servers cost.

use serde_json::json;

use super::Bank;
use super::client::ask;
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
