//! Plans for other engines: systemd and Kubernetes.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Folder, text};
use crate::deploy::*;

#[test]
fn units_of_systemd_are_written_and_checked_where_that_is_possible() {
    let folder = Folder::new("deploy-systemd");
    let out = folder.path("units");
    let args: &[&str] =
        &["emit", "systemd", "collision.toml", "--rt", "collision-rt.toml", "--out", &out];
    // A program missing on this machine may exist on the nodes.
    let elsewhere = ["--command", "/nonexistent/display {plan} {rt} {node} {process}"];
    let told = good(&[args, &elsewhere].concat());
    assert!(told.ends_with("cockpit: 2 units\n"), "{told}");
    let told = good(&[args, RT_COMMAND, &["--verify"]].concat());
    let is_checked = Command::new("systemd-analyze").arg("--version").output().is_ok();
    match is_checked {
        true => assert!(told.contains("cockpit: 2 units, checked by systemd-analyze"), "{told}"),
        false => {
            assert!(
                told.contains(
                    "cockpit: 2 units, NOT CHECKED: systemd-analyze is not installed on this machine"
                ),
                "{told}"
            );
            eprintln!(
                "NOT CHECKED: systemd-analyze is not installed; the units were only compared"
            );
        }
    }
    let name = r"oxorb-avionics\x20display\x20with\x20collision\x20warning";
    let unit = format!("{name}-main.service");
    let unit = std::fs::read_to_string(format!("{out}/cockpit/{unit}")).unwrap();
    let part_of = format!("PartOf={name}.target");
    for line in ["LimitRTPRIO=99", "LimitMEMLOCK=infinity", "Restart=on-failure", &part_of] {
        assert!(unit.lines().any(|found| found == line), "no {line} in\n{unit}");
    }
    // Paths with a space are quoted. The path of this work tree may have one, so ignore quotes.
    let runs = unit.replace('"', "");
    assert!(
        runs.contains("ExecStart=/bin/true --plan /")
            && runs.contains("/collision-rt.toml --node cockpit --process main\n"),
        "{unit}"
    );
    // Without real-time resources there are no priorities, so no privileges are needed.
    let plain: &[&str] = &["emit", "systemd", "collision.toml", "--out", &out];
    good(&[plain, COMMAND].concat());
    let unit = std::fs::read_to_string(format!("{out}/cockpit/{name}-main.service")).unwrap();
    assert!(!unit.contains("RTPRIO"), "{unit}");
    let told = refused(&[args, &["--command", "true"]].concat());
    assert!(told.contains("must begin with the absolute path"), "{told}");
    let told = refused(&[args, COMMAND].concat());
    assert!(told.contains("without the real-time resources: add --rt {rt}"), "{told}");
    let told = refused(&[plain, RT_COMMAND].concat());
    assert!(told.contains("contains {rt}, but no real-time"), "{told}");
}

