//! Kernel threads that receive the packets of a lane's network device.

use oxorb_sys::napi::Threaded;

use super::Threadpool;
use crate::Incident;
use crate::LaneScheduling;
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::rt::ThreadpoolId;

/// Network devices whose packets are received at the priority of lanes, until [`end`](Self::end).
#[derive(Default)]
pub(super) struct LaneNapi(Mutex<Vec<Threaded>>);

impl LaneNapi {
    /// Sets each lane's class and native priority for the threads of its device. A failure is reported with its reason,
    /// once for each lane.
    pub(super) fn begin(&self, shared: &Shared, id: ThreadpoolId, plan: &Threadpool) {
        let mut held = self.0.lock();
        for (at, lane) in plan.lanes.iter().enumerate() {
            let Some(device) = &lane.napi else {
                continue;
            };
            let scheduling = &shared.scheduling;
            let schedule = match lane.scheduling {
                LaneScheduling::Class(class) => scheduling.declared_in(class, lane.priority),
                _ => scheduling.declared(Some(lane.priority)),
            };
            match Threaded::begin(device, schedule) {
                Ok(threaded) => held.push(threaded),
                Err(refused) => {
                    let who = || format!("oxorb-{}.{at}", id.0);
                    let why = || format!("napi {device}: {refused}");
                    shared.note(Incident::LaneNotSteered, who, why);
                }
            }
        }
    }

    /// Restores the former settings of devices and threads.
    pub(super) fn end(&self) {
        self.0.lock().clear();
    }
}
