//! Lanes with too few threads for works that wait.

use oxorb_deploy::check::Report;

use super::{declared, one_node, plain, swap, told};

/// Returns a pool with one lane, as text: `lanes 20` for priority 20.
pub(super) fn lane(priority: i16, threads: u32) -> String {
    format!(
        "[[orbConfigs.resources.threadpoolWithLanes]]\nid = \"lanes {priority}\"\nthreadpoolLane = [\
         {{ static_threads = {threads}, dynamic_threads = 0, priority = {priority} }}]\nstacksize = 0\n\
         allow_borrowing = false\nallow_request_buffering = false\nmax_buffered_requests = 0\n\
         max_request_buffered_size = 0\n"
    )
}

/// Returns a policy set for the lane of a priority, as text: `laned 20` for priority 20.
fn laned(priority: i16) -> String {
    format!(
        "[[orbConfigs.policySet]]\nid = \"laned {priority}\"\nthreadpool = \"lanes {priority}\"\n\
         priorityModel = {{ server_priority = {priority}, priority_model = \"SERVER_DECLARED\" }}\n"
    )
}

/// Wait of a work in a lane for a call or a direct event.
#[derive(Clone, Copy)]
struct Waits {
    /// Policy set of the instance that it waits for, and the node of this instance.
    other: &'static str,
    node: &'static str,
    /// Whether it pushes an event; if not, it calls a facet.
    pushes: bool,
    /// Line for the delivery of the event.
    events: &'static str,
}

/// Returns the report on two works in a lane of priority 20: `slow.update`, which may wait, and `alarm.update`.
fn waiting(threads: u32, waits: Waits) -> Report {
    let Waits { other, node, pushes, events } = waits;
    let own = match pushes {
        true => "EventPublisher = \"slow.out\"\nEventConsumer = \"other.port\"",
        false => "SimplexReceptacle = \"slow.out\"\nFacet = \"other.port\"",
    };
    let plan = one_node(
        &["rate", "slow", "clock", "alarm", "other"].map(str::to_owned),
        &format!(
            "[[connection]]\nname = \"a\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"slow.update\"\n\
             [[connection]]\nname = \"b\"\nEventPublisher = \"clock.pulse\"\nEventConsumer = \"alarm.update\"\n\
             [[connection]]\nname = \"c\"\n{own}\n"
        ),
    );
    let plan = swap(
        &plan,
        "name = \"other\"\nimplementation = \"I\"\nnode = \"n\"",
        &format!("name = \"other\"\nimplementation = \"I\"\nnode = {node:?}"),
    );
    let rest = format!(
        "{}{}{}{}\
         [[instance]]\nname = \"rate\"\npolicySet = \"p30\"\nwork = [{{ wcet = \"1 ms\", period = \"100 ms\" }}]\n\
         [[instance]]\nname = \"clock\"\npolicySet = \"p30\"\nwork = [{{ wcet = \"1 ms\", period = \"50 ms\" }}]\n\
         [[instance]]\nname = \"slow\"\npolicySet = \"laned 20\"\n{events}\n\
         work = [{{ port = \"update\", wcet = \"1 ms\" }}]\n\
         [[instance]]\nname = \"alarm\"\npolicySet = \"laned 20\"\nwork = [{{ port = \"update\", wcet = \"1 ms\" }}]\n\
         [[instance]]\nname = \"other\"\npolicySet = {other:?}\nwork = [{{ port = \"port\", wcet = \"5 ms\" }}]\n\
         [[connection]]\nname = \"c\"\ndelay = \"1 ms\"\n",
        lane(20, threads),
        lane(25, 1),
        laned(20),
        if other == "laned 25" { laned(25) } else { String::new() },
    );
    let priorities = if other == "p10" { &[10, 30][..] } else { &[30] };
    let report = plain(&plan, &declared(priorities, &rest));
    assert!(report.is_good(), "{}", told(&report));
    report
}