/// Checks a name against the rules of the API server.
fn is_name(name: &Value) -> bool {
    let name = name.as_str().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Checks the parts of the schema of the `apps/v1` Deployment that the generated manifests use.
fn valid(deployment: &Value) {
    let only = |value: &Value, keys: &[&str]| {
        let object = value.as_object().expect("an object");
        object.keys().for_each(|key| assert!(keys.contains(&key.as_str()), "{key} of {value}"));
    };
    only(deployment, &["apiVersion", "kind", "metadata", "spec"]);
    only(&deployment["metadata"], &["name", "labels", "annotations"]);
    assert!(is_name(&deployment["metadata"]["name"]), "{deployment}");
    let spec = &deployment["spec"];
    only(spec, &["replicas", "strategy", "selector", "template"]);
    let wanted = spec["selector"]["matchLabels"].as_object().expect("a selector is required");
    for (key, value) in wanted {
        assert_eq!(
            &spec["template"]["metadata"]["labels"][key], value,
            "a selector has to fit its template"
        );
    }
    let pod = &spec["template"]["spec"];
    only(pod, &["nodeSelector", "containers", "volumes"]);
    for container in pod["containers"].as_array().expect("containers are required") {
        only(
            container,
            &["name", "image", "command", "volumeMounts", "securityContext", "resources"],
        );
        assert!(is_name(&container["name"]) && container["image"].is_string());
        for mount in container["volumeMounts"].as_array().unwrap() {
            let volumes = pod["volumes"].as_array().unwrap();
            assert!(
                volumes.iter().any(|volume| volume["name"] == mount["name"]),
                "{mount} has no volume"
            );
        }
    }
}

/// Checks a list against the schemas of Kubernetes, if the Python package kubernetes-validate is installed.
fn valid_for_kubernetes(folder: &Folder, list: &Value) {
    let validate = |file: &str| {
        let mut python = Command::new("python3");
        python.args(["-m", "kubernetes_validate", "--strict", file]);
        python.stdin(Stdio::null()).output()
    };
    let probe = Command::new("python3").args(["-c", "import kubernetes_validate"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!(
            "NOT CHECKED by the schemas of Kubernetes: kubernetes-validate is not installed; the parts that matter were compared"
        );
        return;
    }
    for (at, item) in list["items"].as_array().unwrap().iter().enumerate() {
        let file = folder.file(&format!("{at}.json"), &item.to_string());
        let output = validate(&file).unwrap();
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{told}\n{item}");
    }
}

#[test]
fn manifests_of_kubernetes_fit_their_schema() {
    let folder = Folder::new("deploy-kubernetes");
    let args: &[&str] = &["emit", "kubernetes", "collision.toml", "--image", "display:1"];
    let read =
        |more: &[&str]| -> Value { serde_json::from_str(&good(&[args, more].concat())).unwrap() };
    let list = read(&[&["--rt", "collision-rt.toml"], RT_COMMAND].concat());
    assert_eq!(list["kind"], "List");
    valid_for_kubernetes(&folder, &list);
    let items = list["items"].as_array().unwrap();
    assert_eq!(items[0]["kind"], "ConfigMap");
    assert!(is_name(&items[0]["metadata"]["name"]));
    assert!(items[0]["data"]["plan.toml"].as_str().unwrap().contains("CollisionRadar"));
    let resources = items[0]["data"]["rt.toml"].as_str().unwrap();
    assert!(resources.contains("policySet"), "{resources}");
    assert_eq!(items.len(), 2);
    items[1..].iter().for_each(valid);
    let container = &items[1]["spec"]["template"]["spec"]["containers"][0];
    let command = container["command"].as_array().unwrap();
    assert!(command.contains(&"/etc/oxorb/rt.toml".into()), "{container}");
    assert_eq!(container["securityContext"]["capabilities"]["add"][0], "SYS_NICE");
    assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
    let container = &read(COMMAND)["items"][1]["spec"]["template"]["spec"]["containers"][0];
    assert!(container.get("securityContext").is_none());
}

#[test]
fn names_of_a_plan_are_no_text_for_the_engine() {
    let folder = Folder::new("deploy-hostile-names");
    let plan = |nodes: [&str; 2]| {
        let names = ["$(HOME){node}", "b"];
        let instances = names.iter().zip(nodes).map(|(name, node)| {
            format!("[[instance]]\nname = {name:?}\nnode = {node:?}\nimplementation = \"I\"\n")
        });
        let instances: String = instances.collect();
        let text = format!(
            "label = \"names\"\n[[implementation]]\nname = \"I\"\n{instances}[[localityConstraint]]\n\
             constraint = \"DifferentProcess\"\nconstrainedInstance = {names:?}\n"
        );
        folder.file("plan.toml", &text)
    };
    let file = plan(["{process}", "south"]);
    let args: &[&str] = &["emit", "kubernetes", &file, "--image", "display:1"];
    let list: Value = serde_json::from_str(&good(&[args, COMMAND].concat())).unwrap();
    let words = &list["items"][1]["spec"]["template"]["spec"]["containers"][0]["command"];
    let words: Vec<&str> = words.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(words.contains(&"{process}") && words.contains(&"$$(HOME){node}"), "{words:?}");
    // The units of two nodes are never in one folder.
    let out = folder.path("units");
    let file = plan(["North 1", "north-1"]);
    let args: &[&str] = &["emit", "systemd", &file, "--out", &out];
    let told = refused(&[args, COMMAND].concat());
    assert!(told.contains("in one folder, north-1: rename a node"), "{told}");
    assert!(!std::path::Path::new(&out).exists());
}

/// Returns a plan with two processes whose names are equal when truncated.
fn long_names(label: &str) -> String {
    let node = "a-node-with-a-name-that-is-rather-long-1";
    let names = ["one-display-of-the-port-side-number-1", "one-display-of-the-port-side-number-2"];
    let instances = names.map(|name| {
        format!("[[instance]]\nname = {name:?}\nnode = {node:?}\nimplementation = \"I\"\n")
    });
    format!(
        "label = {label:?}\n[[implementation]]\nname = \"I\"\n{}\
         [[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = {names:?}\n",
        instances.concat()
    )
}

#[test]
fn long_names_of_kubernetes_stay_different() {
    let folder = Folder::new("deploy-names");
    let mut all = std::collections::BTreeSet::new();
    for label in ["day", "night"] {
        let file = folder.file("plan.toml", &long_names(label));
        let args: &[&str] = &["emit", "kubernetes", &file, "--image", "display:1"];
        let list: Value = serde_json::from_str(&good(&[args, COMMAND].concat())).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 3);
        for item in items {
            assert!(is_name(&item["metadata"]["name"]), "{item}");
            all.insert(item["metadata"]["name"].to_string());
        }
        items[1..].iter().for_each(valid);
    }
    assert_eq!(all.len(), 6, "{all:?}");
}

#[test]
fn names_of_a_plan_and_its_parts_are_not_confused() {
    let folder = Folder::new("deploy-hyphens");
    let out = folder.path("units");
    let mut manifests = std::collections::BTreeSet::new();
    // Names of a plan, its node and its process, which are the same if they are only joined.
    for [label, node, process] in [["a-b", "n", "c"], ["a", "n", "b-c"], ["a", "b-n", "c"]] {
        let text = format!(
            "label = {label:?}\n[[implementation]]\nname = \"I\"\n[[instance]]\nname = {process:?}\n\
             node = {node:?}\nimplementation = \"I\"\n[[instance]]\nname = \"other\"\nnode = {node:?}\n\
             implementation = \"I\"\n[[localityConstraint]]\nconstraint = \"DifferentProcess\"\n\
             constrainedInstance = [{process:?}, \"other\"]\n"
        );
        let file = folder.file("plan.toml", &text);
        good(&[&["emit", "systemd", &file, "--out", &out][..], COMMAND].concat());
        let kubernetes: &[&str] = &["emit", "kubernetes", &file, "--image", "display:1"];
        let list: Value = serde_json::from_str(&good(&[kubernetes, COMMAND].concat())).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 3);
        items[1..].iter().for_each(valid);
        manifests.extend(items[1..].iter().map(|item| item["metadata"]["name"].to_string()));
    }
    let units: Vec<_> = std::fs::read_dir(format!("{out}/n")).unwrap().collect();
    assert_eq!(units.len(), 6, "{units:?}");
    assert_eq!(manifests.len(), 6, "{manifests:?}");
}

