//! Priority of the command's calls (N2).

use std::process::{Command, Output};
use std::sync::Arc;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall,
};

/// Servant that answers every call with the priority of its serving lane.
struct Gauge(Orb);

impl Servant for Gauge {
    fn repository_id(&self) -> &str {
        "IDL:Gauge:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let priority = self.0.thread_priority().map_or(-1, |priority| priority.get());
        match upcall.operation() {
            "lane" => upcall.reply(|e| {
                e.short(priority);
                Ok(())
            }),
            _ => upcall.fail(SystemException::unknown(0, CompletionStatus::No)),
        }
    }
}

fn oxorb(args: &[&str]) -> (i32, String, String) {
    let command = Command::new(env!("CARGO_BIN_EXE_oxorb")).args(args).output();
    let Output { status, stdout, stderr } = command.expect("the command starts");
    let text = |octets| String::from_utf8(octets).expect("the command prints UTF-8");
    (status.code().expect("it ends itself"), text(stdout), text(stderr))
}

#[test]
fn every_lane_is_reached_by_its_priority_and_the_lowest_without_one() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let lane = |priority| ThreadpoolLane::new(Priority::new(priority).unwrap(), 1);
    let pool = Threadpool::with_lanes([lane(10), lane(20)]);
    let realtime = RtPolicies {
        threadpool: Some(orb.create_threadpool(pool).unwrap()),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ClientPropagated,
            server_priority: 0,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("lanes", policies).unwrap();
    poa.manager().activate().unwrap();
    let servant = Arc::new(Gauge(orb.clone()));
    let object = ObjectRef::from_ref(poa.activate_servant(servant).unwrap());
    let url = object.to_ior();
    let folder = std::env::temp_dir().join(format!("oxorb-priority-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let idl = folder.join("gauge.idl");
    std::fs::write(&idl, "interface Gauge { short lane(); };").unwrap();
    let idl = idl.to_str().unwrap();

    let call = |more: &[&str]| oxorb(&[&["call", "--idl", idl, &url, "lane"], more].concat());
    for (more, lane) in
        [(&[][..], "10"), (&["--priority", "10"], "10"), (&["--priority", "20"], "20")]
    {
        let (status, answer, complaint) = call(more);
        assert_eq!((status, answer.trim()), (0, lane), "{more:?}: {complaint}");
    }
    let (status, _, complaint) = call(&["--priority", "21"]);
    assert_eq!(status, 1);
    for lane in [10, 20] {
        let both = format!("the caller's CORBA priority is 21, the lane's is {lane}");
        assert!(complaint.contains(&both), "{complaint}");
    }

    let ping = |more: &[&str]| oxorb(&[&["ping", "-c", "2", &url], more].concat());
    let (status, shown, complaint) = ping(&[]);
    assert_eq!((status, shown.matches("  ok  ").count()), (0, 2), "{shown}{complaint}");
    let (status, shown, complaint) = ping(&["--priority", "20"]);
    assert_eq!((status, shown.matches("  ok  ").count()), (0, 1), "{shown}{complaint}");
    assert!(shown.contains("the caller's CORBA priority is 20, the lane's is 10"), "{shown}");
    assert_eq!(ping(&["--priority", "32768"]).0, 2);
    std::fs::remove_dir_all(folder).unwrap();
    orb.shutdown(true).unwrap();
}
