//! Dispatchers, which own the delivering threads and manage all outlets.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_sched::Dispatching;

use crate::clock::end_of_wait;
use crate::lane::Lane;
use crate::outlet::{Asked, Outlet, Runner, Shared, State, Turns};
use crate::plan::{DispatcherError, LanePlan, OutletConnectError, Plan};
use crate::sync::Lock;
use crate::timers::{Timer, Timers};
use crate::totals::Totals;
use crate::{Attributes, Cause, Counts, Offered, Qos, Sink};

/// Maximum number of timers in a timer service that the dispatcher creates itself.
const TIMERS: usize = 65_536;

/// Maximum number of full outlets for whose space one call of `offer_all` waits. Further full outlets are offered the
/// event without a wait.
const WAITED: usize = 64;

/// A dispatcher of events of type `E`, usually an `Arc` of an event: delivers offered events to
/// outlets, each of which has a bounded queue. See the [crate].
///
/// Dropping it shuts it down without waiting.
pub struct Dispatcher<E: Clone + Send + 'static> {
    plan: Plan,
    lanes: Arc<[Arc<Lane<E>>]>,
    /// Dispatch mode of each lane; one element if there are no lanes.
    turns: Box<[Turns]>,
    timers: Timers,
    outlets: Lock<Vec<Weak<Shared<E>>>>,
    totals: Arc<Totals>,
    ended: AtomicBool,
    /// Timer that checks for stuck lanes.
    _watch: Option<Timer>,
}