#[test]
fn a_lane_needs_more_threads_than_works_that_wait() {
    let warning = |threads: u32| {
        format!(
            "lane 20 of pool \"lanes 20\" has {threads} thread in process main of node \"n\", and these works may hold \
             as many while they wait for calls, direct events or less urgent work: slow.update. Thus alarm.update may \
             wait for a thread, which no bound contains: the deadlines that this delays are not proved; set its \
             static_threads to 2, or push direct events through a channel (events = \"channel\")"
        )
    };
    let call = Waits { other: "p30", node: "m", pushes: false, events: "" };
    let push = Waits { pushes: true, ..call };
    for waits in [
        // For another node, or for less urgent work.
        call,
        push,
        Waits { other: "p10", node: "n", ..call },
        Waits { other: "p10", node: "n", ..push },
    ] {
        let report = waiting(1, waits);
        assert!(told(&report).contains(&warning(1)), "{}", told(&report));
        let timing = report.timing.unwrap();
        let alarm =
            timing.chains.iter().find(|chain| chain.steps.ends_with(&["alarm.update".into()]));
        let alarm = alarm.unwrap();
        assert_eq!(alarm.unproved.as_deref(), Some("the threads of lane 20 of pool \"lanes 20\""));
        assert!(alarm.fits() && !alarm.meets() && !timing.is_safe());
        // With another thread, the alarm does not wait.
        let report = waiting(2, waits);
        assert_eq!(told(&report), "");
        assert!(report.timing.unwrap().is_safe());
    }
}

#[test]
fn a_wait_that_the_bounds_contain_needs_no_thread() {
    let call = Waits { other: "p30", node: "n", pushes: false, events: "" };
    for waits in [
        // In the same thread, or in a thread of another lane that is more urgent.
        call,
        Waits { other: "laned 20", ..call },
        Waits { other: "laned 25", ..call },
        Waits { other: "laned 25", pushes: true, ..call },
        // The thread of a channel waits for the less urgent consumer.
        Waits { other: "p10", pushes: true, events: "events = \"channel\"", ..call },
    ] {
        let report = waiting(1, waits);
        assert!(!told(&report).contains("thread"), "{}", told(&report));
        assert!(report.timing.unwrap().is_safe());
    }
}

#[test]
fn a_call_back_into_a_lane_needs_a_thread_of_its_own() {
    let names = ["rate", "asker", "other", "answerer"].map(str::to_owned);
    let plan = one_node(
        &names,
        "[[connection]]\nname = \"a\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"asker.update\"\n\
         [[connection]]\nname = \"b\"\nSimplexReceptacle = \"asker.ask\"\nFacet = \"other.facet\"\n\
         [[connection]]\nname = \"c\"\nSimplexReceptacle = \"other.back\"\nFacet = \"answerer.facet\"\n",
    );
    let report = |threads: u32| {
        let rest = format!(
            "{}{}{}{}\
             [[instance]]\nname = \"rate\"\npolicySet = \"p30\"\nwork = [{{ wcet = \"1 ms\", period = \"100 ms\" }}]\n\
             [[instance]]\nname = \"asker\"\npolicySet = \"laned 20\"\n\
             work = [{{ port = \"update\", wcet = \"1 ms\" }}]\n\
             [[instance]]\nname = \"other\"\npolicySet = \"laned 25\"\n\
             work = [{{ port = \"facet\", wcet = \"1 ms\", calls = [\"back\"] }}]\n\
             [[instance]]\nname = \"answerer\"\npolicySet = \"laned 20\"\n\
             work = [{{ port = \"facet\", wcet = \"1 ms\" }}]\n",
            lane(20, threads),
            lane(25, 1),
            laned(20),
            laned(25),
        );
        plain(&plan, &declared(&[30], &rest))
    };
    let alone = report(1);
    let warning =
        "less urgent work: answerer.facet, asker.update. Thus answerer.facet may wait for a thread";
    assert!(told(&alone).contains(warning), "{}", told(&alone));
    assert!(!alone.timing.unwrap().is_safe());
    let two = report(2);
    assert_eq!(told(&two), "");
    assert!(two.timing.unwrap().is_safe());
}
