//! `oxorb gateway http` before `oxorb serve`.

mod browser;
mod call;
mod client;
mod events;
mod hostile;
mod http2;
#[cfg(feature = "tls")]
mod https;
mod limits;
mod naming;
mod page;
mod relay;
mod rights;
mod soak;

use std::process::Command;

use oxorb::{Interface as _, Orb};
use oxorb_ifr::corba::RepositoryRef;
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::Process;
use serde_json::{Value, json};

use crate::common::{Folder, command, run, text};
pub(super) use crate::common::{LIMIT, started};
use client::{Reply, ask};
use relay::Relay;

const IDL: &str = "\
module bank {
  enum Kind { savings, checking };
  typedef sequence<octet> Blob;
  struct Owner { string name; Kind sort; Blob photo; };
  typedef sequence<Owner> Owners;
  union Remark switch (Kind) { case savings: long rate; default: string text; };
  struct Tree;
  typedef sequence<Tree> Trees;
  struct Tree { long v; Trees kids; };
  exception Overdrawn { long long missing; };
  interface Account {
    attribute long long balance;
    readonly attribute long version;
    long long withdraw(in unsigned long amount) raises (Overdrawn);
    Owners book(in Owners who, out long times, inout string memo);
    Tree grow(in Tree t);
    Remark note(in Remark r);
    Account peer(in Account other);
    any echo(in any a);
    oneway void tell(in string what);
    void slow();
  };
};
";

const SCRIPT: &str = r#"
[attributes]
balance = 100

[[operations.withdraw]]
when = { amount = 1000 }
raises = "bank::Overdrawn"
with = { missing = "9007199254740993" }
[[operations.withdraw]]
when = [7]
raises = "TRANSIENT"
minor = 5
completed = "MAYBE"
[[operations.withdraw]]
when = [8]
raises = "OBJECT_NOT_EXIST"
[[operations.withdraw]]
when = [9]
raises = "NO_PERMISSION"
[[operations.withdraw]]
returns = "$amount"

[operations.book]
returns = "$who"
out = { times = 3, memo = "${memo}!" }
[operations.grow]
returns = "$t"
[operations.note]
returns = "$r"
[operations.peer]
returns = "$other"
[operations.echo]
returns = "$a"
[operations.slow]
delay_ms = 60000
"#;

/// Account, and a gateway before it.
struct Bank {
    gateway: Process,
    server: Process,
    /// Port of the server, where the account is the object `Account`.
    port: String,
    folder: Folder,
    idl: String,
    reference: String,
    /// Address of the gateway.
    address: String,
}

impl Bank {
    /// Starts both, the gateway with further options.
    fn open(test: &str, options: &[&str]) -> Bank {
        Bank::with(test, IDL, SCRIPT, options)
    }

    fn with(test: &str, idl: &str, script: &str, options: &[&str]) -> Bank {
        let folder = Folder::new(test);
        let (idl, script) = (folder.file("bank.idl", idl), folder.file("account.toml", script));
        let serve = ["serve", "--idl", &idl, "--script", &script, "--name", "Account"];
        let (server, said) = started(&serve, "ior");
        let at = said["corbaloc"].as_str().and_then(|text| text.strip_suffix("/Account"));
        let port = at.and_then(|at| at.rsplit_once(':')).expect("a port").1.to_owned();
        let reference = said["ior"].as_str().expect("a reference").to_owned();
        let object = format!("Account={reference}");
        let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
        args.extend(["--idl", &idl, "--object", &object]);
        args.extend(options);
        let (gateway, said) = started(&args, "url");
        let url = said["url"].as_str().expect("a URL");
        let address = url.split_once("://").expect("a scheme").1.to_owned();
        Bank { gateway, server, port, folder, idl, reference, address }
    }

    /// Returns the URL of the account behind the gateway.
    fn url(&self) -> String {
        format!("http://{}/objects/Account", self.address)
    }

    fn get(&self, path: &str) -> Reply {
        ask(&self.address, "GET", path, "", "")
    }

    fn post(&self, operation: &str, body: &str) -> Reply {
        let json = "Content-Type: application/json\r\n";
        ask(&self.address, "POST", &format!("/objects/Account/{operation}"), json, body)
    }

    fn put(&self, attribute: &str, body: &str) -> Reply {
        let json = "Content-Type: application/json\r\n";
        ask(&self.address, "PUT", &format!("/objects/Account/{attribute}"), json, body)
    }
}

