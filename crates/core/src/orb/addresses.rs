//! Addresses of an ORB, and references that contain them.

use std::num::NonZeroU32;

use oxorb_object::TaggedComponent;
use oxorb_rt::Priority;
use oxorb_transport::{Address, Endpoint};

use super::Orb;
use super::initial::PublishedReference;
use crate::SetupError;
use crate::monitoring::LogLevel;
use crate::policy::ProtocolList;
use crate::reference::{LaneOf, OwnAddress, PublishedAddress};
use crate::server::Lane;
use crate::{Ref, SettingError, ThreadpoolError, ThreadpoolId};

impl Orb {
    /// Opens the listening endpoints if they are not open yet, as the creation of the first object reference does.
    pub fn listen(&self) -> Result<(), SetupError> {
        self.published().map(drop)
    }

    /// Reads certificates, keys, roots and lists of revoked certificates again, for connections made from now on;
    /// existing connections stay open. Changed files are noticed without this call, within a second or two of the next
    /// connection.
    ///
    /// # Errors
    /// If a file cannot be used, the previous certificates and keys stay in use. The result is logged in either case.
    pub fn reload_security(&self) -> Result<(), SettingError> {
        let read = self.options().reload_security();
        match &read {
            Ok(()) => self.log(LogLevel::Info, "certificates and keys were read again"),
            Err(error) => {
                let line = format!("{error}; the previous certificates and keys stay in use");
                self.log(LogLevel::Error, &line);
            }
        }
        read
    }

    /// Returns a reference to an object of this ORB, which contains its key and the published addresses.
    pub fn create_reference(&self, type_id: &str, key: &[u8]) -> Result<Ref, SetupError> {
        self.create_reference_with(type_id, key, &[], Over::default())
    }

    /// Returns a reference as [`create_reference`](Self::create_reference) does, with further components in each
    /// profile that can have components, and with only those addresses that `over` allows.
    ///
    /// # Errors
    /// [`SetupError`], for example if the ORB listens with none of the protocols.
    pub fn create_reference_with(
        &self,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
        over: Over,
    ) -> Result<Ref, SetupError> {
        let addresses = self.published()?;
        let native = self.options().native_chars;
        let plain = PublishedReference::new(type_id, key, components, native);
        if over.is_any() {
            return Ok(Ref::new(self, plain.at(addresses)));
        }
        let named = over.of(addresses, |at| at);
        if named.is_empty() {
            let wanted = over.wanted();
            return Err(SetupError::Setting(SettingError {
                setting: "-ORBListenEndpoints".to_owned(),
                problem: format!("names no endpoint of {wanted}; add one, or omit the policy"),
            }));
        }
        Ok(Ref::new(self, plain.at(&named)))
    }

    /// Reports whether a configured endpoint has the protocol whose profiles have this tag.
    pub fn listens_with(&self, tag: u32) -> bool {
        let is_it = |endpoint: &Endpoint| {
            let protocol = self.options().protocols.named(&endpoint.protocol);
            protocol.is_some_and(|protocol| protocol.profile().tag() == tag)
        };
        self.options().endpoints().is_ok_and(|endpoints| endpoints.iter().any(is_it))
    }

