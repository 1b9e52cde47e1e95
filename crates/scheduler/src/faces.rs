//! Servant of `OxORB::ScheduleFaces`: counts of a schedule, and several views of each RT_Info.

use std::sync::Arc;

use oxorb::Servant;
use oxorb::servant::{ServedBy as _, escape};
use oxorb_sched::Error;
use oxorb_sched::repository::RtInfo;
use oxorb_sched::service::Service;

use crate::schedule_faces::schedule_faces::*;
use crate::schedule_faces::{
    AssignedFace, DeclaredFace, ScheduleCounts, ScheduleFaces, ScheduleFacesRef,
};
use crate::{Refusal, Scheduling};

/// Servant that reads from a service and never changes it.
pub(crate) struct Faces(Scheduling);

impl Faces {
    pub(crate) fn servant(scheduling: &Scheduling) -> Arc<dyn Servant> {
        escape::servant(ScheduleFacesRef::servant(Faces(scheduling.clone())))
    }

    fn look<R>(
        &self,
        operation: &'static str,
        look: impl FnOnce(&Service) -> Result<R, Error>,
    ) -> Result<R, Refusal> {
        let seen = self.0.look(look);
        let seen = seen.and_then(|seen| seen.map_err(Refusal::from));
        seen.inspect_err(|refusal| self.0.tell(operation, refusal))
    }
}

impl ScheduleFaces for Faces {
    fn counts(&self) -> Result<ScheduleCounts, oxorb::SystemException> {
        let counts = self.look("counts", |service| Ok(counts(service)));
        counts.map_err(|refusal| refusal.system())
    }

    fn operations(&self) -> Result<u32, oxorb::SystemException> {
        Ok(self.counts()?.operations)
    }

    fn threads(&self) -> Result<u32, oxorb::SystemException> {
        Ok(self.counts()?.threads)
    }

    fn declared(&self, operation: &str) -> Result<DeclaredFace, DeclaredError> {
        let name = escape::incoming(operation);
        let seen =
            self.look("declared", |service| service.get(service.lookup(&name)?).map(declared));
        seen.map_err(|refusal| match refusal {
            Refusal::Scheduling(Error::UnknownName(_)) => {
                DeclaredError::NoOperation(NoOperation {})
            }
            other => DeclaredError::System(other.system()),
        })
    }

    fn assigned(&self, operation: &str) -> Result<AssignedFace, AssignedError> {
        let name = escape::incoming(operation);
        let seen = self.look("assigned", |service| {
            let handle = service.lookup(&name)?;
            let found = service.priority(handle)?;
            Ok(AssignedFace {
                handle: handle.0,
                os_priority: found.os_priority,
                subpriority: found.subpriority,
                preemption_priority: found.preemption_priority,
            })
        });
        seen.map_err(|refusal| match refusal {
            Refusal::Scheduling(Error::UnknownName(_)) => {
                AssignedError::NoOperation(NoOperation {})
            }
            Refusal::Scheduling(Error::NotScheduled | Error::LeftOut(_)) => {
                AssignedError::NotScheduled(NotScheduled {})
            }
            other => AssignedError::System(other.system()),
        })
    }
}

/// Converts a count to its type in IDL; the limits of the service keep it in range.
fn number(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

fn counts(service: &Service) -> ScheduleCounts {
    let repository = service.repository();
    let enabled = || repository.infos().iter().filter(|info| info.is_enabled());
    let threads = enabled().map(|info| info.characteristics.threads);
    ScheduleCounts {
        operations: number(repository.len()),
        enabled: number(enabled().count()),
        threads: threads.fold(0, u32::saturating_add),
        dependencies: number(repository.dependencies().count()),
        levels: number(service.levels().map_or(0, <[_]>::len)),
    }
}

fn declared(info: &RtInfo) -> DeclaredFace {
    let said = &info.characteristics;
    DeclaredFace {
        handle: info.handle.0,
        worst_case: said.worst_case,
        typical: said.typical,
        best_case: said.constraints.best_case,
        period: said.period,
        deadline: said.constraints.deadline.unwrap_or(0),
        jitter: said.constraints.jitter,
        blocking: said.constraints.blocking,
        threads: said.threads,
        dependencies: number(info.dependencies.len()),
        enabled: info.is_enabled(),
    }
}
