//! Checks and conversions of plans.

use serde_json::Value;

use crate::common::{Folder, text};
use crate::deploy::*;

const EVERYTHING: &[&str] = &[
    "check",
    "collision.toml",
    "--idl",
    "avionics.idl",
    "--rt",
    "collision-rt.toml",
    "--domain",
    "domain.toml",
    // Both artifacts of the plan are in one process, which no node manager could start.
    "--without-managers",
];

#[test]
fn a_good_plan_is_proved_in_text_and_in_json() {
    let told = good(EVERYTHING);
    assert!(told.starts_with("cockpit: 57.88 % of one processor\n"), "{told}");
    assert!(
        told.contains(
            "  ok      20  slow rate -> radar.refresh -> warning.update: 15.15 ms of 30 ms\n"
        ),
        "{told}"
    );
    let end = "good: 6 instances on 1 node, 6 connections; every critical deadline is proved\n";
    assert!(told.ends_with(end), "{told}");
    let json: Value =
        serde_json::from_str(&good(&[EVERYTHING, &["--format", "json"]].concat())).unwrap();
    assert_eq!((&json["good"], &json["safe"]), (&Value::Bool(true), &Value::Bool(true)));
    let chains = json["chains"].as_array().unwrap();
    let warning = chains.iter().find(|chain| chain["steps"][2] == "warning.update").unwrap();
    assert_eq!(warning["response_ns"], 15_150_000);
    assert_eq!(warning["priority"], 20);
}

#[test]
fn bursts_of_enforced_rates_are_compared_with_the_callers() {
    let folder = Folder::new("deploy-bursts");
    let resources = std::fs::read_to_string(format!("{PLANS}/collision-rt.toml")).unwrap();
    let checked = |burst: u32, format: &str| {
        let work = "{ port = \"location\", wcet = \"50 us\" },";
        let limited = format!(
            "{{ port = \"location\", wcet = \"50 us\", mostRate = \"20 Hz\", burst = {burst}, beyond = \"refuse\" }},"
        );
        assert!(resources.contains(work), "{resources}");
        let file = folder.file("rt.toml", &resources.replacen(work, &limited, 1));
        let mut args = EVERYTHING.to_vec();
        let at = args.iter().position(|arg| *arg == "collision-rt.toml").unwrap();
        args[at] = &file;
        good(&[&args[..], &["--format", format]].concat())
    };
    // The call of `navigation` is as late as its work, which ends within its period of 50 ms.
    let told = checked(1, "text");
    let wanted = ": warning: gps.location has a burst of 1, but its callers need 2, so calls may be refused although \
        all callers keep their rates; specify burst = 2\n";
    assert!(told.contains(wanted), "{told}");
    let json: Value = serde_json::from_str(&checked(1, "json")).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["cure"], "specify burst = 2");
    let told = checked(2, "text");
    let wanted =
        ": note: gps.location has a burst of 2, which is enough, because its callers need 2\n";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn ports_and_types_come_from_idl() {
    let folder = Folder::new("deploy-idl");
    let idl = std::fs::read_to_string(format!("{PLANS}/avionics.idl")).unwrap();
    let changed = idl.replace("uses Location source", "uses multiple Location source");
    let file = folder.file("changed.idl", &changed);
    let told = refused(&["check", "avionics.toml", "--idl", &file]);
    let wanted =
        "error: navigation.source is a MultiplexReceptacle in IDL, but a SimplexReceptacle here\n";
    assert!(told.starts_with("avionics.toml:") && told.contains(wanted), "{told}");
}

#[test]
fn facets_of_local_interfaces_are_no_ports_of_plans() {
    let folder = Folder::new("deploy-local");
    let idl = std::fs::read_to_string(format!("{PLANS}/avionics.idl")).unwrap();
    let local =
        "local interface Tuning { void tune(); };\n  component Sensor {\n    provides Tuning knob;";
    let idl = folder.file("local.idl", &idl.replace("component Sensor {", local));
    let plan = std::fs::read_to_string(format!("{PLANS}/avionics.toml")).unwrap();
    let file = folder.file("plan.toml", &plan.replace("gps.location", "gps.knob"));
    let told = refused(&["check", &file, "--idl", &idl]);
    assert!(
        told.contains("\"gps\" has no port \"knob\"; it has location, ready, refresh\n"),
        "{told}"
    );
}

