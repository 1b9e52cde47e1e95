//! The service, which applications start.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use oxorb::poa::{IdAssignment, IdUniqueness, Lifespan, Poa, Policies};
use oxorb::{Interface as _, Orb};

use crate::cos_notification::Property;
use crate::cos_notify_channel_admin::{EventChannelFactoryRef, EventChannelRef};
use crate::service::Service;
use crate::store::Keeper;
use crate::{Error, Settings, Store};

/// Name of the POA of the objects of an event service.
pub const POA_NAME: &str = "EventService";

/// Key and initial reference of the factory of channels, as in `corbaloc::host:port/NotificationService`.
pub const FACTORY_NAME: &str = "NotificationService";

/// Key and initial reference of the channel that [`NotifyService::event_channel`] creates.
pub const CHANNEL_NAME: &str = "EventService";

/// An event service of an ORB. It has channels of the Notification Service, and each of them is also a channel of the
/// Event Service.
///
/// ```
/// use oxorb::{Any, Interface as _, Orb};
/// use oxorb_notify::NotifyService;
/// use oxorb_notify::cos_event_channel_admin::EventChannelRef;
///
/// let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = NotifyService::start(&orb)?;
/// let channel = EventChannelRef::from(service.event_channel()?);
///
/// let consumers = channel.for_consumers()?.expect("an admin");
/// let pull = consumers.obtain_pull_supplier()?.expect("a proxy");
/// pull.connect_pull_consumer(None)?;
/// let suppliers = channel.for_suppliers()?.expect("an admin");
/// let push = suppliers.obtain_push_consumer()?.expect("a proxy");
/// push.connect_push_supplier(None)?;
///
/// push.push(&Any::new(7_i32))?;
/// assert_eq!(pull.pull()?.get::<i32>()?, Some(7));
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NotifyService {
    factory: EventChannelFactoryRef,
    service: Arc<Service>,
    orb: Orb,
}

impl NotifyService {
    /// Serves events with an ORB. The factory of channels has the key [`FACTORY_NAME`], and is the ORB's initial
    /// reference with this name. All objects of the service end with the process.
    ///
    /// # Errors
    /// [`Error`], for example if the ORB already has an event service.
    pub fn start(orb: &Orb) -> Result<NotifyService, Error> {
        NotifyService::start_with(orb, Settings::default())
    }

    /// Starts the service like [`start`](Self::start), with the given settings.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start).
    pub fn start_with(orb: &Orb, settings: Settings) -> Result<NotifyService, Error> {
        NotifyService::serve(orb, None, settings)
    }

    /// Serves events with an ORB, and stores what must survive the process. These are channels, admins and proxies
    /// whose ConnectionReliability is Persistent, and for their consumers the events whose EventReliability is
    /// Persistent. References remain valid if the ORB listens at the same address again. An event is on disk before its
    /// supplier gets the reply. After a crash a consumer may receive an event twice.
    ///
    /// Before this function returns, it restores and connects the stored objects, and calls the registered
    /// [callbacks](crate::notify_ext::ReconnectionRegistry).
    ///
    /// # Errors
    /// The errors of [`start`](Self::start); [`Error::Store`] if the store cannot be read or its objects cannot be
    /// restored. In this case nothing is removed from the store.
    pub fn start_stored(
        orb: &Orb,
        store: Store,
        settings: Settings,
    ) -> Result<NotifyService, Error> {
        NotifyService::serve(orb, Some(store), settings)
    }

    fn serve(orb: &Orb, store: Option<Store>, settings: Settings) -> Result<NotifyService, Error> {
        let lifespan = match store {
            Some(_) => Lifespan::Persistent,
            None => Lifespan::Transient,
        };
        let policies = Policies {
            lifespan,
            id_assignment: IdAssignment::User,
            id_uniqueness: IdUniqueness::Multiple,
            ..Policies::default()
        };
        let poa = orb.root_poa().create_poa(POA_NAME, policies)?;
        // Hold requests until all stored objects are restored and connected, because a proxy without a connection would
        // refuse events.
        poa.manager().hold_requests(false)?;
        let started = NotifyService::serve_at(orb, &poa, store, settings);
        // Destroy the POA after a failure, so that the application can start another service with this ORB.
        started.inspect_err(|_| {
            let _ = poa.destroy(false, false);
        })
    }

