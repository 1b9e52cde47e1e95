//! Requests to servants without stubs: all ways to send one, calls out of order, and failures.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use oxorb::servant::Context;
use oxorb::{CompletionStatus, Orb, Ref, SystemException, SystemExceptionKind, minor};
use oxorb_dynamic::{
    Direction, Dynamic, DynamicServant, Exception, Invocation, NVList, Request, Results, Signature,
    TypeCode, invoke, next_response, poll_next_response, send_multiple_deferred,
    send_multiple_oneway, servant,
};

/// Servant with a set of signatures, and a specific reply for each operation.
struct Desk {
    operations: Vec<Signature>,
    heard: mpsc::SyncSender<String>,
}

fn refused() -> TypeCode {
    TypeCode::exception("IDL:Refused:1.0", "Refused", [("why", TypeCode::STRING)])
}

fn busy() -> TypeCode {
    TypeCode::exception("IDL:Busy:1.0", "Busy", [])
}

fn because(why: &str) -> Dynamic {
    let mut members = Dynamic::default_for(&refused()).unwrap();
    *members.at_mut("why").unwrap() = Dynamic::from(why);
    members
}

impl Desk {
    fn new(heard: mpsc::SyncSender<String>) -> Self {
        let operations = vec![
            Signature::new("add")
                .with_in("a", TypeCode::LONG)
                .with_in("b", TypeCode::SHORT)
                .returning(TypeCode::LONG),
            Signature::new("turn")
                .with_inout("a", TypeCode::STRING)
                .with_out("length", TypeCode::ULONG),
            Signature::new("slow").with_in("ms", TypeCode::ULONG).returning(TypeCode::ULONG),
            Signature::new("refuse").with_in("how", TypeCode::LONG).raising(refused()),
            Signature::new("tell").with_in("what", TypeCode::STRING).oneway(),
            Signature::new("who").with_context(["user", "tty.*"]).returning(TypeCode::STRING),
            Signature::new("wrong").returning(TypeCode::LONG),
        ];
        Desk { operations, heard }
    }
}

impl DynamicServant for Desk {
    fn repository_id(&self) -> &str {
        "IDL:Desk:1.0"
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.operations.iter().find(|known| known.operation == operation)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let args = &invocation.args;
        match (invocation.operation(), args.as_slice()) {
            ("add", [Dynamic::Long(a), Dynamic::Short(b)]) => {
                Ok(Results::returning(a + i32::from(*b)))
            }
            ("turn", [Dynamic::String(text)]) => {
                let turned: String = text.chars().rev().collect();
                let results = Results::default().with_out(turned);
                Ok(results.with_out(text.len() as u32))
            }
            ("slow", [Dynamic::Ulong(ms)]) => {
                std::thread::sleep(Duration::from_millis((*ms).into()));
                Ok(Results::returning(*ms))
            }
            ("refuse", [Dynamic::Long(1)]) => {
                Err(Exception::user(refused(), because("no")).unwrap())
            }
            ("refuse", [Dynamic::Long(2)]) => {
                Err(Exception::user(busy(), Dynamic::default_for(&busy()).unwrap()).unwrap())
            }
            ("refuse", _) => Err(SystemException::new(
                SystemExceptionKind::NoPermission,
                7,
                CompletionStatus::No,
            )
            .into()),
            ("tell", [Dynamic::String(what)]) => {
                assert!(!invocation.expects_reply);
                let _ = self.heard.send(what.clone());
                Ok(Results::default())
            }
            ("who", []) => {
                let properties: Vec<String> = invocation
                    .context
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                Ok(Results::returning(properties.join(" ")))
            }
            ("wrong", []) => Ok(Results::returning("no long")),
            (other, args) => panic!("{other} {args:?}"),
        }
    }
}

/// Desk with a reference to it over TCP.
struct Office {
    server: Orb,
    client: Orb,
    desk: Ref,
    heard: mpsc::Receiver<String>,
}