#[test]
fn errors_have_a_file_and_a_place() {
    let folder = Folder::new("deploy-errors");
    let plan = std::fs::read_to_string(format!("{PLANS}/avionics.toml")).unwrap();
    let file = folder.file(
        "plan.toml",
        &plan.replace(
            "node = \"cockpit\"\n\n[[instance]]\nname = \"navigation\"",
            "\n[[instance]]\nname = \"navigation\"",
        ),
    );
    let told = refused(&["check", &file]);
    assert!(
        told.contains("plan.toml:31:1: error: instance \"gps\" is on no node; specify a node\n"),
        "{told}"
    );
    let json = deploy(&["check", &file, "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["findings"][0]["line"], 31);
    assert_eq!(json["good"], false);
    let file = folder
        .file("plan.cdp", "<Deployment:DeploymentPlan>\n  <colour/>\n</Deployment:DeploymentPlan>");
    let told = refused(&["check", &file]);
    assert!(told.contains("plan.cdp:2:3: <DeploymentPlan> has no <colour>"), "{told}");
    let told = refused(&["check", "domain.toml"]);
    assert!(told.contains("expected a plan, but this is a document of kind Domain"), "{told}");
    assert_eq!(deploy(&["check"]).status.code(), Some(2));
}

/// Returns a plan of two instances whose facets are connected in a cycle; `implementation` is extra text for both
/// implementations.
fn cycle(implementation: &str) -> String {
    let instance = |name: &str| {
        format!("[[instance]]\nname = {name:?}\nimplementation = \"I\"\nnode = \"n\"\n")
    };
    let connection = |name: &str, facet: &str, receptacle: &str| {
        format!(
            "[[connection]]\nname = {name:?}\nFacet = {facet:?}\nSimplexReceptacle = {receptacle:?}\n"
        )
    };
    [
        "label = \"cycle\"\n[[implementation]]\nname = \"I\"\n",
        implementation,
        &instance("a"),
        &instance("b"),
        &connection("1", "a.f", "b.r"),
        &connection("2", "b.f", "a.r"),
    ]
    .concat()
}

#[test]
fn a_check_finds_what_launching_refuses() {
    let folder = Folder::new("deploy-refusals");
    let checked = |text: &str, more: &[&str]| {
        let file = folder.file("plan.toml", text);
        let output = deploy(&[&["check", &file], more].concat());
        (output.status.success(), self::text(&output.stdout).replace(&file, "plan"))
    };
    let (is_good, told) = checked(&cycle(""), &[]);
    assert!(!is_good, "{told}");
    for instance in ["a", "b"] {
        let wanted = format!(
            "plan:2:1: error: implementation \"I\", of instance {instance:?}, has no artifact, so there is no program \
             to run; add the executable into which it is linked as an artifact\n"
        );
        assert!(told.contains(&wanted), "{told}");
        let wanted = format!(
            "plan:2:1: error: the implementation of instance {instance:?} names no entry point; "
        );
        assert!(told.contains(&wanted), "{told}");
    }
    // `launch` reports the same errors.
    let refused = refused(&["launch", &folder.path("plan.toml"), "--local"]);
    assert!(refused.contains("has no artifact, so there is no program to run"), "{refused}");

    let entry = "[implementation.execParameter]\n\"component factory\" = \"create\"\n";
    let (is_good, told) = checked(&cycle(entry), &[]);
    assert!(!is_good && told.contains("has no artifact"), "{told}");
    // Processes that are not started by a node manager need no artifact.
    let (is_good, told) = checked(&cycle(entry), &["--without-managers"]);
    assert!(is_good, "{told}");
    // The cycle itself is only a warning: all connections are made before anything is activated.
    let artifact = "artifact = \"x\"\n";
    let located = "[[artifact]]\nname = \"x\"\nlocation = \"bin/x\"\n";
    let whole = cycle(&format!("{artifact}{entry}{located}"));
    let (is_good, told) = checked(&whole, &[]);
    assert!(is_good, "{told}");
    let wanted =
        "warning: components call each other's facets in a cycle: a.r -> b.f, b.r -> a.f; ";
    assert!(told.contains(wanted), "{told}");

    for (wrong, wanted) in [
        (whole.replace("bin/x", "http://host/x"), "artifact \"http://host/x\": a file that is fetched"),
        (whole.replace("bin/x", "ftp://host/x"), "no manager fetches files by ftp:"),
        (
            whole.replace("node = \"n\"\n", "node = \"n\"\nconfigProperty = { ComponentIOR = \"x.ior\" }\n"),
            "but processes under node managers do not write files; remove it",
        ),
        (
            whole.replace(
                "node = \"n\"\n",
                "node = \"n\"\nconfigProperty = { \"edu.vanderbilt.dre.DAnCE.InstanceNC\" = \"x\" }\n",
            ),
            "which is not supported",
        ),
    ] {
        let (is_good, told) = checked(&wrong, &[]);
        assert!(!is_good && told.contains(wanted), "{wanted}: {told}");
    }
    let resources = |line: &str| {
        let text = format!("document = \"ServerResources\"\n{line}\n");
        let file = folder.file("rt.toml", &text);
        checked(&whole, &["--rt", &file])
    };
    let (is_good, told) = resources("[cmdline]\narg = [\"-ORBLogFile=x\"]");
    assert!(
        !is_good && told.contains("cmdline has \"-ORBLogFile\", which a plan may not set"),
        "{told}"
    );
    let (is_good, told) = resources("[svcconf]\nuri = \"svc.conf\"");
    assert!(!is_good && told.contains("which OxORB does not support"), "{told}");
    // Two executables cannot run in one process.
    let told = self::refused(&["check", "collision.toml"]);
    assert!(told.contains("separate them with a localityConstraint DifferentProcess"), "{told}");
}

#[test]
fn documents_are_converted_either_way() {
    let folder = Folder::new("deploy-convert");
    for name in
        ["ciao.cdp", "harbour.csr", "gps.cpd", "collision.toml", "collision-rt.toml", "domain.toml"]
    {
        let (toml, xml, back) =
            (folder.path("a.toml"), folder.path("a.xml"), folder.path("b.toml"));
        good(&["convert", name, &toml]);
        good(&["convert", &toml, &xml]);
        good(&["convert", &xml, &back]);
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&toml), read(&back), "{name}");
    }
    assert!(
        good(&["convert", "collision.toml", "-", "--to", "xml"])
            .contains("xmi:idref=\"CollisionRadar\"")
    );
    let told = refused(&["convert", "collision.toml", "-"]);
    assert!(
        told.contains("-: the format cannot be derived from the ending")
            && told.contains("specify --to xml or --to toml"),
        "{told}"
    );
}

