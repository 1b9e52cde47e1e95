//! `oxorb call` against `oxorb serve`.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::Interface as _;
use oxorb_testkit::at_once;
use serde_json::{Value, json};

const IDL: &str = r#"
#include <orb.idl>
#pragma prefix "oxorb.org"
module bank {
  enum Kind { savings, checking };
  typedef sequence<octet> Blob;
  typedef fixed<8,2> Money;
  struct Owner { string name; wstring nick; };
  struct Limits { @default(30) long seconds; @default(checking) Kind of; string unit; };
  typedef sequence<Owner> Owners;
  union Remark switch (Kind) { case savings: long rate; default: string text; };
  struct Tree;
  typedef sequence<Tree> Trees;
  struct Tree { long long v; Trees kids; };
  exception Overdrawn { long long missing; };

  interface Base { readonly attribute long version; string base_name(); };
  interface Account : Base {
    attribute long long balance;
    attribute Owner holder;
    long long withdraw(in unsigned long amount) raises (Overdrawn);
    long book(in Owners who, out long times, inout string memo);
    Tree grow(in Tree t);
    Remark note(in Remark n);
    Blob scan(in Blob data, in Money price, in double rate);
    any echo(in any a);
    Limits limit(in Limits l, in long most);
    CORBA::TypeCode type_of(in CORBA::TypeCode t);
    Account peer(in Account other);
    string greet(in string whom, in Kind sort);
    oneway void tell(in string what);
    void slow();
    void unknown();
  };
  valuetype Person { public string name; public Person partner; };
  valuetype Employee : truncatable Person { public long number; };
  valuetype Remarks sequence<string>;
  abstract interface Printable { string print(); };
  valuetype Form supports Printable { public string text; };
  custom valuetype Picture { public long width; };
  interface Office {
    Person greet(in Person who);
    Person swap(in Person first, inout Person second, in ValueBase third, in any last);
    Remarks note(in Remarks r);
    Printable copy(in Printable p);
    any pass(in any a);
    Picture paint(in Picture p);
  };
  interface Unrelated { void other_thing(); };
};
"#;

const SCRIPT: &str = r#"
[attributes]
balance = 100
holder = { name = "Ada", nick = "ä" }

[[operations.withdraw]]
when = { amount = 1000 }
raises = "bank::Overdrawn"
with = { missing = "9007199254740993" }

[[operations.withdraw]]
when = [7]
raises = "TRANSIENT"
minor = 5
completed = "MAYBE"
times = 1

[[operations.withdraw]]
returns = "$amount"

[operations.book]
returns = "$count"
out = { times = "$count", memo = "${memo} for ${0[0].name}" }

[operations.grow]
returns = "$t"
[operations.note]
returns = "$n"
[operations.scan]
returns = "$data"
[operations.limit]
returns = "$l"
[operations.echo]
returns = "$a"
[operations.type_of]
returns = "$t"
[operations.peer]
returns = "$other"
[operations.greet]
returns = "Hello ${whom}, ${sort} number ${count}"
[operations.slow]
delay_ms = 5000
"#;

/// Folder with the IDL and a script, and a server of both, ended on drop.
struct Bank {
    folder: PathBuf,
    child: Child,
    lines: Receiver<Value>,
    reference: String,
    corbaloc: String,
}

impl Bank {
    fn open(test: &str) -> Self {
        Self::with_script(test, SCRIPT, &[])
    }

    fn with_script(test: &str, script: &str, more: &[&str]) -> Self {
        Self::of("bank::Account", test, script, more)
    }