    fn serve_at(
        orb: &Orb,
        poa: &Poa,
        store: Option<Store>,
        settings: Settings,
    ) -> Result<NotifyService, Error> {
        let mut number = RandomState::new().hash_one(std::process::id());
        let mut stored = None;
        let mut path = PathBuf::new();
        if let Some(store) = store {
            number = store.number();
            store.path().clone_into(&mut path);
            let limits = (settings.limits.stored_octets, settings.store_timeout);
            let keeper = Keeper::start(orb, store, limits.0, limits.1);
            let keeper = keeper.map_err(|error| Error::Threads(Box::new(error)))?;
            let contents = keeper.contents(orb);
            let contents = contents
                .map_err(|error| Error::Store { path: path.clone(), why: error.to_string() })?;
            stored = Some((keeper, contents));
        }
        let (keeper, contents) = stored.unzip();
        let service = Arc::new(Service::new(poa.clone(), number, settings, keeper)?);
        let factory = service.serve_factories()?;
        let restored = contents.map_or(Ok(()), |contents| service.restore(orb, contents));
        if let Err(why) = restored {
            // Stop the service without removing objects from the store, so that a later start can restore them.
            service.stop();
            return Err(Error::Store { path, why });
        }
        orb.bind(FACTORY_NAME, &factory);
        for (name, channel) in service.named() {
            orb.bind(&name, &channel);
        }
        poa.manager().activate().inspect_err(|_| service.stop())?;
        service.call_back();
        let ending = Arc::downgrade(&service);
        orb.before_shutdown(move |_| {
            if let Some(service) = ending.upgrade() {
                service.stop();
            }
        });
        Ok(NotifyService { factory, service, orb: orb.clone() })
    }

    /// Returns the factory of channels.
    pub fn factory(&self) -> &EventChannelFactoryRef {
        &self.factory
    }

    /// Returns the channel with the key [`CHANNEL_NAME`], for clients that know only the Event Service. The first call
    /// creates this channel with default properties.
    ///
    /// # Errors
    /// The errors of `create_channel`.
    pub fn event_channel(&self) -> oxorb::Result<EventChannelRef> {
        self.channel_named(CHANNEL_NAME, &[], &[])
    }

    /// Creates a channel and binds it to a key, as in `corbaloc::host:port/key`. Later calls with the same key return
    /// the same channel as long as it exists.
    ///
    /// # Errors
    /// The errors of `create_channel`; BAD_PARAM for invalid properties.
    pub fn channel_named(
        &self,
        key: &str,
        qos: &[Property],
        administration: &[Property],
    ) -> oxorb::Result<EventChannelRef> {
        let made = self.service.channel_named(key, qos, administration)?;
        self.orb.bind(key, &made);
        Ok(made)
    }

    /// Returns and clears the last failure of the store, so that it can be logged. Clients only receive PERSIST_STORE.
    pub fn take_failure(&self) -> Option<String> {
        self.service.keeper.as_ref()?.take_failure()
    }

    /// Installs a function that receives log lines about consumers that do not accept events, for example because an
    /// event contains characters that their code set lacks. A line is written for the first such event of a consumer,
    /// and each time the number of such events has doubled. `log` is called on delivering threads and must return
    /// quickly. A later call replaces the function.
    ///
    /// ```
    /// use oxorb::Orb;
    /// use oxorb_notify::NotifyService;
    ///
    /// // UTF-8 to every consumer that lists it: all characters pass.
    /// let orb = Orb::builder().listen("iiop://127.0.0.1:0").prefer_utf8(true).build()?;
    /// let service = NotifyService::start(&orb)?;
    /// service.log(|line| eprintln!("{line}"));
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.service.set_log(Arc::new(log));
    }

    /// Returns the size in octets of the memory for clients' filters, subscriptions and offers.
    /// [`Limits::held_octets`](crate::Limits::held_octets) limits this memory.
    pub fn held_octets(&self) -> usize {
        self.service.memory.held()
    }

    /// Returns the sum of the counters of all queues of all channels.
    pub fn counts(&self) -> oxorb_delivery::Counts {
        self.service.counts()
    }
}

impl std::fmt::Debug for NotifyService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotifyService")
            .field("factory", &self.factory.reference().to_corbaloc())
            .field("channels", &self.service.channels().len())
            .finish_non_exhaustive()
    }
}