    /// Returns a reference to an object of this ORB that lanes of a threadpool serve: those whose priority is `wanted`,
    /// or the one lane of a pool without lanes. For the object adapter.
    ///
    /// In a pool with lanes, every address is published with the priority of its lane, as TAO does (TAO_TAG_ENDPOINTS);
    /// clients that do not know that component use the first address. If lanes share the ORB's ports, the reference has
    /// the addresses of the ORB, without priorities.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`]; [`ThreadpoolError::BadParameter`] if no lane is wanted, or none listens as `over`
    /// requires.
    pub fn create_lane_reference(
        &self,
        pool: ThreadpoolId,
        wanted: impl Fn(Priority) -> bool,
        type_id: &str,
        key: &[u8],
        components: &[TaggedComponent],
        over: Over,
    ) -> Result<Ref, ThreadpoolError> {
        const NO_LANE: &str = "no lane of the threadpool serves this priority";
        if self.options().realtime.lanes_on_one_port {
            let found = self.pools().has_lane(pool, wanted);
            return match found.ok_or(ThreadpoolError::Unknown(pool))? {
                true => Ok(self.create_reference_with(type_id, key, components, over)?),
                false => Err(ThreadpoolError::BadParameter(NO_LANE)),
            };
        }
        let found = self.inner.server.pools.addresses(pool, wanted);
        let found = found.ok_or(ThreadpoolError::Unknown(pool))?;
        if found.addresses.is_empty() {
            return Err(ThreadpoolError::BadParameter(NO_LANE));
        }
        let native = self.options().native_chars;
        let reference = PublishedReference::new(type_id, key, components, native);
        if over.is_any() {
            let ior = reference.at_lanes(&found.addresses, found.has_lanes);
            return Ok(Ref::new(self, ior));
        }
        let named = over.of(&found.addresses, |(at, _)| at);
        if named.is_empty() {
            return Err(ThreadpoolError::BadParameter(match over.secure_only {
                true => {
                    "no lane of the threadpool listens with a protocol that protects its messages (secure_only)"
                }
                false => {
                    "no lane of the threadpool listens with a protocol of the POA's ServerProtocolPolicy"
                }
            }));
        }
        let ior = reference.at_lanes(&named, found.has_lanes);
        Ok(Ref::new(self, ior))
    }

    /// Reports whether a configured endpoint has a protocol with transport security, such as TLS.
    pub fn listens_securely(&self) -> bool {
        let is_secure = |endpoint: &Endpoint| {
            let protocol = self.options().protocols.named(&endpoint.protocol);
            protocol.is_some_and(|protocol| protocol.transport().is_secure())
        };
        self.options().endpoints().is_ok_and(|endpoints| endpoints.iter().any(is_secure))
    }

    /// Sets the properties of connections that a threadpool, or the ORB's own threads, accept from now on
    /// (ServerProtocolPolicy). For the object adapter; the first call for each decides.
    pub fn set_server_protocols(&self, pool: Option<ThreadpoolId>, protocols: ProtocolList) {
        match pool {
            Some(pool) => self.inner.server.pools.set_protocols(pool, protocols),
            None => self.inner.server.listeners.set_protocols(protocols),
        }
    }

    /// Limits the octets per second that leave over each connection that a threadpool, or the ORB's own threads, accept
    /// from now on. For the object adapter; the first call for each decides.
    pub fn set_reply_bandwidth(&self, pool: Option<ThreadpoolId>, octets: NonZeroU32) {
        match pool {
            Some(pool) => self.inner.server.pools.set_bandwidth(pool, octets),
            None => self.inner.server.listeners.set_bandwidth(octets),
        }
    }

    /// Reports which of this ORB's addresses, if any, an address is.
    pub(crate) fn own_address(&self, address: &Address) -> OwnAddress {
        self.inner.server.own_address(address)
    }

    /// Classifies an address of the object of a key. If lanes share the ORB's ports, the object determines the lane.
    pub(crate) fn own_address_of(&self, address: &Address, key: &[u8]) -> OwnAddress {
        let own = self.own_address(address);
        if self.options().realtime.lanes_on_one_port
            && matches!(own, OwnAddress::Orb)
            && let Some(lane) = self.lane_of(key, None)
            && let Some(at) = self.inner.server.own_place(address)
        {
            return OwnAddress::Lane(lane, at);
        }
        own
    }

    /// Returns the lane that serves requests for the object of a key at a caller's priority; `None` if the ORB's own
    /// threads serve them.
    pub(crate) fn lane_of(&self, key: &[u8], priority: Option<Priority>) -> Option<LaneOf> {
        let found = self.adapter()?.lane_of(key, priority)?;
        Some(LaneOf { pool: found.pool.0, lane: found.lane as u32 })
    }

