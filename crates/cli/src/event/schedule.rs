//! Scheduling service of `oxorb event serve`: dependencies between operations, lanes, and rates.

use std::time::Duration;

use clap::ValueEnum;
use oxorb::Orb;
use oxorb_event::delivery::{Beyond, Plan};
use oxorb_event::{EventChannel, scheduled_plan};
use oxorb_scheduler::rtec_scheduler::SchedulerRef;

use oxorb_terminal::output::{Failed, because};

/// Scheduling options.
#[derive(clap::Args)]
pub(super) struct Scheduled {
    /// Scheduling service (IOR:, corbaloc:, corbaname: or file:). Each channel registers its consumers' dependencies on
    /// suppliers there, and delivers to a consumer in the lane of its operation
    #[arg(long, value_name = "URL")]
    scheduler: Option<String>,
    /// Deliver events in a lane for each queue of the computed schedule, at the thread priority of the queue, instead
    /// of by --threads. Requires the privilege for real-time priorities
    #[arg(long, requires = "scheduler")]
    scheduled_lanes: bool,
    /// Enforce the rate that the scheduling service has for each supplier's operation; the value selects the treatment
    /// of events beyond the rate
    #[arg(long, value_enum, requires = "scheduler")]
    beyond_rate: Option<BeyondRate>,
}

/// Treatment of events beyond a rate.
#[derive(Clone, Copy, ValueEnum)]
enum BeyondRate {
    /// Deliver and count the event
    Count,
    /// Refuse and count the event
    Refuse,
    /// Hold the event until it is within the rate, and refuse it after --call-timeout
    Delay,
}

/// Scheduling service given by `--scheduler`, with its options.
pub(super) struct Service<'a> {
    scheduler: SchedulerRef,
    options: &'a Scheduled,
}

impl Scheduled {
    /// Connects to the scheduling service, if one is given.
    pub(super) fn service(&self, orb: &Orb) -> Result<Option<Service<'_>>, Failed> {
        let Some(url) = &self.scheduler else {
            return Ok(None);
        };
        let scheduler = orb.resolve(url).map_err(|why| {
            because(format!(
                "{why}\nno scheduling service answers at --scheduler {url}; `oxorb sched serve` starts one"
            ))
        })?;
        Ok(Some(Service { scheduler, options: self }))
    }
}

impl Service<'_> {
    /// Returns the lanes of the schedule; `None` without `--scheduled-lanes`.
    pub(super) fn plan(&self) -> Result<Option<Plan>, Failed> {
        if !self.options.scheduled_lanes {
            return Ok(None);
        }
        let plan = scheduled_plan(&self.scheduler).map_err(|why| {
            because(format!(
                "{why}\n--scheduled-lanes needs a computed schedule: `oxorb sched compute` computes one"
            ))
        })?;
        Ok(Some(plan))
    }

    /// Makes a channel use the service. `call` is the time limit of a call.
    pub(super) fn apply(&self, channel: &EventChannel, call: Duration) {
        channel.schedule_with(self.scheduler.clone());
        if let Some(beyond) = self.options.beyond_rate {
            channel.enforce_declared_rates(match beyond {
                BeyondRate::Count => Beyond::Count,
                BeyondRate::Refuse => Beyond::Refuse,
                BeyondRate::Delay => Beyond::Delay(call),
            });
        }
    }
}
