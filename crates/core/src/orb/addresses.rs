//! Where an ORB is reached, and references that say so.

use oxorb_object::{IiopEndpoint, TaggedComponent, TcpProtocolProperties};
use oxorb_rt::Priority;
use oxorb_transport::{Address, Endpoint, tcp};

use super::Orb;
use crate::SetupError;
use crate::initial::Published;
use crate::published::PublishedAddress;
use crate::server::{Lane, OwnAddress};
use crate::{Ref, SettingError, ThreadpoolError, ThreadpoolId};

impl Orb {
    /// Opens the listening endpoints, if that has not happened yet. Creating
    /// the first object reference does it, too.
    pub fn listen(&self) -> Result<(), SetupError> {
        self.published().map(drop)
    }

    /// A reference to an object of this ORB: its key at our published addresses.
    pub fn create_reference(&self, type_id: &str, key: &[u8]) -> Result<Ref, SetupError> {
        self.create_reference_with(type_id, key, &[])
    }

    /// The same with further components in each profile that has room for them.
    pub fn create_reference_with(
        &self,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
    ) -> Result<Ref, SetupError> {
        let addresses = self.published()?;
        let native = self.options().native_chars;
        let plain = Published::new(type_id, key, components, native);
        Ok(Ref::new(self, plain.at(addresses)))
    }

    /// A reference to an object of this ORB that lanes of a threadpool serve: those whose priority is `wanted`, or the
    /// one lane of a pool without. For the object adapter.
    ///
    /// With lanes every address travels with the priority of its lane, as by TAO (TAO_TAG_ENDPOINTS); clients that do
    /// not know that use the first.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`]; [`ThreadpoolError::BadParameter`] when no lane is wanted.
    pub fn create_lane_reference(
        &self,
        pool: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
    ) -> Result<Ref, ThreadpoolError> {
        let found = self.inner.server.pools.addresses(pool, wanted);
        let found = found.ok_or(ThreadpoolError::Unknown(pool))?;
        if found.addresses.is_empty() {
            return Err(ThreadpoolError::BadParameter(
                "no lane of the threadpool serves this priority",
            ));
        }
        let native = self.options().native_chars;
        let reference = Published::new(type_id, key, components, native);
        let ior = reference.at_lanes(&found.addresses, found.has_lanes);
        Ok(Ref::new(self, ior))
    }

    /// How connections are set up that a threadpool, or the ORB's own threads, accept from now on
    /// (ServerProtocolPolicy). For the object adapter; the first call for each decides.
    pub fn set_server_tcp(&self, pool: Option<ThreadpoolId>, tcp: TcpProtocolProperties) {
        match pool {
            Some(pool) => self.inner.server.pools.set_tcp(pool, tcp),
            None => self.inner.server.listeners.set_tcp(tcp),
        }
    }

    /// Returns where this ORB listens with GIOP over TCP, as far as it does by now.
    pub(crate) fn listen_points(&self) -> Option<Vec<IiopEndpoint>> {
        let point = |at: &PublishedAddress| {
            let (host, port) = tcp::host_and_port(&at.address)?;
            let giop = at.protocol.messaging().is_none();
            giop.then(|| IiopEndpoint {
                host: host.to_owned(),
                port,
            })
        };
        let addresses = self.inner.server.published.get()?;
        Some(addresses.iter().filter_map(point).collect())
    }

    /// Returns which of our addresses one is.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        self.inner.server.own_address(address)
    }

    fn published(&self) -> Result<&[PublishedAddress], SetupError> {
        if let Some(addresses) = self.inner.server.published.get() {
            return Ok(addresses);
        }
        let _one_at_a_time = self.inner.server.opening();
        if self.is_closing() {
            return Err(SetupError::ShutDown);
        }
        if self.inner.server.published.get().is_none() {
            let wanted = self.endpoints()?;
            self.start_modules()?;
            let lane = || Lane::of_orb(self);
            let open = self.inner.server.listeners.open(self, &wanted, lane)?;
            let mut addresses = Vec::new();
            for endpoint in &open {
                for address in self.addresses_of(endpoint)? {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
            }
            let _ = self.inner.server.published.set(addresses);
        }
        Ok(self.inner.server.published.get().expect("set above"))
    }

    /// Returns the endpoints of the configuration or, without any, that of the first protocol.
    pub(crate) fn endpoints(&self) -> Result<Vec<Endpoint>, SetupError> {
        let options = self.options();
        options.check_protocols()?;
        if !options.listen.is_empty() {
            return Ok(options.listen.clone());
        }
        match options.protocols.default_endpoint() {
            Ok(endpoint) => Ok(vec![endpoint]),
            Err(error) => Err(SetupError::Setting(SettingError {
                setting: "-ORBListenEndpoints".to_owned(),
                problem: format!("is needed: {error}"),
            })),
        }
    }
}
