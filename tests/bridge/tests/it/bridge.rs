//! Clients, a bridge and a server, each an ORB, with different protocols on the two sides of the bridge.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::bridge::{Bridge, Interfaces};
use oxorb::ior::{CodeSetComponentInfo, Ior, TaggedComponent, Version};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{Qos, RelativeRoundtripTimeout, RequestQos};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, current_qos};
use oxorb::values::{ByteOrder, CharSet};
use oxorb::{Builder, CompletionStatus, Interface, Orb, SystemExceptionKind, minor};
use oxorb_bridge_tests::parts::part::{EntitleError, FailError, RenameError};
use oxorb_bridge_tests::parts::{Broken, Listener, ListenerRef, Pair, Part, PartRef, Untitled};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_ifr::types::Types;
use oxorb_testkit::net::free_port;
use oxorb_testkit::{until, watchdog};

pub(crate) const LONG: Duration = Duration::from_secs(120);
pub(crate) const TCP: &str = "iiop://127.0.0.1:0";

/// Servant of the server.
#[derive(Default)]
struct Counting {
    noted: AtomicI64,
    orb: Mutex<Option<Orb>>,
}

impl Counting {
    fn orb(&self) -> Orb {
        self.orb.lock().unwrap().clone().unwrap()
    }
}

impl Part for Counting {
    fn sum(&self, all: &[f64]) -> oxorb::Result<(f64, String)> {
        Ok((all.iter().sum(), format!("{} of them", all.len())))
    }

    fn wide(&self, text: &str) -> oxorb::Result<String> {
        Ok(text.to_owned())
    }

    fn echo<'a>(&'a self, all: &'a [u8]) -> oxorb::Result<Cow<'a, [u8]>> {
        Ok(all.into())
    }

    fn fail(&self, when: i64) -> Result<(), FailError> {
        match when {
            0 => Err(oxorb::SystemException::no_resources(7, CompletionStatus::Maybe).into()),
            when => Err(Broken { when, why: "it is old".into() }.into()),
        }
    }

    fn note(&self, word: &str) {
        self.noted.fetch_add(word.len() as i64, SeqCst);
    }

    fn noted(&self) -> oxorb::Result<i64> {
        Ok(self.noted.load(SeqCst))
    }

    fn slow(&self, milliseconds: u32) -> oxorb::Result<i64> {
        thread::sleep(Duration::from_millis(milliseconds.into()));
        Ok(1)
    }

    fn priority(&self) -> oxorb::Result<i16> {
        Ok(self.orb().thread_priority().map_or(-1, |it| it.get()))
    }

    fn importance(&self) -> oxorb::Result<i32> {
        Ok(current_qos().map_or(-1, |qos| qos.importance))
    }

    fn tell(&self, to: Option<&ListenerRef>, word: &str) -> oxorb::Result<i32> {
        to.map_or(Ok(-1), |to| to.hear(word))
    }

    fn listeners(&self, all: &[Pair]) -> oxorb::Result<Vec<Pair>> {
        Ok(all.to_vec())
    }

    fn another(&self) -> oxorb::Result<Option<PartRef>> {
        let orb = self.orb();
        let more = Counting { orb: Mutex::new(Some(orb.clone())), ..Counting::default() };
        Ok(Some(orb.root_poa().activate(more).unwrap()))
    }

    fn title(&self) -> oxorb::Result<String> {
        Ok("a part".to_owned())
    }

    fn name_of(&self, who: Option<&ListenerRef>) -> oxorb::Result<String> {
        Ok(if who.is_some() { "somebody" } else { "nobody" }.to_owned())
    }

    fn entitle(&self) -> Result<(), EntitleError> {
        Err(Untitled { why: "it has a title".into() }.into())
    }

    fn rename(&self, _: Option<&ListenerRef>) -> Result<(), RenameError> {
        Err(Untitled { why: "it has no title".into() }.into())
    }
}

/// Servant of the client.
pub(crate) struct Ear;

impl Listener for Ear {
    fn hear(&self, word: &str) -> oxorb::Result<i32> {
        Ok(word.len() as i32)
    }
}

pub(crate) fn listening(endpoint: &str) -> Builder {
    Orb::builder().listen(endpoint)
}