impl Office {
    fn open() -> Self {
        let (sender, heard) = mpsc::sync_channel(16);
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let object = server.root_poa().activate_servant(servant(Desk::new(sender))).unwrap();
        let client = Orb::builder().round_trip_timeout(Duration::from_secs(10)).build().unwrap();
        let desk = Ref::new(&client, object.ior().clone());
        Office { server, client, desk, heard }
    }

    fn request(&self, operation: &str) -> Request {
        Request::new(&self.desk, operation).unwrap()
    }

    fn add(&self, a: i32, b: i16) -> Request {
        let mut request = self.request("add");
        request
            .add_in("a", TypeCode::LONG, a)
            .add_in("b", TypeCode::SHORT, b)
            .set_return_type(TypeCode::LONG);
        request
    }

    fn slow(&self, ms: u32) -> Request {
        let mut request = self.request("slow");
        request.add_in("ms", TypeCode::ULONG, ms).set_return_type(TypeCode::ULONG);
        request
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

fn out_of_order(minor: u32) -> SystemException {
    SystemException::bad_inv_order(minor, CompletionStatus::No)
}

#[test]
fn a_request_is_put_together_and_invoked() {
    let office = Office::open();
    let results = office.add(40, 2).invoke().unwrap();
    assert_eq!(results, Results::returning(42i32));

    let mut turn = office.request("turn");
    turn.add_inout("a", TypeCode::STRING, "abc").add_out("length", TypeCode::ULONG);
    let results = turn.invoke().unwrap();
    assert_eq!(results.out, [Dynamic::from("cba"), Dynamic::Ulong(3)]);
    assert_eq!(results.returns, Dynamic::Null);
}

#[test]
fn a_list_makes_a_request() {
    let office = Office::open();
    let mut list = NVList::new();
    list.add_in("a", TypeCode::LONG, 1i32);
    list.add("b", Direction::In, TypeCode::SHORT, Dynamic::Short(-2));
    let mut request = Request::with_list(&office.desk, "add", list, TypeCode::LONG).unwrap();
    assert_eq!(request.invoke().unwrap().returns, Dynamic::Long(-1));
}

#[test]
fn the_caller_of_a_local_object_sees_no_difference() {
    let office = Office::open();
    let local = Ref::new(&office.server, office.desk.ior().clone());
    let add = Desk::new(mpsc::sync_channel(1).0).operations.remove(0);
    let args = [Dynamic::Long(1), Dynamic::Short(2)];
    let results = invoke(&local, &add, &args, &Context::new()).unwrap();
    assert_eq!(results.returns, Dynamic::Long(3));

    let mut deferred = Request::with_signature(&local, add, args.to_vec()).unwrap();
    deferred.send_deferred().unwrap();
    assert!(deferred.poll_response().unwrap());
    assert_eq!(deferred.get_response().unwrap().returns, Dynamic::Long(3));
}

#[test]
fn declared_exceptions_have_members_and_others_keep_their_id() {
    let office = Office::open();
    let refuse = |how: i32| {
        let mut request = office.request("refuse");
        request.add_in("how", TypeCode::LONG, how).add_exception(refused());
        request.invoke().unwrap_err()
    };
    let Exception::User(raised) = refuse(1) else {
        panic!("a user exception");
    };
    assert_eq!(raised.id(), "IDL:Refused:1.0");
    assert_eq!(raised.members, because("no"));

    // The servant raises an exception that its signature does not declare.
    let unlisted = minor::unknown::UNLISTED_USER_EXCEPTION;
    let unknown = SystemException::unknown(unlisted, CompletionStatus::Yes);
    assert_eq!(refuse(2), Exception::System(unknown));

    let mut ignorant = office.request("refuse");
    ignorant.add_in("how", TypeCode::LONG, 1i32);
    let raised = ignorant.invoke().unwrap_err();
    assert_eq!(raised, Exception::Unlisted("IDL:Refused:1.0".to_owned()));
    assert_eq!(raised.to_system(), unknown);

    match refuse(3) {
        Exception::System(system) => {
            assert_eq!((system.kind, system.minor), (SystemExceptionKind::NoPermission, 7));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_not_of_its_type_is_named() {
    let office = Office::open();
    let mut request = office.request("add");
    request.add_in("a", TypeCode::LONG, "x").add_in("b", TypeCode::SHORT, 1i16);
    let error = request.invoke().unwrap_err();
    assert_eq!(error.to_string(), "a: expected long, found string");
    assert_eq!(error.to_system().completed, CompletionStatus::No);
    let mut request = office.request("add");
    request.add_in("a", TypeCode::LONG, "x");
    assert!(matches!(request.send_deferred(), Err(Exception::Value { .. })));

    let add = office.add(1, 1).signature().clone();
    let too_few = invoke(&office.desk, &add, &[Dynamic::Long(1)], &Context::new());
    assert_eq!(too_few.unwrap_err().to_string(), "arguments: member b is missing");
    let three = [Dynamic::Long(1), Dynamic::Short(1), Dynamic::Null];
    let too_many = invoke(&office.desk, &add, &three, &Context::new());
    assert_eq!(too_many.unwrap_err().to_string(), "arguments: there are 3 elements, not 2");

    // Results that do not match the servant's signature are never sent.
    let mut wrong = office.request("wrong");
    let error = wrong.set_return_type(TypeCode::LONG).invoke().unwrap_err();
    assert_eq!(error.to_system().completed, CompletionStatus::Yes);
    assert!(matches!(error, Exception::System(_)), "{error}");
    // Results that do not match the client's signature are an error at the client.
    let mut misread = office.add(1, 1);
    let error = misread.set_return_type(TypeCode::STRING).invoke().unwrap_err();
    assert!(error.to_string().starts_with("return value: "), "{error}");
}

#[test]
fn operations_that_are_not_there() {
    let office = Office::open();
    let error = office.request("nothing").invoke().unwrap_err();
    assert_eq!(error.to_system().kind, SystemExceptionKind::BadOperation);
    for implicit in ["_is_a", "_non_existent", "_interface", "_repository_id", "_component"] {
        let refused = Request::new(&office.desk, implicit).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::BadParam);
        assert_eq!(refused.minor, minor::bad_param::IMPLICIT_OPERATION);
    }
}

#[test]
fn oneway_requests_arrive() {
    let office = Office::open();
    let mut tell = office.request("tell");
    tell.add_in("what", TypeCode::STRING, "hello");
    tell.send_oneway().unwrap();
    let patience = Duration::from_secs(10);
    assert_eq!(office.heard.recv_timeout(patience).unwrap(), "hello");

    let mut several: Vec<Request> = ["a", "b"]
        .map(|what| {
            let mut tell = office.request("tell");
            tell.add_in("what", TypeCode::STRING, what);
            tell
        })
        .into();
    send_multiple_oneway(&mut several).unwrap();
    let mut heard = [(), ()].map(|()| office.heard.recv_timeout(patience).unwrap());
    heard.sort();
    assert_eq!(heard, ["a", "b"]);
    let no_answer = out_of_order(minor::bad_inv_order::SYNCHRONOUS);
    assert_eq!(tell.get_response(), Err(no_answer.into()));
}

#[test]
fn deferred_requests_are_answered_later() {
    let office = Office::open();
    let mut request = office.slow(30);
    request.send_deferred().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while !request.poll_response().unwrap() {
        assert!(Instant::now() < end, "it never answers");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(request.poll_response().unwrap(), "it stays answered");
    assert_eq!(request.get_response().unwrap(), Results::returning(30u32));

    // `get_response` also waits without polling, and returns the exception of the servant.
    let mut refuse = office.request("refuse");
    refuse.add_in("how", TypeCode::LONG, 1i32).add_exception(refused());
    refuse.send_deferred().unwrap();
    assert!(matches!(refuse.get_response(), Err(Exception::User(_))));
}

#[test]
fn several_requests_are_answered_in_any_order() {
    let office = Office::open();
    assert_eq!(
        poll_next_response(&mut []).unwrap_err(),
        out_of_order(minor::bad_inv_order::NOT_SENT)
    );
    let mut requests: Vec<Request> = (0..8).map(|n| office.add(n, 100)).collect();
    send_multiple_deferred(&mut requests).unwrap();
    let mut sums = Vec::new();
    for _ in 0..requests.len() {
        let at = next_response(&mut requests).unwrap();
        let results = requests[at].get_response().unwrap();
        assert_eq!(results.returns, Dynamic::Long(at as i32 + 100));
        sums.push(at);
    }
    sums.sort_unstable();
    assert_eq!(sums, Vec::from_iter(0..8));
    assert!(next_response(&mut requests).is_err());
}

#[test]
fn all_of_several_requests_are_sent_even_if_one_of_them_fails() {
    use minor::bad_inv_order::{ALREADY_SENT, NOT_SENT};
    let office = Office::open();
    let mut requests: Vec<Request> = (0..3).map(|n| office.add(n, 100)).collect();
    requests[0].invoke().unwrap();
    let failed = Exception::System(out_of_order(ALREADY_SENT));
    assert_eq!(send_multiple_deferred(&mut requests), Err(failed));
    let mut answered = Vec::new();
    oxorb_testkit::until("both are answered", || {
        if let Some(at) = poll_next_response(&mut requests).unwrap() {
            requests[at].get_response().unwrap();
            answered.push(at);
        }
        answered.len() == 2
    });
    answered.sort_unstable();
    assert_eq!(answered, [1, 2]);
    assert_eq!(poll_next_response(&mut requests), Err(out_of_order(NOT_SENT)));
    assert_eq!(next_response(&mut requests), Err(out_of_order(NOT_SENT)));
}

#[test]
fn what_comes_out_of_order_is_bad_inv_order() {
    use minor::bad_inv_order::{
        ALREADY_SENT, NOT_SENT, REQUEST_INVOKED_TWICE, RESULT_TAKEN, SYNCHRONOUS,
    };
    let system = |minor| Exception::System(out_of_order(minor));
    let office = Office::open();

    let mut fresh = office.add(1, 1);
    assert_eq!(fresh.poll_response(), Err(out_of_order(NOT_SENT)));
    assert_eq!(fresh.get_response(), Err(system(NOT_SENT)));

    let mut invoked = office.add(1, 1);
    invoked.invoke().unwrap();
    assert_eq!(invoked.invoke(), Err(system(REQUEST_INVOKED_TWICE)));
    assert_eq!(invoked.send_deferred(), Err(system(ALREADY_SENT)));
    assert_eq!(invoked.send_oneway(), Err(system(ALREADY_SENT)));
    assert_eq!(invoked.poll_response(), Err(out_of_order(SYNCHRONOUS)));
    assert_eq!(invoked.get_response(), Err(system(SYNCHRONOUS)));

    let mut deferred = office.add(1, 1);
    deferred.send_deferred().unwrap();
    assert_eq!(deferred.send_deferred(), Err(system(ALREADY_SENT)));
    assert_eq!(deferred.invoke(), Err(system(REQUEST_INVOKED_TWICE)));
    deferred.get_response().unwrap();
    assert_eq!(deferred.poll_response(), Err(out_of_order(RESULT_TAKEN)));
    assert_eq!(deferred.get_response(), Err(system(RESULT_TAKEN)));
}

#[test]
fn a_context_travels_with_what_asks_for_it() {
    let office = Office::open();
    let mut context = Context::new();
    context.set("user", "ada");
    context.set("tty.speed", "9600");
    context.set("secret", "x");
    let mut who = office.request("who");
    who.set_return_type(TypeCode::STRING).set_context(&["user", "tty.*"], context);
    assert_eq!(who.invoke().unwrap().returns, Dynamic::from("user=ada tty.speed=9600"));
}

#[test]
fn a_server_that_is_gone_is_an_exception_when_the_answer_is_asked_for() {
    let office = Office::open();
    let port = oxorb_testkit::net::free_port();
    let url = format!("corbaloc::1.2@127.0.0.1:{port}/Desk");
    let nobody = office.client.string_to_object(&url).unwrap();
    let nobody = oxorb::Interface::reference(&nobody);
    let mut request = Request::new(nobody, "add").unwrap();
    request.send_deferred().unwrap();
    let error = request.get_response().unwrap_err();
    assert_eq!(error.to_system().kind, SystemExceptionKind::Transient);
}
