//! Optimal static priorities (`--optimal`) as a strategy.

use std::collections::HashMap;

use oxorb_sched::analysis::{mixed, priorities};
use oxorb_sched::strategy::{Dispatching, InputMapping, MappedOperation};
use oxorb_sched::{Schedule, Strategy};

use oxorb_terminal::output::{Failed, because};

/// Priorities in the order that was found.
pub(super) struct Optimal {
    ranks: HashMap<String, u64>,
    critical: Strategy,
}

impl Optimal {
    /// Finds an order for the operations of a schedule.
    pub(super) fn of(schedule: &Schedule, strategy: Strategy) -> Result<Optimal, Failed> {
        let set = &schedule.tasks;
        let order = match mixed::is_mixed(set) {
            false => priorities::optimal(set)?,
            true => {
                let all: Vec<usize> = (0..set.tasks.len()).collect();
                let found = mixed::optimal(&priorities::ordered(set, &all))?;
                found.ok_or_else(|| {
                    because("according to AMC-rtb, no static priorities meet all deadlines of both criticalities")
                })?
            }
        };
        let rank = |(rank, place): (usize, usize)| (set.tasks[place].name.clone(), rank as u64);
        Ok(Optimal { ranks: order.into_iter().enumerate().map(rank).collect(), critical: strategy })
    }
}

impl InputMapping for Optimal {
    fn name(&self) -> &str {
        "OPA"
    }

    fn static_priority(&self, operation: &MappedOperation<'_>) -> u64 {
        let rank = self.ranks.get(&operation.info.entry_point);
        rank.copied().unwrap_or(u64::MAX)
    }

    fn dispatching(&self, _: &MappedOperation<'_>) -> Dispatching {
        Dispatching::Static
    }

    fn is_critical(&self, operation: &MappedOperation<'_>) -> bool {
        self.critical.is_critical(operation)
    }
}
