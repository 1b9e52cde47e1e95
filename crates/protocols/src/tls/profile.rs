//! TLS in IIOP profiles.

use std::sync::Arc;

use oxorb_core::protocol::{ComponentAddresses, Iiop, LocatedAddress, Profile, ProfileKind};
use oxorb_object::association as options;
use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{
    IiopEndpoint, IiopProfile, Malformed, TaggedComponent, TaggedProfile, TlsMechanism, Version,
    profile_tag,
};
use oxorb_transport::{Address, ClientCertificates, tcp};

use crate::tls::Tls;
use crate::tls::files::Files;
use crate::tls::transport::{over_tcp, over_tls};

/// Tag of TLS in protocol policies. Its profiles have the tag of IIOP.
pub const TAG: u32 = profile_tag::OXORB_TLS;

/// IIOP profiles with components for TLS: TAG_SSL_SEC_TRANS with the port at the profile's host,
/// and the TLS addresses of CSIv2 with hosts of their own. Lanes are encoded as in TAO.
///
/// The port of the profile is 0 if the object has no plain address.
#[derive(Clone)]
pub struct Ssliop {
    files: Arc<Files>,
}

impl std::fmt::Debug for Ssliop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ssliop")
    }
}

/// Association options that every server over TLS supports.
const SUPPORTS: u16 = options::INTEGRITY
    | options::CONFIDENTIALITY
    | options::DETECT_REPLAY
    | options::DETECT_MISORDERING
    | options::ESTABLISH_TRUST_IN_TARGET;

/// Association options of a server that accepts no plain requests.
const PROTECTION: u16 = options::INTEGRITY | options::CONFIDENTIALITY;

impl Ssliop {
    /// Returns the kind of profile for a transport, whose settings define the requirements on
    /// clients.
    pub fn new(transport: &Tls) -> Self {
        Self { files: Arc::clone(&transport.files) }
    }

    /// Returns the supported and the required association options of an object with or without
    /// plain addresses.
    fn association(&self, plain: bool) -> (u16, u16) {
        let security = self.files.security();
        let asks = security.clients != ClientCertificates::Ignored && security.roots.is_some();
        let wants = security.clients == ClientCertificates::Required;
        let client = |is: bool| {
            if is { options::ESTABLISH_TRUST_IN_CLIENT } else { 0 }
        };
        match plain {
            true => (SUPPORTS | client(asks) | options::NO_PROTECTION, 0),
            false => (SUPPORTS | client(asks), PROTECTION | client(wants)),
        }
    }

    fn components(&self, endpoints: &[IiopEndpoint], plain: bool) -> Vec<TaggedComponent> {
        let Some(first) = endpoints.first() else {
            return Vec::new();
        };
        let (supports, requires) = self.association(plain);
        let mechanism = TlsMechanism { supports, requires, addresses: endpoints.to_vec() };
        vec![
            TaggedComponent::ssl_sec_trans(supports, requires, first.port),
            TaggedComponent::csi_tls(&mechanism),
        ]
    }
}

impl ProfileKind for Ssliop {
    fn tag(&self) -> u32 {
        TAG
    }

