//! Managers bind their keys and hold requests before their ORB listens, so that no client sees OBJECT_NOT_EXIST.
//!
//! The endpoint of the ORB is taken. The first activation, with which the ORB would begin to listen, therefore fails,
//! and what a manager has done by then shows the order.

use std::net::TcpListener;

use oxorb::Orb;
use oxorb::deployment::{ExecutionManager, ExecutionSettings, NodeManager, NodeSettings};
use oxorb::poa::{ManagerState, PoaError};

/// Starts a manager with an ORB that listens late and cannot listen, and checks what it has done by then.
fn begins_with<M>(keys: &[&str], start: impl FnOnce(&Orb) -> Result<M, PoaError>) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let orb = Orb::builder().listen(&format!("iiop://{address}")).listen_late();
    let orb = orb.build().unwrap();
    let Err(failed) = start(&orb) else { panic!("another server has the endpoint") };
    let failed = failed.to_string();
    assert!(failed.contains(&address.port().to_string()), "{failed}");
    let root = orb.root_poa();
    let own = root.find_poa(keys[0]).expect("the POA of the manager");
    assert_eq!(own.manager().state(), ManagerState::Holding);
    for key in keys {
        assert!(root.unbind_name(key), "{key} was not bound yet");
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_node_manager_has_its_key_before_the_orb_listens() {
    begins_with(&["nose.NodeManager"], |orb| {
        NodeManager::start(orb.root_poa(), "nose", NodeSettings::default())
    });
}

#[test]
fn an_execution_manager_has_its_keys_before_the_orb_listens() {
    begins_with(&["ExecutionManager", "RepositoryManager", "TargetManager"], |orb| {
        let nodes = |name: &str| Err(format!("there is no node {name}"));
        ExecutionManager::start(orb.root_poa(), ExecutionSettings::default(), nodes, |_| ())
    });
}
