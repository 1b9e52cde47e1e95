//! Rates that containers enforce, as the real-time resources say them.

use oxorb_deploy::check::Report;
use oxorb_deploy::{Document, Format, Limits, Severity, enforced_rates};

use crate::checks::{checked, declared, one_node, plain, plan, resources, text};

fn errors(report: Report) -> Vec<String> {
    let errors = report.findings.into_iter().filter(|one| one.severity == Severity::Error);
    errors.map(|error| error.what).collect()
}

#[test]
fn rates_that_cannot_be_enforced_are_errors() {
    let plan = one_node(
        &["source", "sink"].map(str::to_owned),
        "[[connection]]\nname = \"c\"\nEventPublisher = \"source.tick\"\nEventConsumer = \"sink.update\"\n",
    );
    let errors_of = |source: &str, sink: &str| {
        let rest = format!(
            "[[instance]]\nname = \"source\"\npolicySet = \"p30\"\nwork = [{{ wcet = \"1 ms\", {source} }}]\n\
             [[instance]]\nname = \"sink\"\npolicySet = \"p10\"\n\
             work = [{{ port = \"update\", wcet = \"1 ms\", {sink} }}]\n"
        );
        errors(plain(&plan, &declared(&[10, 30], &rest)))
    };
    let (refuse, none) = ("beyond = \"refuse\"", [""; 0]);
    let period = "period = \"50 ms\"";
    assert_eq!(
        errors_of(
            &format!("{period}, emits = [\"tick\"], {refuse}"),
            &format!("mostRate = \"20 Hz\", {refuse}"),
        ),
        none
    );
    assert_eq!(errors_of(period, "beyond = \"allow\""), none);
    assert_eq!(
        errors_of(&format!("{period}, {refuse}"), refuse),
        [
            "work of \"source\" without a port has beyond, but lists no sources whose rate could be enforced",
            "work of \"sink\" at port \"update\" has beyond, but no mostRate",
        ]
    );
    assert_eq!(
        errors_of(period, "burst = 3"),
        ["work of \"sink\" has a burst, but enforces no rate of a port"]
    );
    // A missing period causes only one error.
    assert_eq!(
        errors_of(&format!("emits = [\"tick\"], {refuse}"), ""),
        ["work of \"source\" without a port has neither period nor rateFrom"]
    );
}

#[test]
fn work_enforces_rates_at_facets_and_sinks_and_of_sources() {
    let plan = one_node(
        &["source", "sink"].map(str::to_owned),
        "[[connection]]\nname = \"c\"\nEventPublisher = \"source.tick\"\nEventConsumer = \"sink.update\"\n",
    );
    let at = |instance: &str, work: &str| {
        format!(
            "[[instance]]\nname = {instance:?}\nwork = [{{ wcet = \"1 ms\", {work}, beyond = \"refuse\" }}]\n"
        )
    };
    let port = |port: &str| format!("port = {port:?}, mostRate = \"20 Hz\"");
    let of_port = |instance: &str, name: &str| {
        errors(plain(&plan, &declared(&[], &at(instance, &port(name)))))
    };
    assert_eq!(of_port("sink", "update"), [""; 0]);
    assert_eq!(
        of_port("source", "tick"),
        ["work of \"source\" enforces a rate at port \"tick\", which is a EventPublisher"]
    );
    let emitted = at("sink", "period = \"1 s\", emits = [\"update\"]");
    assert_eq!(
        errors(plain(&plan, &declared(&[], &emitted))),
        ["\"sink\" has no port \"update\" that is a connected source of events"]
    );
    // The kind of a port is also known from IDL.
    let resources = format!("document = \"ServerResources\"\n{}", at("gps", &port("ready")));
    assert_eq!(
        errors(checked(&text("avionics.toml"), Some(&resources))),
        ["work of \"gps\" enforces a rate at port \"ready\", which is a EventPublisher"]
    );
}

/// Returns the rates that the works of an instance with the attribute `hertz` have enforced: port, period and tolerance
/// in ms.
fn enforced(works: &str) -> Result<Vec<(String, f64, f64)>, String> {
    let plan = plan(
        "[[implementation]]\nname = \"I\"\n\
         [[instance]]\nname = \"a\"\nnode = \"n\"\nimplementation = \"I\"\nconfigProperty = { hertz = { ulong = 20 } }\n",
    );
    let text =
        format!("document = \"ServerResources\"\n[[instance]]\nname = \"a\"\nwork = [{works}]\n");
    let resources = resources(&text);
    // The document must stay the same when it is written and read again in either format.
    for format in [Format::Toml, Format::Xml] {
        let written = Document::Resources(Box::new(resources.clone())).write(format).unwrap();
        let read = Document::read(&written, format, &Limits::default()).unwrap();
        assert_eq!(read.into_resources().unwrap(), resources, "{written}");
    }
    let rates = enforced_rates(&plan.instance[0], &resources.instance[0]);
    let rates = rates.map_err(|finding| finding.what)?;
    let ms = |time: u64| time as f64 / 1e6;
    Ok(rates.into_iter().map(|one| (one.port, ms(one.period), ms(one.tolerance))).collect())
}

