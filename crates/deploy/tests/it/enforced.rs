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
            "work of \"source\" without a port has beyond, and lists no sources whose rate would be enforced",
            "work of \"sink\" at port \"update\" has beyond, and no mostRate",
        ]
    );
    assert_eq!(
        errors_of(period, "burst = 3"),
        ["work of \"sink\" has a burst, and enforces no rate of a port"]
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
            assert_eq!(refused, "several works of \"a\" use port \"x\", whose rate is enforced");
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
