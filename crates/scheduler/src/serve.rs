//! The objects that an ORB serves.

use oxorb::{IdAssignment, Interface as _, Lifespan, ObjectId, Orb, Poa, Policies};

use crate::faces::Faces;
use crate::rtec_scheduler::SchedulerRef;
use crate::schedule_faces::ScheduleFacesRef;
use crate::servant::Section;
use crate::{APPLICATION_KEY, Error, FACES_KEY, INITIAL_NAME, Scheduling};

/// The POA that the objects live in. It is persistent: given the same port, references outlive the process.
pub const POA_NAME: &str = "ScheduleService";

/// A scheduling service that an ORB serves.
#[derive(Clone, Debug)]
pub struct Served {
    scheduler: SchedulerRef,
    application: SchedulerRef,
    faces: ScheduleFacesRef,
    poa: Poa,
}

/// Serves a scheduling service with an ORB: it answers at the key `ScheduleService`, and is the ORB's initial reference of
/// this name. TAO's clients look for it in the Naming Service under the same name; bind
/// [`scheduler`](Served::scheduler) there for them.
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
/// // Elsewhere: corbaloc::host:port/ScheduleService, or -ORBInitRef ScheduleService=...
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
/// [`Error::Poa`], when the ORB serves a schedule already, or was shut down.
pub fn serve(orb: &Orb, scheduling: &Scheduling) -> Result<Served, Error> {
    serve_as(orb, scheduling, false)
}

/// [`serve`] for a service that clients read and do not change: operations that would change it are refused with
/// NO_PERMISSION, minor `READ_ONLY`. This process may change it still.
///
/// # Errors
/// As [`serve`].
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
    /// The whole service: what TAO's clients expect.
    pub fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// The application section: operations are declared and read; what the ORB and the event channel need,
    /// computing and priorities, is refused with NO_PERMISSION. At the key [`APPLICATION_KEY`].
    pub fn application(&self) -> &SchedulerRef {
        &self.application
    }

    /// The numbers of the schedule, and the faces of each RT_Info. At the key [`FACES_KEY`].
    pub fn faces(&self) -> &ScheduleFacesRef {
        &self.faces
    }

    /// Ends the objects, when their requests have ended, and forgets all operations, in the state as well: nothing
    /// is left, and the same ORB may serve another schedule.
    ///
    /// # Errors
    /// [`Error::Poa`]; what [`Scheduling::destroy`] says.
    pub fn destroy(self, scheduling: &Scheduling) -> Result<(), Box<dyn std::error::Error>> {
        self.poa.destroy(true, true)?;
        scheduling.destroy()?;
        Ok(())
    }
}
