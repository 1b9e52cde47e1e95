//! Calls to objects of the same process. The stub calls the servant without allocation and with the semantics of a
//! request. Calls that need a message use one. Objects on lanes run on their lanes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bank::account::WithdrawError;
use bank::{Account, AccountRef, Overdrawn, Savings, SavingsRef, Statement};
use oxorb::interceptor::{
    ClientInterceptor, ClientReply, ClientRequest, Interrupt, ServerInterceptor, ServerReply,
    ServerRequest,
};
use oxorb::poa::{
    IdAssignment, IdUniqueness, ObjectId, Poa, Policies, Refused, RequestProcessing, RtPolicies,
    ServantActivator, ThreadPolicy,
};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::servant::ServedBy;
use oxorb::settings::Collocation;
use oxorb::{CompletionStatus, Interface, Orb, Servant, SystemException, SystemExceptionKind};
use oxorb_testkit::alloc::allocations;

include!("../../golden/bank.rs");

type Result<T> = std::result::Result<T, SystemException>;

/// Servant that records its thread and its arguments.
#[derive(Default)]
struct Teller {
    orb: Mutex<Option<Orb>>,
    /// Address of the text of the last `set_owner`.
    text_at: AtomicUsize,
    thread: Mutex<Option<thread::ThreadId>>,
    priority: Mutex<Option<Priority>>,
    /// Second account, whose balance `balance` returns.
    next: Mutex<Option<AccountRef>>,
}

impl Account for Teller {
    fn balance(&self) -> Result<i64> {
        *self.thread.lock().unwrap() = Some(thread::current().id());
        if let Some(orb) = &*self.orb.lock().unwrap() {
            *self.priority.lock().unwrap() = orb.thread_priority();
        }
        let next = self.next.lock().unwrap().clone();
        next.map_or(Ok(7), |next| next.balance())
    }

    fn owner(&self) -> Result<String> {
        let orb = self.orb.lock().unwrap().clone().unwrap();
        let id = orb.root_poa().current().object_id().unwrap();
        Ok(format!("{id:?}"))
    }

    fn set_owner(&self, value: &str) -> Result<()> {
        self.text_at.store(value.as_ptr() as usize, Ordering::SeqCst);
        Ok(())
    }

    fn withdraw(&self, amount: u32) -> std::result::Result<i64, WithdrawError> {
        match amount {
            0..100 => Ok(i64::from(amount)),
            100 => Err(Overdrawn { missing: 1 }.into()),
            101 => Err(SystemException::no_permission(9, CompletionStatus::Yes).into()),
            _ => panic!("as the test wants it"),
        }
    }

    fn bookings(&self, _: u32) -> Result<(Statement, u32)> {
        Ok((Vec::new(), 3))
    }
}

impl Savings for Teller {
    fn accrue(&self, _: f64) {}
}

fn orb(collocation: Collocation) -> Orb {
    Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .configure(move |options| options.collocation = collocation)
        .build()
        .unwrap()
}

/// Reports whether a call passes the caller's own memory to the servant.
fn is_direct(account: &AccountRef, teller: &Teller) -> bool {
    let text = String::from("somebody");
    account.set_owner(&text).unwrap();
    teller.text_at.load(Ordering::SeqCst) == text.as_ptr() as usize
}

fn activated(orb: &Orb) -> (Arc<Teller>, AccountRef) {
    let teller = Arc::new(Teller::default());
    *teller.orb.lock().unwrap() = Some(orb.clone());
    let account: AccountRef = orb.root_poa().activate(Arc::clone(&teller)).unwrap();
    (teller, account)
}

#[test]
fn a_direct_call_allocates_nothing_and_passes_what_the_caller_has() {
    let orb = orb(Collocation::Direct);
    let (teller, account) = activated(&orb);
    assert!(is_direct(&account, &teller));
    let (sum, made) =
        allocations(|| (0..100).map(|n| account.withdraw(n % 100).unwrap()).sum::<i64>());
    assert_eq!((sum, made.count), (4950, 0));
    // A reference parsed from text denotes the same object.
    let read: AccountRef = orb.string_to_object(&account.to_ior()).unwrap().unchecked_narrow();
    assert!(is_direct(&read, &teller));
    orb.shutdown(true).unwrap();
}

