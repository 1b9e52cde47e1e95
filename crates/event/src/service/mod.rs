//! A channel as CORBA objects: the channel, its two admins, and a proxy for each consumer and supplier.

mod admins;
mod intake;
mod proxies;
mod root;

use std::sync::Arc;

use oxorb::poa::{IdAssignment, Lifespan, ObjectId, Poa, Policies};
use oxorb::{CompletionStatus, Interface as _, Orb, Ref, Servant, SystemException, minor};

use crate::channel::{ConnectError, Core};
use crate::rtec_event_channel_admin::{ConsumerAdminRef, EventChannelRef, SupplierAdminRef};
use crate::{Error, EventChannel};
use admins::{Consumers, Suppliers};
use root::Root;

/// Prefix of the name of the POA of a channel's objects; the name of the channel follows. The POA is persistent: given
/// the same port, references to the channel and its admins outlive the process. References to proxies do not.
pub const POA_NAME: &str = "EventChannel";

/// A channel that an ORB serves.
#[derive(Clone, Debug)]
pub struct Served {
    channel: EventChannel,
    reference: EventChannelRef,
    poa: Poa,
}

impl EventChannel {
    /// Serves the channel with an ORB under a name: it answers at the key `name`, and is the ORB's initial reference of
    /// this name. TAO's clients look for it in the Naming Service, mostly as [`INITIAL_NAME`](crate::INITIAL_NAME);
    /// bind [`reference`](Served::reference) there for them. One ORB may serve many channels under different names.
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
    /// [`Error::Poa`], if the ORB already serves a channel of this name, or was shut down; [`Error::Destroyed`].
    pub fn serve(&self, orb: &Orb, name: &str) -> Result<Served, Error> {
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
        let proxies = poa.create_poa("proxies", Policies::default())?;
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

    /// Returns the reference of the channel, for the Naming Service or a file.
    pub fn reference(&self) -> &EventChannelRef {
        &self.reference
    }

    /// Destroys the channel for all peers, as `destroy` of its interface does, and its objects.
    ///
    /// # Errors
    /// [`Error::Poa`]: the objects cannot be destroyed from within one of their own requests.
    pub fn destroy(self) -> Result<(), Error> {
        self.channel.destroy();
        self.poa.destroy(true, true)?;
        Ok(())
    }
}

/// Shared state of the servants of a channel.
#[derive(Clone)]
struct Objects {
    core: Arc<Core>,
    poa: Poa,
    proxies: Poa,
}

impl Objects {
    /// Activates a proxy as an object, with an id that peers cannot guess from that of another proxy.
    fn activate(&self, servant: Arc<dyn Servant>) -> Result<Ref, SystemException> {
        self.proxies.activate_servant(servant).map_err(|_| GONE)
    }
}

/// Returns the exception for a refusal for which the operation declares none.
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

/// The peer is not connected, or no longer connected.
const NOT_CONNECTED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::NOT_CONNECTED, CompletionStatus::No);

/// The channel was destroyed.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// A required reference is nil.
const NIL: SystemException =
    SystemException::bad_param(minor::bad_param::NIL_PEER, CompletionStatus::No);
