//! Every operation of `Deployment.idl` and `DAnCE.idl` returns a result, or reports the missing element by name.

use std::collections::BTreeSet;

use oxorb::deployment::idl::deployment::{
    Domain, DomainUpdateKind, NodeManagerRef, PackageConfiguration, RepositoryManagerRef,
    ResourceAllocation, TargetManagerRef, repository_manager as repository, target_manager,
};
use oxorb::deployment::{Locality, REPOSITORY_MANAGER, TARGET_MANAGER, wire::to_wire};
use oxorb::{Interface as _, SystemException, minor};

use crate::managers::scene::*;

/// Operations already called, as `Interface::operation`.
#[derive(Default)]
struct Called(BTreeSet<String>);

impl Called {
    fn all(&mut self, interface: &str, operations: &[&str]) {
        self.0.extend(operations.iter().map(|operation| format!("{interface}::{operation}")));
    }
}

/// Returns the operations that IDL declares.
fn declared(idl: &str) -> BTreeSet<String> {
    let lines = idl.lines().filter(|line| !line.trim_start().starts_with(['/', '*', '#']));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut declared = BTreeSet::new();
    for part in text.split("interface ").skip(1) {
        let (head, rest) = part.split_once('{').unwrap();
        let name = head.split([' ', ':']).next().unwrap();
        let (body, _) = rest.split_once('}').unwrap();
        for operation in body.split(';').filter_map(|one| one.split_once('(')) {
            let operation = operation.0.split_whitespace().last().unwrap();
            declared.insert(format!("{name}::{operation}"));
        }
    }
    declared
}

#[track_caller]
fn is_no_domain<T: std::fmt::Debug>(answer: Result<T, SystemException>) {
    let exception = answer.unwrap_err();
    assert_eq!(exception.minor, minor::no_implement::NO_DOMAIN, "{exception}");
}

#[test]
fn every_operation_answers_or_says_what_is_not_there() {
    let mut called = Called::default();
    let scene = Scene::new(&["north"]);
    execution(&scene, &mut called);
    node(scene.nodes["north"].reference(), &mut called);
    target(&beside(&scene, TARGET_MANAGER), &mut called);
    packages(&beside(&scene, REPOSITORY_MANAGER), &mut called);
    locality(&scene, &mut called);
    // `shutdown` ends the plans, and the manager accepts no more plans.
    let manager = scene.execution.as_ref().unwrap().reference();
    manager.shutdown().unwrap();
    let plan = plan("late", &[counter("c", "north")], &[]);
    assert!(manager.prepare_plan(&to_wire(&plan).unwrap(), None).is_err());
    called.all("ExecutionManager", &["shutdown"]);
    // Resource commitments are never issued, so there is none to call.
    called.all("ResourceCommitmentManager", &["commitResources", "releaseResources"]);

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../idl");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    let mut wanted = declared(&read("omg/Deployment.idl"));
    wanted.extend(declared(&read("tao/DAnCE.idl")));
    assert!(wanted.len() > 30, "{wanted:?}");
    assert_eq!(called.0, wanted);
}

/// Returns another object of the execution manager's server.
pub(crate) fn beside<R: oxorb::Interface>(scene: &Scene, key: &str) -> R {
    let url = scene.execution.as_ref().unwrap().reference().reference().to_corbaloc().unwrap();
    let (server, _) = url.split_once('/').unwrap();
    scene.orb.resolve(&format!("{server}/{key}")).unwrap()
}

fn execution(scene: &Scene, called: &mut Called) {
    let execution = scene.execution.as_ref().unwrap().reference();
    let plan = plan("whole", &[counter("c", "north")], &[]);
    let sent = to_wire(&plan).unwrap();
    let manager = execution.prepare_plan(&sent, None).unwrap().unwrap();
    assert_eq!(execution.get_managers().unwrap().len(), 1);
    assert_eq!(manager.get_plan().unwrap().label, "whole");
    assert!(manager.get_applications().unwrap().is_empty());
    let (application, provided) = manager.start_launch(&[]).unwrap();
    let application = application.unwrap();
    application.finish_launch(&provided, false).unwrap();
    application.start().unwrap();
    assert_eq!(manager.get_applications().unwrap().len(), 1);
    manager.destroy_application(Some(&application)).unwrap();
    execution.destroy_manager(Some(&manager)).unwrap();
    assert!(execution.get_managers().unwrap().is_empty());
    called.all("ExecutionManager", &["preparePlan", "getManagers", "destroyManager"]);
    called.all("DomainApplicationManager", &["getPlan", "getApplications"]);
    called.all("ApplicationManager", &["startLaunch", "destroyApplication"]);
    called.all("Application", &["finishLaunch", "start"]);
    // The process has called both, or the launch would have failed.
    called
        .all("LocalityManagerActivator", &["locality_manager_callback", "configuration_complete"]);
}