#[test]
fn enforced_rates_let_through_what_the_analysis_assumes() {
    let rate = |port: &str, period, tolerance| (port.to_owned(), period, tolerance);
    // An event may leave at any time between the release of its work and the deadline.
    let source = "{ wcet = \"1 ms\", rateFrom = \"hertz\", emits = [\"x\"], beyond = \"refuse\" }";
    assert_eq!(enforced(source), Ok(vec![rate("x", 50.0, 50.0)]));
    let early = source.replace("emits", "deadline = \"10 ms\", jitter = \"2 ms\", emits");
    assert_eq!(enforced(&early), Ok(vec![rate("x", 50.0, 10.0)]));
    let late = source.replace("emits", "deadline = \"10 ms\", jitter = \"20 ms\", emits");
    assert_eq!(enforced(&late), Ok(vec![rate("x", 50.0, 20.0)]));
    let twice = early.replace("[\"x\"]", "[\"x\", \"y\", \"x\"]");
    assert_eq!(enforced(&twice), Ok(vec![rate("x", 25.0, 35.0), rate("y", 50.0, 10.0)]));
    let port = "{ port = \"p\", wcet = \"1 ms\", mostRate = \"100 Hz\", beyond = \"refuse\" }";
    assert_eq!(enforced(port), Ok(vec![rate("p", 10.0, 10.0)]));
    let burst = port.replace("mostRate", "burst = 4, mostRate");
    assert_eq!(enforced(&burst), Ok(vec![rate("p", 10.0, 30.0)]));
    assert!(enforced(&port.replace("mostRate", "burst = 0, mostRate")).is_err());
}

#[test]
fn a_port_whose_rate_is_enforced_belongs_to_one_work() {
    let limited = "{ wcet = \"1 ms\", period = \"1 s\", emits = [\"x\"], beyond = \"refuse\" }";
    let others = [
        "{ wcet = \"1 ms\", period = \"9 s\", emits = [\"x\"], beyond = \"refuse\" }",
        "{ wcet = \"1 ms\", period = \"9 s\", emits = [\"x\"] }",
        "{ wcet = \"1 ms\", period = \"9 s\" }",
        "{ port = \"p\", wcet = \"1 ms\", emits = [\"x\"] }",
        "{ port = \"p\", wcet = \"1 ms\", emits = [\"x\"], mostRate = \"1 Hz\", beyond = \"refuse\" }",
    ];
    for other in others {
        for works in [format!("{limited}, {other}"), format!("{other}, {limited}")] {
            let refused = enforced(&works).unwrap_err();
            assert_eq!(
                refused,
                "several work entries of \"a\" use port \"x\", whose rate is enforced"
            );
        }
    }
    // A sink with an enforced rate is no source, so other work that emits through all sources does not conflict with
    // it.
    let sink = "{ port = \"p\", wcet = \"1 ms\", mostRate = \"1 Hz\", beyond = \"refuse\" }";
    let free = "{ wcet = \"1 ms\", period = \"9 s\" }";
    assert_eq!(enforced(&format!("{sink}, {free}")).unwrap().len(), 1);
    let apart =
        "{ wcet = \"1 ms\", period = \"9 s\", emits = [\"y\"] }, { port = \"p\", wcet = \"1 ms\" }";
    assert_eq!(enforced(&format!("{limited}, {apart}")).unwrap().len(), 1);
}

/// Returns the findings about a facet `server.f` with the work `port`, called by an instance for each work of
/// `callers`.
fn findings_of(callers: &[&str], port: &str) -> Vec<String> {
    let mut names = vec!["server".to_owned()];
    let mut connections = String::new();
    let mut rest = format!(
        "[[instance]]\nname = \"server\"\n\
         work = [{{ port = \"f\", wcet = \"1 ms\", beyond = \"refuse\", {port} }}]\n"
    );
    for (at, work) in callers.iter().enumerate() {
        names.push(format!("c{at}"));
        connections += &format!(
            "[[connection]]\nname = \"c{at}\"\nFacet = \"server.f\"\nSimplexReceptacle = \"c{at}.r\"\n"
        );
        rest +=
            &format!("[[instance]]\nname = \"c{at}\"\nwork = [{{ wcet = \"1 ms\", {work} }}]\n");
    }
    said(&plain(&one_node(&names, &connections), &declared(&[], &rest)))
}