#[test]
fn exceptions_panics_and_ends_are_those_of_a_request() {
    for collocation in [Collocation::Direct, Collocation::Marshalled, Collocation::None] {
        let orb = orb(collocation);
        let (_, account) = activated(&orb);
        assert_eq!(account.withdraw(99).unwrap(), 99, "{collocation:?}");
        let overdrawn = WithdrawError::Overdrawn(Overdrawn { missing: 1 });
        assert_eq!(account.withdraw(100), Err(overdrawn));
        let refused = SystemException::no_permission(9, CompletionStatus::Yes);
        assert_eq!(account.withdraw(101), Err(WithdrawError::System(refused)));
        let Err(WithdrawError::System(panicked)) = account.withdraw(102) else {
            panic!("a panic is UNKNOWN");
        };
        let ended = (panicked.kind, panicked.completed);
        assert_eq!(ended, (SystemExceptionKind::Unknown, CompletionStatus::Maybe));
        // A text that cannot be marshalled.
        let unsent = account.set_owner("no\0text").unwrap_err();
        assert_eq!(unsent.kind, SystemExceptionKind::Marshal, "{collocation:?}: {unsent}");
        // The POA knows the running request.
        assert!(account.owner().is_ok());
        let id = orb.root_poa().reference_to_id(&account).unwrap();
        orb.root_poa().deactivate_id(id).unwrap();
        let gone = account.balance().unwrap_err();
        assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist, "{collocation:?}");
        orb.shutdown(true).unwrap();
        let ended = account.balance().unwrap_err();
        assert_eq!(ended.completed, CompletionStatus::No, "{collocation:?}: {ended}");
    }
}