/// Serves an object whose requests run at the priorities of its callers.
pub(crate) fn serve(builder: Builder) -> (Orb, PartRef) {
    let orb = builder.build().unwrap();
    let callers =
        PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 0 };
    let policies = Policies {
        realtime: RtPolicies { priority_model: Some(callers), ..RtPolicies::default() },
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("served", policies).unwrap();
    let servant = Counting { orb: Mutex::new(Some(orb.clone())), ..Counting::default() };
    let part = poa.activate(servant).unwrap();
    (orb, part)
}

/// Server, bridge and client.
struct Chain {
    server: Orb,
    middle: Orb,
    bridge: Bridge,
    client: Orb,
    part: PartRef,
}

fn chain(before: &str, server: Builder, client: Builder, interfaces: Interfaces) -> Chain {
    chain_over(listening(before).listen(TCP), server, client, interfaces)
}

/// Returns a chain with the given ORB of the bridge.
fn chain_over(middle: Builder, server: Builder, client: Builder, interfaces: Interfaces) -> Chain {
    let (server, there) = serve(server);
    let middle = middle.build().unwrap();
    let bridge = Bridge::new(&middle, interfaces).unwrap();
    let here = bridge.open("Part", &there.to_ior()).unwrap();
    let client = client.build().unwrap();
    // Keeps only the profile of the first protocol.
    let mut ior = here.reference().ior().clone();
    ior.profiles.truncate(1);
    let part = client.resolve(&ior.to_string()).unwrap();
    Chain { server, middle, bridge, client, part }
}

impl Chain {
    fn end(self) {
        for orb in [&self.client, &self.middle, &self.server] {
            orb.shutdown(true).unwrap();
        }
        self.bridge.close();
    }
}

/// Makes the calls that every bridge must pass on.
pub(crate) fn use_it(part: &PartRef) {
    let (sum, text) = part.sum(&[1.5, 2.25, -0.75]).unwrap();
    assert_eq!((sum, text.as_str()), (3.0, "3 of them"));
    let large: Vec<u8> = (0..3_000_000_u32).map(|it| (it * 7) as u8).collect();
    assert!(part.echo(&large).unwrap() == large);
    assert!(part.echo(&[]).unwrap().is_empty());
    match part.fail(1 << 40) {
        Err(FailError::Broken(broken)) => {
            assert_eq!((broken.when, broken.why.as_str()), (1 << 40, "it is old"));
        }
        other => panic!("{other:?}"),
    }
    match part.fail(0) {
        Err(FailError::System(system)) => {
            assert_eq!(system.kind, SystemExceptionKind::NoResources);
            assert_eq!((system.minor, system.completed), (7, CompletionStatus::Maybe));
        }
        other => panic!("{other:?}"),
    }
    let before = part.noted().unwrap();
    for _ in 0..10 {
        part.note("five!").unwrap();
    }
    let begun = Instant::now();
    while part.noted().unwrap() < before + 50 {
        assert!(begun.elapsed() < LONG / 2, "oneways are lost");
    }
    assert!(part.is_a("IDL:Parts/Part:1.0").unwrap());
    assert!(!part.is_a("IDL:Parts/Listener:1.0").unwrap());
    assert!(!part.non_existent().unwrap());
}

#[test]
fn requests_go_on_from_each_protocol_to_each_unread() {
    let _guard = watchdog(LONG);
    let names = ["iiop://127.0.0.1:0", "uiop://", "shm://"];
    for before in names {
        for behind in names {
            let chain = chain(before, listening(behind), Orb::builder(), Interfaces::default());
            use_it(&chain.part);
            // The bridge counts a oneway after it has sent it, so the server may have it earlier.
            until("all oneways count", || chain.bridge.statistics().oneways == 10);
            let counted = chain.bridge.statistics();
            assert!(counted.answered > 5, "{counted:?}");
            assert_eq!((counted.failed, counted.rewritten), (1, 0), "{before} {behind}");
            chain.end();
        }
    }
}

#[test]
fn values_that_lie_elsewhere_are_read_and_written_anew_where_types_are_known() {
    let _guard = watchdog(LONG);
    let light = "giop-lite-rt+tcp://127.0.0.1:0";
    for (before, behind) in [(light, TCP), (TCP, light), (light, light), (light, "shm://")] {
        let chain = chain(before, listening(behind), Orb::builder(), parts());
        use_it(&chain.part);
        chain.end();
    }
    for version in [Version::V1_0, Version::V1_1] {
        let client = Orb::builder().max_giop(version);
        let chain = chain(TCP, listening(TCP), client, parts());
        use_it(&chain.part);
        assert!(chain.bridge.statistics().rewritten > 0);
        chain.end();
    }
}