impl<E: Clone + Send + 'static> Dispatcher<E> {
    /// Starts the threads of a plan. Reserves all memory of the lanes.
    ///
    /// # Errors
    /// [`DispatcherError`]. On failure no thread keeps running.
    pub fn start(plan: Plan) -> Result<Dispatcher<E>, DispatcherError> {
        let timers = match &plan.timers {
            Some(timers) => timers.clone(),
            None => {
                let name = format!("{}-timers", plan.name);
                Timers::start(name, Arc::clone(&plan.clock), TIMERS, None)
                    .map_err(DispatcherError::Timers)?
            }
        };
        let lanes = plan.lanes.iter().enumerate().map(|(index, lane)| {
            let started = Lane::start(index, lane, plan.outlets);
            let lane = lane.name.clone();
            let failed = |error| DispatcherError::Lane { name: lane, error };
            started.map(Arc::new).map_err(failed)
        });
        let lanes: Arc<[Arc<Lane<E>>]> = lanes.collect::<Result<_, _>>()?;
        let watch = match lanes.is_empty() {
            true => None,
            false => Some(watch(&lanes, &timers, plan.stuck_after)?),
        };
        Ok(Dispatcher {
            totals: Totals::new(plan.events),
            turns: turns(&plan),
            plan,
            lanes,
            timers,
            outlets: Lock::new(Vec::new()),
            ended: AtomicBool::new(false),
            _watch: watch,
        })
    }

    /// Connects a consumer to which events are pushed.
    ///
    /// # Errors
    /// [`OutletConnectError`].
    pub fn connect(
        &self,
        sink: Arc<dyn Sink<E>>,
        qos: Qos,
    ) -> Result<Outlet<E>, OutletConnectError> {
        self.add(Some(sink), qos)
    }

    /// Connects a consumer that [pulls](Outlet::pull).
    ///
    /// # Errors
    /// [`OutletConnectError`].
    pub fn connect_pull(&self, qos: Qos) -> Result<Outlet<E>, OutletConnectError> {
        self.add(None, qos)
    }

    fn add(
        &self,
        sink: Option<Arc<dyn Sink<E>>>,
        qos: Qos,
    ) -> Result<Outlet<E>, OutletConnectError> {
        let runner = self.check(&qos)?;
        let limit = self.plan.outlets;
        let more = |outlets| (outlets < limit).then_some(outlets + 1);
        let connected = &self.totals.connected;
        connected
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .map_err(|_| OutletConnectError::TooManyOutlets { limit })?;
        let state = State::new(qos, &self.turns, Arc::clone(&self.totals));
        let shared = Shared::new(
            state,
            sink,
            runner,
            Arc::clone(&self.plan.clock),
            self.timers.clone(),
            Arc::clone(&self.totals),
        );
        // Create the timer before the first offer: a failure can still be reported here, but not after that.
        shared.prepare().map_err(OutletConnectError::Timers)?;
        let mut outlets = self.outlets.lock();
        outlets.retain(|outlet| outlet.strong_count() > 0);
        outlets.push(Arc::downgrade(&shared));
        drop(outlets);
        // If the dispatcher was shut down concurrently, it may have missed this outlet, so close it here.
        if self.ended.load(Ordering::SeqCst) {
            shared.close(Cause::Shutdown);
            return Err(OutletConnectError::ShutDown);
        }
        Ok(Outlet { shared })
    }

    fn check(&self, qos: &Qos) -> Result<Runner<E>, OutletConnectError> {
        if let Some(member) = qos.zero() {
            return Err(OutletConnectError::Zero(member));
        }
        if self.lanes.is_empty() {
            return Ok(Runner::Reactive);
        }
        match qos.lane < self.lanes.len() {
            true => Ok(Runner::Lanes(Arc::clone(&self.lanes))),
            false => {
                Err(OutletConnectError::NoSuchLane { lane: qos.lane, lanes: self.lanes.len() })
            }
        }
    }

    /// Offers an event to several outlets, in this order. Full outlets whose policy is to wait come last: when all
    /// others have received the event, the call waits for space in these outlets, for at most [`Plan::wait`] in total.
    /// Returns the number of outlets that accepted the event.
    pub fn offer_all<'o>(
        &self,
        outlets: impl IntoIterator<Item = &'o Outlet<E>>,
        event: &E,
        about: &Attributes,
    ) -> usize {
        let mut taken = 0;
        let mut full: [Option<&Outlet<E>>; WAITED] = [None; WAITED];
        let mut waiting = 0;
        for outlet in outlets {
            match outlet.shared.ask(event, about) {
                Asked::Done(offered) => taken += usize::from(offered == Offered::Taken),
                Asked::Full if waiting < WAITED => {
                    full[waiting] = Some(outlet);
                    waiting += 1;
                }
                // The array has no space left: apply the overflow policy of this outlet without waiting.
                Asked::Full => {
                    let offered = outlet.shared.offer(event, about, Some(Instant::now()));
                    taken += usize::from(offered == Offered::Taken);
                }
            }
        }
        if waiting > 0 {
            let began = Instant::now();
            for outlet in full.into_iter().flatten() {
                let wait = outlet.shared.lock().wait.min(self.plan.wait);
                let end = end_of_wait(began, wait);
                let offered = outlet.shared.offer(event, about, Some(end));
                taken += usize::from(offered == Offered::Taken);
            }
        }
        taken
    }

    /// Reports whether all outlets together hold the maximum number of events ([`Plan::events`]).
    pub fn is_full(&self) -> bool {
        self.totals.is_full()
    }

    /// Returns the number of attached outlets.
    pub fn outlets(&self) -> usize {
        self.totals.connected.load(Ordering::SeqCst)
    }

    /// Returns the sum of the counters of all outlets, including those that no longer exist.
    pub fn counts(&self) -> Counts {
        let mut sum = self.totals.departed_in_all();
        for outlet in self.live() {
            sum += outlet.lock().counts();
        }
        sum
    }

    /// Returns the timer service.
    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Returns the plan that the dispatcher was started with.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Reports whether all threads of all lanes have the scheduling class, priority or reservation of their plan; true
    /// for a dispatcher without lanes.
    pub fn is_real_time(&self) -> bool {
        self.lanes.iter().all(|lane| lane.is_real_time())
    }

    /// Refuses further events, delivers waiting events for at most `limit` in total, and ends the threads. Events in
    /// suspended outlets and in pulled outlets are dropped immediately.
    ///
    /// Returns `true` if the shutdown dropped no event of an outlet with a sink, and no thread is still inside a sink.
    pub fn shut_down(&self, limit: Duration) -> bool {
        let until = end_of_wait(Instant::now(), limit);
        let left = || until.saturating_duration_since(Instant::now());
        self.ended.store(true, Ordering::SeqCst);
        let outlets = self.live();
        // Make all outlets refuse events first, so that none accepts an event while the next loop waits for another
        // outlet.
        for outlet in &outlets {
            outlet.drain(Cause::Shutdown, Duration::ZERO);
        }
        let mut all = true;
        for outlet in &outlets {
            all &= outlet.is_pulled() || outlet.finish(Cause::Shutdown, left());
        }
        self.stop(&outlets);
        all && self.lanes.iter().all(|lane| lane.wait_ended(until))
    }

    fn stop(&self, outlets: &[Arc<Shared<E>>]) {
        self.ended.store(true, Ordering::SeqCst);
        self.lanes.iter().for_each(|lane| lane.stop());
        for outlet in outlets {
            outlet.close(Cause::Shutdown);
        }
    }

    fn live(&self) -> Vec<Arc<Shared<E>>> {
        let outlets = self.outlets.lock();
        outlets.iter().filter_map(Weak::upgrade).collect()
    }
}

impl<E: Clone + Send + 'static> Drop for Dispatcher<E> {
    fn drop(&mut self) {
        self.stop(&self.live());
    }
}

/// Returns the dispatch mode of each lane.
fn turns(plan: &Plan) -> Box<[Turns]> {
    let of_lane = |lane: &LanePlan| match lane.dispatching {
        Dispatching::Static => Turns::Lane,
        _ => Turns::ByDeadline,
    };
    match plan.lanes.is_empty() {
        true => Box::new([Turns::Reactive]),
        false => plan.lanes.iter().map(of_lane).collect(),
    }
}

/// Starts a periodic timer that adds spare threads to stuck lanes.
fn watch<E: Clone + Send + 'static>(
    lanes: &Arc<[Arc<Lane<E>>]>,
    timers: &Timers,
    period: Duration,
) -> Result<Timer, DispatcherError> {
    let watched: Vec<_> = lanes.iter().map(Arc::downgrade).collect();
    let timer = timers.add(move |_| {
        for lane in watched.iter().filter_map(Weak::upgrade) {
            lane.look();
        }
    });
    let timer = timer.map_err(|error| DispatcherError::Timers(std::io::Error::other(error)))?;
    timer.every(period);
    Ok(timer)
}

impl<E: Clone + Send + 'static> fmt::Debug for Dispatcher<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("lanes", &self.lanes.len())
            .field("outlets", &self.outlets())
            .field("counts", &self.counts())
            .finish()
    }
}