    fn of(interface: &str, test: &str, script: &str, more: &[&str]) -> Self {
        let folder = folder(test);
        std::fs::write(folder.join("bank.idl"), IDL).unwrap();
        std::fs::write(folder.join("script.toml"), script).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .current_dir(&folder)
            .args(["serve", "--idl", "bank.idl", "--interface", interface])
            .args(["--script", "script.toml", "--name", "Account", "--ior-file", "account.ior"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).expect("a line of JSON");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let patience = Duration::from_secs(20);
        let ready = lines.recv_timeout(patience).expect("the server gets ready");
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Bank {
            reference: format!("file:{}", folder.join("account.ior").display()),
            corbaloc: text("corbaloc"),
            folder,
            child,
            lines,
        }
    }

    fn run(&self, reference: &str, args: &[&str]) -> Output {
        call(&self.folder, reference, args)
    }

    /// Returns the output of a successful call.
    #[track_caller]
    fn good(&self, args: &[&str]) -> Value {
        let output = self.run(&self.reference, args);
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }

    /// Returns the standard error of a failing call.
    #[track_caller]
    fn bad(&self, args: &[&str]) -> String {
        let output = self.run(&self.reference, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        text(&output.stderr)
    }

    fn logged(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(20)).expect("the server logs it")
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder(test: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("oxorb-dynamic-{test}-{}", oxorb_testkit::unique()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn call(folder: &Path, reference: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .current_dir(folder)
        .args(["call", "--idl", "bank.idl", reference])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).expect("the command prints UTF-8")
}

#[test]
fn operations_and_attributes_are_called() {
    let bank = Bank::open("call");
    assert_eq!(bank.good(&["withdraw", "10"]), json!(10));
    assert_eq!(
        bank.good(&["book", r#"[{"name": "A", "nick": "ü"}]"#, "memo"]),
        json!({ "returns": 1, "out": { "times": 1, "memo": "memo for A" } })
    );
    assert_eq!(bank.good(&["balance"]), json!(100));
    assert_eq!(bank.good(&["balance=-5"]), Value::Null);
    assert_eq!(bank.good(&["_get_balance"]), json!(-5));
    assert_eq!(bank.good(&["holder"]), json!({ "name": "Ada", "nick": "ä" }));
    // An inherited attribute that the script lacks has a default value.
    assert_eq!(bank.good(&["version"]), json!(0));
    // Words need no quotes, but may have them.
    let greeting = "Hello a b, checking number 1";
    assert_eq!(bank.good(&["greet", "a b", "checking"]), json!(greeting));
    let greeting = "Hello x, savings number 2";
    assert_eq!(bank.good(&["greet", "\"x\"", "\"savings\""]), json!(greeting));
    let tell = bank.run(&bank.reference, &["tell", "hello"]);
    assert_eq!((tell.status.code(), tell.stdout.len()), (Some(0), 0));
}

#[test]
fn every_kind_of_value_goes_there_and_back() {
    let bank = Bank::open("values");
    let tree = json!({ "v": "9223372036854775807", "kids": [{ "v": 1, "kids": [] }] });
    assert_eq!(bank.good(&["grow", &tree.to_string()]), tree);
    assert_eq!(bank.good(&["note", r#"{"text": "x"}"#]), json!({ "text": "x" }));
    assert_eq!(bank.good(&["scan", "AAEC", "12.5", "NaN"]), json!("AAEC"));
    assert_eq!(bank.good(&["scan", "[1, 2]", "-1", "-0.5"]), json!("AQI="));
    let owner = json!({ "name": "A", "nick": "B" });
    let any = json!({ "type": "bank::Owner", "value": owner });
    // If the IDL has the type, its repository id is printed in place of the type code, and is accepted as well.
    let short = json!({ "type": "IDL:oxorb.org/bank/Owner:1.0", "value": owner });
    assert_eq!(bank.good(&["echo", &any.to_string()]), short);
    assert_eq!(bank.good(&["echo", &short.to_string()]), short);
    for (plain, ty) in [("true", "boolean"), ("7", "long"), ("1.5", "double"), ("\"x\"", "string")]
    {
        let value: Value = serde_json::from_str(plain).unwrap();
        let any = json!({ "type": ty, "value": value });
        assert_eq!(bank.good(&["echo", plain]), any);
    }
    assert_eq!(bank.good(&["type_of", "sequence<long>"]), json!("sequence<long>"));
    assert_eq!(bank.good(&["type_of", "bank::Tree"])["name"], json!("Tree"));
    assert_eq!(bank.good(&["peer", "null"]), Value::Null);
    let peer = bank.good(&["peer", &bank.reference]);
    assert!(peer.as_str().unwrap().starts_with("IOR:"), "{peer}");
}

#[test]
fn all_arguments_may_be_one_document() {
    let bank = Bank::open("document");
    assert_eq!(bank.good(&["withdraw", "--args", "[4]"]), json!(4));
    assert_eq!(bank.good(&["withdraw", "--args", r#"{"amount": 5}"#]), json!(5));
    std::fs::write(bank.folder.join("args.json"), "[6]").unwrap();
    assert_eq!(bank.good(&["withdraw", "--args", "@args.json"]), json!(6));
    assert!(bank.bad(&["withdraw", "--args", r#"{"sum": 5}"#]).contains("no parameter sum"));
    assert!(bank.bad(&["withdraw", "--args", "{}"]).contains("amount is missing"));
    assert!(bank.bad(&["withdraw", "--args", "@nothing.json"]).contains("nothing.json"));
    // Endless input is not read to its end.
    let endless = bank.bad(&["withdraw", "--args", "@/dev/zero"]);
    assert!(endless.contains("at most 16777216 octets"), "{endless}");
}

#[test]
fn what_is_left_out_is_the_default_of_the_idl_or_zero_on_demand() {
    let bank = Bank::open("left-out");
    let limits = |unit: &str| json!({ "seconds": 30, "of": "checking", "unit": unit });
    assert_eq!(bank.good(&["limit", r#"{"unit": "s"}"#, "1"]), limits("s"));
    assert_eq!(bank.good(&["limit", "{}", "1", "--defaults"]), limits(""));
    assert_eq!(bank.good(&["limit", "--defaults"]), limits(""));
    let document = r#"{"most": 2}"#;
    assert_eq!(bank.good(&["limit", "--args", document, "--defaults"]), limits(""));
    for (args, why) in [
        (
            &["limit", "{}", "1"][..],
            "args[0] (l): member unit is missing; --defaults sets omitted members to zero",
        ),
        (
            &["limit", "--args", document],
            "argument l is missing: Limits limit(in Limits l, in long most); --defaults",
        ),
        (
            &["limit", r#"{"unit": "s"}"#],
            "the operation takes 2 arguments, not 1: Limits limit(in Limits l, in long most); --defaults sets",
        ),
    ] {
        let message = bank.bad(args);
        assert!(message.contains(why), "{args:?}: {message}");
    }
}

#[test]
fn exceptions_are_json_and_the_status_says_so() {
    let bank = Bank::open("exceptions");
    let raised = bank.run(&bank.reference, &["withdraw", "1000"]);
    assert_eq!(raised.status.code(), Some(1));
    let printed: Value = serde_json::from_slice(&raised.stdout).unwrap();
    assert_eq!(
        printed,
        json!({
            "exception": "IDL:oxorb.org/bank/Overdrawn:1.0",
            "name": "Overdrawn",
            "members": { "missing": "9007199254740993" },
        })
    );
    assert_eq!(
        text(&raised.stderr),
        "error: the operation raised IDL:oxorb.org/bank/Overdrawn:1.0\n"
    );

    let raised = bank.run(&bank.reference, &["withdraw", "7"]);
    let printed: Value = serde_json::from_slice(&raised.stdout).unwrap();
    assert_eq!(printed["exception"], "IDL:omg.org/CORBA/TRANSIENT:1.0");
    assert_eq!((&printed["minor"], &printed["completed"]), (&json!(5), &json!("MAYBE")));
    assert_eq!(bank.good(&["withdraw", "7"]), json!(7), "that answer was for one time");

    assert!(bank.bad(&["unknown"]).contains("NO_IMPLEMENT"));
    let late = bank.run(&bank.reference, &["slow", "--timeout", "100"]);
    assert!(text(&late.stderr).contains("TIMEOUT"), "{}", text(&late.stderr));
    let gone = bank.run("corbaloc::1.2@127.0.0.1:9/Account", &["balance", "--timeout", "2000"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("127.0.0.1:9"), "{}", text(&gone.stderr));
    let told: Value = serde_json::from_slice(&gone.stdout).expect("also as JSON");
    assert_eq!(told["name"], "TRANSIENT");
}

#[test]
fn wrong_arguments_are_named() {
    let bank = Bank::open("wrong");
    for (args, why) in [
        (&["withdraw", "-5"][..], "args[0] (amount): -5 is outside the range of unsigned long"),
        (&["withdraw", "x"], "args[0] (amount): expected a number, found a string"),
        (&["withdraw", "[1"], "args[0] (amount): this is not JSON"),
        (
            &["withdraw"],
            "the operation takes 1 argument, not 0: long long withdraw(in unsigned long amount)",
        ),
        (&["greet", "x", "gold"], "args[1] (sort): gold is none of savings, checking"),
        (
            &["grow", r#"{"v": 1, "kids": [{"v": "x", "kids": []}]}"#],
            "args[0].kids[0].v: expected an integer",
        ),
        (&["grow", r#"{"v": 1}"#], "args[0] (t): member kids is missing"),
        (&["scan", "*", "1", "1"], "args[0] (data): this is not base64"),
        (&["scan", "", "1.234", "1"], "args[1] (price): 1.234 is not a value of fixed<8, 2>"),
        (&["version=3"], "the attribute version is readonly"),
        (&["colour=3"], "has no attribute colour; the interface has balance"),
        (&["balnce=3"], "did you mean balance?"),
        (&["withdraw=3"], "withdraw is an operation, not an attribute"),
        (
            &["nothing"],
            "bank::Account has no operation or attribute nothing; the interface has withdraw, book",
        ),
        (&["widthraw", "1"], "did you mean withdraw?"),
        (&["balance=1", "2"], "takes one value"),
    ] {
        let message = bank.bad(args);
        assert!(message.contains(why), "{args:?}: {message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
    }
}

#[test]
fn the_interface_is_found_or_given() {
    let bank = Bank::open("interface");
    // A corbaloc does not name the interface, so the object is queried.
    let output = bank.run(&bank.corbaloc, &["base_name", "--interface", "bank::Base"]);
    assert!(text(&output.stderr).contains("NO_IMPLEMENT"));
    let output = bank.run(&bank.corbaloc, &["balance"]);
    assert_eq!(text(&output.stdout), "100\n");
    assert!(
        bank.bad(&["balance", "--interface", "bank::Base"]).contains("bank::Base has no operation")
    );
    assert!(
        bank.bad(&["balance", "--interface", "bank::Nothing"])
            .contains("there is no bank::Nothing")
    );
    assert!(
        bank.bad(&["other_thing"])
            .contains("bank::Account has no operation or attribute other_thing")
    );

    // Operations of every object need no IDL.
    assert_eq!(bank.good(&["_repository_id"]), json!("IDL:oxorb.org/bank/Account:1.0"));
    assert_eq!(bank.good(&["_is_a", "IDL:oxorb.org/bank/Base:1.0"]), json!(true));
    assert_eq!(bank.good(&["_is_a", "IDL:oxorb.org/bank/Unrelated:1.0"]), json!(false));
    assert_eq!(bank.good(&["_non_existent"]), json!(false));
    let without = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["call", &bank.corbaloc, "balance"])
        .output()
        .unwrap();
    assert!(text(&without.stderr).contains("--idl FILE"));
}

#[test]
fn the_server_logs_every_request() {
    let bank = Bank::open("log");
    bank.good(&["withdraw", "3"]);
    bank.bad(&["withdraw", "1000"]);
    bank.run(&bank.reference, &["tell", "hello"]);
    let first = bank.logged();
    assert_eq!((&first["request"], &first["operation"]), (&json!(1), &json!("withdraw")));
    assert_eq!((&first["args"], &first["results"]), (&json!({ "amount": 3 }), &json!(3)));
    let second = bank.logged();
    assert_eq!(second["raised"]["name"], "Overdrawn");
    assert_eq!(bank.logged()["args"], json!({ "what": "hello" }));
}

#[test]
fn what_the_script_lacks_may_have_default_answers() {
    let bank = Bank::with_script("defaults", "", &["--defaults"]);
    assert_eq!(bank.good(&["withdraw", "3"]), json!(0));
    assert_eq!(
        bank.good(&["book", "[]", "memo"]),
        json!({ "returns": 0, "out": { "times": 0, "memo": "" } })
    );
    assert_eq!(bank.good(&["unknown"]), Value::Null);
}

#[test]
fn values_of_a_script_may_leave_members_out() {
    let script = "[operations.limit]\nreturns = { seconds = \"$most\" }\n";
    let bank = Bank::with_script("short-script", script, &["--defaults"]);
    assert_eq!(
        bank.good(&["limit", "{\"unit\": \"s\"}", "5"]),
        json!({ "seconds": 5, "of": "checking", "unit": "" })
    );
}

/// Unreadable arguments are the client's fault, and results that cannot be sent are not logged as sent.
#[test]
fn the_log_and_the_exception_say_whose_fault_it_is() {
    use oxorb::servant::Context;
    use oxorb::values::TypeCode;
    use oxorb::{Any, Interface as _, SystemExceptionKind};
    use oxorb_dynamic::{Direction, Dynamic, Signature};
    let script = "[operations.echo]\nreturns = \"$a\"\n[operations.greet]\nreturns = \"жук\"\n";
    let bank = Bank::with_script("fault", script, &[]);
    let orb = oxorb::Orb::builder().build().unwrap();
    // An any whose contents do not match its type: the value is an undefined enumerator.
    struct Ninth;
    impl oxorb::values::Typed for Ninth {
        fn type_code() -> TypeCode {
            TypeCode::enumeration("IDL:bank/Kind:1.0", "Kind", ["savings", "checking"])
        }
    }
    impl oxorb::cdr::Encode for Ninth {
        fn encode<'a>(&'a self, e: &mut oxorb::cdr::Encoder<'a>) -> oxorb::cdr::Result<()> {
            e.ulong(9);
            Ok(())
        }
    }
    let bad = Any::new(Ninth);
    let ior = std::fs::read_to_string(bank.folder.join("account.ior")).unwrap();
    let object = orb.string_to_object(ior.trim()).unwrap();
    let echo =
        Signature::new("echo").with("a", Direction::In, TypeCode::ANY).returning(TypeCode::ANY);
    let args = [Dynamic::Any(bad)];
    let answer = oxorb_dynamic::invoke(object.reference(), &echo, &args, &Context::new());
    let answer = answer.unwrap_err().to_system();
    assert_eq!(answer.kind, SystemExceptionKind::Marshal, "{answer}");
    let line = bank.lines.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(line["raised"].is_object(), "{line}");
    // A `corbaloc:` reference has no code sets, so the answer "жук" cannot be sent.
    let failed = bank.run(&bank.corbaloc, &["greet", "x", "savings"]);
    assert_eq!(failed.status.code(), Some(1));
    let line = bank.lines.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(line.get("results").is_none(), "{line}");
    assert!(line["unsent"].as_str().unwrap().contains("returns"), "{line}");
    orb.shutdown(true).unwrap();
}

#[test]
fn a_script_that_does_not_fit_is_refused_at_once() {
    let folder = folder("scripts");
    std::fs::write(folder.join("bank.idl"), IDL).unwrap();
    for (script, why) in [
        ("[operations.fly]", "operations.fly: bank::Account has no such operation"),
        ("[attributes]\nweight = 1", "attributes.weight: bank::Account has no such attribute"),
        ("[attributes]\nbalance = \"x\"", "attributes.balance: expected an integer"),
        (
            "[operations.withdraw]\nreturns = true",
            "operations.withdraw[0].returns: expected a number",
        ),
        ("[operations.withdraw]\nraises = \"Bankrupt\"", "withdraw raises Overdrawn"),
        (
            "[operations.withdraw]\nraises = \"Overdrawn\"",
            "operations.withdraw[0].with: member missing is missing",
        ),
        (
            "[operations.withdraw]\nreturns = 1\nraises = \"TRANSIENT\"",
            "results or raises, not both",
        ),
        (
            "[operations.withdraw]\nwhen = { sum = 1 }",
            "operations.withdraw[0].when: there is no argument sum",
        ),
        (
            "[operations.book]\nout = { who = [] }",
            "operations.book[0].out: there is no inout or out parameter who",
        ),
        // Answers that can never match are reported before the first request.
        (
            "[operations.limit]\nreturns = { seconds = \"$most\" }",
            "operations.limit[0].returns: member unit is missing; --defaults",
        ),
        (
            "[operations.book]\nreturns = \"$who\"",
            "operations.book[0].returns: $who is an array, not a number",
        ),
        (
            "[operations.book]\nreturns = \"$memo\"",
            "operations.book[0].returns: $memo is text, not a number",
        ),
        ("[operations.book]\nreturns = \"$who[0].name\"", "is text, not a number"),
        (
            "[operations.book]\nout = { memo = \"$count\" }",
            "operations.book[0].out.memo: $count is a number, not text",
        ),
        (
            "[operations.grow]\nreturns = { v = 1, kids = [\"$count\"] }",
            "operations.grow[0].returns.kids[0]: $count is a number, not an object",
        ),
        ("[operations.withdraw]\nanswer = 1", "unknown field `answer`"),
        ("[operations.withdraw\n", "script.toml: TOML parse error at line 1"),
    ] {
        std::fs::write(folder.join("script.toml"), script).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .current_dir(&folder)
            .args(["serve", "--idl", "bank.idl", "--interface", "bank::Account"])
            .args(["--script", "script.toml"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{script}");
        let message = text(&output.stderr);
        assert!(message.contains(why), "{script}: {message}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Valuetypes in both directions: null, sharing, cycles, derived types, boxes, within anys.
#[test]
fn valuetypes_go_there_and_back() {
    let script = r#"
[operations.greet]
returns = "$who"
[operations.swap]
returns = "$first"
out = { second = "$second" }
[operations.note]
returns = "$r"
[operations.copy]
returns = "$p"
[operations.pass]
returns = "$a"
[operations.paint]
returns = "$p"
"#;
    let office = Bank::of("bank::Office", "values", script, &[]);
    let ok = |args: &[&str]| {
        let output = call(&office.folder, &office.reference, args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let person = "IDL:oxorb.org/bank/Person:1.0";
    let employee = "IDL:oxorb.org/bank/Employee:1.0";
    assert_eq!(ok(&["greet", "null"]), Value::Null);
    let couple =
        r#"{"$id": 7, "name": "Ada", "partner": {"name": "William", "partner": {"$ref": 7}}}"#;
    let answer = json!({
        "$type": person, "$id": 1, "name": "Ada",
        "partner": { "$type": person, "name": "William", "partner": { "$ref": 1 } },
    });
    assert_eq!(ok(&["greet", couple]), answer);
    let grace = r#"{"$type": "bank::Employee", "name": "Grace", "partner": null, "number": 7}"#;
    let answer = json!({ "$type": employee, "name": "Grace", "partner": null, "number": 7 });
    assert_eq!(ok(&["greet", grace]), answer);

    // A value can be shared between arguments, and between results.
    let any =
        r#"{"type": "bank::Person", "value": {"$id": 1, "name": "x", "partner": {"$ref": 1}}}"#;
    let shared = r#"{"$id": 1, "name": "Ada", "partner": null}"#;
    let answer = json!({
        "returns": { "$type": person, "$id": 1, "name": "Ada", "partner": null },
        "out": { "second": { "$ref": 1 } },
    });
    let again = r#"{"$ref": 1}"#;
    assert_eq!(ok(&["swap", shared, again, again, any]), answer);

    let remarks = "IDL:oxorb.org/bank/Remarks:1.0";
    let answer = json!({ "$type": remarks, "$value": ["a", "b"] });
    assert_eq!(ok(&["note", r#"["a", "b"]"#]), answer);
    assert_eq!(ok(&["note", r#"{"$value": ["a", "b"]}"#]), answer);
    let form = json!({ "$type": "IDL:oxorb.org/bank/Form:1.0", "text": "A1" });
    assert_eq!(ok(&["copy", &form.to_string()]), form);
    let object = ok(&["copy", &office.corbaloc]);
    assert!(object.as_str().unwrap().starts_with("IOR:"), "{object}");
    let passed = ok(&["pass", any]);
    assert_eq!(passed["value"]["partner"], json!({ "$ref": 1 }));
    assert_eq!(ok(&["paint", "null"]), Value::Null);

    let wrong = |args: &[&str]| {
        let output = call(&office.folder, &office.reference, args);
        assert!(!output.status.success(), "{args:?}");
        text(&output.stderr)
    };
    for (args, why) in [
        (["greet", r#"{"name": "A"}"#], "args[0] (who): member partner is missing"),
        (
            ["greet", r#"{"name": "A", "partner": {"$ref": 3}}"#],
            "args[0].partner: no earlier or enclosing value has \"$id\": 3",
        ),
        (
            ["greet", r#"{"name": "A", "age": 1, "partner": null}"#],
            "there is no member age in Person",
        ),
        (["greet", r#"{"$type": "bank::Nobody"}"#], "args[0].$type: there is no type bank::Nobody"),
        (["greet", r#"{"$type": "bank::Form", "text": ""}"#], "expected Person, found"),
        (["copy", r#"{"text": "A1"}"#], "the type of the value is missing, \"$type\""),
        (["paint", r#"{"width": 1}"#], "is custom: only its own code can write it"),
    ] {
        let found = wrong(&args);
        assert!(found.contains(why), "{args:?}: {found}");
    }
}

/// The server listens as all other servers do, on any protocol.
#[test]
fn serve_listens_at_the_given_endpoints() {
    let socket = format!("oxorb-serve-{}", oxorb_testkit::unique());
    let socket = oxorb_testkit::net::socket_folder().join(socket);
    let endpoint = format!("uiop://{}", socket.display());
    let local = Bank::with_script("listen-local", SCRIPT, &["--listen", &endpoint]);
    assert_eq!(local.corbaloc, format!("corbaloc:uiop:1.2@{}|Account", socket.display()));
    let both = ["--listen", &format!("{endpoint}-2"), "--listen", "iiop://127.0.0.1:0"];
    let both = Bank::with_script("listen-both", SCRIPT, &both);
    assert!(both.corbaloc.starts_with("corbaloc::1.2@127.0.0.1:"), "{}", both.corbaloc);
    for (bank, url) in [
        (&local, local.corbaloc.clone()),
        (&both, both.corbaloc.clone()),
        (&both, format!("corbaloc:uiop:{}-2|Account", socket.display())),
    ] {
        let answer = bank.run(&url, &["_non_existent"]);
        assert_eq!(text(&answer.stdout).trim(), "false", "{url}: {}", text(&answer.stderr));
    }
    for option in [["--port", "2809"], ["--host", "127.0.0.1"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(["serve", "--idl", "bank.idl", "--listen", &endpoint])
            .args(option)
            .output()
            .unwrap();
        let why = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(why.contains("--listen") && why.contains(option[0]), "{why}");
    }
}

/// A signal ends the server gracefully: the running request is answered, and the exit status is 0.
#[test]
fn a_signal_ends_serve_when_running_requests_are_answered() {
    static WITHDRAW: Op = Op::twoway("withdraw");
    let script = "[[operations.withdraw]]\nreturns = 7\ndelay_ms = 1500\n\
                  [operations.base_name]\nreturns = \"there\"\n";
    at_once(["-INT", "-TERM"], |signal| {
        let mut bank = Bank::with_script(&format!("signal{signal}"), script, &[]);
        let client = oxorb::Orb::builder().build().unwrap();
        let account = client.string_to_object(&bank.reference).unwrap();
        let withdrawn = account.reference().invoke_async::<i64, oxorb::SystemException>(
            &WITHDRAW,
            |e| {
                e.ulong(10);
                Ok(())
            },
            |d| d.longlong(),
        );
        // When a later request is answered, the earlier one is being served.
        assert_eq!(bank.good(&["base_name"]), "there");
        let sent = Command::new("kill").args([signal, &bank.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(withdrawn.wait(), Ok(7), "{signal}");
        assert_eq!(bank.child.wait().unwrap().code(), Some(0), "{signal}");
        client.shutdown(true).unwrap();
    });
}