#[test]
fn both_byte_orders_go_on_and_come_back() {
    let _guard = watchdog(LONG);
    let orders = [ByteOrder::Big, ByteOrder::Little];
    for (from, to) in orders.into_iter().flat_map(|from| orders.map(|to| (from, to))) {
        let client = Orb::builder().byte_order(from);
        let chain = chain("uiop://", listening(TCP).byte_order(to), client, Interfaces::default());
        use_it(&chain.part);
        let text = "weit: \u{20ac}";
        assert_eq!(chain.part.wide(text).unwrap(), text);
        chain.end();
    }
}

#[test]
fn values_that_lie_elsewhere_are_refused_where_types_are_unknown() {
    let _guard = watchdog(LONG);
    for version in [Version::V1_0, Version::V1_1] {
        let client = Orb::builder().max_giop(version);
        let chain = chain(TCP, listening(TCP), client, Interfaces::default());
        // GIOP 1.0 negotiates no code sets, GIOP 1.1 encodes wide text differently, and in requests of both, values of
        // eight octets can begin elsewhere.
        let refused = chain.part.sum(&[1.5, 2.5]).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Marshal);
        assert_eq!(refused.minor, minor::marshal::NOT_ALIKE);
        assert_eq!(refused.completed, CompletionStatus::No);
        let ran = chain.part.noted().unwrap_err();
        assert_eq!((ran.minor, ran.completed), (refused.minor, CompletionStatus::Yes));
        let counted = chain.bridge.statistics();
        assert_eq!((counted.answered, counted.failed), (0, 2), "{counted:?}");
        chain.end();
    }
}

#[test]
fn replies_that_cannot_be_passed_on_count_as_failed() {
    let _guard = watchdog(LONG);
    let client = Orb::builder().max_giop(Version::V1_0);
    let chain = chain(TCP, listening(TCP), client, parts());
    // The server has answered all requests, and GIOP 1.0 has no wide text. The second operation of each kind has a
    // reference among its arguments, so that its request is decoded before it is passed on.
    for refused in [chain.part.title(), chain.part.name_of(None)] {
        assert_eq!(refused.unwrap_err().completed, CompletionStatus::Yes);
    }
    let counted = chain.bridge.statistics();
    assert_eq!((counted.answered, counted.failed, counted.rewritten), (0, 2, 2), "{counted:?}");
    match chain.part.entitle() {
        Err(EntitleError::System(refused)) => assert_eq!(refused.completed, CompletionStatus::Yes),
        other => panic!("{other:?}"),
    }
    match chain.part.rename(None) {
        Err(RenameError::System(refused)) => assert_eq!(refused.completed, CompletionStatus::Yes),
        other => panic!("{other:?}"),
    }
    let counted = chain.bridge.statistics();
    assert_eq!((counted.answered, counted.failed, counted.rewritten), (0, 4, 4), "{counted:?}");
    chain.end();
}

#[test]
fn code_sets_that_differ_are_refused_by_name() {
    let _guard = watchdog(LONG);
    // The bridge and the server agree on the native code set of the server, client and bridge on that of the bridge.
    for (native, passes) in [(CharSet::Utf8, false), (CharSet::Iso8859_1, true)] {
        let server = listening(TCP).native_chars(CharSet::Iso8859_1);
        let middle = listening(TCP).native_chars(native);
        let chain = chain_over(middle, server, Orb::builder(), Interfaces::default());
        match chain.part.sum(&[1.0]) {
            Ok((sum, _)) => assert!(passes && sum == 1.0, "{native:?}: {sum}"),
            Err(refused) => {
                assert!(!passes, "{native:?}: {refused}");
                assert_eq!(refused.minor, minor::marshal::NOT_ALIKE);
                assert_eq!(refused.completed, CompletionStatus::No);
            }
        }
        chain.end();
    }
}