/// Writes a file that only its owner can read.
fn secret(folder: &Folder, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let file = folder.file(name, text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// Sends SIGHUP to a process.
fn hang_up(process: &Process) {
    let kill = Command::new("kill").args(["-HUP", &process.id().to_string()]).status();
    assert!(kill.expect("kill is there").success());
}

#[test]
fn answers_are_the_json_of_calls() {
    let bank = Bank::open("http-answers", &[]);
    let who = r#"[{"name": "Ada", "sort": "checking", "photo": "AQL/"}]"#;
    let calls: [(&str, String); 6] = [
        ("withdraw", "[10]".to_owned()),
        ("book", format!(r#"{{"who": {who}, "memo": "a"}}"#)),
        ("grow", r#"{"t": {"v": 1, "kids": [{"v": 2, "kids": []}]}}"#.to_owned()),
        ("note", r#"[{"text": "x"}]"#.to_owned()),
        ("peer", format!("[{:?}]", bank.reference)),
        ("echo", r#"[{"type": "short", "value": 5}]"#.to_owned()),
    ];
    for (operation, arguments) in &calls {
        let called =
            run(&["call", "--idl", &bank.idl, &bank.reference, operation, "--args", arguments]);
        assert!(called.status.success(), "{operation}: {called:?}");
        let expected: Value = serde_json::from_slice(&called.stdout).expect("JSON");
        let reply = bank.post(operation, arguments);
        assert_eq!((reply.status, reply.json()), (200, expected), "{operation}");
    }
    assert_eq!(bank.post("tell", r#"{"what": "x"}"#).status, 202);
    assert_eq!(bank.get("/objects/Account/balance").json(), json!(100));
    let written = bank.put("balance", "\"9007199254740993\"");
    assert_eq!((written.status, written.body.as_str()), (204, ""));
    assert_eq!(bank.get("/objects/Account/balance").json(), json!("9007199254740993"));
}

#[test]
fn errors_are_problem_details() {
    let bank = Bank::open("http-errors", &[]);
    let raised = bank.post("withdraw", "[1000]");
    let problem = raised.problem(422);
    assert_eq!(problem["type"], "IDL:bank/Overdrawn:1.0");
    assert_eq!(problem["members"], json!({ "missing": "9007199254740993" }));
    let busy = bank.post("withdraw", "[7]");
    let problem = busy.problem(503);
    assert_eq!(busy.field("retry-after"), Some("1"));
    assert_eq!((&problem["name"], &problem["minor"]), (&json!("TRANSIENT"), &json!(5)));
    assert_eq!(problem["completed"], "MAYBE");
    assert_eq!(bank.post("withdraw", "[8]").problem(404)["name"], "OBJECT_NOT_EXIST");
    assert_eq!(bank.post("withdraw", "[9]").problem(403)["name"], "NO_PERMISSION");

    let detail = |reply: Reply, status| reply.problem(status)["detail"].to_string();
    assert!(detail(bank.post("withdraw", "{\"amount\": \n1,}"), 400).contains("line 2 column 3"));
    assert!(detail(bank.post("withdraw", "[\"x\"]"), 400).contains("args[0] (amount)"));
    assert!(
        detail(bank.post("withdraw", ""), 400).contains("the operation takes 1 argument, not 0")
    );
    assert!(detail(bank.post("withdraw", "{\"sum\": 1}"), 400).contains("no parameter sum"));
    let who = r#"[[{"name": "A", "sort": "gold", "photo": ""}], "m"]"#;
    assert!(detail(bank.post("book", who), 400).contains("args[0][0].sort"));
    bank.post("steal", "[]").problem(404);
    bank.post("_get_balance", "[]").problem(404);
    bank.get("/objects/Nobody/balance").problem(404);
    bank.get("/nothing").problem(404);
    assert_eq!(bank.get("/objects/Account/withdraw").problem(405)["status"], 405);
    assert_eq!(bank.get("/objects/Account/withdraw").field("allow"), Some("POST"));
    assert_eq!(bank.put("version", "1").field("allow"), Some("GET, HEAD"));
    let form = "Content-Type: text/plain\r\n";
    ask(&bank.address, "POST", "/objects/Account/withdraw", form, "[1]").problem(415);

    let hurry = "Content-Type: application/json\r\nRequest-Timeout: 0.05\r\n";
    let late = ask(&bank.address, "POST", "/objects/Account/slow", hurry, "[]").problem(504);
    assert_eq!(late["name"], "TIMEOUT");
}

#[test]
fn references_of_clients_are_resolved_without_connections_and_files() {
    let bank = Bank::open("http-references", &[]);
    let path = bank.folder.file("secret.ior", &bank.reference);
    for reference in [format!("file:{path}"), "corbaname::127.0.0.1:1#a".to_owned()] {
        let refused = bank.post("peer", &json!([reference]).to_string()).problem(400);
        assert!(refused["detail"].to_string().contains("only IOR: and corbaloc:"), "{refused}");
    }
    let direct = format!("/ior/{}/balance", bank.reference);
    bank.get(&direct).problem(403);

    let open = Bank::open("http-any-reference", &["--any-reference"]);
    let direct = format!("/ior/{}/balance", bank.reference);
    assert_eq!(open.get(&direct).json(), json!(100));
    open.get("/ior/file:x/balance").problem(400);
}

#[test]
fn objects_are_listed_and_described() {
    let bank = Bank::open("http-described", &[]);
    let list = bank.get("/objects").json();
    let account = json!({
        "name": "Account",
        "type_id": "IDL:bank/Account:1.0",
        "url": "/objects/Account",
    });
    assert_eq!(list["objects"], json!([account]));
    let described = bank.get("/objects/Account").json();
    assert_eq!(described["interface"], "bank::Account");
    assert_eq!(described["attributes"][1]["readonly"], true);
    let book = &described["operations"][1];
    assert_eq!(book["parameters"][2]["direction"], "inout");
    let idl = "Owners book(in Owners who, out long times, inout string memo)";
    assert_eq!(book["idl"], idl);

    let document = bank.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let withdraw = &document["paths"]["/objects/Account/withdraw"]["post"];
    let body = &withdraw["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["required"], json!(["amount"]));
    let raised = &withdraw["responses"]["422"]["content"]["application/problem+json"]["schema"];
    assert_eq!(raised["anyOf"][0]["properties"]["exception"]["const"], "IDL:bank/Overdrawn:1.0");
    let attributes = ["balance", "version"].map(|name| {
        let path = &document["paths"][format!("/objects/Account/{name}")];
        (path["get"].is_object(), path["put"].is_object())
    });
    assert_eq!(attributes, [(true, true), (true, false)]);
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let owner = &schemas["bank.Owner"]["properties"];
    assert_eq!(owner["sort"]["$ref"], "#/components/schemas/bank.Kind");
    let tree = &schemas["bank.Tree"]["properties"]["kids"]["items"]["$ref"];
    assert_eq!(*tree, "#/components/schemas/bank.Tree");
    assert_eq!(schemas["bank.Kind"]["enum"], json!(["savings", "checking"]));
    // Every reference leads to a schema.
    let text = document.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap_or_default();
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[test]
fn tokens_admit_clients() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("http-tokens");
    let file = folder.file("tokens.txt", "# clients\n0123456789abcdef ada\n");
    let mode = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    let refused = run(&["gateway", "http", "--listen", "127.0.0.1:0", "--tokens", &file]);
    assert!(text(&refused.stderr).contains("chmod 600"), "{refused:?}");
    mode(0o600);
    let bank = Bank::open("http-bank", &["--tokens", &file, "--log"]);
    let get = |fields: &str| ask(&bank.address, "GET", "/objects/Account/balance", fields, "");
    get("").problem(401);
    assert_eq!(get("").field("www-authenticate"), Some("Bearer"));
    get("Authorization: Bearer 0123456789abcdeg\r\n").problem(401);
    get("Authorization: Bearer 0123456789abcde\r\n").problem(401);
    let admitted = get("Authorization: Bearer 0123456789abcdef\r\n");
    assert_eq!(admitted.json(), json!(100));
    assert_eq!(bank.get("/").status, 200, "people enter the token on the page");
    bank.get("/openapi.json").problem(401);
    let mut gateway = bank.gateway;
    let line = gateway.wait_for_line("\"ada\"", LIMIT);
    assert!(line.contains("/objects/Account/balance") && !line.contains("0123"), "{line}");
}

#[test]
fn tokens_are_read_again_on_a_signal() {
    let folder = Folder::new("http-reload");
    let file = secret(&folder, "tokens.txt", "0123456789abcdef\n");
    let mut bank = Bank::open("http-reloaded", &["--tokens", &file]);
    let address = bank.address.clone();
    let status = |token: &str| {
        let fields = format!("Authorization: Bearer {token}\r\n");
        ask(&address, "GET", "/objects/Account/balance", &fields, "").status
    };
    let (old, new) = ("0123456789abcdef", "fedcba9876543210");
    assert_eq!((status(old), status(new)), (200, 401));
    secret(&folder, "tokens.txt", "fedcba9876543210\n");
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("has read the tokens again", LIMIT);
    assert_eq!((status(old), status(new)), (401, 200));
    // A mistake in the file changes nothing.
    secret(&folder, "tokens.txt", "short\n");
    hang_up(&bank.gateway);
    bank.gateway.wait_for_line("the previous contents stay in use", LIMIT);
    assert_eq!((status(old), status(new)), (401, 200));
}

#[test]
fn tokens_are_read_again_although_no_message_can_be_written() {
    let folder = Folder::new("http-mute");
    let file = secret(&folder, "tokens.txt", "0123456789abcdef\n");
    let shell = "exec \"$0\" \"$@\" 2>/dev/full";
    let mut mute = Command::new("sh");
    mute.args(["-c", shell, env!("CARGO_BIN_EXE_oxorb"), "gateway", "http", "--format", "json"]);
    mute.args(["--listen", "127.0.0.1:0", "--tokens", &file]);
    let mut gateway = Process::spawn(mute);
    let line = gateway.wait_for_line("url", LIMIT);
    let said: Value = serde_json::from_str(&line).expect("a line of JSON");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    for token in ["fedcba9876543210", "0123456789fedcba"] {
        secret(&folder, "tokens.txt", &format!("{token}\n"));
        hang_up(&gateway);
        let fields = format!("Authorization: Bearer {token}\r\n");
        client::until("the new token", || {
            let reply = ask(address, "GET", "/objects", &fields, "");
            (reply.status == 200).then_some(())
        });
    }
}

#[test]
fn arguments_may_be_left_out_if_the_gateway_says_so() {
    let bank = Bank::open("http-defaults", &["--defaults"]);
    assert_eq!(bank.post("withdraw", "{}").json(), json!(0));
    let document = bank.get("/openapi.json").json();
    let body = &document["paths"]["/objects/Account/withdraw"]["post"]["requestBody"];
    assert_eq!(body["required"], false);
    assert_eq!(body["content"]["application/json"]["schema"]["required"], json!([]));
}

#[test]
fn other_addresses_need_tokens() {
    let refused = run(&["gateway", "http", "--listen", "0.0.0.0:0"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("--no-tokens"), "{refused:?}");
}

#[test]
fn an_interface_that_the_idl_lacks_is_an_error_at_the_start() {
    let folder = Folder::new("http-interface");
    let idl = folder.file("bank.idl", IDL);
    let settings =
        "[objects.A]\nreference = \"corbaloc::127.0.0.1:1/A\"\ninterface = \"bank::No\"\n";
    let file = folder.file("objects.toml", settings);
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--idl", &idl, &file]);
    let mut gateway = Process::spawn(command(&args));
    // A gateway that starts prints its URL.
    let line = gateway.wait_for_any(&["the object A: ", "url"], LIMIT);
    assert!(line.contains("the object A: "), "{line}");
}

#[test]
fn a_repository_that_is_out_of_reach_is_an_error_at_the_start() {
    let orb = Orb::builder().build().unwrap();
    let url = "corbaloc::127.0.0.1:1/Repository";
    let mut ior = orb.string_to_object(url).unwrap().reference().ior().clone();
    // This reference names its interface, so no query for the interface reveals that nobody listens.
    ior.type_id = RepositoryRef::REPOSITORY_ID.to_owned();
    let typed = ior.to_string();
    let initial = [url, &typed].map(|reference| format!("InterfaceRepository={reference}"));
    for (option, value) in
        [("-ORBInitRef", &initial[0]), ("-ORBInitRef", &initial[1]), ("--ifr", &typed)]
    {
        let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
        args.extend([option, value]);
        let mut gateway = Process::spawn(command(&args));
        // A gateway that starts prints its URL.
        let line = gateway.wait_for_any(&["Repository", "url"], LIMIT);
        assert!(line.contains("Repository"), "{option} {value}: {line}");
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn requests_are_counted_by_status_at_the_port_for_metrics() {
    let port = free_port().to_string();
    let bank = Bank::open("http-metrics", &["-ORBMetrics", &port]);
    assert_eq!(bank.get("/objects/Account/balance").status, 200);
    bank.get("/objects/Nobody").problem(404);
    let page = ask(&format!("127.0.0.1:{port}"), "GET", "/metrics", "", "").body;
    for line in [
        "# TYPE oxorb_http_requests counter",
        "oxorb_http_requests_total{status=\"200\"} 1",
        "oxorb_http_requests_total{status=\"404\"} 1",
        "oxorb_http_connections_limit 256",
        "oxorb_http_event_streams 0",
    ] {
        assert!(page.lines().any(|one| one == line), "{line}: {page}");
    }
    assert!(page.contains("\noxorb_calls_total{") && page.ends_with("\n# EOF\n"), "{page}");
    assert_eq!(page.matches("# EOF").count(), 1);
}

#[test]
fn a_signal_lets_running_calls_end() {
    let relay = Relay::new();
    let mut bank = Bank::open("http-drain", &["--object", &relay.option(), "--timeout", "60000"]);
    let address = bank.address.clone();
    let json = "Content-Type: application/json\r\n";
    let running =
        std::thread::spawn(move || ask(&address, "POST", "/objects/Relayed/withdraw", json, "[5]"));
    let call = relay.accept();
    let kill = Command::new("kill").arg(bank.gateway.id().to_string()).status();
    assert!(kill.expect("kill is there").success());
    // The gateway does not listen any more once it ends.
    client::until("the gateway ends", || std::net::TcpStream::connect(&bank.address).err());
    relay.forward(call, &bank.port);
    assert_eq!(running.join().unwrap().json(), json!(5));
    bank.gateway.wait_success(LIMIT);
}
