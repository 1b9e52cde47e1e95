//! Real-time resources of a document, and their effect on servants and references.

use crate::locality::scene::{COCKPIT, Scene, resources};

pub(super) const RESOURCES: &str = r#"
document = "ServerResources"
[orbConfigs]
[[orbConfigs.resources.threadpoolWithLanes]]
id = "lanes"
threadpoolLane = [
    { static_threads = 1, dynamic_threads = 0, priority = 100 },
    { static_threads = 1, dynamic_threads = 0, priority = 200 },
]
stacksize = 0
allow_borrowing = false
allow_request_buffering = false
max_buffered_requests = 0
max_request_buffered_size = 0
[[orbConfigs.resources.connectionBands]]
id = "bands"
band = [{ low = 0, high = 150 }, { low = 151, high = 32767 }]
[[orbConfigs.policySet]]
id = "urgent"
priorityModel = { server_priority = 200, priority_model = "SERVER_DECLARED" }
threadpool = "lanes"
[[orbConfigs.policySet]]
id = "banded"
priorityBandedConnection = "bands"
[[instance]]
name = "gps"
policySet = "urgent"
[[instance]]
name = "screen"
receptaclePolicy = "banded"
"#;

#[test]
fn a_servant_runs_in_the_lane_of_its_container() {
    let scene = Scene::launch(COCKPIT, Some(resources(RESOURCES)));
    let status = scene.locality.status();
    let containers: Vec<&str> = status.instances.iter().map(|one| &*one.container).collect();
    assert_eq!(containers, ["", "", "urgent"]);
    scene.parts.log.take();
    assert_eq!(scene.push(1).delivered, 1);
    assert_eq!(scene.parts.log.take(), ["served in lane 1 at Some(200)", "update 1 48.5"]);
}

#[test]
fn receptacles_have_bands() {
    let scene = Scene::launch(COCKPIT, Some(resources(RESOURCES)));
    assert!(scene.parts.log.take().contains(&"screen: 2 bands".to_owned()));
    let scene = Scene::launch(COCKPIT, None);
    let lines = scene.parts.log.take();
    assert!(!lines.iter().any(|line| line.contains("bands")), "{lines:?}");
}

#[test]
fn ciaos_plans_name_their_policy_sets() {
    let attached = RESOURCES.split_once("[[instance]]").unwrap().0;
    let gps = "name = \"gps\"\nnode = \"n\"\n";
    let resource = "deployedResource = [{ requirementName = \"CIAO\", resourceName = \"r\", \
                    property = { \"CIAO:InstancePolicy\" = \"urgent\" } }]\n";
    let text = COCKPIT.replace(gps, &format!("{gps}{resource}"));
    let scene = Scene::launch(&text, Some(resources(attached)));
    assert_eq!(scene.locality.status().instances[2].container, "urgent");
    let missing = Scene::refusal(&text, None);
    assert!(
        missing.ends_with(
            "error: instance \"gps\" uses policy set \"urgent\", but no real-time resources are specified; specify the \
             document of real-time resources with --rt"
        ),
        "{missing}"
    );
}

fn refusal(from: &str, to: &str) -> String {
    assert!(RESOURCES.contains(from));
    Scene::refusal(COCKPIT, Some(resources(&RESOURCES.replace(from, to))))
}

#[test]
fn policies_that_cannot_be_had() {
    let set = refusal("policySet = \"urgent\"", "policySet = \"none\"");
    assert!(
        set.ends_with(
            "error: instance \"gps\" uses policy set \"none\", which the resources do not declare; declare it in \
             orbConfigs"
        ),
        "{set}"
    );
    let pool = refusal("threadpool = \"lanes\"", "threadpool = \"pool\"");
    assert!(
        pool.ends_with(
            "error: policy set \"urgent\" uses threadpool \"pool\", which does not exist; declare it in orbConfigs"
        ),
        "{pool}"
    );
    let lane = refusal("server_priority = 200", "server_priority = 300");
    assert!(
        lane.contains("error: policy set \"urgent\" was refused:")
            && lane.contains("no lane of the threadpool has the server-declared priority"),
        "{lane}"
    );
    let bands = refusal("receptaclePolicy = \"banded\"", "receptaclePolicy = \"urgent\"");
    assert!(
        bands.contains(
            "policy set \"urgent\" of the receptacles of \"screen\" has no bands that can be used"
        ),
        "{bands}"
    );
}
