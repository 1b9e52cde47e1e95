//! Objects of the service in an ORB.

use oxorb::poa::{IdAssignment, Lifespan, ObjectId, Poa, Policies};
use oxorb::{Interface as _, Orb};

use crate::faces::Faces;
use crate::rtec_scheduler::SchedulerRef;
use crate::schedule_faces::ScheduleFacesRef;
use crate::servant::Section;
use crate::{APPLICATION_KEY, Error, FACES_KEY, INITIAL_NAME, Scheduling};

/// Name of the POA of the objects. The POA is persistent: with the same port, references outlive
/// the process.
pub const POA_NAME: &str = "ScheduleService";

/// Scheduling service served by an ORB.
#[derive(Clone, Debug)]
pub struct Served {
    scheduler: SchedulerRef,
    application: SchedulerRef,
    faces: ScheduleFacesRef,
    poa: Poa,
}

/// Serves a scheduling service with an ORB: it answers at the key `ScheduleService`, and becomes
/// the ORB's initial reference of this name. TAO's clients look it up in the Naming Service under
/// the same name; bind [`scheduler`](Served::scheduler) there for them.
///
/// ```
/// use oxorb::{Interface as _, Orb};
/// use oxorb_sched::service::Service;
/// use oxorb_sched::{DispatchModel, Strategy};
/// use oxorb_scheduler::rtec_scheduler::SchedulerRef;
/// use oxorb_scheduler::{Scheduling, serve};
///
/// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = Service::configuration(Box::new(Strategy::MUF), Box::new(DispatchModel::Band));
/// let served = serve(&server, &Scheduling::new(service))?;
///
/// // In another process: corbaloc::host:port/ScheduleService, or -ORBInitRef ScheduleService=...
/// let orb = Orb::builder().init_ref("ScheduleService", &served.scheduler().to_ior()).build()?;
/// let scheduler: SchedulerRef = orb.resolve("corbaloc:rir:/ScheduleService")?;
/// assert_eq!(scheduler.create("Sensor::sample")?, 1);
/// assert!(scheduler.create("Sensor::sample").is_err());
/// # orb.shutdown(true)?;
/// # server.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Poa`] if the ORB already serves a schedule, or was shut down.
pub fn serve(orb: &Orb, scheduling: &Scheduling) -> Result<Served, Error> {
    serve_as(orb, scheduling, false)
}

/// Serves a scheduling service as [`serve`] does, read-only for clients: operations that would
/// change it are refused with NO_PERMISSION, minor `READ_ONLY`. This process may still change it.
///
/// # Errors
/// As for [`serve`].
pub fn serve_read_only(orb: &Orb, scheduling: &Scheduling) -> Result<Served, Error> {
    serve_as(orb, scheduling, true)
}

fn serve_as(orb: &Orb, scheduling: &Scheduling, read_only: bool) -> Result<Served, Error> {
    let poa = orb.root_poa().create_poa(
        POA_NAME,
        Policies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::User,
            ..Policies::default()
        },
    )?;
    poa.manager().hold_requests(false)?;
    let section = |key: &str, privileged| -> Result<SchedulerRef, Error> {
        let id = ObjectId::from(key);
        poa.bind_name_to_id(key, id.clone());
        let servant = Section::new(scheduling, privileged, read_only).servant();
        Ok(SchedulerRef::from_ref(poa.activate_servant_with_id(&id, servant)?))
    };
    let scheduler = section(INITIAL_NAME, true)?;
    let application = section(APPLICATION_KEY, false)?;
    let id = ObjectId::from(FACES_KEY);
    poa.bind_name_to_id(FACES_KEY, id.clone());
    let faces = poa.activate_servant_with_id(&id, Faces::servant(scheduling))?;
    poa.manager().activate()?;
    orb.register_initial_reference(INITIAL_NAME, scheduler.reference());
    Ok(Served { scheduler, application, faces: ScheduleFacesRef::from_ref(faces), poa })
}

impl Served {
    /// Returns the complete service, which TAO's clients expect.
    pub fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// Returns the application section, at the key [`APPLICATION_KEY`]. Clients may declare and
    /// read operations there. Computing a schedule and reading priorities, which only the ORB and
    /// the event channel need, are refused with NO_PERMISSION.
    pub fn application(&self) -> &SchedulerRef {
        &self.application
    }

    /// Returns the object at the key [`FACES_KEY`], with counts of the schedule and several views
    /// of each RT_Info.
    pub fn faces(&self) -> &ScheduleFacesRef {
        &self.faces
    }

    /// Destroys the objects after their requests have ended, and deletes all operations, including
    /// those in the state file. The ORB may then serve another schedule.
    ///
    /// # Errors
    /// [`Error::Poa`]; the errors of [`Scheduling::destroy`].
    pub fn destroy(self, scheduling: &Scheduling) -> Result<(), Box<dyn std::error::Error>> {
        self.poa.destroy(true, true)?;
        scheduling.destroy()?;
        Ok(())
    }
}
