//! Delivery of events: direct, through the channel of the process, or by a carrier of the executable.

use oxorb_deploy::check::Report;
use oxorb_deploy::{Document, Format, Limits};

use super::threads::lane;
use super::{declared, one_node, plain, response, swap, told};

/// Returns the report on a source on node `n` that pushes to a slow consumer on `slow` and then to an urgent one.
fn pushed(slow: &str, events: &str) -> Report {
    let names = ["rate", "slow", "alarm"].map(str::to_owned);
    let plan = one_node(
        &names,
        "[[connection]]\nname = \"c\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"slow.update\"\n\
         [[connection]]\nname = \"d\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"alarm.update\"\n",
    );
    let plan = swap(
        &plan,
        "name = \"slow\"\nimplementation = \"I\"\nnode = \"n\"",
        &format!("name = \"slow\"\nimplementation = \"I\"\nnode = {slow:?}"),
    );
    let rest = format!(
        "[[instance]]\nname = \"rate\"\npolicySet = \"p30\"\n{events}\nwork = [{{ wcet = \"1 ms\", period = \"50 ms\" }}]\n\
         [[instance]]\nname = \"slow\"\npolicySet = \"p10\"\nwork = [{{ port = \"update\", wcet = \"20 ms\" }}]\n\
         [[instance]]\nname = \"alarm\"\npolicySet = \"p20\"\nwork = [{{ port = \"update\", wcet = \"2 ms\" }}]\n\
         [[connection]]\nname = \"c\"\ndelay = \"3 ms\"\n"
    );
    let report = plain(&plan, &declared(&[10, 20, 30], &rest));
    assert!(report.is_good(), "{}", told(&report));
    let chains = &report.timing.as_ref().unwrap().chains;
    // The chain starts at the source, although the job of the other consumer comes between the two.
    assert_eq!(chains[2].steps, ["rate", "alarm.update"]);
    report
}

#[test]
fn what_is_pushed_directly_follows_the_consumers_before_it() {
    let alarm = |slow, events| response(&pushed(slow, events), "alarm.update");
    // The alarm waits 1 ms for the source and 20 ms for the less urgent consumer, and takes 2 ms itself.
    for events in ["", "events = \"direct\""] {
        assert_eq!(alarm("n", events), Some(23_000_000), "{events}");
    }
    // The threads of a channel push by priority, so the alarm does not wait for the less urgent consumer.
    let channel = "events = \"channel\"";
    assert_eq!(alarm("n", channel), Some(3_000_000));
    let slow = response(&pushed("n", channel), "slow.update");
    assert_eq!(slow, Some(23_000_000));
    // If the other consumer is on another node, a message there and one back take 3 ms each.
    assert_eq!(alarm("m", ""), Some(29_000_000));
    assert_eq!(alarm("m", channel), Some(3_000_000));
}

#[test]
fn deadlines_that_depend_on_the_channel_of_an_executable_are_not_proved() {
    let report = pushed("n", "events = \"executable\"");
    let timing = report.timing.as_ref().unwrap();
    assert!(timing.chains.iter().all(|chain| chain.fits() && !chain.meets()), "{timing:?}");
    assert!(!timing.is_safe());
    let warning = "warning: the bounds assume that the carrier of the executable pushes the events of rate to each \
        consumer at once, in a thread of the consumer's priority, which nothing ensures: no deadline of this plan is \
        proved; use events = \"channel\" or ";
    assert!(told(&report).contains(warning), "{}", told(&report));
    for events in ["direct", "channel"] {
        let report = pushed("n", &format!("events = {events:?}"));
        assert_eq!(told(&report), "", "{events}");
        assert!(report.timing.unwrap().is_safe(), "{events}");
    }
}

