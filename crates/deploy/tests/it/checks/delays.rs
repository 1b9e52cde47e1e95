//! Delays of work: calls to another node, less urgent work that holds a resource, and overruns of its own chain.

use super::{checked, declared, one_node, plain, response, swap, text, told};

#[test]
fn calls_to_another_node_suspend_the_caller() {
    let two = swap(
        &text("avionics.toml"),
        "name = \"gps\"\nimplementation = \"Gps\"\nnode = \"cockpit\"",
        "name = \"gps\"\nimplementation = \"Gps\"\nnode = \"nose\"",
    );
    let rt = |delay: &str| {
        format!(
            "document = \"ServerResources\"\n\
             [[instance]]\nname = \"rate\"\nwork = [{{ wcet = \"1 ms\", period = \"10 Hz\" }}]\n\
             [[instance]]\nname = \"gps\"\nwork = [{{ port = \"refresh\", wcet = \"2 ms\" }}, {{ port = \"location\", wcet = \"3 ms\" }}]\n\
             [[instance]]\nname = \"navigation\"\nwork = [{{ port = \"update\", wcet = \"4 ms\" }}]\n{delay}"
        )
    };
    let delays = "[[connection]]\nname = \"pulse\"\ndelay = \"1 ms\"\n[[connection]]\nname = \"position ready\"\ndelay = \"1 ms\"\n\
        [[connection]]\nname = \"position\"\ndelay = \"1 ms\"\n";
    let report = checked(&two, Some(&rt(delays)));
    assert_eq!(told(&report), "");
    // The works and messages of the chain take 1, 1, 2, 1 and 4 ms. The call takes 1 ms there, 3 ms with at most 2 ms
    // of `refresh`, and 1 ms back. The rate generator may run a second time before the display, on the same node and at
    // the same priority.
    let found = response(&report, "navigation.update").unwrap();
    assert!((14_000_000..=18_000_000).contains(&found), "{found}");
    let report = checked(&two, Some(&rt("")));
    assert!(told(&report).contains(
        "connection \"position\" crosses nodes, but the analysis assumes that its messages arrive immediately"
    ));
    assert!(response(&report, "navigation.update").unwrap() < found);
}

/// Returns the response times in milliseconds of all works of a plan, whose instances have these priorities and works.
fn responses(plan: &str, works: &[(&str, i16, &str)]) -> Vec<(String, u64)> {
    let instance = |(name, priority, work): &(&str, i16, &str)| {
        format!(
            "[[instance]]\nname = {name:?}\npolicySet = \"p{priority}\"\nwork = [{{ {work} }}]\n"
        )
    };
    let rest: String = works.iter().map(instance).collect();
    let report = plain(plan, &declared(&[10, 20, 30], &rest));
    let timing = report.timing.unwrap_or_else(|| panic!("{:?}", report.findings));
    let last = |chain: oxorb_deploy::check::Chain| {
        (chain.steps.last().unwrap().clone(), chain.response.unwrap() / 1_000_000)
    };
    timing.chains.into_iter().map(last).collect()
}

#[test]
fn the_holder_of_a_resource_delays_all_work_below_the_priority_that_it_inherits() {
    let plan = one_node(&["high".into(), "middle".into(), "low".into()], "");
    let times = responses(
        &plan,
        &[
            ("high", 30, "wcet = \"1 ms\", period = \"100 ms\", blocking = \"5 ms\""),
            ("middle", 20, "wcet = \"2 ms\", period = \"100 ms\""),
            ("low", 10, "wcet = \"6 ms\", period = \"100 ms\""),
        ],
    );
    // The analysis does not know which work holds the resource, so that it counts the time for the lowest one, too.
    let wanted = [("high", 6), ("middle", 8), ("low", 14)];
    assert_eq!(times, wanted.map(|(name, time)| (name.to_owned(), time)));
}

#[test]
fn work_may_be_blocked_again_after_each_call() {
    let connection = "[[connection]]\nname = \"call\"\nSimplexReceptacle = \"high.uses\"\nFacet = \"server.has\"\n";
    let root = "wcet = \"1 ms\", period = \"100 ms\", blocking = \"5 ms\", calls = [\"uses\"]";
    let called = "port = \"has\", wcet = \"2 ms\", blocking = \"3 ms\"";
    let plan = one_node(&["high".into(), "server".into()], connection);
    // A call at the caller's priority is a part of the caller, which then needs the resources of both.
    let times = responses(&plan, &[("high", 30, root), ("server", 30, called)]);
    assert_eq!(times, [("high".to_owned(), 11)]);
    // During a call at a lower priority, less urgent work may enter a section again.
    let times = responses(&plan, &[("high", 30, root), ("server", 20, called)]);
    assert_eq!(times[0], ("high".to_owned(), 1 + 2 + 2 * 5 + 3));
}

#[test]
fn an_overrun_of_its_own_chain_delays_a_job() {
    let two = one_node(
        &["rate".into(), "logger".into()],
        "[[connection]]\nname = \"c\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"logger.update\"\n",
    );
    let rt = |low: i16, high: i16, wcet: &str, events: &str| {
        let rest = format!(
            "[[instance]]\nname = \"rate\"\npolicySet = \"p{low}\"\ncriticality = \"HIGH\"\nevents = {events:?}\n\
             work = [{{ wcet = \"1 ms\", period = \"20 ms\" }}]\n\
             [[instance]]\nname = \"logger\"\npolicySet = \"p{high}\"\ncriticality = \"LOW\"\n\
             work = [{{ port = \"update\", wcet = \"{wcet}\" }}]\n"
        );
        declared(&[10, 20], &rest)
    };
    // The logger takes 30 ms in a period of 20 ms, and is more urgent than the next release of the work that triggers
    // it.
    for events in ["direct", "channel"] {
        let report = plain(&two, &rt(10, 20, "30 ms", events));
        assert!(!report.is_good(), "{}", told(&report));
        assert_eq!(response(&report, "rate"), None, "{events}");
        // A logger that is in time delays nothing.
        let report = plain(&two, &rt(10, 20, "10 ms", events));
        assert_eq!(response(&report, "rate"), Some(1_000_000), "{events}");
    }
    // A less urgent logger delays nothing, unless the thread that pushes waits for it.
    let report = plain(&two, &rt(20, 10, "30 ms", "channel"));
    assert!(report.is_good(), "{}", told(&report));
    assert_eq!(response(&report, "rate"), Some(1_000_000));
    assert_eq!(response(&report, "logger.update"), None);
    let report = plain(&two, &rt(20, 10, "30 ms", "direct"));
    assert!(!report.is_good(), "{}", told(&report));
    assert_eq!(response(&report, "rate"), None);
}
