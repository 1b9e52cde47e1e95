//! Kubernetes manifests, as one JSON list, which `kubectl apply -f` accepts like YAML.

use std::collections::HashSet;

use oxorb_deploy::check::Lookup;
use oxorb_deploy::{Document, Format, Process};
use serde_json::{Value, json};

use super::{Loaded, What, hash, slug};
use oxorb_terminal::output::{Done, Failed, because, print_json};

/// Arguments of `oxorb deploy emit kubernetes`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) what: What,
    /// Image of all containers
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Memory request and limit of each process
    #[arg(long, value_name = "SIZE", default_value = "256Mi")]
    memory: String,
}

/// Maximum total size in octets of the documents in a ConfigMap.
const MOST: usize = 900 << 10;

/// Folder of the documents within a container, and their file names.
const FOLDER: &str = "/etc/oxorb";
const PLAN: &str = "plan.toml";
const RESOURCES: &str = "rt.toml";

/// Writes the manifests to standard output.
pub(super) fn run(args: &Args) -> Done {
    let loaded = args.what.load()?;
    let plan = Document::from(loaded.plan.clone()).write(Format::Toml)?;
    let mut documents = serde_json::Map::from_iter([(PLAN.to_owned(), Value::from(plan))]);
    if let Some(resources) = &loaded.resources {
        let text = Document::from(resources.clone()).write(Format::Toml)?;
        documents.insert(RESOURCES.to_owned(), text.into());
    }
    let texts = documents.values().filter_map(Value::as_str);
    let octets: usize = texts.map(str::len).sum();
    if octets > MOST {
        return Err(because(format!(
            "the plan and the real-time resources have {octets} octets, but a ConfigMap holds {MOST}: divide the plan"
        )));
    }
    let mut items = vec![json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config(&loaded), "labels": labels(&loaded, None)},
        "data": documents,
    })];
    let mut names = HashSet::new();
    let lookup = loaded.lookup();
    for process in &loaded.processes {
        let name = object(&loaded, process);
        if !names.insert(name.clone()) {
            return Err(because(format!(
                "process {:?} on node {:?} would become Deployment {name:?}, but another process has this name: rename \
                 the instance or the node",
                process.name, process.node
            )));
        }
        items.push(deployment(args, &loaded, process, lookup.as_ref())?);
    }
    print_json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

/// Escapes a word of a command, in which Kubernetes replaces `$(NAME)` by the value of a variable.
fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

fn config(loaded: &Loaded) -> String {
    short(&format!("oxorb-{}", loaded.name))
}

/// Shortens a name to the limit of 63 characters. A longer name is cut off, and ends with a hash of the complete name.
fn short(name: &str) -> String {
    const MOST: usize = 63;
    if name.len() <= MOST {
        return name.to_owned();
    }
    let kept: String = name.chars().take(MOST - 9).collect();
    format!("{}-{:08x}", kept.trim_end_matches('-'), hash(name))
}

/// Returns the name of a process's Deployment. Plan and node make it unique, because plans share a namespace and
/// processes on different nodes may have the same name. Single hyphens separate the parts, in which hyphens are doubled.
fn object(loaded: &Loaded, process: &Process) -> String {
    let parts = [loaded.name.clone(), slug(&process.node), slug(&process.name)];
    let parts = parts.map(|part| part.replace('-', "--"));
    short(&format!("oxorb-{}", parts.join("-")))
}

fn labels(loaded: &Loaded, process: Option<&Process>) -> Value {
    let mut labels =
        json!({"app.kubernetes.io/part-of": loaded.name, "app.kubernetes.io/managed-by": "oxorb"});
    if let Some(process) = process {
        labels["oxorb/node"] = slug(&process.node).into();
        labels["oxorb/process"] = slug(&process.name).into();
    }
    labels
}

fn deployment(
    args: &Args,
    loaded: &Loaded,
    process: &Process,
    resources: Option<&Lookup<'_>>,
) -> Result<Value, Failed> {
    let file = |name: &str| format!("{FOLDER}/{name}");
    let words = args.what.words(&file(PLAN), &file(RESOURCES), process, escaped)?;
    let mut container = json!({
        "name": short(&slug(&process.name)),
        "image": args.image,
        "command": words,
        "volumeMounts": [{"name": "plan", "mountPath": FOLDER, "readOnly": true}],
    });
    if loaded.is_real_time(process, resources) {
        // SYS_NICE permits SCHED_FIFO, and IPC_LOCK permits locked memory. Kubernetes can give a container exclusive
        // processors only if request and limit are the same whole number.
        container["securityContext"] = json!({"capabilities": {"add": ["SYS_NICE", "IPC_LOCK"]}});
        let processors = loaded.processors(process, resources)?.len().max(1);
        let resources = json!({"cpu": processors.to_string(), "memory": args.memory});
        container["resources"] = json!({"requests": resources, "limits": resources});
    } else {
        container["resources"] =
            json!({"requests": {"memory": args.memory}, "limits": {"memory": args.memory}});
    }
    let labels = labels(loaded, Some(process));
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": object(loaded, process),
            "labels": labels,
            "annotations": {"oxorb/instances": loaded.instances(process)},
        },
        "spec": {
            "replicas": 1,
            // `Recreate` ends the old process before the new one starts, so that it releases its resources on the node.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": process.node},
                    "containers": [container],
                    "volumes": [{"name": "plan", "configMap": {"name": config(loaded)}}],
                },
            },
        },
    }))
}