#[test]
fn a_check_finds_artifacts_that_are_not_there() {
    let folder = Folder::new("deploy-artifacts");
    let parts = "artifact = \"x\"\n[implementation.execParameter]\n\"component factory\" = \"create\"\n\
         [[artifact]]\nname = \"x\"\nlocation = \"bin/x\"\n";
    let file = folder.file("plan.toml", &cycle(parts));
    let below = folder.path("");
    // By default, files may be missing on this machine, because the nodes may be other machines.
    good(&["check", &file]);
    let told = refused(&["check", &file, "--artifacts", &below]);
    assert!(told.contains("plan.toml:7:1: error: artifact \"x\" cannot be run: "), "{told}");
    assert!(told.contains("put the file there") && told.ends_with("; 1 error\n"), "{told}");
    std::fs::create_dir(folder.path("bin")).unwrap();
    folder.file("bin/x", "");
    good(&["check", &file, "--artifacts", &below]);
    let told = refused(&["check", &file, "--artifacts", &folder.path("none")]);
    assert!(told.contains("the folder of executables"), "{told}");
}

#[test]
fn connections_of_extended_ports_are_those_of_their_basic_ports() {
    let folder = Folder::new("deploy-extended");
    let idl = folder.file("avionics.idl", BUS);
    let part = |name: &str, instance: &str| {
        format!(
            "[[implementation]]\nname = {name:?}\nexecParameter = {{ \"component factory\" = \"create_Avionics_{name}_Impl\" }}\n\
             [[instance]]\nname = {instance:?}\nnode = \"n\"\nimplementation = {name:?}\n"
        )
    };
    let connection = "[[connection]]\nname = \"bus\"\nExtendedPort = \"left.link\"\nMirrorPort = \"wire.near\"\n";
    let text = [&part("Left", "left"), &part("Wire", "wire"), connection].concat();
    let plan = folder.file("plan.toml", &text);
    let check = |plan: &str, more: &[&str]| {
        let output = deploy(&[&["check", plan, "--without-managers"], more].concat());
        (output.status.success(), self::text(&output.stdout) + &self::text(&output.stderr))
    };
    let (is_good, told) = check(&plan, &[]);
    let wanted = "left.link of connection \"bus\" is of the kind ExtendedPort, which cannot be connected; specify the IDL";
    assert!(!is_good && told.contains(wanted), "{told}");
    let emit: &[&str] = &["emit", "kubernetes", &plan, "--image", "display:1"];
    let told = refused(&[emit, COMMAND].concat());
    assert!(told.contains("plan.toml:17:1: processes cannot connect extended ports"), "{told}");
    let (is_good, told) = check(&plan, &["--idl", &idl]);
    assert!(is_good && told.contains("2 instances on 1 node, 2 connections"), "{told}");
    let whole = folder.path("whole.toml");
    good(&["convert", &plan, &whole, "--idl", &idl]);
    let written = std::fs::read_to_string(&whole).unwrap();
    assert!(written.contains("name = \"bus.inward\"\n"), "{written}");
    let (is_good, told) = check(&whole, &[]);
    assert!(is_good, "{told}");
    // Errors in the connection itself are reported once, with the place.
    let wrong = folder.file("wrong.toml", &text.replace("wire.near", "wire.far"));
    let (is_good, told) = check(&wrong, &["--idl", &idl]);
    let wanted = "wrong.toml:18:1: error: \"wire\" has no port \"far\"; it has near, near_inward, near_outward\n";
    assert!(!is_good && told.contains(wanted), "{told}");
    assert_eq!(told.matches("has no port").count(), 1, "{told}");
    assert!(!told.contains("cannot be connected"), "{told}");
    let with_simplex = BUS
        .replace("  component", "  porttype Simplex { provides Position outward; };\n  component")
        .replace("Duplex near;", "Duplex near; mirrorport Simplex half;");
    let with_simplex = folder.file("simplex.idl", &with_simplex);
    let other = "[[connection]]\nname = \"bus\"\nMirrorPort = \"wire.half\"\nExtendedPort = \"left.link\"\n";
    let other = folder.file("other.toml", &text.replace(connection, other));
    let (is_good, told) = check(&other, &["--idl", &with_simplex]);
    let wanted =
        "error: wire.half is of type Avionics::Simplex, but left.link of type Avionics::Duplex";
    assert!(!is_good && told.contains(wanted), "{told}");
    assert_eq!(told.matches(" is of type ").count(), 1, "{told}");
    let told = refused(&["convert", &wrong, &whole, "--idl", &idl]);
    assert!(told.contains("wrong.toml:18:1: \"wire\" has no port \"far\""), "{told}");
    let told = refused(&["convert", "domain.toml", &whole, "--idl", &idl]);
    assert!(told.contains("expected a plan, but this is a document of kind Domain"), "{told}");
}

