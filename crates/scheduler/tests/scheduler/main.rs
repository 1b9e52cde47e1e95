//! Tests of the service over the wire: effects, refusals and persistence of each operation, and
//! agreement with other ORBs' clients.

mod exceptions;
mod faces;
mod full;
mod killed;
mod operations;
mod peers;
mod remote;
mod state;

use std::path::PathBuf;

use oxorb::{Interface as _, Orb};
use oxorb_sched::service::Service;
use oxorb_sched::{DispatchModel, Strategy};
use oxorb_scheduler::rtec_scheduler::{
    CriticalityT, ImportanceT, InfoTypeT, RtInfo, RtInfoEnabledTypeT, SchedulerRef,
};
use oxorb_scheduler::{Limits, Scheduling, Served, serve};

/// Scheduling service over TCP, and the ORB of its client.
struct Bench {
    server: Orb,
    client: Orb,
    scheduling: Scheduling,
    served: Served,
    /// Reference in the client's ORB.
    scheduler: SchedulerRef,
}

impl Bench {
    fn new(service: Service) -> Self {
        Bench::of(Scheduling::new(service))
    }

    /// Returns a configuration run under RMS.
    fn configuration() -> Self {
        Bench::new(rms())
    }

    fn of(scheduling: Scheduling) -> Self {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let served = serve(&server, &scheduling).unwrap();
        let client = Orb::builder().build().unwrap();
        let url = url(served.scheduler(), "ScheduleService");
        let scheduler = client.resolve(&url).unwrap();
        Bench { server, client, scheduling, served, scheduler }
    }

    fn application(&self) -> SchedulerRef {
        let url = url(self.served.scheduler(), "ScheduleService/application");
        self.client.resolve(&url).unwrap()
    }

    /// Creates an operation with a time and a period in units of 100 ns.
    fn operation(&self, name: &str, time: u64, period: i32) -> i32 {
        let handle = self.scheduler.create(name).unwrap();
        set(&self.scheduler, handle, time, period).unwrap();
        handle
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.client.shutdown(true);
        let _ = self.server.shutdown(true);
    }
}

fn rms() -> Service {
    Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band))
}

fn set(
    scheduler: &SchedulerRef,
    handle: i32,
    time: u64,
    period: i32,
) -> Result<(), oxorb_scheduler::rtec_scheduler::scheduler::SetError> {
    let it = info(handle, time, period);
    scheduler.set(
        handle,
        it.criticality,
        time,
        it.typical_execution_time,
        it.cached_execution_time,
        period,
        it.importance,
        it.quantum,
        it.threads,
        it.info_type,
    )
}

/// Returns an info as a client sends it in a sequence.
fn info(handle: i32, time: u64, period: i32) -> RtInfo {
    RtInfo {
        entry_point: String::new(),
        handle,
        worst_case_execution_time: time,
        typical_execution_time: time / 2,
        cached_execution_time: 0,
        period,
        criticality: CriticalityT::HighCriticality,
        importance: ImportanceT::MediumImportance,
        quantum: 7,
        threads: 1,
        dependencies: Vec::new(),
        priority: 0,
        preemption_subpriority: 0,
        preemption_priority: 0,
        info_type: InfoTypeT::Operation,
        enabled: RtInfoEnabledTypeT::RtInfoEnabled,
        volatile_token: 0,
    }
}

fn url(reference: &SchedulerRef, key: &str) -> String {
    let ior = reference.reference().ior();
    let profile = ior.iiop_profiles().next().expect("it listens");
    format!("corbaloc::{}/{key}", profile.endpoints()[0])
}

fn limits(operations: usize, dependencies: usize) -> Limits {
    Limits { operations, dependencies, ..Limits::default() }
}

/// Temporary folder of one test, removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-scheduler-{test}-{}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn state(&self) -> PathBuf {
        self.0.join("schedule.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
