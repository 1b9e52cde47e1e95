//! A channel as CORBA objects: the channel itself, its two admins, and a proxy for each consumer and supplier.

mod admins;
mod intake;
mod proxies;
mod root;

use std::sync::Arc;

use oxorb::poa::{IdAssignment, Lifespan, ObjectId, Poa, Policies, RtPolicies};
use oxorb::{CompletionStatus, Interface as _, Orb, Ref, Servant, SystemException, minor};

use crate::channel::{ConnectError, Core};
use crate::rtec_event_channel_admin::{ConsumerAdminRef, EventChannelRef, SupplierAdminRef};
use crate::{Error, EventChannel};
use admins::{Consumers, Suppliers};
use root::Root;

/// Prefix of the name of the POA with a channel's objects. The name of the channel follows. The POA is persistent: if
/// the port stays the same, references to the channel and its admins survive a restart of the process. References to
/// proxies do not.
pub const POA_NAME: &str = "EventChannel";

/// A channel that an ORB serves.
#[derive(Clone, Debug)]
pub struct Served {
    channel: EventChannel,
    reference: EventChannelRef,
    poa: Poa,
}

impl EventChannel {
    /// Serves the channel with an ORB. `name` is the key of the channel's object, and the name of the ORB's initial
    /// reference to it. TAO's clients look for the channel in the Naming Service, usually as
    /// [`INITIAL_NAME`](crate::INITIAL_NAME); bind [`reference`](Served::reference) there for them. An ORB can serve
    /// several channels under different names.
    ///
    /// ```
    /// use oxorb::{Interface as _, Orb};
    /// use oxorb_event::{ChannelOptions, EventChannel};
    /// use oxorb_event::rtec_event_channel_admin::EventChannelRef;
    ///
    /// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    /// let channel = EventChannel::new(ChannelOptions::default());
    /// let served = channel.serve(&server, "EventService")?;
    ///
    /// // Elsewhere: corbaloc::host:port/EventService
    /// let orb = Orb::builder().init_ref("EventService", &served.reference().to_ior()).build()?;
    /// let remote: EventChannelRef = orb.resolve("corbaloc:rir:/EventService")?;
    /// assert!(remote.for_consumers()?.is_some());
    /// # orb.shutdown(true)?;
    /// # server.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Poa`] if the ORB already serves a channel with this name, or was shut down; [`Error::Destroyed`].
    pub fn serve(&self, orb: &Orb, name: &str) -> Result<Served, Error> {
        self.serve_with(orb, name, RtPolicies::default())
    }

