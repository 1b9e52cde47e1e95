//! Objects of the Naming Service behind the gateway.

use serde_json::json;

use super::client::ask;
use super::{Bank, started};
use crate::common::run;

#[test]
fn objects_of_the_naming_service_are_called_and_contexts_are_not() {
    let mut serve = vec!["name", "serve", "--in-memory", "--format", "json"];
    serve.extend(["--listen", "iiop://127.0.0.1:0"]);
    let (_names, said) = started(&serve, "ior");
    let at = said["corbaloc"][0].as_str().expect("a URL");
    let initial = format!("NameService={at}");
    let bank = Bank::open("http-naming", &["--naming", "-ORBInitRef", &initial]);
    let bind = ["name", "bind", "plant/Account", &bank.reference, "--parents", "--at", at];
    let bound = run(&bind);
    assert!(bound.status.success(), "{bound:?}");
    let json = "Content-Type: application/json\r\n";
    let path = "/objects/plant%2FAccount/withdraw";
    assert_eq!(ask(&bank.address, "POST", path, json, "[5]").json(), json!(5));
    for path in ["/objects/plant", "/objects/plant/destroy"] {
        let method = if path.ends_with("destroy") { "POST" } else { "GET" };
        let refused = ask(&bank.address, method, path, json, "").problem(404);
        assert!(refused["detail"].to_string().contains("a naming context"), "{refused}");
    }
    bank.get("/objects/nobody").problem(404);
    let listed = bank.get("/objects").json();
    assert_eq!(listed["objects"].as_array().map(Vec::len), Some(1), "{listed}");
}
