//! Documents in CIAO's format, and in ours: read, written, and refused with the position.

use oxorb_deploy::{
    Archive, Assembly, Document, Error, Format, Limits, enforced_rates, plan::Plan, value::Data,
};

fn read(name: &str) -> Document {
    let path = format!("{}/tests/plans/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let format = Format::of_file(name).expect("an ending that is known");
    Document::read(&text, format, &Limits::default())
        .unwrap_or_else(|error| panic!("{name}:{error}"))
}

fn parse(text: &str, format: Format) -> Result<Document, Error> {
    Document::read(text, format, &Limits::default())
}

fn refused(text: &str, format: Format) -> String {
    match parse(text, format) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

const DOCUMENTS: &[&str] = &[
    "avionics.toml",
    "collision.toml",
    "collision-rt.toml",
    "domain.toml",
    "ciao.cdp",
    "kinds.cdp",
    "buoy.iad",
    "harbour.csr",
    "gps.cpd",
];

#[test]
fn every_document_survives_xml_and_toml() {
    for name in DOCUMENTS {
        let first = read(name);
        for formats in [[Format::Xml, Format::Toml], [Format::Toml, Format::Xml]] {
            let mut document = first.clone();
            for format in formats {
                let text = document.write(format).unwrap();
                document =
                    parse(&text, format).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                assert_eq!(document, first, "{name} by {format:?}:\n{text}");
                assert_eq!(
                    document.write(format).unwrap(),
                    text,
                    "{name}: the second text differs"
                );
            }
        }
    }
}

fn harbour() -> Plan {
    read("ciao.cdp").into_plan().unwrap()
}

#[test]
fn a_plan_of_ciao_means_what_it_says() {
    let plan = harbour();
    assert_eq!(plan.label.as_deref(), Some("Harbour_1"));
    assert_eq!((plan.implementation.len(), plan.instance.len(), plan.connection.len()), (2, 2, 2));
    let pilot = plan.instance_named("Pilot").unwrap();
    assert_eq!(plan.implementation_at(&pilot.implementation), Some(0));
    let name = pilot.property("edu.vanderbilt.dre.DAnCE.RegisterNaming").unwrap();
    assert_eq!(name.value.as_text(), Some("Harbour/Pilot & Co \u{263a}"));
    let berth = &pilot.property("berth").unwrap().value.data;
    assert_eq!(*berth, Data::Struct(vec![Data::Integer(-7), Data::Enum("Starboard".into())]));
    let soundings = &pilot.property("soundings").unwrap().value.data;
    assert_eq!(*soundings, Data::Sequence(vec![Data::Double(1.5), Data::Double(1000.0)]));
    let ends = &plan.connection[0].internal_endpoint;
    assert_eq!((ends[0].provides(), ends[1].provides()), (false, true));
    assert_eq!(plan.locality_constraint[0].constrained_instance[1].id, "PilotInstance");
    assert_eq!(plan.nodes(), ["Pier_1"]);
}

#[test]
fn arrays_bounds_and_values_without_data_mean_what_they_say() {
    let plan = read("kinds.cdp").into_plan().unwrap();
    let buoy = plan.instance_named("Buoy").unwrap();
    let data = |name: &str| buoy.property(name).unwrap().value.data.clone();
    let text = |text: &str| Data::Text(text.to_owned());
    assert_eq!(data("colours"), Data::Sequence(vec![text("green"), text("red")]));
    let row = |numbers: [i64; 3]| Data::Sequence(numbers.map(Data::Integer).into());
    assert_eq!(data("grid"), Data::Sequence(vec![row([1, 2, 3]), row([4, 5, 6])]));
    let pair = Data::Sequence(vec![text("flash"), text("dark")]);
    assert_eq!(data("pairs"), Data::Sequence(vec![pair]));
    assert_eq!(data("nothing"), Data::Sequence(Vec::new()));
    assert_eq!(data("name"), text("West"));
    assert_eq!(data("depth"), Data::Unsigned(0));
    assert_eq!(data("lit"), Data::Boolean(false));
    assert_eq!(data("at"), Data::Struct(vec![Data::Float(0.0), text("")]));
}

#[test]
fn resources_of_ciao_mean_what_they_say() {
    let resources = read("harbour.csr").into_resources().unwrap();
    let set = resources.policy_set("HI").unwrap();
    assert_eq!(set.priority_model.as_ref().unwrap().server_priority.0, 200);
    assert_eq!(set.threadpool.as_ref().unwrap().id, "LANES");
    let xml = Document::from(resources).write(Format::Xml).unwrap();
    assert!(xml.contains("<priorityModel server_priority=\"200\">"), "{xml}");
    assert!(xml.contains("<threadpool id=\"LOW\">"), "{xml}");
    assert!(xml.contains("<threadpool>LANES</threadpool>"), "{xml}");
}

#[test]
fn toml_is_short_where_people_write() {
    let text = read("collision.toml").write(Format::Toml).unwrap();
    for line in [
        "EventPublisher = \"slow rate.pulse\"",
        "implementation = \"CollisionRadar\"",
        "hertz = { ulong = 20 }",
        "title = \"warning\"",
        "[instance.configProperty]",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    assert!(!text.contains("idref") && !text.contains("tk_"), "{text}");
    let text = harbour();
    let text = Document::from(text).write(Format::Toml).unwrap();
    assert!(text.contains("berth = { type = { kind = \"tk_struct\""), "{text}");
}

/// Returns a plan of one instance, with `inside` inserted.
fn plan(inside: &str) -> String {
    format!(
        "<Deployment:DeploymentPlan xmlns:Deployment=\"http://www.omg.org/Deployment\">\n\
         <implementation xmi:id=\"I\"><name>I</name></implementation>\n\
         <instance xmi:id=\"A\"><name>A</name><node>n</node><implementation xmi:idref=\"I\"/>\n{inside}\n</instance>\n\
         </Deployment:DeploymentPlan>"
    )
}

#[test]
fn what_the_schema_does_not_have_is_refused_by_name_and_place() {
    let cases = [
        (
            "<colour>red</colour>",
            "4:1: error: <instance> has no <colour>; it may have id, name, node",
        ),
        ("<name>B</name>", "4:1: error: <instance> can have one <name>, but this is a second one"),
        (
            "plain words",
            "3:1: error: <instance> contains elements, not text such as \"plain words\"",
        ),
        ("<source><deep/></source>", "4:9: error: <source> contains text, not <deep>"),
        (
            "<configProperty><name>x</name></configProperty>",
            "4:1: error: <configProperty> has no <value>",
        ),
    ];
    for (inside, wanted) in cases {
        let found = refused(&plan(inside), Format::Xml);
        assert!(found.starts_with(wanted), "{inside}: {found}");
    }
}

fn property(kind: &str, value: &str) -> String {
    plan(&format!(
        "<configProperty><name>x</name><value><type><kind>{kind}</kind></type><value>{value}</value></value></configProperty>"
    ))
}

#[test]
fn values_that_their_types_do_not_have_are_refused() {
    let cases = [
        ("tk_short", "<short>32768</short>", "32768 is not a <short>; expected -32768 to 32767"),
        ("tk_short", "<long>1</long>", "a value of this type contains <short>, not <long>"),
        ("tk_char", "", "the value has no <char>"),
        ("tk_octet", "<octet>1</octet><octet>2</octet>", "this is a second"),
        ("tk_boolean", "<boolean>yes</boolean>", "<boolean> must be true or false, not \"yes\""),
        ("tk_double", "<double>fast</double>", "\"fast\" is not a number"),
        ("tk_char", "<char>ab</char>", "<char> must be one character, but this has 2"),
        ("tk_union", "", "\"tk_union\" is not a kind of type that a plan can contain"),
        ("tk_struct", "", "a type of kind tk_struct needs <struct>"),
    ];
    for (kind, value, wanted) in cases {
        let found = refused(&property(kind, value), Format::Xml);
        assert!(found.starts_with("4:") && found.contains(wanted), "{kind} {value}: {found}");
    }
}

#[test]
fn arrays_and_bounded_strings_are_as_long_as_their_types_say() {
    let text = |from: &str, to: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans/kinds.cdp");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(from));
        refused(&text.replacen(from, to, 1), Format::Xml)
    };
    let long = text("<string>green</string>", "<string>yellow</string>");
    assert!(long.ends_with("<string> has 6 characters, but the limit is 5"), "{long}");
    let short = text("<element><string>red</string></element>", "");
    assert!(short.ends_with("an array of 2 elements has 1"), "{short}");
    let endless = text("<length>2</length>", "");
    assert!(endless.ends_with("<array> has no <length>"), "{endless}");
    let none = text("<length>2</length>", "<length>0</length>");
    assert!(none.ends_with("<length> must be at least 1"), "{none}");
    let bound = text("<bound>5</bound>", "<length>5</length>");
    assert!(bound.contains("<boundedString> has no <length>; it may have bound"), "{bound}");
}

#[test]
fn references_and_names_are_checked() {
    let base = "[[implementation]]\nname = \"I\"\n[[instance]]\nname = \"A\"\nnode = \"n\"\nimplementation = \"I\"\n";
    assert!(parse(base, Format::Toml).is_ok());
    let cases = [
        (
            "[[instance]]\nname = \"A\"\nimplementation = \"I\"",
            "instance \"A\" occurs twice, first at 3:",
        ),
        (
            "[[instance]]\nname = \"B\"\nimplementation = \"J\"",
            "no implementation has the id \"J\"",
        ),
        ("[[instance]]\nname = \"B\"\nimplementation = \"A\"", "\"A\" is an instance, at 3:"),
        ("[[artifact]]\nname = \"I\"", "id \"I\" occurs twice, first at 1:"),
        ("[[connection]]\nname = \"c\"\nFacet = \"X.port\"", "no instance has the id \"X\""),
        (
            "[[connection]]\nname = \"c\"\nFacet = \"port\"",
            "Facet of a connection must be \"instance.port\", not \"port\"",
        ),
        (
            "[[localityConstraint]]\nconstraint = \"SameProcess\"\nconstrainedInstance = [\"A\", \"Z\"]",
            "no instance has the id \"Z\"",
        ),
        (
            "[[localityConstraint]]\nconstraint = \"Together\"",
            "\"Together\" is not a <constraint>; expected one of SameProcess",
        ),
        (
            "[[instance]]\nname = \"B\"\nimplementation = \"I\"\nwhen = 1979-05-27",
            "no element can be a date",
        ),
        ("colour = 3", "<instance> has no <colour>"),
        ("= 3", "not well-formed TOML"),
    ];
    for (more, wanted) in cases {
        let found = refused(&format!("{base}{more}\n"), Format::Toml);
        assert!(found.contains(wanted), "{more}: {found}");
        let line: u32 = found.split(':').next().unwrap().parse().expect("it begins with its line");
        assert!(line >= 7, "{more}: {found}");
    }
}

#[test]
fn entities_are_not_expanded_and_nothing_is_fetched() {
    let laughs =
        "<!DOCTYPE a [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]>\n<Deployment:DeploymentPlan/>";
    assert!(refused(laughs, Format::Xml).contains("a document type declaration is rejected"));
    let outside = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><Deployment:DeploymentPlan/>";
    assert!(refused(outside, Format::Xml).contains("a document type declaration is rejected"));
    let named = plan("<source>&secret;</source>");
    assert!(refused(&named, Format::Xml).contains("4:9: error: entity &secret; is not expanded"));
    let control = plan("<source>&#1;</source>");
    assert!(refused(&control, Format::Xml).contains("entity &#1; is not expanded"));
}

#[test]
fn sizes_are_bounded() {
    let limits = Limits { octets: 100_000, elements: 1_000, depth: 20 };
    let read = |text: &str, format| Document::read(text, format, &limits).unwrap_err().to_string();
    let long = format!("<Deployment:DeploymentPlan>{}", " ".repeat(100_000));
    assert!(read(&long, Format::Xml).contains("the limit is 100000"), "octets");
    let many = format!("<Deployment:DeploymentPlan>{}", "<label/>".repeat(1_001));
    assert!(read(&many, Format::Xml).contains("more than 1000 elements"));
    let many = format!("source = [{}]", "\"\",".repeat(1_001));
    assert!(read(&many, Format::Toml).contains("more than 1000 elements"));
    let deep = "<a>".repeat(10_000);
    assert!(read(&deep, Format::Xml).contains("nested more than 20 deep"));
    let deep = format!("a = {}1{}", "{a = ".repeat(30), "}".repeat(30));
    assert!(read(&deep, Format::Toml).contains("nested more than 20 deep"));
    let deep = format!("a = {}", "[".repeat(50_000));
    assert!(read(&deep, Format::Toml).contains("not well-formed TOML"));
}

#[test]
fn other_roots_and_broken_text_are_refused() {
    for (text, wanted) in [
        ("<html/>", "1:1: error: <html> is not a document; expected one of DeploymentPlan, Domain"),
        ("", "the document has no elements"),
        ("<a><b></a>", "not well-formed XML"),
        ("<a>", "<a> is not closed"),
        ("<Domain/><Domain/>", "one root element"),
        ("<Domain/>text", "text outside the root element"),
        ("document = \"Domain\"", "A document in TOML needs the ending .toml"),
        ("<Domain a='1' a='2'/>", "not well-formed XML"),
    ] {
        let found = refused(text, Format::Xml);
        assert!(found.contains(wanted), "{text}: {found}");
    }
    assert!(refused("document = \"Letter\"", Format::Toml).contains("<Letter> is not a document"));
    let domain = parse("<Deployment:domain/>", Format::Xml).unwrap();
    let refused = domain.into_plan().unwrap_err().to_string();
    assert_eq!(refused, "error: expected a plan, but this is a document of kind Domain");
}

/// Returns the TOML documents on a page, which must be `N`.
fn examples<const N: usize>(page: &str) -> [&str; N] {
    blocks(page, "```toml\n")
}

/// Returns the code on a page after this mark, in `N` blocks.
fn blocks<'p, const N: usize>(page: &'p str, mark: &str) -> [&'p str; N] {
    let blocks = page.split(mark).skip(1);
    let blocks =
        blocks.map(|block| block.split("```").next().expect("split gives one part at least"));
    let blocks: Vec<&str> = blocks.collect();
    blocks.try_into().unwrap_or_else(|blocks: Vec<&str>| panic!("{} examples", blocks.len()))
}

#[test]
fn documents_of_the_pages_are_good() {
    let [plan, _, _] = examples(include_str!("../../../../docs/deployment.md"));
    let [resources, enforced] = examples(include_str!("../../../../docs/rtcad.md"));
    let plan = parse(plan, Format::Toml).unwrap().into_plan().unwrap();
    let resources = parse(resources, Format::Toml).unwrap().into_resources().unwrap();
    let report = oxorb_deploy::check::check(&oxorb_deploy::check::Input {
        plan: &plan,
        resources: Some(&resources),
        domain: None,
        components: None,
    });
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(report.timing.unwrap().is_safe());
    let enforced = parse(enforced, Format::Toml).unwrap().into_resources().unwrap();
    for (name, rates) in [("rate", 1), ("screen", 1)] {
        let (instance, attachment) = (plan.instance_named(name), enforced.attachment(name));
        let found = enforced_rates(instance.unwrap(), attachment.unwrap());
        assert_eq!(found.unwrap().len(), rates);
    }
}

#[test]
fn ends_of_lines_are_those_of_xml_1_0() {
    let plan = parse(
        &plan("<source>a\r\nb\rc\u{2028}d\u{85}e<![CDATA[\r\n]]>&#13;</source>"),
        Format::Xml,
    );
    let plan = plan.unwrap().into_plan().unwrap();
    assert_eq!(plan.instance[0].source, ["a\nb\nc\u{2028}d\u{85}e\n\r"]);
}

#[test]
fn an_element_has_a_bounded_number_of_attributes() {
    let text = |count: usize| {
        let attributes: String = (0..count).map(|at| format!(" xmlns:a{at}=\"\"")).collect();
        format!("<Deployment:DeploymentPlan\n{attributes}/>")
    };
    assert!(parse(&text(64), Format::Xml).is_ok());
    for count in [65, 50_000] {
        let told = refused(&text(count), Format::Xml);
        assert_eq!(told, "1:1: error: <DeploymentPlan> has more than 64 attributes, the limit");
    }
}

#[test]
fn ids_lose_outer_spaces_on_both_sides() {
    let xml = "<Deployment:DeploymentPlan xmlns:xmi=\"http://www.omg.org/XMI\"><implementation xmi:id=\" I\"><name>n</name>\
        </implementation><instance xmi:id=\"x\"><name>x</name><node>n</node><implementation xmi:idref=\"I \"/></instance>\
        </Deployment:DeploymentPlan>";
    let first = parse(xml, Format::Xml).unwrap();
    let toml = first.write(Format::Toml).unwrap();
    assert_eq!(parse(&toml, Format::Toml).unwrap(), first, "{toml}");
    let spaced = "[[implementation]]\nname = \" I\"\n[[instance]]\nname = \"x\"\nnode = \"n\"\nimplementation = \" I\"\n";
    let first = parse(spaced, Format::Toml).unwrap();
    for format in [Format::Xml, Format::Toml] {
        let text = first.write(format).unwrap();
        assert_eq!(parse(&text, format).unwrap(), first, "{text}");
    }
}

#[test]
fn a_value_has_one_type_one_value_and_no_text() {
    let text = |inside: &str| {
        format!(
            "<Deployment:DeploymentPlan><infoProperty><name>a</name>\n<value>{inside}</value></infoProperty></Deployment:DeploymentPlan>"
        )
    };
    let kind = "<type><kind>tk_long</kind></type>";
    let value = "<value><long>1</long></value>";
    assert!(parse(&text(&format!("{kind}{value}")), Format::Xml).is_ok());
    for (inside, wanted) in [
        (
            format!("JUNK{kind}{value}"),
            "2:1: error: <value> has the text \"JUNK\" in addition to <type> and <value>",
        ),
        (format!("{kind}{value}{value}"), "2:70: error: <value> has a second <value>"),
        (format!("{kind}{kind}{value}"), "2:41: error: <value> has a second <type>"),
    ] {
        assert_eq!(refused(&text(&inside), Format::Xml), wanted);
    }
}

#[test]
fn rates_are_written_as_periods() {
    let text = "document = \"ServerResources\"\n[[instance]]\nname = \"a\"\n\
        work = [{ port = \"u\", wcet = \"1 ms\", leastRate = \"3 Hz\" }]\n";
    let first = parse(text, Format::Toml).unwrap();
    let written = first.write(Format::Toml).unwrap();
    assert!(written.contains("leastRate = \"333333333 ns\""), "{written}");
    assert_eq!(parse(&written, Format::Toml).unwrap(), first);
}

#[test]
fn what_toml_cannot_nest_is_refused_when_it_is_written() {
    let nested = |depth: usize| {
        let open = "<label>y</label><specializedConfig>".repeat(depth);
        let close = "</specializedConfig><specializedConfig><label>z</label></specializedConfig>"
            .repeat(depth);
        let xml = format!(
            "<Deployment:PackageConfiguration>{open}<label>z</label>{close}</Deployment:PackageConfiguration>"
        );
        parse(&xml, Format::Xml).unwrap_or_else(|error| panic!("{depth}: {error}"))
    };
    let mut refusals = 0;
    for depth in 1..46 {
        let document = nested(depth);
        match document.write(Format::Toml) {
            Ok(text) => assert_eq!(parse(&text, Format::Toml).unwrap(), document, "{depth}"),
            Err(error) => {
                refusals += 1;
                let told = error.to_string();
                assert!(
                    told.starts_with("error: TOML cannot hold this document: ")
                        && told.ends_with("; write it as XML"),
                    "{told}"
                );
            }
        }
    }
    assert!(refusals > 0, "the reader of TOML takes any depth");
}

#[test]
fn the_package_of_the_page_makes_a_plan_with_both_rates() {
    let page = include_str!("../../../../docs/deployment.md");
    let [_, rate, cockpit] = examples(page);
    let [interface, artifact] = blocks(page, "```xml\n");
    let files = [
        ("rate.toml", rate.as_bytes().to_vec()),
        ("cockpit.toml", cockpit.as_bytes().to_vec()),
        ("RateGenerator.ccd", interface.as_bytes().to_vec()),
        ("cockpit.iad", artifact.as_bytes().to_vec()),
        ("bin/cockpit", b"#!/bin/sh\n".to_vec()),
    ];
    let files = files.map(|(name, content)| (name.to_owned(), content)).into();
    let nose = Assembly { node: Some("nose".to_owned()), ..Assembly::default() };
    let plan = Archive { files }.plan(&nose).unwrap();
    let rates = plan.instance.iter().map(|one| {
        let rate = &one.property("hertz").unwrap().value;
        format!("{} {rate}", one.name)
    });
    assert_eq!(rates.collect::<Vec<_>>(), ["usual 20", "slow 5"]);
}
