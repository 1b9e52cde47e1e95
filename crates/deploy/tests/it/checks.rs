//! Checks of the avionics display: structure, policies, rates, response times, and assigned priorities.

mod delays;
mod events;
mod threads;

use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{ComponentType, Components, Input, Port, Report, assign, check};
use oxorb_deploy::domain::Domain;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::value::{Basic, Type};
use oxorb_deploy::{Document, Format, Limits, Severity};

pub(crate) fn text(name: &str) -> String {
    let path = format!("{}/tests/plans/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the file is there")
}

/// Replaces the first occurrence of a text, which must exist.
fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no {from:?}");
    text.replacen(from, to, 1)
}

fn toml(text: &str) -> Document {
    Document::read(text, Format::Toml, &Limits::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn plan(text: &str) -> Plan {
    toml(text).into_plan().unwrap()
}

pub(crate) fn resources(text: &str) -> ServerResources {
    toml(text).into_resources().unwrap()
}

fn domain() -> Domain {
    toml(&text("domain.toml")).into_domain().unwrap()
}

/// Returns the component types that `avionics.idl` declares.
fn components() -> Components {
    let port = |kind, name: &str| Port {
        kind,
        type_name: name.into(),
        is_also: [name.to_owned()].into(),
        basic: Vec::new(),
    };
    let component =
        |ports: &[(&str, PortKind, &str)], attributes: &[(&str, Basic)]| ComponentType {
            ports: ports
                .iter()
                .map(|(name, kind, of)| ((*name).to_owned(), port(*kind, of)))
                .collect(),
            attributes: attributes
                .iter()
                .map(|(name, basic)| ((*name).to_owned(), Some(Type::Basic(*basic))))
                .collect(),
        };
    use PortKind::{EventConsumer, EventPublisher, Facet, SimplexReceptacle};
    [
        (
            "Avionics::RateGenerator",
            component(&[("pulse", EventPublisher, "Avionics::Tick")], &[("hertz", Basic::ULong)]),
        ),
        (
            "Avionics::Sensor",
            component(
                &[
                    ("refresh", EventConsumer, "Avionics::Tick"),
                    ("ready", EventPublisher, "Avionics::Tick"),
                    ("location", Facet, "Avionics::Location"),
                ],
                &[],
            ),
        ),
        (
            "Avionics::Display",
            component(
                &[
                    ("update", EventConsumer, "Avionics::Tick"),
                    ("source", SimplexReceptacle, "Avionics::Location"),
                ],
                &[("title", Basic::String)],
            ),
        ),
    ]
    .map(|(name, found)| (name.to_owned(), found))
    .into()
}

pub(crate) fn checked(plan_text: &str, resources_text: Option<&str>) -> Report {
    let plan = plan(plan_text);
    let resources = resources_text.map(resources);
    check(&Input {
        plan: &plan,
        resources: resources.as_ref(),
        domain: Some(&domain()),
        components: Some(&components()),
    })
}

fn told(report: &Report) -> String {
    let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn both_plans_are_good() {
    for name in ["avionics.toml", "collision.toml"] {
        let report = checked(&text(name), None);
        assert_eq!(told(&report), "", "{name}");
        assert!(report.timing.is_none());
    }
}

#[test]
fn structure_is_checked_with_places() {
    let base = text("collision.toml");
    let cases = [
        ("node = \"cockpit\"\n", "", "instance \"rate\" is on no node; specify a node"),
        (
            "node = \"cockpit\"",
            "node = \"cargo\"",
            "is on node \"cargo\", which the domain does not have; it has cockpit, nose",
        ),
        ("location = \"libavionics.so\"\n", "", "artifact \"avionics\" has no location"),
        (
            "EventConsumer = \"gps.refresh\"",
            "Facet = \"gps.location\"",
            "joins rate.pulse, a EventPublisher, with gps.location, a Facet",
        ),
        ("EventConsumer = \"gps.refresh\"\n", "", "connection \"pulse\" has fewer than two ends"),
        (
            "EventConsumer = \"gps.refresh\"",
            "EventPublisher = \"gps.ready\"",
            "not well-formed TOML",
        ),
        (
            "EventConsumer = \"gps.refresh\"",
            "EventConsumer = \"gps.refreshed\"",
            "\"gps\" has no port \"refreshed\"; it has location, ready, refresh",
        ),
        (
            "Facet = \"gps.location\"",
            "Facet = \"gps.refresh\"",
            "gps.refresh is a Facet here, but a EventConsumer elsewhere",
        ),
        (
            "title = \"navigation\"",
            "title = 3",
            "attribute \"title\" of Avionics::Display is of type string",
        ),
        (
            "title = \"navigation\"",
            "tilte = \"navigation\"",
            "\"navigation\" has no attribute \"tilte\" that can be set",
        ),
        (
            "name = \"obstacle ready\"",
            "name = \"position ready\"",
            "connection \"position ready\" occurs twice",
        ),
        (
            "\"component type\" = \"Avionics::Sensor\"",
            "\"component type\" = \"Avionics::Sensors\"",
            "IDL has no component \"Avionics::Sensors\"",
        ),
        (
            "[[artifact]]",
            "[[connection]]\nname = \"again\"\nSimplexReceptacle = \"navigation.source\"\nFacet = \"radar.location\"\n[[artifact]]",
            "navigation.source accepts one connection, but \"position\" and \"again\" are two",
        ),
        (
            "[[artifact]]",
            "[[localityConstraint]]\nconstraint = \"SameProcess\"\nconstrainedInstance = [\"rate\", \"gps\"]\n\
             [[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = [\"gps\", \"rate\"]\n[[artifact]]",
            "must not share a process, but another constraint requires it",
        ),
    ];
    for (from, to, wanted) in cases {
        let changed = swap(&base, from, to);
        let told = match Document::read(&changed, Format::Toml, &Limits::default()) {
            Ok(_) => told(&checked(&changed, None)),
            Err(error) => error.to_string(),
        };
        assert!(told.contains(wanted), "{to}: {told}");
        assert!(told.starts_with(|c: char| c.is_ascii_digit()), "{told}");
    }
}

#[test]
fn types_of_both_ends_are_compared() {
    let mut components = components();
    let display = components.get_mut("Avionics::Display").unwrap();
    display.ports.get_mut("source").unwrap().type_name = "Avionics::Place".into();
    let plan = plan(&text("avionics.toml"));
    let checked = |components: &Components| {
        check(&Input { plan: &plan, resources: None, domain: None, components: Some(components) })
    };
    let report = checked(&components);
    assert!(
        told(&report).contains(
            "navigation.source is of type Avionics::Place, but gps.location of type \
                                Avionics::Location"
        ),
        "{}",
        told(&report)
    );
    // The facet's type may be derived from the receptacle's.
    let sensor = components.get_mut("Avionics::Sensor").unwrap();
    sensor.ports.get_mut("location").unwrap().is_also.insert("Avionics::Place".into());
    assert_eq!(told(&checked(&components)), "");
}

#[test]
fn policies_have_to_go_together() {
    let base = text("collision-rt.toml");
    let cases = [
        (
            "server_priority = 10,",
            "server_priority = 11,",
            "declares priority 11, but its pool has no lane with this priority, only [10, 20]",
        ),
        (
            "threadpool = \"lanes\"",
            "threadpool = \"pool\"",
            "uses pool \"pool\", which does not exist",
        ),
        ("priority = 20 }", "priority = 10 }", "pool \"lanes\" has two lanes of priority 10"),
        (
            "static_threads = 2, dynamic_threads = 0, priority = 20",
            "static_threads = 0, dynamic_threads = 0, priority = 20",
            "has no threads",
        ),
        (
            "policySet = \"collision\"",
            "policySet = \"collisions\"",
            "instance \"slow rate\" uses policy set \"collisions\", which does not exist",
        ),
        (
            "name = \"radar\"",
            "name = \"sonar\"",
            "the plan has no instance \"sonar\"; it has rate, gps",
        ),
        ("name = \"radar\"", "name = \"warning\"", "instance \"warning\" occurs twice"),
        ("id = \"collision\"", "id = \"navigation\"", "id \"navigation\" occurs twice"),
        (
            "max_buffered_requests = 0",
            "max_buffered_requests = 5",
            "does not buffer requests, but sets a limit of 5 buffered requests",
        ),
        (
            "id = \"collision\"\npriorityModel = { server_priority = 20, priority_model = \"SERVER_DECLARED\" }",
            "id = \"collision\"",
            "has lanes, but no priority model",
        ),
        (
            "id = \"collision\"\npriorityModel = { server_priority = 20, priority_model = \"SERVER_DECLARED\" }",
            "id = \"collision\"\npriorityModel = { server_priority = 20, priority_model = \"CLIENT_PROPAGATED\" }",
            "",
        ),
        (
            "[[orbConfigs.policySet]]",
            "[[orbConfigs.resources.connectionBands]]\nid = \"bands\"\nband = [{ low = 5, high = 10 }, { low = 8, high = 20 }]\n\
             [[orbConfigs.policySet]]",
            "bands 8 to 20 and 5 to 10 overlap",
        ),
        (
            "[[orbConfigs.policySet]]",
            "[[orbConfigs.resources.connectionBands]]\nid = \"bands\"\nband = [{ low = 11, high = 20 }]\n\
             [[orbConfigs.policySet]]\npriorityBandedConnection = \"bands\"",
            "priority 10 of policy set \"navigation\" is in no band of \"bands\"",
        ),
    ];
    let collision = text("collision.toml");
    for (from, to, wanted) in cases {
        let report = checked(&collision, Some(&swap(&base, from, to)));
        let told = told(&report);
        assert!(told.contains(wanted), "{to}: {told}");
        assert_eq!(told.is_empty(), wanted.is_empty(), "{to}: {told}");
        assert!(report.findings.iter().all(|finding| finding.place.line > 0), "{told}");
    }
}

#[test]
fn a_caller_needs_a_lane_where_the_server_takes_its_priority() {
    let base = text("collision-rt.toml");
    // `gps` publishes at priority 10, and the display serves at the caller's priority, in lanes of 20 and 30.
    let more = "[[orbConfigs.resources.threadpoolWithLanes]]\nid = \"upper\"\n\
        threadpoolLane = [{ static_threads = 1, dynamic_threads = 0, priority = 20 }]\n\
        stacksize = 0\nallow_borrowing = false\nallow_request_buffering = false\nmax_buffered_requests = 0\n\
        max_request_buffered_size = 0\n\
        [[orbConfigs.policySet]]\nid = \"upper set\"\nthreadpool = \"upper\"\n\
        priorityModel = { server_priority = 20, priority_model = \"CLIENT_PROPAGATED\" }\n[[orbConfigs.policySet]]";
    let changed = swap(&base, "[[orbConfigs.policySet]]", more);
    let changed = swap(
        &changed,
        "name = \"navigation\"\npolicySet = \"navigation\"",
        "name = \"navigation\"\npolicySet = \"upper set\"",
    );
    let report = checked(&text("collision.toml"), Some(&changed));
    assert!(
        told(&report).contains("\"gps\" calls \"navigation\" at priority 10, which uses the caller's priority, and has \
                                only lanes [20]"),
        "{}",
        told(&report)
    );
}

#[test]
fn rates_between_connected_ports_are_constraints() {
    let (plan, base) = (text("collision.toml"), text("collision-rt.toml"));
    for (hertz, wanted) in [
        (
            "5",
            "gps.refresh must be called at least 10.000 times a second, but is called 5.000 times",
        ),
        (
            "50",
            "gps.refresh may be called at most 40.000 times a second, but is called 50.000 times",
        ),
        ("0", "attribute \"hertz\" of \"rate\" is not a rate in Hz greater than 0"),
    ] {
        let plan = swap(&plan, "hertz = { ulong = 20 }", &format!("hertz = {{ ulong = {hertz} }}"));
        let report = checked(&plan, Some(&base));
        assert!(told(&report).contains(wanted), "{hertz}: {}", told(&report));
        assert!(!report.is_good());
    }
    let missing = swap(
        &base,
        "{ port = \"location\", wcet = \"50 us\" },\n]\n\n[[instance]]\nname = \"navigation\"",
        "]\n\n[[instance]]\nname = \"navigation\"",
    );
    let report = checked(&plan, Some(&missing));
    assert!(
        told(&report).contains(
            "the execution time of gps.location, which navigation.update triggers, is unknown"
        ),
        "{}",
        told(&report)
    );
}

#[test]
fn rings_are_told_at_their_connection() {
    let plan = swap(
        &text("collision.toml"),
        "[[artifact]]",
        "[[connection]]\nname = \"back\"\nEventPublisher = \"gps.ready\"\nEventConsumer = \"gps.refresh\"\n[[artifact]]",
    );
    let report = checked(&plan, Some(&text("collision-rt.toml")));
    assert!(
        told(&report).contains("connections form a cycle: gps.refresh -> gps.refresh"),
        "{}",
        told(&report)
    );
}

/// Returns the response time of a chain, by its last step.
fn response(report: &Report, last: &str) -> Option<u64> {
    let chains = &report.timing.as_ref().expect("it was analysed").chains;
    let chain = chains.iter().find(|chain| chain.steps.last().is_some_and(|step| step == last));
    chain.expect("the chain is there").response
}

#[test]
fn the_urgent_subsystem_is_in_time_and_the_other_may_be_late() {
    let report = checked(&text("collision.toml"), Some(&text("collision-rt.toml")));
    assert_eq!(told(&report), "");
    // The chain takes 0.1 ms for `slow rate`, 10 ms for `radar`, and 5.05 ms for `warning` with its call. No other
    // chain is more urgent, but jobs of the same chain may delay each other.
    let warning = response(&report, "warning.update").unwrap();
    assert!((15_150_000..=30_000_000).contains(&warning), "{warning}");
    let timing = report.timing.as_ref().unwrap();
    let (_, share) = &timing.nodes[0];
    // In each second, the node executes 20 times (0.1 + 10 + 15.05) ms and 5 times (0.1 + 10 + 5.05) ms.
    assert!((share - 0.578_75).abs() < 1e-6, "{share}");

    // Twice the rate overloads the node, so that navigation is late, but the warning display is not.
    let busy = swap(&text("collision.toml"), "hertz = { ulong = 20 }", "hertz = { ulong = 40 }");
    let report = checked(&busy, Some(&text("collision-rt.toml")));
    assert!(report.is_good(), "{}", told(&report));
    assert_eq!(response(&report, "warning.update"), Some(warning));
    assert!(told(&report).contains("warning: on node \"cockpit\", chain rate -> gps.refresh -> navigation.update may not complete navigation.update within its period of 25 ms"), "{}", told(&report));

    // With equal priorities, the warning display waits for navigation, too.
    let flat = text("collision-rt.toml")
        .replace("policySet = \"collision\"", "policySet = \"navigation\"");
    let report = checked(&busy, Some(&flat));
    assert!(!report.is_good());
    let told = told(&report);
    assert!(
        told.contains(
            "error: on node \"cockpit\", chain slow rate -> radar.refresh -> warning.update"
        ),
        "{told}"
    );
}

#[test]
fn the_analysis_chooses_priorities_that_serve() {
    let plan =
        plan(&swap(&text("collision.toml"), "hertz = { ulong = 20 }", "hertz = { ulong = 30 }"));
    // These priorities contradict the rates and the deadlines: the urgent instances have the least urgent lane.
    let wrong = resources(
        &text("collision-rt.toml")
            .replace("server_priority = 10", "server_priority = 30")
            .replace("priority = 10 }", "priority = 30 }"),
    );
    let input = |resources| Input {
        plan: &plan,
        resources: Some(resources),
        domain: None,
        components: None,
    };
    assert!(!check(&input(&wrong)).is_good());
    let assigned = assign(&plan, &wrong).unwrap();
    assert!(assigned.timing.is_safe(), "{:?}", assigned.timing);
    let document = Document::from(assigned.resources);
    let written = document.write(Format::Toml).unwrap();
    let read = toml(&written);
    assert_eq!(read, document, "{written}");
    let report = check(&input(&read.into_resources().unwrap()));
    assert!(report.is_good(), "{}", told(&report));
    assert!(report.findings.iter().all(|finding| finding.severity != Severity::Error));
    assert!(report.timing.as_ref().unwrap().is_safe(), "{}", told(&report));
}

#[test]
fn assigned_lanes_have_threads_for_works_that_wait() {
    let text = one_node(
        &["rate", "alarm", "asker", "other"].map(str::to_owned),
        "[[connection]]\nname = \"a\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"alarm.update\"\n\
         [[connection]]\nname = \"b\"\nEventPublisher = \"rate.pulse\"\nEventConsumer = \"asker.update\"\n\
         [[connection]]\nname = \"c\"\nEventPublisher = \"asker.ready\"\nEventConsumer = \"other.update\"\n\
         [[connection]]\nname = \"d\"\nSimplexReceptacle = \"other.back\"\nFacet = \"asker.facet\"\n",
    );
    let work = |port: &str, deadline: &str| {
        format!("{{ port = {port:?}, wcet = \"1 ms\", deadline = {deadline:?} }}")
    };
    let rest = format!(
        "[[instance]]\nname = \"rate\"\nwork = [{{ wcet = \"1 ms\", period = \"100 ms\" }}]\n\
         [[instance]]\nname = \"alarm\"\nwork = [{}]\n\
         [[instance]]\nname = \"asker\"\nwork = [{}, {}]\n\
         [[instance]]\nname = \"other\"\nwork = [{}]\n",
        work("update", "20 ms"),
        work("update", "50 ms"),
        work("facet", "100 ms"),
        work("update", "80 ms"),
    );
    let assigned = assign(&plan(&text), &resources(&declared(&[], &rest))).unwrap();
    // The asker has a lane of its own. One of its threads waits for the other instance, which calls the asker back.
    let written = Document::from(assigned.resources).write(Format::Toml).unwrap();
    let report = plain(&text, &written);
    assert_eq!(told(&report), "", "{written}");
    assert!(report.timing.unwrap().is_safe(), "{written}");
    let report = plain(&text, &written.replace("static_threads = 2", "static_threads = 1"));
    let warning =
        "less urgent work: asker.facet, asker.update. Thus asker.facet may wait for a thread";
    assert!(told(&report).contains(warning), "{}", told(&report));
}

/// Returns a plan of the instances `names` on one node, with the text of `connections`.
pub(crate) fn one_node(names: &[String], connections: &str) -> String {
    let mut text = "[[implementation]]\nname = \"I\"\n".to_owned();
    for name in names {
        text += &format!("[[instance]]\nname = {name:?}\nimplementation = \"I\"\nnode = \"n\"\n");
    }
    text + connections
}

/// Returns resources with a policy set for each priority in `priorities`, named `pN`, and the text of `rest`.
pub(crate) fn declared(priorities: &[i16], rest: &str) -> String {
    let mut text = "document = \"ServerResources\"\n[orbConfigs]\n".to_owned();
    for priority in priorities {
        text += &format!(
            "[[orbConfigs.policySet]]\nid = \"p{priority}\"\n\
             priorityModel = {{ server_priority = {priority}, priority_model = \"SERVER_DECLARED\" }}\n"
        );
    }
    text + rest
}

pub(crate) fn plain(plan_text: &str, resources_text: &str) -> Report {
    check(&Input {
        plan: &plan(plan_text),
        resources: Some(&resources(resources_text)),
        domain: None,
        components: None,
    })
}

/// Returns the report on a row of instances, each of which calls the next one `calls` times.
fn row(length: usize, calls: usize) -> Report {
    let names: Vec<String> = (0..length).map(|at| format!("i{at}")).collect();
    let (mut connections, mut rest) = (String::new(), String::new());
    let listed = vec!["\"r\""; calls].join(", ");
    for at in 0..length {
        let (how, calls) = match at {
            0 => ("period = \"20 ms\"", &*listed),
            _ if at + 1 == length => ("port = \"f\"", "\"none\""),
            _ => ("port = \"f\"", &*listed),
        };
        rest += &format!(
            "[[instance]]\nname = \"i{at}\"\nwork = [{{ {how}, wcet = \"1 ns\", calls = [{calls}] }}]\n"
        );
        if at > 0 {
            connections += &format!(
                "[[connection]]\nname = \"c{at}\"\nFacet = \"i{at}.f\"\nSimplexReceptacle = \"i{}.r\"\n",
                at - 1
            );
        }
    }
    plain(&one_node(&names, &connections), &declared(&[], &rest))
}

#[test]
fn calls_that_merge_are_counted() {
    // The 2 + 4 + ... + 2^12 steps are below the limit, and one more doubling exceeds it.
    assert_eq!(told(&row(13, 2)), "");
    for length in [14, 40, 200] {
        let report = row(length, 2);
        assert!(
            told(&report).contains("result in more than 10000 steps over connections, the limit"),
            "{length}: {}",
            told(&report)
        );
    }
}

#[test]
fn a_row_of_calls_has_a_length() {
    assert_eq!(told(&row(257, 1)), "");
    for length in [258, 6_000] {
        let report = row(length, 1);
        assert!(
            told(&report).contains("result in more than 256 steps in a row, the limit"),
            "{length}: {}",
            told(&report)
        );
    }
}

#[test]
fn a_call_that_merges_keeps_its_criticality() {
    let plan = one_node(
        &["user".into(), "server".into(), "other".into()],
        "[[connection]]\nname = \"c\"\nFacet = \"server.f\"\nSimplexReceptacle = \"user.r\"\n",
    );
    let rt = |level: &str| {
        let rest = format!(
            "[[instance]]\nname = \"user\"\ncriticality = \"LOW\"\nwork = [{{ wcet = \"1 ms\", period = \"20 ms\" }}]\n\
             [[instance]]\nname = \"server\"\ncriticality = \"{level}\"\nwork = [{{ port = \"f\", wcet = \"30 ms\" }}]\n\
             [[instance]]\nname = \"other\"\npolicySet = \"p10\"\ncriticality = \"HIGH\"\nwork = [{{ wcet = \"1 us\", period = \"1 s\" }}]\n"
        );
        declared(&[10], &rest)
    };
    let told_high = plain(&plan, &rt("HIGH"));
    assert!(!told_high.is_good(), "{}", told(&told_high));
    let told_low = plain(&plan, &rt("LOW"));
    assert!(told_low.is_good(), "{}", told(&told_low));
}

#[test]
fn a_connection_joins_a_bounded_number_of_pairs() {
    let ends = |providers: usize, users: usize| {
        let list = |count: usize, port: &str| vec![format!("\"a.{port}\""); count].join(", ");
        one_node(
            &["a".into()],
            &format!(
                "[[connection]]\nname = \"c\"\nFacet = [{}]\nEventPublisher = [{}]\n",
                list(providers, "f"),
                list(users, "e")
            ),
        )
    };
    let rt = declared(&[], "");
    // Each of the 1000 pairs is wrong, but there is only one finding.
    let report = plain(&ends(20, 50), &rt);
    assert_eq!(told(&report).matches("joins a.e").count(), 1, "{}", told(&report));
    let report = plain(&ends(2_000, 2_000), &rt);
    let told = told(&report);
    assert!(
        told.contains(
            "joins 2000 ends that provide with 2000 that use, and more than 1000 pairs, the limit"
        ),
        "{told}"
    );
    assert!(!told.contains("joins a.e"), "{told}");
}

#[test]
fn cures_list_ten_names() {
    let names: Vec<String> = (0..2_000).map(|at| format!("instance{at}")).collect();
    let rest: String = (0..2_000).map(|at| format!("[[instance]]\nname = \"x{at}\"\n")).collect();
    let told = told(&plain(&one_node(&names, ""), &declared(&[], &rest)));
    assert!(
        told.contains("the plan has no instance \"x0\"; it has instance0, instance1"),
        "{told}"
    );
    assert!(told.contains("instance9 and 1990 more"));
    assert!(told.len() < 600_000, "{}", told.len());
}

#[test]
fn of_many_errors_the_first_are_kept_and_the_others_counted() {
    let with = |constraints: usize| {
        let mut text = "[[implementation]]\nname = \"I\"\n\
                        [[instance]]\nname = \"a\"\nnode = \"n\"\nimplementation = \"I\"\n"
            .to_owned();
        let constraint =
            "[[localityConstraint]]\nconstraint = \"SameProcess\"\nconstrainedInstance = [\"a\"]\n";
        text += &constraint.repeat(constraints);
        let plan = plan(&text);
        let input = Input { plan: &plan, resources: None, domain: None, components: None };
        let report = check(&input);
        (report.findings.len(), report.more_errors)
    };
    assert_eq!(with(101), (100, 0));
    assert_eq!(with(152), (100, 51));
    // Errors in references, which end the check, are limited in the same way.
    let text = "[[instance]]\nname = \"a\"\nnode = \"n\"\nimplementation = \"I\"\n";
    let text: String = (0..150).map(|at| text.replace("\"a\"", &format!("\"a{at}\""))).collect();
    let error =
        Document::read(&text, Format::Toml, &Limits::default()).and_then(Document::into_plan);
    let error = error.unwrap_err();
    assert_eq!(error.findings.len(), 101);
    assert!(error.to_string().ends_with("error: and 50 more errors"), "{error}");
}

/// Returns the warnings about rings in a plan of instances connected by facets: with `a-b`, `a` calls `b`.
fn rings(calls: &[&str]) -> Vec<String> {
    let mut text = "[[implementation]]\nname = \"I\"\n".to_owned();
    let names: std::collections::BTreeSet<&str> =
        calls.iter().flat_map(|call| call.split('-')).collect();
    for name in names {
        text += &format!("[[instance]]\nname = {name:?}\nnode = \"n\"\nimplementation = \"I\"\n");
    }
    for call in calls {
        let (from, to) = call.split_once('-').unwrap();
        text += &format!(
            "[[connection]]\nname = {call:?}\nSimplexReceptacle = \"{from}.to_{to}\"\nFacet = \"{to}.f\"\n"
        );
    }
    let report =
        check(&Input { plan: &plan(&text), resources: None, domain: None, components: None });
    assert!(report.is_good(), "{:?}", report.findings);
    report.findings.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn rings_of_facets_are_written_out() {
    assert_eq!(rings(&["a-b", "b-c", "a-c"]), [""; 0]);
    let told = rings(&["x-a", "a-b", "b-c", "c-a", "c-d", "d-e", "e-d"]);
    assert_eq!(told.len(), 2, "{told:?}");
    let wanted = "components call each other's facets in a cycle: a.to_b -> b.f, b.to_c -> c.f, c.to_a -> a.f; ";
    assert!(told[0].starts_with(wanted), "{}", told[0]);
    assert!(told[1].contains("d.to_e -> e.f, e.to_d -> d.f"), "{}", told[1]);
    let told = rings(&["a-a"]);
    assert!(told[0].starts_with("a calls itself: a.to_a -> a.f; "), "{told:?}");
    // Two rings in one group cause one warning, which shows the shortest ring.
    let told = rings(&["a-b", "b-c", "c-a", "b-a"]);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("a.to_b -> b.f, b.to_a -> a.f; "), "{}", told[0]);
    let names: Vec<String> =
        (0..2_000).map(|at| format!("{at:04}-{:04}", (at + 1) % 2_000)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = rings(&names);
    assert!(told[0].contains("0011.to_0012 -> 0012.f, and 1988 more; "), "{}", told[0]);
}