/// Returns the report on a source at priority 30 whose channel pushes to a consumer with these policies.
fn carried(policies: &str) -> Report {
    let plan = one_node(
        &["rate".into(), "logger".into()],
        "[[connection]]\nname = \"c\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"logger.update\"\n",
    );
    let rest = format!(
        "{}[[orbConfigs.policySet]]\nid = \"own\"\n{policies}\n\
         [[instance]]\nname = \"rate\"\npolicySet = \"p30\"\nevents = \"channel\"\n\
         work = [{{ wcet = \"1 ms\", period = \"50 ms\" }}]\n\
         [[instance]]\nname = \"logger\"\npolicySet = \"own\"\nwork = [{{ port = \"update\", wcet = \"1 ms\" }}]\n",
        lane(20, 2)
    );
    plain(&plan, &declared(&[30], &rest))
}

#[test]
fn a_channel_pushes_at_the_priority_that_the_consumer_declares() {
    let model = |priority: i16| {
        format!(
            "priorityModel = {{ server_priority = {priority}, priority_model = \"CLIENT_PROPAGATED\" }}\n\
             threadpool = \"lanes 20\""
        )
    };
    let report = carried(&model(20));
    assert_eq!(told(&report), "");
    let timing = report.timing.unwrap();
    assert_eq!((timing.chains[1].priority, timing.is_safe()), (Some(20), true));
    // No lane has the priority.
    let report = carried(&model(10));
    assert!(
        told(&report).contains("\"rate\" calls \"logger\" at priority 10, "),
        "{}",
        told(&report)
    );
}

#[test]
fn the_deadlines_of_consumers_that_declare_no_priority_are_not_proved() {
    let pool = "[[orbConfigs.resources.threadpool]]\nid = \"pool\"\nstatic_threads = 1\ndynamic_threads = 0\n\
        default_priority = 20\nstacksize = 0\nallow_request_buffering = false\nmax_buffered_requests = 0\n\
        max_request_buffered_size = 0";
    let report = carried(&format!("threadpool = \"pool\"\n{pool}"));
    let warning = "the bounds assume that logger receives events at the priority 20 of its pool, but a channel pushes \
        them in an ordinary thread, because its policy set has no priority model: its deadlines are not proved; add a \
        priorityModel to the policy set";
    assert!(told(&report).contains(warning), "{}", told(&report));
    assert!(!report.timing.unwrap().is_safe());
}

#[test]
fn a_caller_waits_for_what_is_pushed_by_what_it_calls() {
    let names = ["user", "server", "logger"].map(str::to_owned);
    let plan = one_node(
        &names,
        "[[connection]]\nname = \"c\"\nSimplexReceptacle = \"user.source\"\nFacet = \"server.facet\"\n\
         [[connection]]\nname = \"d\"\nEventPublisher = \"server.done\"\nEventConsumer = \"logger.update\"\n",
    );
    let rt = |events: &str| {
        let rest = format!(
            "[[instance]]\nname = \"user\"\npolicySet = \"p30\"\nwork = [{{ wcet = \"1 ms\", period = \"50 ms\" }}]\n\
             [[instance]]\nname = \"server\"\npolicySet = \"p30\"\n{events}\n\
             work = [{{ port = \"facet\", wcet = \"2 ms\", emits = [\"done\"] }}]\n\
             [[instance]]\nname = \"logger\"\npolicySet = \"p10\"\nwork = [{{ port = \"update\", wcet = \"20 ms\" }}]\n"
        );
        declared(&[10, 30], &rest)
    };
    assert_eq!(response(&plain(&plan, &rt("")), "user"), Some(23_000_000));
    let handed = plain(&plan, &rt("events = \"channel\""));
    assert_eq!(response(&handed, "user"), Some(3_000_000));
}

#[test]
fn events_that_are_neither_direct_nor_by_a_channel_are_refused() {
    let text = "document = \"ServerResources\"\n[[instance]]\nname = \"a\"\nevents = \"fast\"\n";
    let told = Document::read(text, Format::Toml, &Limits::default());
    let told = told.unwrap_err().to_string();
    assert!(
        told.starts_with(
            "4:1: error: \"fast\" is not a <events>; expected one of direct, channel, executable"
        ),
        "{told}"
    );
}
