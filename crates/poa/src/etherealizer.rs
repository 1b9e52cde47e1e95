//! Return of servants to servant activators after their last requests.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_core::lock::Mutex;
use oxorb_core::{Servant, ThreadPurpose};

use crate::adapter::RootAdapter;
use crate::current;
use crate::poa::{Poa, PoaInner, ServantManager};

/// Servant to be returned (`ServantActivator::etherealize`).
pub(crate) struct Job {
    pub(crate) poa: Arc<PoaInner>,
    pub(crate) id: Box<[u8]>,
    pub(crate) servant: Arc<dyn Servant>,
    pub(crate) cleanup: bool,
}

/// Queue of servants to return, which one thread processes while it is not empty.
///
/// The thread that deactivates an object may hold any application lock, and the thread of the last
/// request has others to serve; neither therefore calls the activator itself.
#[derive(Default)]
pub(crate) struct Etherealizer(Mutex<State>);

#[derive(Default)]
struct State {
    /// Waiting jobs. Their number is bounded, because each is for an object that was active.
    jobs: VecDeque<Job>,
    running: bool,
}

/// Queues a job for the etherealizer thread.
pub(crate) fn hand_over(job: Job) {
    let Some(adapter) = job.poa.adapter.upgrade() else {
        job.poa.life.left(&job.id);
        return;
    };
    let mut state = adapter.etherealizer.0.lock();
    state.jobs.push_back(job);
    if std::mem::replace(&mut state.running, true) {
        return;
    }
    drop(state);
    let worker = Arc::clone(&adapter);
    let name = "oxorb-etherealize";
    let started = adapter.orb.upgrade().map(|orb| {
        let work = move || run(&worker);
        orb.start_thread(ThreadPurpose::Etherealizer, name, work)
    });
    if !matches!(started, Some(Ok(()))) {
        run(&adapter);
    }
}

fn run(adapter: &Arc<RootAdapter>) {
    loop {
        let job = {
            let mut state = adapter.etherealizer.0.lock();
            let job = state.jobs.pop_front();
            state.running = job.is_some();
            job
        };
        let Some(job) = job else { return };
        let poa = Arc::clone(&job.poa);
        // Calls of an activator must not overlap. If a thread holds the turn to call `incarnate`,
        // it queues this job again when it releases the turn.
        if let Some((turn, job)) = poa.turn.take_for(job) {
            etherealize(adapter, job);
            drop(turn);
        }
    }
}

fn etherealize(adapter: &Arc<RootAdapter>, job: Job) {
    let Job { poa, id, servant, cleanup } = job;
    if let Some(ServantManager::Activator(activator)) = poa.servant_manager.get() {
        let remaining = poa.objects.activations(&*servant) > 0;
        let handle = Poa::of(adapter, &poa);
        let _here = current::enter_manager(adapter, &poa, Some(&id));
        // Discard a panic, because no caller is left to receive it.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| {
            activator.etherealize(&(*id).into(), &handle, servant, cleanup, remaining);
        }));
    }
    poa.life.left(&id);
}