fn node(node: &NodeManagerRef, called: &mut Called) {
    let plan = plan("part", &[counter("c", "north")], &[]);
    let manager = node.prepare_plan(&to_wire(&plan).unwrap(), None).unwrap().unwrap();
    let (application, provided) = manager.start_launch(&[]).unwrap();
    let application = application.unwrap();
    application.finish_launch(&provided, true).unwrap();
    manager.destroy_application(Some(&application)).unwrap();
    node.destroy_manager(Some(&manager)).unwrap();
    is_no_domain(node.join_domain(&Domain::default(), None, None, 0));
    is_no_domain(node.leave_domain());
    is_no_domain(node.get_dynamic_resources());
    let operations =
        ["preparePlan", "destroyManager", "joinDomain", "leaveDomain", "getDynamicResources"];
    called.all("NodeManager", &operations);
}

fn target(target: &TargetManagerRef, called: &mut Called) {
    is_no_domain(target.get_all_resources());
    is_no_domain(target.get_available_resources());
    is_no_domain(target.destroy_resource_commitment(None));
    is_no_domain(target.update_domain(&[], &Domain::default(), DomainUpdateKind::Add));
    let refused = target.create_resource_commitment(&[ResourceAllocation::default()]).unwrap_err();
    let target_manager::CreateResourceCommitmentError::ResourceCommitmentFailure(why) = refused
    else {
        panic!("{refused}");
    };
    assert!(why.reason.contains("none can be committed"), "{}", why.reason);
    let operations = [
        "getAllResources",
        "getAvailableResources",
        "createResourceCommitment",
        "destroyResourceCommitment",
        "updateDomain",
    ];
    called.all("TargetManager", &operations);
}

fn packages(packages: &RepositoryManagerRef, called: &mut Called) {
    assert!(packages.get_all_names().unwrap().is_empty());
    assert!(packages.get_all_types().unwrap().is_empty());
    assert!(packages.find_names_by_type("IDL:Avionics/Sensor:1.0").unwrap().is_empty());
    let found = packages.find_package_by_name("gps").unwrap_err();
    assert!(matches!(found, repository::FindPackageByNameError::NoSuchName(_)), "{found}");
    let found = packages.find_package_by_uuid("gps").unwrap_err();
    assert!(matches!(found, repository::FindPackageByUuidError::NoSuchName(_)), "{found}");
    let deleted = packages.delete_package("gps").unwrap_err();
    assert!(matches!(deleted, repository::DeletePackageError::NoSuchName(_)), "{deleted}");
    match packages.install_package("gps", "gps.cpk", false).unwrap_err() {
        repository::InstallPackageError::PackageError(why) => {
            assert_eq!(why.source, "gps.cpk");
            for cure in ["--packages", "oxorb deploy assemble"] {
                assert!(why.reason.contains(cure), "{}", why.reason);
            }
        }
        other => panic!("{other}"),
    }
    let package = PackageConfiguration::default();
    match packages.create_package("gps", &package, "gps", true).unwrap_err() {
        repository::CreatePackageError::PackageError(why) => assert_eq!(why.source, "gps"),
        other => panic!("{other}"),
    }
    let operations = [
        "installPackage",
        "createPackage",
        "findPackageByName",
        "findPackageByUUID",
        "findNamesByType",
        "getAllNames",
        "getAllTypes",
        "deletePackage",
    ];
    called.all("RepositoryManager", &operations);
}

fn locality(scene: &Scene, called: &mut Called) {
    let implementations = oxorb_deployment_tests::implementations();
    let root = scene.orb.root_poa();
    let own = Locality::new(&scene.orb, root, implementations, "north", "c");
    let (ends, ended) = std::sync::mpsc::channel();
    let served = own
        .serve(root, move || {
            let _ = ends.send(());
        })
        .unwrap();
    let plan = plan("own", &[counter("c", "north")], &[]);
    let manager = served.prepare_plan(&to_wire(&plan).unwrap(), None).unwrap().unwrap();
    let (application, provided) = manager.start_launch(&[]).unwrap();
    application.unwrap().finish_launch(&provided, true).unwrap();
    served.destroy_manager(Some(&manager)).unwrap();
    served.shutdown().unwrap();
    ended.recv_timeout(LONG).unwrap();
    called.all("LocalityManager", &["preparePlan", "destroyManager", "shutdown"]);
}