    fn url(&self) -> &'static str {
        "iiops"
    }

    fn other_urls(&self) -> &'static [&'static str] {
        &["ssliop"]
    }

    /// Parses an IIOP profile, with or without components for TLS.
    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let iiop = IiopProfile::parse(profile)?;
        let found = told(&iiop);
        let (lanes, addresses) = found.addresses.into_iter().partition(|(_, lane)| *lane >= 0);
        let addresses: Vec<(Address, i16)> = addresses;
        Ok(Profile {
            addresses: addresses.into_iter().map(|(address, _)| address).collect(),
            lanes,
            version: iiop.version,
            key: iiop.object_key,
            components: iiop.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let endpoints: Vec<_> = profile.addresses.iter().map(endpoint).collect();
        let host = endpoints.first().map_or("", |at| &at.host);
        // Profiles of version 1.0 have no components, and so cannot contain the TLS port.
        let version = profile.version.max(Version::V1_1);
        let mut iiop = IiopProfile::new(version, host, 0, &profile.key);
        iiop.components.clone_from(&profile.components);
        let ours = [tag::SSL_SEC_TRANS, tag::CSI_SEC_MECH_LIST];
        iiop.components.retain(|it| !ours.contains(&it.tag));
        iiop.components.extend(self.components(&endpoints, false));
        if !profile.lanes.is_empty() {
            let lanes = profile.lanes.iter();
            let lanes: Vec<_> = lanes.map(|(at, priority)| (endpoint(at), *priority)).collect();
            let ports: Vec<_> = lanes.iter().skip(1).map(|(at, _)| at.port).collect();
            let plain: Vec<_> = lanes
                .into_iter()
                .map(|(at, priority)| (IiopEndpoint { port: 0, ..at }, priority))
                .collect();
            let (supports, requires) = self.association(false);
            let ours = [tag::TAO_ENDPOINTS, tag::TAO_SSL_ENDPOINTS];
            iiop.components.retain(|it| !ours.contains(&it.tag));
            iiop.components.push(TaggedComponent::tao_endpoints(&plain));
            iiop.components.push(TaggedComponent::tao_ssl_endpoints(supports, requires, &ports));
        }
        iiop.to_profile()
    }

    /// Reports whether the address has the port of the profile's own: clients that only know the
    /// port then miss nothing.
    fn joins(&self, profile: &Profile, address: &Address) -> bool {
        let port =
            |address: &Address| over_tcp(address).and_then(|at| Some(tcp::host_and_port(&at)?.1));
        let own = profile.addresses.first().and_then(port);
        own.is_some() && own == port(address)
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let located = Iiop.locate(text)?;
        Ok(LocatedAddress { address: over_tls(&located.address), ..located })
    }

    fn print(&self, version: Version, address: &Address) -> String {
        let plain = over_tcp(address).unwrap_or_else(|| address.bare());
        let printed = Iiop.print(version, &plain);
        printed.replacen("iiop:", "iiops:", 1)
    }

    fn within_iiop(&self, addresses: &[Address]) -> Option<Vec<TaggedComponent>> {
        let endpoints: Vec<_> = addresses.iter().map(endpoint).collect();
        Some(self.components(&endpoints, true))
    }

    fn found_within(&self, profile: &TaggedProfile) -> ComponentAddresses {
        IiopProfile::parse(profile)
            .map_or_else(|_| ComponentAddresses::default(), |iiop| told(&iiop))
    }
}

/// Returns the addresses over TLS in a profile.
fn told(iiop: &IiopProfile) -> ComponentAddresses {
    let mut found = ComponentAddresses::default();
    let mut add = |host: &str, port: u16, lane: i16| {
        let one = (over_tls(&tcp::address(host, port)), lane);
        if port != 0 && !host.is_empty() && !found.addresses.contains(&one) {
            found.addresses.push(one);
        }
    };
    let ssl = iiop.component(tag::SSL_SEC_TRANS).and_then(|it| it.decode().ok());
    let csi = iiop.component(tag::CSI_SEC_MECH_LIST);
    let csi = csi.and_then(|it| it.tls_mechanism().ok().flatten());
    let (mut requires, mut own) = (0, 0);
    if let Some(DecodedComponent::SslSecTrans { requires: wanted, port, .. }) = ssl {
        (requires, own) = (wanted, port);
    }
    let lanes = lanes(iiop, own);
    match lanes.is_empty() {
        false => lanes.iter().for_each(|(host, port, lane)| add(host, *port, *lane)),
        true => {
            // Addresses with their own hosts come first. The other component contains only a port, and the host of the
            // profile may belong to another address.
            for at in csi.iter().flat_map(|it| &it.addresses) {
                add(&at.host, at.port, -1);
            }
            add(&iiop.host, own, -1);
        }
    }
    if let Some(csi) = &csi {
        requires |= csi.requires;
    }
    found.required = iiop.port == 0 || requires & PROTECTION != 0;
    found
}