#[test]
fn values_of_unknown_types_reach_targets_of_giop_1_0_if_code_sets_are_equal() {
    let _guard = watchdog(LONG);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        // Text of GIOP 1.0 is ISO 8859-1, so the bridge and its client have to agree on that.
        for (native, passes) in [(CharSet::Utf8, false), (CharSet::Iso8859_1, true)] {
            let server = listening(TCP).max_giop(Version::V1_0);
            let client = Orb::builder().byte_order(order);
            let middle = listening(TCP).native_chars(native);
            let chain = chain_over(middle, server, client, Interfaces::default());
            if passes {
                // The names of the operations have different lengths, and with them the headers of the requests.
                use_it(&chain.part);
                assert_eq!(chain.part.slow(1).unwrap(), 1);
                assert_eq!(chain.part.sum(&[1e300; 1000]).unwrap().1, "1000 of them");
                assert_eq!(chain.bridge.statistics().rewritten, 0);
                assert!(chain.part.wide("w").is_err(), "GIOP 1.0 has no wide text");
            } else {
                let refused = chain.part.sum(&[1.5]).unwrap_err();
                assert_eq!(refused.minor, minor::marshal::NOT_ALIKE);
                assert_eq!(refused.completed, CompletionStatus::No);
            }
            chain.end();
        }
    }
}

#[test]
fn values_of_unknown_types_do_not_reach_targets_of_giop_1_1_with_wide_text() {
    let _guard = watchdog(LONG);
    // The same octets are other wide text there, and only types say whether there is wide text.
    for (interfaces, passes) in [(Interfaces::default(), false), (parts(), true)] {
        let server = listening(TCP).max_giop(Version::V1_1);
        let chain = chain(TCP, server, Orb::builder(), interfaces);
        match chain.part.sum(&[1.5]) {
            Ok((sum, _)) => assert!(passes && sum == 1.5, "{sum}"),
            Err(refused) => {
                assert!(!passes, "{refused}");
                assert_eq!(refused.minor, minor::marshal::NOT_ALIKE);
                assert_eq!(refused.completed, CompletionStatus::No);
            }
        }
        chain.end();
    }
}

/// Servant that counts requests, and answers each without results.
struct Reached(Arc<AtomicI64>);

impl oxorb::Servant for Reached {
    fn repository_id(&self) -> &str {
        "IDL:Parts/Part:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        self.0.fetch_add(1, SeqCst);
        upcall.done()
    }
}

#[test]
fn wide_text_of_a_known_operation_does_not_reach_a_target_without_a_code_set_for_it() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let reached = Arc::new(AtomicI64::new(0));
    let servant = Arc::new(Reached(reached.clone()));
    let there = server.root_poa().activate_servant(servant).unwrap();
    // The target's reference names code sets, but none for wide text.
    let mut sets = CodeSetComponentInfo::ours();
    sets.for_wchar_data = Default::default();
    let sets = TaggedComponent::code_sets(&sets);
    let mut profile = there.ior().iiop_profiles().next().unwrap();
    profile.components.retain(|component| component.tag != sets.tag);
    profile.components.push(sets);
    let ior = Ior { type_id: there.ior().type_id.clone(), profiles: vec![profile.to_profile()] };

    let middle = listening(TCP).build().unwrap();
    let bridge = Bridge::new(&middle, parts()).unwrap();
    let here = bridge.open("Part", &ior.to_string()).unwrap();
    let client = Orb::builder().build().unwrap();
    let part: PartRef = client.resolve(&here.to_ior()).unwrap();
    let refused = part.wide("weit").unwrap_err();
    assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
    assert_eq!((reached.load(SeqCst), bridge.statistics().rewritten), (0, 1));
    part.fail(1).unwrap();
    let counted = bridge.statistics();
    assert_eq!((reached.load(SeqCst), counted.rewritten), (1, 1), "{counted:?}");
    for orb in [&client, &middle, &server] {
        orb.shutdown(true).unwrap();
    }
    bridge.close();
}

#[test]
fn priorities_and_what_calls_are_worth_go_on() {
    let _guard = watchdog(LONG);
    for before in ["uiop://", TCP] {
        let chain = chain(before, listening(TCP), Orb::builder(), Interfaces::default());
        for asked in [300, 12] {
            chain.client.set_thread_priority(Priority::new(asked).unwrap()).unwrap();
            assert_eq!(chain.part.priority().unwrap(), asked, "{before}");
        }
        let said = Qos { importance: 7, ..Qos::default() };
        assert_eq!(chain.part.with(RequestQos(said)).importance().unwrap(), 7, "{before}");
        assert_eq!(chain.part.importance().unwrap(), -1, "and of no other call");
        chain.end();
    }
}

