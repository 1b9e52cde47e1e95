//! Where an ORB is reached, and references that say so.

use std::num::NonZeroU32;

use oxorb_object::TaggedComponent;
use oxorb_rt::Priority;
use oxorb_transport::{Address, Endpoint};

use super::Orb;
use crate::SetupError;
use crate::initial::Published;
use crate::own_address::OwnAddress;
use crate::policy::ProtocolList;
use crate::published::PublishedAddress;
use crate::server::Lane;
use crate::{Ref, SettingError, ThreadpoolError, ThreadpoolId};

impl Orb {
    /// Opens the listening endpoints, if that has not happened yet. Creating
    /// the first object reference does it, too.
    pub fn listen(&self) -> Result<(), SetupError> {
        self.published().map(drop)
    }

    /// A reference to an object of this ORB: its key at our published addresses.
    pub fn create_reference(&self, type_id: &str, key: &[u8]) -> Result<Ref, SetupError> {
        self.create_reference_with(type_id, key, &[], None)
    }

    /// Returns a reference as [`create_reference`](Self::create_reference) does, with further components in each profile
    /// that has room for them, and profiles of `protocols` only, in their order (ServerProtocolPolicy).
    ///
    /// # Errors
    /// [`SetupError`]; among them that the ORB listens with none of the protocols.
    pub fn create_reference_with(
        &self,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
        protocols: Option<ProtocolList>,
    ) -> Result<Ref, SetupError> {
        let addresses = self.published()?;
        let native = self.options().native_chars;
        let plain = Published::new(type_id, key, components, native);
        let ior = match protocols {
            None => plain.at(addresses),
            Some(list) => {
                let named = of_protocols(addresses, list, |at| at);
                if named.is_empty() {
                    return Err(SetupError::Setting(SettingError {
                        setting: "-ORBListenEndpoints".to_owned(),
                        problem: "names no endpoint of a protocol in the POA's ServerProtocolPolicy; add one, or leave the \
                                  policy out"
                            .to_owned(),
                    }));
                }
                plain.at(&named)
            }
        };
        Ok(Ref::new(self, ior))
    }

    /// Returns whether an endpoint of the configuration is of the protocol whose profiles have this tag.
    pub fn listens_with(&self, tag: u32) -> bool {
        let is_it = |endpoint: &Endpoint| {
            let protocol = self.options().protocols.named(&endpoint.protocol);
            protocol.is_some_and(|protocol| protocol.profile().tag() == tag)
        };
        self.options()
            .endpoints()
            .is_ok_and(|endpoints| endpoints.iter().any(is_it))
    }

    /// A reference to an object of this ORB that lanes of a threadpool serve: those whose priority is `wanted`, or the
    /// one lane of a pool without. For the object adapter.
    ///
    /// With lanes every address travels with the priority of its lane, as by TAO (TAO_TAG_ENDPOINTS); clients that do
    /// not know that use the first.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`]; [`ThreadpoolError::BadParameter`] when no lane is wanted, or none listens with one of
    /// `protocols`.
    pub fn create_lane_reference(
        &self,
        pool: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
        protocols: Option<ProtocolList>,
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
        let ior = match protocols {
            None => reference.at_lanes(&found.addresses, found.has_lanes),
            Some(list) => {
                let named = of_protocols(&found.addresses, list, |(at, _)| at);
                if named.is_empty() {
                    return Err(ThreadpoolError::BadParameter(
                        "no lane of the threadpool listens with a protocol of the POA's ServerProtocolPolicy",
                    ));
                }
                reference.at_lanes(&named, found.has_lanes)
            }
        };
        Ok(Ref::new(self, ior))
    }

    /// How connections are set up that a threadpool, or the ORB's own threads, accept from now on
    /// (ServerProtocolPolicy). For the object adapter; the first call for each decides.
    pub fn set_server_protocols(&self, pool: Option<ThreadpoolId>, protocols: ProtocolList) {
        match pool {
            Some(pool) => self.inner.server.pools.set_protocols(pool, protocols),
            None => self.inner.server.listeners.set_protocols(protocols),
        }
    }

    /// Bounds the octets that leave in a second over each connection that a threadpool, or the ORB's own threads, accept
    /// from now on. For the object adapter; the first call for each decides.
    pub fn set_reply_bandwidth(&self, pool: Option<ThreadpoolId>, octets: NonZeroU32) {
        match pool {
            Some(pool) => self.inner.server.pools.set_bandwidth(pool, octets),
            None => self.inner.server.listeners.set_bandwidth(octets),
        }
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
            let wanted = self.options().endpoints()?;
            self.server().start_modules(self.shared())?;
            let lane = || Lane::of_orb(self);
            let open = self.inner.server.listeners.open(self, &wanted, lane)?;
            let mut addresses = Vec::new();
            for endpoint in &open {
                for address in self.shared().addresses_of(endpoint)? {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
            }
            let _ = self.inner.server.published.set(addresses);
        }
        Ok(self.inner.server.published.get().expect("set above"))
    }
}

/// Returns those of `addresses` whose protocols are in a list, in the order of the list.
fn of_protocols<A: Clone>(
    addresses: &[A],
    list: ProtocolList,
    at: impl Fn(&A) -> &PublishedAddress,
) -> Vec<A> {
    let of = |tag: u32| {
        let is_it = |address: &&A| at(address).protocol.profile().tag() == tag;
        addresses.iter().filter(is_it).cloned().collect::<Vec<A>>()
    };
    list.iter().flat_map(|one| of(one.protocol_type)).collect()
}