#[test]
fn a_setting_chooses_between_direct_marshalled_and_a_connection() {
    let here = thread::current().id();
    for (collocation, direct, same_thread) in [
        (Collocation::Direct, true, true),
        (Collocation::Marshalled, false, true),
        (Collocation::None, false, false),
    ] {
        let orb = orb(collocation);
        let (teller, account) = activated(&orb);
        assert_eq!(is_direct(&account, &teller), direct, "{collocation:?}");
        account.balance().unwrap();
        let ran = teller.thread.lock().unwrap().unwrap();
        assert_eq!(ran == here, same_thread, "{collocation:?}");
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn inherited_operations_and_references_to_bases_are_direct() {
    let orb = orb(Collocation::Direct);
    let teller = Arc::new(Teller::default());
    let savings: SavingsRef = orb.root_poa().activate(Arc::clone(&teller)).unwrap();
    let text = String::from("derived");
    savings.set_owner(&text).unwrap();
    assert_eq!(teller.text_at.load(Ordering::SeqCst), text.as_ptr() as usize);
    assert!(is_direct(&savings.into(), &teller));
    orb.shutdown(true).unwrap();
}

#[test]
fn policies_of_a_call_and_managers_that_do_not_let_pass_take_the_marshalled_way() {
    let orb = orb(Collocation::Direct);
    let (teller, account) = activated(&orb);
    let hurried = account.with_timeout(std::time::Duration::from_secs(5));
    assert!(!is_direct(&hurried, &teller));
    assert!(is_direct(&account, &teller));
    orb.root_poa().manager().discard_requests(false).unwrap();
    let discarded = account.balance().unwrap_err();
    assert_eq!(discarded.kind, SystemExceptionKind::Transient);
    orb.root_poa().manager().activate().unwrap();
    assert!(is_direct(&account, &teller));
    orb.shutdown(true).unwrap();
}

fn priority(value: i16) -> Priority {
    Priority::new(value).unwrap()
}

fn declared(value: i16) -> Option<PriorityModelPolicy> {
    Some(PriorityModelPolicy { model: PriorityModel::ServerDeclared, server_priority: value })
}

#[test]
fn a_direct_call_runs_at_the_priority_that_its_object_declares() {
    let orb = orb(Collocation::Direct);
    let realtime = RtPolicies { priority_model: declared(77), ..RtPolicies::default() };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("declared", policies).unwrap();
    let teller = Arc::new(Teller::default());
    *teller.orb.lock().unwrap() = Some(orb.clone());
    let account: AccountRef = poa.activate(Arc::clone(&teller)).unwrap();
    assert!(is_direct(&account, &teller));
    account.balance().unwrap();
    assert_eq!(*teller.priority.lock().unwrap(), Some(priority(77)));
    assert_eq!(orb.thread_priority(), None, "undone");
    orb.shutdown(true).unwrap();
}

#[test]
fn objects_on_lanes_run_on_their_lane_and_directly_within_it() {
    let orb = orb(Collocation::Direct);
    let lanes = [10, 20].map(|value| ThreadpoolLane::new(priority(value), 1));
    let pool = orb.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let activate = |name: &str, value: i16| {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: declared(value),
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        let poa = orb.root_poa().create_poa(name, policies).unwrap();
        let teller = Arc::new(Teller::default());
        *teller.orb.lock().unwrap() = Some(orb.clone());
        let account: AccountRef = poa.activate(Arc::clone(&teller)).unwrap();
        (teller, account)
    };
    let (low, low_account) = activate("low", 10);
    let (same, same_account) = activate("same", 10);
    let (high, high_account) = activate("high", 20);
    let ran = |teller: &Teller| teller.thread.lock().unwrap().unwrap();
    let at = |teller: &Teller| teller.priority.lock().unwrap().unwrap().get();
    // A call from a thread of the application goes through the lane.
    assert_eq!(low_account.balance(), Ok(7));
    assert_ne!(ran(&low), thread::current().id());
    assert_eq!(at(&low), 10);
    // A call from the lane to an object of the same lane runs in the same thread, the only thread of the lane.
    *low.next.lock().unwrap() = Some(same_account);
    assert_eq!(low_account.balance(), Ok(7));
    assert_eq!(ran(&same), ran(&low));
    // A call from one lane to an object of another lane runs in the other lane's thread, at its priority.
    *low.next.lock().unwrap() = Some(high_account.clone());
    assert_eq!(low_account.balance(), Ok(7));
    assert_ne!(ran(&high), ran(&low));
    assert_eq!((at(&low), at(&high)), (10, 20));
    assert!(!is_direct(&high_account, &high));
    orb.shutdown(true).unwrap();
}

/// Interception points of each side, in the order in which they were reached.
#[derive(Clone, Default)]
struct Points(Arc<Mutex<Vec<&'static str>>>);

impl Points {
    fn at(&self, point: &'static str) {
        self.0.lock().unwrap().push(point);
    }
}

impl ClientInterceptor for Points {
    fn send_request(&self, _: &mut ClientRequest<'_>) -> std::result::Result<(), Interrupt> {
        self.at("send_request");
        Ok(())
    }

    fn receive_reply(&self, _: &mut ClientReply<'_>) -> Result<()> {
        self.at("receive_reply");
        Ok(())
    }
}

impl ServerInterceptor for Points {
    fn receive_request(&self, _: &mut ServerRequest<'_>) -> std::result::Result<(), Interrupt> {
        self.at("receive_request");
        Ok(())
    }

    fn send_reply(&self, _: &mut ServerReply<'_>) -> Result<()> {
        self.at("send_reply");
        Ok(())
    }
}

#[test]
fn interceptors_see_calls_within_the_process() {
    for collocation in [Collocation::Direct, Collocation::Marshalled] {
        for (client, server) in [(true, false), (false, true), (true, true)] {
            let points = Points::default();
            let mut builder = Orb::builder().listen("iiop://127.0.0.1:0");
            let mut expected = Vec::new();
            if client {
                builder = builder.client_interceptor(points.clone());
                expected.push("send_request");
            }
            if server {
                builder = builder.server_interceptor(points.clone());
                expected.extend(["receive_request", "send_reply"]);
            }
            if client {
                expected.push("receive_reply");
            }
            let orb = builder
                .configure(move |options| options.collocation = collocation)
                .build()
                .unwrap();
            let (teller, account) = activated(&orb);
            assert!(!is_direct(&account, &teller), "they see messages");
            assert_eq!(*points.0.lock().unwrap(), expected, "{collocation:?}");
            orb.shutdown(true).unwrap();
        }
    }
}

/// Servant manager that makes a servant for every id.
struct Maker(Arc<Teller>);

impl Maker {
    fn servant(&self) -> Arc<dyn Servant> {
        <AccountRef as ServedBy<Arc<Teller>>>::servant(Arc::clone(&self.0))
    }
}

impl ServantActivator for Maker {
    fn incarnate(&self, _: &ObjectId, _: &Poa) -> std::result::Result<Arc<dyn Servant>, Refused> {
        Ok(self.servant())
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}

/// Returns the results of calls for each kind of POA and each state of its manager.
fn outcomes(collocation: Collocation) -> Vec<(&'static str, String, bool)> {
    let orb = orb(collocation);
    let mut outcomes = Vec::new();
    let teller = || {
        let teller = Arc::new(Teller::default());
        *teller.orb.lock().unwrap() = Some(orb.clone());
        teller
    };
    let poa = |name: &str, policies: Policies| {
        let manager = orb.root_poa().create_poa_manager(name).unwrap();
        let builder = orb.root_poa().new_poa(name).policies(policies);
        let poa = builder.manager(manager.clone()).create().unwrap();
        manager.activate().unwrap();
        poa
    };
    let user = Policies { id_assignment: IdAssignment::User, ..Policies::default() };
    let mut note = |what, account: &AccountRef, teller: &Teller| {
        let before = teller.text_at.swap(0, Ordering::SeqCst);
        let text = String::from("somebody");
        let told = account.set_owner(&text).map_err(|failed| (failed.kind, failed.completed));
        let direct = teller.text_at.swap(before, Ordering::SeqCst) == text.as_ptr() as usize;
        let id = account.owner().map_err(|failed| failed.kind);
        outcomes.push((
            what,
            format!("{told:?} {id:?} {:?}", account.balance().map_err(|failed| failed.kind)),
            direct,
        ));
    };

    let plain = poa("plain", user);
    let one = teller();
    let account: AccountRef = plain.activate_with_id("one", Arc::clone(&one)).unwrap();
    note("active", &account, &one);
    plain.manager().discard_requests(false).unwrap();
    note("discarding", &account, &one);
    plain.manager().activate().unwrap();
    note("active again", &account, &one);
    plain.manager().hold_requests(false).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| account.balance());
        plain.manager().activate().unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(7), "held, and then served");
    });
    plain.deactivate_id("one").unwrap();
    note("deactivated", &account, &one);
    let again = teller();
    let account: AccountRef = plain.activate_with_id("one", Arc::clone(&again)).unwrap();
    note("another of its id", &account, &again);
    plain.manager().deactivate(false, false).unwrap();
    note("inactive", &account, &again);
    plain.destroy(false, true).unwrap();
    note("destroyed", &account, &again);

    let turns = poa("turns", Policies { thread: ThreadPolicy::SingleThread, ..user });
    let one = teller();
    let account: AccountRef = turns.activate_with_id("one", Arc::clone(&one)).unwrap();
    note("one at a time", &account, &one);

    let standing = poa(
        "default",
        Policies {
            request_processing: RequestProcessing::DefaultServant,
            id_uniqueness: IdUniqueness::Multiple,
            ..user
        },
    );
    let one = teller();
    standing.set_servant(Maker(Arc::clone(&one)).servant()).unwrap();
    let account: AccountRef = standing.create_reference_with_id("any").unwrap();
    note("default servant", &account, &one);

    let made =
        poa("made", Policies { request_processing: RequestProcessing::ServantManager, ..user });
    let one = teller();
    made.set_servant_activator(Maker(Arc::clone(&one))).unwrap();
    let account: AccountRef = made.create_reference_with_id("made").unwrap();
    note("to be made", &account, &one);
    note("made", &account, &one);
    orb.shutdown(true).unwrap();
    note("at the end", &account, &one);
    outcomes
}

#[test]
fn poas_and_managers_treat_direct_calls_as_requests() {
    let (direct, marshalled) = (outcomes(Collocation::Direct), outcomes(Collocation::Marshalled));
    for ((what, outcome, _), (_, by_message, passed)) in direct.iter().zip(&marshalled) {
        assert_eq!(outcome, by_message, "{what}");
        assert!(!passed, "{what}");
    }
    let passed: Vec<_> = direct.iter().filter(|row| row.2).map(|row| row.0).collect();
    assert_eq!(passed, ["active", "active again", "another of its id", "made"]);
}