fn said(report: &Report) -> Vec<String> {
    let findings = report.findings.iter();
    findings.map(|one| format!("{}: {}; {}", one.severity, one.what, one.cure)).collect()
}

fn too_small(name: &str, declared: u32, needed: u32) -> String {
    format!(
        "warning: {name} has a burst of {declared}, but its callers need {needed}, so calls may be refused although \
         all callers keep their rates; specify burst = {needed}"
    )
}

fn enough(name: &str, declared: u32, needed: u32) -> String {
    format!(
        "note: {name} has a burst of {declared}, which is enough, because its callers need {needed}; "
    )
}

#[test]
fn the_burst_of_a_port_is_compared_with_that_of_its_callers() {
    // Each caller takes 2 ms with its call and waits at most 4 ms for the others. Three calls may arrive late, and
    // three others in time 54 ms later, when the port has accepted two more calls.
    let callers = ["period = \"60 ms\""; 3];
    assert_eq!(findings_of(&callers, "mostRate = \"50 Hz\""), [too_small("server.f", 2, 4)]);
    let larger = findings_of(&callers, "mostRate = \"50 Hz\", burst = 4");
    assert_eq!(larger, [enough("server.f", 4, 4)]);
    // Calls that are a part of one job are counted one by one.
    let twice = ["period = \"60 ms\", calls = [\"r\", \"r\"]"];
    assert_eq!(findings_of(&twice, "mostRate = \"30 ms\""), [too_small("server.f", 2, 3)]);
    // A single caller needs two calls at most, if its calls arrive within their period.
    let late = ["period = \"60 ms\", jitter = \"30 ms\""];
    assert_eq!(findings_of(&late, "mostRate = \"60 ms\""), [enough("server.f", 2, 2)]);
    let one = findings_of(&late, "mostRate = \"60 ms\", burst = 1");
    assert_eq!(one, [too_small("server.f", 1, 2)]);
    assert_eq!(findings_of(&late, "mostRate = \"20 ms\""), [enough("server.f", 2, 1)]);
}

#[test]
fn events_arrive_as_late_as_their_messages() {
    let plan = one_node(
        &["source", "sink"].map(str::to_owned),
        "[[connection]]\nname = \"c\"\nEventPublisher = \"source.tick\"\nEventConsumer = \"sink.update\"\n",
    );
    let plan = plan.replacen("node = \"n\"", "node = \"m\"", 1);
    let delayed = |delay: &str| {
        let rest = format!(
            "[[instance]]\nname = \"source\"\nevents = \"channel\"\nwork = [{{ wcet = \"1 ms\", period = \"50 ms\" }}]\n\
             [[instance]]\nname = \"sink\"\n\
             work = [{{ port = \"update\", wcet = \"1 ms\", mostRate = \"10 ms\", burst = 1, beyond = \"refuse\" }}]\n\
             [[connection]]\nname = \"c\"\ndelay = \"{delay}\"\n"
        );
        said(&plain(&plan, &declared(&[], &rest)))
    };
    assert_eq!(delayed("1 ms"), [enough("sink.update", 1, 1)]);
    // An event that is 46 ms late, and the next one 4 ms after it, when the port accepts no other event yet.
    assert_eq!(delayed("45 ms"), [too_small("sink.update", 1, 2)]);
}

#[test]
fn no_burst_is_named_if_none_is_enough_or_known() {
    let late = findings_of(&["period = \"1 ms\""], "mostRate = \"1 ms\"");
    let unknown = "warning: the burst that server.f needs is unknown, because c0 has no bound; make c0 end within its \
        period";
    assert!(late.iter().any(|one| one == unknown), "{late:?}");
    // The periods are whole nanoseconds, so that the callers are a little faster than 90 Hz.
    let faster = ["period = \"30 Hz\"", "period = \"60 Hz\""];
    let endless = "warning: server.f is called a little more often than its mostRate permits, so no burst is \
        large enough in the long run; specify mostRate = \"11.11111 ms\"";
    assert_eq!(findings_of(&faster, "mostRate = \"90 Hz\", burst = 9"), [endless]);
    let cured = findings_of(&faster, "mostRate = \"11.11111 ms\", burst = 3");
    assert_eq!(cured, [enough("server.f", 3, 3)]);
}