#[test]
fn processes_that_cannot_find_each_other_are_a_warning() {
    let folder = Folder::new("deploy-references");
    let example =
        |file: &str| format!("{}/../../examples/two-nodes/{file}", env!("CARGO_MANIFEST_DIR"));
    let (plan, out) = (example("plan.toml"), folder.path("units"));
    let emit = ["emit", "systemd", &plan, "--out", &out];
    let output = deploy(&[&emit[..], COMMAND].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("warning: the plan has 2 processes"), "{told}");
    assert!(told.contains("add --references FOLDER to --command"), "{told}");
    let command = format!("{} --references /run/cockpit", COMMAND[1]);
    good(&[&emit[..], &["--command", &command]].concat());
}

#[test]
fn policies_that_a_plan_itself_names_are_privileges() {
    let args: &[&str] =
        &["emit", "kubernetes", "ciao.cdp", "--rt", "harbour.csr", "--image", "harbour:1"];
    let list = good(&[args, RT_COMMAND].concat());
    // The plan names its real-time resources itself, so --rt may be omitted.
    let named: Vec<&str> =
        args.iter().copied().filter(|it| !["--rt", "harbour.csr"].contains(it)).collect();
    assert_eq!(list, good(&[&named[..], RT_COMMAND].concat()));
    let list: Value = serde_json::from_str(&list).unwrap();
    let items = list["items"].as_array().unwrap();
    let is_privileged = |item: &&Value| {
        let container = &item["spec"]["template"]["spec"]["containers"][0];
        container["securityContext"]["capabilities"]["add"][0] == "SYS_NICE"
    };
    assert!(items[1..].iter().any(|item| is_privileged(&item)), "{list}");
}

#[test]
fn an_older_systemd_checks_units_too() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("deploy-old-systemd");
    let old = folder.file(
        "systemd-analyze",
        "#!/bin/sh\nfor word; do case $word in --recursive-errors*)\n\
         echo \"systemd-analyze: unrecognized option '$word'\" >&2; exit 1;; esac; done\n\
         case \"$*\" in *bad*) echo 'bad unit' >&2; exit 1;; esac\n",
    );
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let emit = |out: &str| {
        let args = ["deploy", "emit", "systemd", "collision.toml", "--verify", "--out", out];
        Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(args)
            .args(COMMAND)
            .current_dir(PLANS)
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path("")))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let output = emit(&folder.path("units"));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("cockpit: 2 units, checked by systemd-analyze"), "{told}");
    let output = emit(&folder.path("bad"));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(
        !output.status.success() && told.contains("on this machine rejects the units: bad unit"),
        "{told}"
    );
}
