//! Access rules of the gateway.

use std::fs;

use serde_json::Value;

use super::client::{Reply, ask, until};
use super::{Bank, LIMIT, hang_up, secret};
use crate::common::{Folder, run, text};

const TOKENS: &str = "aaaaaaaaaaaaaaaa ada\nbbbbbbbbbbbbbbbb bob\ncccccccccccccccc\n";

const ADA: &str = "aaaaaaaaaaaaaaaa";
const BOB: &str = "bbbbbbbbbbbbbbbb";
const UNNAMED: &str = "cccccccccccccccc";

const RULES: &str = r#"[access]
default = "deny"

[[access.rule]]
deny = "all"
operation = "_set_balance"

[[access.rule]]
allow = "127.0.0.0/8"
token = "ada"
interface = "IDL:bank/Account:1.0"

[[access.rule]]
allow = "all"
token = "bob"
object = "Account"
operation = "_get_balance"
"#;

/// Sends a request with a token.
fn with(bank: &Bank, token: &str, method: &str, path: &str, body: &str) -> Reply {
    let fields = format!("Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n");
    ask(&bank.address, method, path, &fields, body)
}

#[track_caller]
fn assert_denied(reply: &Reply) {
    let problem: Value = reply.problem(403);
    assert_eq!(problem["type"], "urn:oxorb:access-rules", "{problem}");
    assert!(!problem["detail"].to_string().contains("rules.toml"), "{problem}");
}

#[test]
fn rules_decide_by_the_token_what_a_client_may_call() {
    let folder = Folder::new("http-rights");
    let tokens = secret(&folder, "tokens.txt", TOKENS);
    let rules = folder.file("rules.toml", RULES);
    let events = "plant=corbaloc::127.0.0.1:1/Plant";
    let options = ["--tokens", &tokens, "--access-rules", &rules, "--events", events];
    let mut bank = Bank::open("http-rights-bank", &options);
    let withdraw =
        |bank: &Bank, token| with(bank, token, "POST", "/objects/Account/withdraw", "[5]");
    let balance = |bank: &Bank, token| with(bank, token, "GET", "/objects/Account/balance", "");
    assert_eq!((withdraw(&bank, ADA).status, balance(&bank, ADA).status), (200, 200));
    assert_denied(&with(&bank, ADA, "PUT", "/objects/Account/balance", "7"));
    assert_eq!(balance(&bank, BOB).json(), 100, "the balance is as before");
    assert_denied(&withdraw(&bank, BOB));
    assert_denied(&balance(&bank, UNNAMED));
    assert_denied(&with(&bank, ADA, "GET", "/events/plant", ""));
    withdraw(&bank, "dddddddddddddddd").problem(401);
    with(&bank, BOB, "POST", "/objects/Account/steal", "[]").problem(404);
    assert_eq!(with(&bank, BOB, "GET", "/objects/Account", "").status, 200);
    let document = with(&bank, BOB, "GET", "/openapi.json", "").json();
    let post = &document["paths"]["/objects/Account/withdraw"]["post"];
    assert!(post["responses"]["403"].is_object(), "{document}");
    let line = bank.gateway.wait_for_line("_set_balance of Account", LIMIT);
    assert!(line.contains("rules.toml:5") && line.contains("ada"), "{line}");

    let file = secret(&folder, "bob.txt", BOB);
    let called = run(&["call", "--token", &file, &bank.url(), "withdraw", "5"]);
    assert_eq!(called.status.code(), Some(1), "{called:?}");
    let said = text(&called.stderr);
    assert!(said.contains("403 Forbidden") && said.contains("rules deny this to it"), "{said}");
    assert!(called.stdout.is_empty(), "there is no exception: {called:?}");

    fs::write(
        &rules,
        RULES.replace("token = \"bob\"", "token = \"b*\"").replace("_get_balance", "withdraw"),
    )
    .expect("a file");
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("has read the access rules again", LIMIT);
    assert_eq!(withdraw(&bank, BOB).status, 200);
    assert_denied(&balance(&bank, BOB));
    fs::write(&rules, "[access]\n").expect("a file");
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("the previous contents stay in use", LIMIT);
    assert_eq!(withdraw(&bank, BOB).status, 200);
}

#[test]
fn a_limit_refuses_what_is_beyond_the_rate_of_one_client() {
    let folder = Folder::new("http-rates");
    let tokens = secret(&folder, "tokens.txt", TOKENS);
    let rules = folder.file(
        "rules.toml",
        "[access]\ndefault = \"deny\"\n[[access.rule]]\nlimit = \"all\"\nrequests = 1\nburst = 1\n\
         operation = \"_get_balance\"\n",
    );
    let options = ["--tokens", &tokens, "--access-rules", &rules];
    let mut bank = Bank::open("http-rates-bank", &options);
    let balance = |token| with(&bank, token, "GET", "/objects/Account/balance", "");
    // More than one request in a second.
    let refused = until("a refusal", || {
        let reply = balance(ADA);
        (reply.status != 200).then_some(reply)
    });
    let problem = refused.problem(429);
    assert_eq!(refused.field("retry-after"), Some("1"));
    assert!(!problem["detail"].to_string().contains("rules.toml"), "{problem}");
    assert_eq!((balance(BOB).status, balance(UNNAMED).status), (200, 200));
    let line = bank.gateway.wait_for_line("beyond the rate of the rule at", LIMIT);
    assert!(line.contains("ada") && line.contains("rules.toml:4"), "{line}");
}

#[test]
fn mistakes_in_rules_are_reported_at_the_start() {
    let folder = Folder::new("http-rights-mistakes");
    for (rule, why) in [
        ("limit = \"all\"", "rules.toml:4: a rule with limit needs requests"),
        ("allow = \"all\"\ntokens = \"ada\"", "rules.toml:5: there is no entry `tokens` here"),
    ] {
        let text_of = format!("[access]\ndefault = \"deny\"\n[[access.rule]]\n{rule}\n");
        let rules = folder.file("rules.toml", &text_of);
        let failed = run(&["gateway", "http", "--listen", "127.0.0.1:0", "--access-rules", &rules]);
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert!(text(&failed.stderr).contains(why), "{failed:?}");
    }
}