    /// Serves the channel as [`serve`](Self::serve) does, with real-time policies for the proxies, which receive the
    /// pushes of suppliers. If the threadpool of the proxies has lanes, and their priority model is
    /// `CLIENT_PROPAGATED`, the lane of the supplier's priority reads and serves each push. A supplier then does not
    /// wait for less urgent suppliers. The channel and its admins have no real-time policies.
    ///
    /// The policies apply to all operations of the proxies of suppliers and of consumers: connecting, pushing,
    /// suspending and disconnecting. With `CLIENT_PROPAGATED`, a thread whose CORBA priority no lane has cannot call a
    /// proxy: its calls fail with INV_POLICY, minor `NO_LANE`. A thread without a CORBA priority calls at the priority
    /// to which its ORB maps its native priority. If the mapping has no CORBA priority for it, the call fails with
    /// DATA_CONVERSION. If no lane has this priority, it calls at `server_priority`. If no lane has `server_priority`
    /// either, it calls at the priority of the lowest lane.
    ///
    /// ```
    /// use oxorb::Orb;
    /// use oxorb::poa::RtPolicies;
    /// use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
    /// use oxorb_event::{ChannelOptions, EventChannel};
    ///
    /// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    /// let lanes = [
    ///     ThreadpoolLane::new(Priority::new(100)?, 2),
    ///     ThreadpoolLane::new(Priority::new(20_000)?, 2),
    /// ];
    /// let proxies = RtPolicies {
    ///     threadpool: Some(server.create_threadpool(Threadpool::with_lanes(lanes))?),
    ///     priority_model: Some(PriorityModelPolicy {
    ///         model: PriorityModel::ClientPropagated,
    ///         server_priority: 100,
    ///     }),
    ///     ..RtPolicies::default()
    /// };
    /// let channel = EventChannel::new(ChannelOptions::default());
    /// let served = channel.serve_with(&server, "EventService", proxies)?;
    /// # drop(served);
    /// # server.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`serve`](Self::serve); [`Error::Poa`] if the policies contradict each other.
    pub fn serve_with(&self, orb: &Orb, name: &str, proxies: RtPolicies) -> Result<Served, Error> {
        if self.is_destroyed() {
            return Err(Error::Destroyed);
        }
        let poa = orb.root_poa().create_poa(
            &format!("{POA_NAME} {name}"),
            Policies {
                lifespan: Lifespan::Persistent,
                id_assignment: IdAssignment::User,
                ..Policies::default()
            },
        )?;
        poa.manager().hold_requests(false)?;
        let proxies = Policies { realtime: proxies, ..Policies::default() };
        let proxies = poa.create_poa("proxies", proxies).inspect_err(|_| {
            // Ignore the error: the POA has no objects yet. Its name is free again.
            let _ = poa.destroy(false, false);
        })?;
        let objects = Objects { core: Arc::clone(self.core()), poa: poa.clone(), proxies };
        let activate = |key: &str, servant: Arc<dyn Servant>| -> Result<Ref, Error> {
            let id = ObjectId::from(key);
            poa.bind_name_to_id(key, id.clone());
            Ok(poa.activate_servant_with_id(&id, servant)?)
        };
        let consumers = Consumers(objects.clone()).servant();
        let consumers = activate(&format!("{name}/consumers"), consumers)?;
        let suppliers = Suppliers(objects.clone()).servant();
        let suppliers = activate(&format!("{name}/suppliers"), suppliers)?;
        let root = Root {
            objects,
            consumers: ConsumerAdminRef::from_ref(consumers),
            suppliers: SupplierAdminRef::from_ref(suppliers),
        };
        let reference = EventChannelRef::from_ref(activate(name, root.servant())?);
        poa.manager().activate()?;
        orb.register_initial_reference(name, reference.reference());
        Ok(Served { channel: self.clone(), reference, poa })
    }
}

impl Served {
    /// Returns the channel.
    pub fn channel(&self) -> &EventChannel {
        &self.channel
    }

    /// Returns the reference to the channel, for example to bind it in the Naming Service or to write it to a file.
    pub fn reference(&self) -> &EventChannelRef {
        &self.reference
    }

    /// Destroys the channel for all peers, like `destroy` of its interface, and then destroys its objects.
    ///
    /// # Errors
    /// [`Error::Poa`] if this function is called within a request of one of these objects, which therefore cannot be
    /// destroyed.
    pub fn destroy(self) -> Result<(), Error> {
        self.channel.destroy();
        self.poa.destroy(true, true)?;
        Ok(())
    }
}

/// State that the servants of a channel share.
#[derive(Clone)]
struct Objects {
    core: Arc<Core>,
    poa: Poa,
    proxies: Poa,
}

impl Objects {
    /// Activates a proxy as an object. Its id is such that peers cannot guess it from the id of another proxy.
    fn activate(&self, servant: Arc<dyn Servant>) -> Result<Ref, SystemException> {
        self.proxies.activate_servant(servant).map_err(|_| GONE)
    }
}

/// Returns the exception for a refusal for which the operation declares no exception.
fn refused(why: ConnectError) -> SystemException {
    match why {
        ConnectError::Limit("publications", _) => {
            let minor = minor::imp_limit::EVENT_TYPES;
            SystemException::imp_limit(minor, CompletionStatus::No)
        }
        ConnectError::Share(_) => {
            let minor = minor::imp_limit::EVENT_SHARE;
            SystemException::imp_limit(minor, CompletionStatus::No)
        }
        ConnectError::Limit(..) | ConnectError::Queue(_) | ConnectError::Thread => {
            let minor = minor::imp_limit::EVENT_PROXIES;
            SystemException::imp_limit(minor, CompletionStatus::No)
        }
        _ => GONE,
    }
}

/// Exception for a peer that is not connected, or no longer connected.
const NOT_CONNECTED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::NOT_CONNECTED, CompletionStatus::No);

/// Exception for calls to a channel that was destroyed.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// Exception for a nil reference where a reference is required.
const NIL: SystemException =
    SystemException::bad_param(minor::bad_param::NIL_PEER, CompletionStatus::No);