#[test]
fn plans_in_utf16_are_read() {
    let folder = Folder::new("deploy-utf16");
    let xml = good(&["convert", "collision.toml", "-", "--to", "xml"]);
    let xml = xml.replace("UTF-8", "UTF-16");
    let octets: Vec<u8> =
        format!("\u{feff}{xml}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    let file = folder.path("plan.cdp");
    std::fs::write(&file, &octets).unwrap();
    assert_eq!(
        good(&["convert", &file, "-", "--to", "toml"]),
        good(&["convert", "collision.toml", "-", "--to", "toml"])
    );
    std::fs::write(&file, &octets[..octets.len() - 1]).unwrap();
    let told = refused(&["check", &file]);
    assert!(told.contains("plan.cdp:") && told.contains("ends within a character"), "{told}");
}

#[test]
fn priorities_are_chosen_and_written() {
    let folder = Folder::new("deploy-assign");
    let flat = std::fs::read_to_string(format!("{PLANS}/collision-rt.toml")).unwrap();
    let flat = folder.file(
        "flat.toml",
        &flat.replace("policySet = \"collision\"", "policySet = \"navigation\""),
    );
    let check = ["check", "collision.toml", "--without-managers"];
    let told = refused(&[&check[..], &["--rt", &flat]].concat());
    assert!(told.contains("warning.update"), "{told}");
    let out = folder.path("assigned.csr");
    let told = good(&[&check[..], &["--rt", &flat, "--assign", &out]].concat());
    assert!(told.contains("priorities by deadline, written to "), "{told}");
    let xml = std::fs::read_to_string(&out).unwrap();
    assert!(xml.contains("<threadpoolWithLanes id=\"assigned\">"), "{xml}");
    good(&[&check[..], &["--rt", &out]].concat());
}

#[test]
fn mistakes_in_files_and_options_are_named() {
    let folder = Folder::new("deploy-mistakes");
    let located = "artifact = \"x\"\n[implementation.execParameter]\n\"component factory\" = \"create\"\n\
         [[artifact]]\nname = \"x\"\nlocation = \"bin/x\"\n";
    let plan = folder.file("plan.toml", &cycle(located));
    let head = "document = \"ServerResources\"\n";
    let resources = folder.file("rt.toml", head);

    // Priorities are not written over another document.
    let same = folder.path("./plan.toml");
    let told = refused(&["check", &plan, "--rt", &resources, "--assign", &same]);
    assert!(told.contains("would overwrite") && told.contains(&plan), "{told}");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), cycle(located));

    // These commands have no option for the format of standard input.
    for verb in ["check", "redeploy"] {
        let told = refused(&[verb, "-"]);
        assert!(told.contains("specify a file") && !told.contains("--from"), "{told}");
    }

    // The plan names its real-time resources, and the command line does not.
    let text = std::fs::read_to_string(format!("{PLANS}/ciao.cdp")).unwrap();
    let named = folder.file("ciao.cdp", &text.replace("harbour.csr", "none.csr"));
    let at = format!("{named}:");
    let wanted = format!("the plan names the real-time resources {}", folder.path("none.csr"));
    for args in [&["check", &named][..], &["launch", &named, "--local"], &["redeploy", &named]] {
        let told = refused(args);
        assert!(told.contains(&at) && told.contains(&wanted), "{args:?}: {told}");
    }

    // An error in the real-time resources names their file, and not the plan.
    let wrong = folder.file("wrong.toml", &format!("{head}[cmdline]\narg = [\"-ORBLogFile=x\"]\n"));
    let told = refused(&["launch", &plan, "--rt", &wrong, "--local"]);
    let line = told.lines().find(|line| line.contains("-ORBLogFile")).unwrap_or_default();
    assert!(line.contains(&format!("{wrong}:2:")) && !line.contains(&plan), "{told}");
    let text = format!("{head}[[instance]]\nname = \"a\"\ncpus = \"0,x\"\n");
    let wrong = folder.file("cpus.toml", &text);
    let out = folder.path("units");
    let emit = ["emit", "systemd", &plan, "--rt", &wrong, "--out", &out];
    let told = refused(&[&emit[..], RT_COMMAND].concat());
    let wanted = format!("{wrong}:2:1: \"x\" of instance \"a\" is not a processor");
    assert!(told.contains(&wanted), "{told}");

    let emit = ["emit", "systemd", &plan, "--out", &out, "--command"];
    let told = refused(&[&emit[..], &["/bin/true {plan} {proces}"]].concat());
    assert!(
        told.contains("contains {proces}, but only {plan}, {rt}, {node} and {process}"),
        "{told}"
    );
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let at = ["--at", "corbaloc::127.0.0.1:9/ExecutionManager"];
    let cases: [(&[&str], &str); 7] = [
        (&["launch", "collision.toml", at[0], at[1], "--naming"], "leave out one of them"),
        (
            &["launch", "collision.toml", "--packages", "p"],
            "--packages is for an execution manager",
        ),
        (&["launch", "collision.toml", "--any-artifact"], "--any-artifact is for node managers"),
        (&["launch", "collision.toml", "--naming", "--artifacts", "."], "--artifacts is for node"),
        (&["launch", "collision.toml", "--node", "a=x", "--node", "a=y"], "two references of node"),
        (&["serve", "--node", "a=x", "--node", "a=y"], "specify only one"),
        (&["assemble", "gps.cpk", "p.toml", at[0], at[1]], "add --repository"),
    ];
    for (args, wanted) in cases {
        let told = refused(args);
        assert!(told.contains(wanted), "{args:?}: {told}");
    }
    // With a limit of 0, every launch would fail.
    for option in ["--max-plans", "--node-timeout", "--max-packages"] {
        let output = deploy(&["serve", option, "0"]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(text(&output.stderr).contains(option), "{option}");
    }
}