#[test]
fn time_limits_go_on() {
    let _guard = watchdog(LONG);
    let chain = chain("uiop://", listening(TCP), Orb::builder(), Interfaces::default());
    let hurried = chain.part.with(RelativeRoundtripTimeout(Duration::from_millis(100)));
    let late = hurried.slow(2000).unwrap_err();
    assert_eq!(late.kind, SystemExceptionKind::Timeout);
    assert_eq!(chain.part.slow(1).unwrap(), 1, "and nobody else waits");
    chain.end();
}

#[test]
fn either_side_may_restart() {
    let _guard = watchdog(LONG);
    let server_at = format!("iiop://127.0.0.1:{}", free_port());
    let bridge_at = format!("iiop://127.0.0.1:{}", free_port());
    let start_server = || {
        let orb = listening(&server_at).build().unwrap();
        let poa = orb
            .root_poa()
            .create_poa(
                "parts",
                oxorb::poa::Policies {
                    lifespan: oxorb::poa::Lifespan::Persistent,
                    id_assignment: oxorb::poa::IdAssignment::User,
                    ..oxorb::poa::Policies::default()
                },
            )
            .unwrap();
        let servant = Counting::default();
        *servant.orb.lock().unwrap() = Some(orb.clone());
        let part: PartRef = poa.activate_with_id("one", servant).unwrap();
        (orb, part.to_ior())
    };
    let start_bridge = |ior: &str| {
        let orb = listening(&bridge_at).build().unwrap();
        let bridge = Bridge::new(&orb, Interfaces::default()).unwrap();
        let here = bridge.open("Part", ior).unwrap().to_ior();
        (orb, bridge, here)
    };
    let (mut server, ior) = start_server();
    let (middle, bridge, here) = start_bridge(&ior);
    let client = Orb::builder().build().unwrap();
    let part: PartRef = client.resolve(&here).unwrap();
    assert_eq!(part.noted().unwrap(), 0);

    server.shutdown(true).unwrap();
    let gone = part.noted().unwrap_err();
    let kinds = [SystemExceptionKind::Transient, SystemExceptionKind::CommFailure];
    assert!(kinds.contains(&gone.kind), "{gone}");
    (server, _) = start_server();
    assert_eq!(part.noted().unwrap(), 0, "the server is there again");

    middle.shutdown(true).unwrap();
    bridge.close();
    let (middle, bridge, again) = start_bridge(&ior);
    assert_eq!(again, here, "names are good across restarts");
    assert_eq!(part.noted().unwrap(), 0, "the bridge is there again");
    for orb in [&client, &middle, &server] {
        orb.shutdown(true).unwrap();
    }
    bridge.close();
}

pub(crate) fn parts() -> Interfaces {
    interfaces(include_bytes!("../../idl/parts.idl"))
}

/// Returns the interfaces that IDL declares.
pub(crate) fn interfaces(idl: &[u8]) -> Interfaces {
    let files = SourceMap::new(Memory([("all.idl".into(), idl.to_vec())].into()));
    let compiled = oxorb_idl::compile_from(files, &["all.idl"], &Default::default());
    let types = Types::new(compiled.unwrap_or_else(|failed| panic!("{failed}")).model);
    let mut known = Interfaces::default();
    for def in types.interfaces() {
        let interface = types.interface_of(def.id).unwrap();
        known.add(&interface.repository_id, interface.operations);
    }
    known
}