/// Returns hosts, TLS ports and priorities of lanes in TAO's encoding: the first port is that of
/// the profile.
fn lanes(iiop: &IiopProfile, first: u16) -> Vec<(String, u16, i16)> {
    let component = |tag| iiop.component(tag);
    let endpoints = component(tag::TAO_ENDPOINTS).and_then(|it| it.decode().ok());
    let Some(DecodedComponent::TaoEndpoints(endpoints)) = endpoints else {
        return Vec::new();
    };
    let ports = component(tag::TAO_SSL_ENDPOINTS).and_then(|it| it.ssl_ports().ok());
    let ports = std::iter::once(first).chain(ports.unwrap_or_default());
    let lanes = endpoints.into_iter().zip(ports);
    let lanes = lanes.map(|((at, priority), port)| (at.host, port, priority));
    lanes.filter(|(_, port, priority)| *port != 0 && *priority >= 0).collect()
}

/// Returns host and port of a TLS address.
fn endpoint(address: &Address) -> IiopEndpoint {
    let plain = over_tcp(address);
    let parts = plain.as_ref().and_then(tcp::host_and_port);
    let (host, port) = parts.unwrap_or((address.place(), 0));
    IiopEndpoint { host: host.to_owned(), port }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_transport::Transport as _;

    fn at(place: &str) -> Address {
        Address::new(crate::tls::SCHEME, place)
    }

    fn kind() -> Ssliop {
        let tls = Tls::new();
        let security = oxorb_transport::Security { pins: vec![[7; 32]], ..Default::default() };
        tls.prepare(&security).unwrap();
        Ssliop::new(&tls)
    }

    #[test]
    fn an_object_over_tls_alone_has_no_plain_port() {
        let kind = kind();
        let mut profile = Profile::new(at("bank.example:2810"), Version::V1_2, b"key");
        profile.addresses.push(at("[::1]:2810"));
        let written = kind.write(&profile);
        let iiop = IiopProfile::parse(&written).unwrap();
        assert_eq!((iiop.host.as_str(), iiop.port), ("bank.example", 0));
        assert!(Iiop.read(&written).unwrap().addresses.is_empty());
        let found = kind.found_within(&written);
        let addresses: Vec<_> = found.addresses.iter().map(|(at, _)| at.clone()).collect();
        assert_eq!((addresses, found.required), (profile.addresses.clone(), true));
        let read = kind.read(&written).unwrap();
        assert_eq!((read.addresses, read.key), (profile.addresses, profile.key));
    }

    #[test]
    fn beside_a_plain_port_it_is_offered() {
        let kind = kind();
        let plain = Profile::new(tcp::address("h", 2809), Version::V1_2, b"key");
        let mut told = plain.clone();
        told.components = kind.within_iiop(&[at("h:2810")]).unwrap();
        let found = kind.found_within(&Iiop.write(&told));
        assert_eq!((found.addresses, found.required), (vec![(at("h:2810"), -1)], false));
        assert_eq!(kind.found_within(&Iiop.write(&plain)), ComponentAddresses::default());
        assert!(Tls::new().ready().is_err(), "nobody to trust");
    }

    #[test]
    fn lanes_have_ports_of_their_own() {
        let kind = kind();
        let mut profile = Profile::new(at("h:1"), Version::V1_2, b"key");
        profile.lanes = vec![(at("h:1"), 0), (at("h:2"), 9)];
        let found = kind.found_within(&kind.write(&profile));
        assert_eq!(found.addresses, profile.lanes);
    }

    #[test]
    fn omniorbs_reference_is_read() {
        // The port of the profile is 0, and only the component contains the TLS port (omniORB 4.2.5, giop:ssl without
        // giop:tcp).
        let mut iiop = IiopProfile::new(Version::V1_2, "10.0.0.7", 0, b"key");
        iiop.components = vec![TaggedComponent::ssl_sec_trans(0x66, 0x66, 40123)];
        let found = kind().found_within(&iiop.to_profile());
        assert_eq!((found.addresses, found.required), (vec![(at("10.0.0.7:40123"), -1)], true));
    }

    #[test]
    fn urls() {
        let located = kind().locate("1.1@[::1]:5,iiop:h:1/k").unwrap();
        assert_eq!((located.address, located.rest), (at("[::1]:5"), ",iiop:h:1/k"));
        assert_eq!(kind().print(Version::V1_2, &at("h:5")), "iiops:1.2@h:5");
    }
}