    fn published(&self) -> Result<&[PublishedAddress], SetupError> {
        if let Some(addresses) = self.inner.shared.published.get() {
            return Ok(addresses);
        }
        let _one_at_a_time = self.inner.server.opening();
        if self.is_closing() {
            return Err(SetupError::ShutDown);
        }
        if self.inner.shared.published.get().is_none() {
            let wanted = self.options().endpoints()?;
            self.start_modules()?;
            let lane = || Lane::of_orb(self);
            let listeners = &self.inner.server.listeners;
            let open = listeners.open(self, &wanted, lane)?;
            // The next attempt opens the endpoints again.
            let (addresses, own) = self.addresses_at(&open).inspect_err(|_| listeners.close())?;
            let _ = self.inner.server.own_places.set(own);
            let _ = self.inner.shared.published.set(addresses);
        }
        Ok(self.inner.shared.published.get().expect("set above"))
    }

    /// Returns the addresses to publish for open endpoints, and the address at which this process connects to each.
    fn addresses_at(
        &self,
        open: &[Endpoint],
    ) -> Result<(Vec<PublishedAddress>, Vec<Address>), SetupError> {
        let (mut addresses, mut own) = (Vec::new(), Vec::new());
        for endpoint in open {
            let transport = self.options().protocol_at(endpoint)?.transport();
            for address in self.shared().addresses_of(endpoint)? {
                if !addresses.contains(&address) {
                    addresses.push(address);
                    own.push(transport.own_address(endpoint));
                }
            }
        }
        Ok((addresses, own))
    }
}

/// Protocols over which references make an object reachable.
#[derive(Debug, Clone, Copy, Default)]
pub struct Over {
    /// Protocols, in order of preference (ServerProtocolPolicy); `None` for all with which the ORB listens.
    pub protocols: Option<ProtocolList>,
    /// Whether only protocols with transport security are used.
    pub secure_only: bool,
}

impl Over {
    fn is_any(&self) -> bool {
        self.protocols.is_none() && !self.secure_only
    }

    /// Returns those of `addresses` that references may have, in the order of the protocols if these are listed.
    fn of<A: Clone>(&self, addresses: &[A], at: impl Fn(&A) -> &PublishedAddress) -> Vec<A> {
        let is_open =
            |address: &&A| !self.secure_only || at(address).protocol.transport().is_secure();
        let open = addresses.iter().filter(is_open);
        let Some(list) = self.protocols else {
            return open.cloned().collect();
        };
        let of = |tag: u32| {
            let is_it = |address: &&A| at(address).protocol.profile().tag() == tag;
            open.clone().filter(is_it).cloned().collect::<Vec<A>>()
        };
        list.iter().flat_map(|one| of(one.protocol_type)).collect()
    }

    /// Returns a description of the wanted protocols, for messages.
    fn wanted(&self) -> &'static str {
        match self.secure_only {
            true => {
                "a protocol that protects its messages, such as iiops, as the POA's secure_only requires"
            }
            false => "a protocol in the POA's ServerProtocolPolicy",
        }
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use oxorb_sys::thread::ThreadPurpose;
    use oxorb_testkit::until;
    use oxorb_transport::Publish;

    use super::*;
    use crate::Options;

    #[test]
    fn endpoints_without_an_address_to_publish_do_not_stay_open() {
        let mut options = Options::default();
        options.listen_on("iiop://0.0.0.0:0").unwrap();
        options.publish = vec![Publish::Ipv6];
        let orb = Orb::new(options);
        for _ in 0..2 {
            assert!(matches!(orb.listen(), Err(SetupError::Interfaces(_))));
            let accepts =
                || orb.threads().iter().any(|thread| thread.purpose == ThreadPurpose::Acceptor);
            until("no thread waits for clients", || !accepts());
        }
        orb.shutdown(true).unwrap();
    }
}