#[test]
fn references_that_pass_lead_back_through_the_bridge() {
    let _guard = watchdog(LONG);
    // The client listens on UNIX sockets only, the server on TCP only.
    let chain = chain("uiop://", listening(TCP), listening("uiop://"), parts());
    let ear: ListenerRef = chain.client.root_poa().activate(Ear).unwrap();
    assert_eq!(chain.part.tell(Some(&ear), "callback").unwrap(), 8);
    assert_eq!(chain.part.tell(None, "nobody").unwrap(), -1);

    // Returned references equal those passed.
    let all = [("one", Some(ear.clone())), ("none", None)]
        .map(|(name, who)| Pair { name: name.into(), who });
    let back = chain.part.listeners(&all).unwrap();
    assert_eq!(back[0].who.as_ref().unwrap().to_ior(), ear.to_ior());
    assert!(back[1].who.is_none());

    // An object created by the server is replaced by one of the bridge.
    let another = chain.part.another().unwrap().unwrap();
    let server_port = |ior: &str| ior.to_owned();
    assert_ne!(server_port(&another.to_ior()), "");
    another.note("seven77").unwrap();
    let begun = Instant::now();
    while another.noted().unwrap() < 7 {
        assert!(begun.elapsed() < LONG / 2);
    }
    assert_eq!(another.tell(Some(&ear), "ear").unwrap(), 3);
    let counted = chain.bridge.statistics();
    assert_eq!((counted.rewritten, counted.references), (5, 2), "{counted:?}");
    // Operations without references are not parsed.
    assert!(counted.answered > counted.rewritten - 1);
    chain.end();
}

#[test]
fn without_types_references_lead_past_the_bridge() {
    let _guard = watchdog(LONG);
    let chain = chain("uiop://", listening(TCP), listening(TCP), Interfaces::default());
    let ear: ListenerRef = chain.client.root_poa().activate(Ear).unwrap();
    let back =
        chain.part.listeners(&[Pair { name: "one".into(), who: Some(ear.clone()) }]).unwrap();
    assert_eq!(back[0].who.as_ref().unwrap().to_ior(), ear.to_ior());
    assert_eq!(chain.part.tell(Some(&ear), "direct").unwrap(), 6);
    assert_eq!(chain.bridge.statistics().rewritten, 0);
    chain.end();
}

#[test]
fn a_query_about_a_target_that_cannot_be_reached_is_an_exception() {
    let _guard = watchdog(LONG);
    let Chain { server, middle, bridge, client, part } =
        chain(TCP, listening(TCP), Orb::builder(), Interfaces::default());
    server.shutdown(true).unwrap();
    let failed = part.is_a("IDL:Parts/Listener:1.0").unwrap_err();
    let kinds = [SystemExceptionKind::Transient, SystemExceptionKind::CommFailure];
    assert!(kinds.contains(&failed.kind), "{failed}");
    assert_eq!(bridge.statistics().failed, 1);
    for orb in [&client, &middle] {
        orb.shutdown(true).unwrap();
    }
    bridge.close();
}

#[test]
fn a_target_that_leads_to_the_bridge_itself_is_an_exception() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let orb = listening(TCP).build().unwrap();
    let bridge = Bridge::new(&orb, Interfaces::default()).unwrap();
    // The target forwards every request to the bridge's object for this target.
    let here: Arc<Mutex<Option<oxorb::Ref>>> = Arc::default();
    let forwards = Forwards(here.clone());
    let target = server.root_poa().activate_servant(Arc::new(forwards)).unwrap();
    let object = bridge.open("Part", &target.ior().to_string()).unwrap();
    *here.lock().unwrap() = Some(object.reference().clone());
    let client = Orb::builder().build().unwrap();
    let part: PartRef = client.resolve(&object.to_ior()).unwrap();
    let looped = part.noted().unwrap_err();
    assert_eq!(looped.kind, SystemExceptionKind::Transient, "{looped}");
    for orb in [&client, &orb, &server] {
        orb.shutdown(true).unwrap();
    }
    bridge.close();
}

pub(crate) struct Forwards(pub(crate) Arc<Mutex<Option<oxorb::Ref>>>);

impl oxorb::Servant for Forwards {
    fn repository_id(&self) -> &str {
        "IDL:Parts/Part:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        let to = self.0.lock().unwrap().clone();
        upcall.forward(&to.expect("it is there"))
    }
}

#[test]
fn many_clients_at_once_lose_nothing() {
    let _guard = watchdog(LONG);
    let chain = chain("shm://", listening(TCP), Orb::builder(), Interfaces::default());
    let part = Arc::new(chain.part.clone());
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let part = part.clone();
            thread::spawn(move || {
                for round in 0..100 {
                    let all = vec![f64::from(number); round % 50];
                    let (sum, _) = part.sum(&all).unwrap();
                    assert_eq!(sum, f64::from(number) * (round % 50) as f64);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(chain.bridge.statistics().answered, 800);
    chain.end();
}
