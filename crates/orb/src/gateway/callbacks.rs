//! References from outside that the gateway may call.

use std::net::IpAddr;

use oxorb_object::components::tag;
use oxorb_object::profile_tag::OXORB_PADDING;
use oxorb_transport::{Access, PeerId};

use crate::ior::{DecodedComponent, IiopEndpoint, IiopProfile, Ior, TaggedComponent};

/// Components that lead nowhere, or over TCP or TLS to addresses that [`addresses`] returns with their ports.
const WITH_PORTS: [u32; 6] = [
    tag::ORB_TYPE,
    tag::CODE_SETS,
    tag::POLICIES,
    tag::ALTERNATE_IIOP_ADDRESS,
    tag::SSL_SEC_TRANS,
    tag::CSI_SEC_MECH_LIST,
];

/// Components that lead over TCP or TLS to hosts that [`addresses`] returns, but perhaps at other ports.
const WITH_HOSTS: [u32; 2] = [tag::TAO_SSL_ENDPOINTS, tag::TAO_ENDPOINTS];

/// Reports whether a profile keeps a component. Others could lead to sockets and memory of the gateway's host.
fn is_kept(component: &TaggedComponent) -> bool {
    WITH_PORTS.contains(&component.tag) || WITH_HOSTS.contains(&component.tag)
}

/// Returns those profiles of a reference that lead over TCP or TLS to permitted addresses only.
///
/// # Errors
/// The reason why there is none.
pub(crate) fn permitted(callbacks: Option<&Access>, ior: &Ior) -> Result<Ior, String> {
    let Some(callbacks) = callbacks.filter(|rules| rules.refuses_others()) else {
        return Err("`callbacks` permits no reference from outside".to_owned());
    };
    let mut reason = "it has no IIOP profile".to_owned();
    let mut profiles = Vec::new();
    for mut profile in ior.iiop_profiles() {
        profile.components.retain(is_kept);
        match check(callbacks, &profile) {
            Ok(()) => profiles.push(profile.to_profile()),
            Err(refused) => reason = refused,
        }
    }
    match profiles.is_empty() {
        true => Err(reason),
        false => Ok(Ior { type_id: ior.type_id.clone(), profiles }),
    }
}

/// Reports whether a call of an unchanged reference can only lead to permitted addresses.
pub(crate) fn is_permitted_unchanged(callbacks: Option<&Access>, ior: &Ior) -> bool {
    let Some(callbacks) = callbacks.filter(|rules| rules.refuses_others()) else {
        return false;
    };
    let is_permitted = |profile: IiopProfile| {
        profile.components.iter().all(is_kept) && check(callbacks, &profile).is_ok()
    };
    has_only_iiop(ior) && ior.iiop_profiles().all(is_permitted)
}

/// Reports whether calls of a reference can only lead to addresses for which `is_here` holds. A port of such an address
/// can be 0.
pub(crate) fn leads_only_to(ior: &Ior, is_here: impl Fn(&IiopEndpoint) -> bool) -> bool {
    let leads_here = |profile: IiopProfile| {
        profile.components.iter().all(|component| WITH_PORTS.contains(&component.tag))
            && addresses(&profile).iter().all(&is_here)
    };
    has_only_iiop(ior) && ior.iiop_profiles().all(leads_here)
}

/// Reports whether a reference has IIOP profiles and no others, except those with which a gateway has filled space.
fn has_only_iiop(ior: &Ior) -> bool {
    let meant = ior.profiles.iter().filter(|profile| profile.tag != OXORB_PADDING);
    let iiop = ior.iiop_profiles().count();
    iiop > 0 && iiop == meant.count()
}

fn check(callbacks: &Access, profile: &IiopProfile) -> Result<(), String> {
    for endpoint in addresses(profile) {
        let Ok(address) = endpoint.host.parse::<IpAddr>() else {
            return Err(format!(
                "{endpoint} is a host name, but `callbacks` permits only addresses"
            ));
        };
        let address = address.to_canonical();
        if address.is_unspecified() || address.is_multicast() {
            return Err(format!("{endpoint} is not the address of a host"));
        }
        if !callbacks.admits(&PeerId::Ip(address)) {
            return Err(format!("`callbacks` does not permit {endpoint}"));
        }
    }
    Ok(())
}

/// Returns all addresses to which a profile leads over TCP or TLS. A port can be 0.
pub(crate) fn addresses(profile: &IiopProfile) -> Vec<IiopEndpoint> {
    let at_host = |port| IiopEndpoint { host: profile.host.clone(), port };
    let mut all = profile.all_addresses();
    all.push(at_host(profile.port));
    for component in &profile.components {
        match component.tag {
            tag::SSL_SEC_TRANS => {
                if let Ok(DecodedComponent::SslSecTrans { port, .. }) = component.decode() {
                    all.push(at_host(port));
                }
            }
            tag::CSI_SEC_MECH_LIST => {
                if let Ok(Some(mechanism)) = component.tls_mechanism() {
                    all.extend(mechanism.addresses);
                }
            }
            // TAO_SSL_ENDPOINTS has the TLS ports of these hosts.
            tag::TAO_ENDPOINTS => {
                if let Ok(DecodedComponent::TaoEndpoints(endpoints)) = component.decode() {
                    all.extend(endpoints.into_iter().map(|(endpoint, _)| endpoint));
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ior::{TaggedProfile, TlsMechanism, Version};

    fn reference(host: &str, components: Vec<TaggedComponent>) -> Ior {
        let profile = IiopProfile::new(Version::V1_2, host, 2809, b"key");
        let profile = IiopProfile { components, ..profile };
        Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile.to_profile()] }
    }

    fn elsewhere() -> Vec<IiopEndpoint> {
        vec![IiopEndpoint { host: "10.0.0.7".to_owned(), port: 2809 }]
    }

    #[test]
    fn every_address_must_be_permitted() {
        let callbacks: Access = "allow 192.0.2.0/24".parse().unwrap();
        let tls = TlsMechanism { addresses: elsewhere(), ..TlsMechanism::default() };
        let lanes = |port| {
            let endpoint = IiopEndpoint { port, ..elsewhere().remove(0) };
            TaggedComponent::tao_endpoints(&[(endpoint, 0)])
        };
        let first = TaggedComponent::ssl_sec_trans(0x66, 6, 2810);
        let others = TaggedComponent::tao_ssl_endpoints(0x66, 6, &[2810]);
        for (host, components, is_permitted) in [
            ("192.0.2.1", vec![lanes(2809)], false),
            ("192.0.2.1", vec![first, lanes(0)], false),
            ("192.0.2.1", vec![lanes(0), others], false),
            ("192.0.2.1", vec![], true),
            ("::ffff:192.0.2.1", vec![], true),
            ("10.0.0.7", vec![], false),
            ("localhost", vec![], false),
            ("", vec![], false),
            ("192.0.2.1", vec![TaggedComponent::ssl_sec_trans(0x66, 6, 2810)], true),
            ("192.0.2.1", vec![TaggedComponent::csi_tls(&tls)], false),
            ("192.0.2.1", vec![TaggedComponent::alternate_iiop_address(&elsewhere()[0])], false),
        ] {
            let ior = reference(host, components);
            assert_eq!(permitted(Some(&callbacks), &ior).is_ok(), is_permitted, "{host}");
            assert_eq!(is_permitted_unchanged(Some(&callbacks), &ior), is_permitted, "{host}");
            assert!(permitted(None, &ior).is_err());
        }
    }

    #[test]
    fn only_addresses_of_hosts_are_permitted() {
        let callbacks: Access = "deny 10.0.0.0/8, allow all".parse().unwrap();
        for (host, is_permitted) in [
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("10.0.0.7", false),
            ("0.0.0.0", false),
            ("::", false),
            ("::ffff:0.0.0.0", false),
            ("224.0.0.1", false),
            ("ff02::1", false),
        ] {
            let ior = reference(host, vec![]);
            assert_eq!(permitted(Some(&callbacks), &ior).is_ok(), is_permitted, "{host}");
            assert_eq!(is_permitted_unchanged(Some(&callbacks), &ior), is_permitted, "{host}");
        }
    }

    #[test]
    fn rules_that_allow_nothing_permit_nothing() {
        for rules in ["", "deny 192.0.2.13"] {
            let callbacks: Access = rules.parse().unwrap();
            let ior = reference("192.0.2.1", vec![]);
            assert!(permitted(Some(&callbacks), &ior).is_err(), "{rules}");
            assert!(!is_permitted_unchanged(Some(&callbacks), &ior), "{rules}");
        }
    }

    #[test]
    fn a_reference_leads_only_to_addresses_that_are_all_known() {
        let here = |endpoint: &IiopEndpoint| endpoint.host == "192.0.2.1";
        assert!(leads_only_to(&reference("192.0.2.1", vec![]), here));
        assert!(!leads_only_to(&reference("10.0.0.7", vec![]), here));
        for component in [
            TaggedComponent::alternate_iiop_address(&elsewhere()[0]),
            TaggedComponent::tao_ssl_endpoints(0x66, 6, &[22]),
            TaggedComponent::omniorb_unix("192.0.2.1", "/run/socket"),
        ] {
            assert!(!leads_only_to(&reference("192.0.2.1", vec![component]), here));
        }
        let mut two = reference("192.0.2.1", vec![]);
        two.profiles.push(TaggedProfile { tag: 0x5441_4f00, data: vec![0; 8] });
        assert!(!leads_only_to(&two, here));
        let mut two = reference("192.0.2.1", vec![]);
        two.profiles.extend(reference("10.0.0.7", vec![]).profiles);
        assert!(!leads_only_to(&two, here));
    }

    #[test]
    fn profiles_that_fill_space_lead_nowhere() {
        let callbacks: Access = "allow 192.0.2.0/24".parse().unwrap();
        let padding = || TaggedProfile { tag: OXORB_PADDING, data: vec![0; 3] };
        let here = |endpoint: &IiopEndpoint| endpoint.host == "192.0.2.1";
        let mut ior = reference("192.0.2.1", vec![]);
        ior.profiles.push(padding());
        assert!(is_permitted_unchanged(Some(&callbacks), &ior));
        assert!(leads_only_to(&ior, here));
        ior.profiles.push(TaggedProfile { tag: 0x5441_4f00, data: vec![0; 8] });
        assert!(!is_permitted_unchanged(Some(&callbacks), &ior));
        assert!(!leads_only_to(&ior, here));
        ior.profiles = vec![padding()];
        assert!(!is_permitted_unchanged(Some(&callbacks), &ior));
        assert!(!leads_only_to(&ior, here));
    }

    #[test]
    fn ways_within_the_host_are_removed() {
        let callbacks: Access = "allow all".parse().unwrap();
        let socket = TaggedComponent::omniorb_unix("192.0.2.1", "/run/socket");
        let mut ior = reference("192.0.2.1", vec![socket]);
        ior.profiles.push(TaggedProfile { tag: 0x5441_4f00, data: vec![0; 8] });
        assert!(!is_permitted_unchanged(Some(&callbacks), &ior));
        let kept = permitted(Some(&callbacks), &ior).unwrap();
        assert_eq!(kept, reference("192.0.2.1", vec![]));
        ior.profiles.remove(0);
        assert_eq!(permitted(Some(&callbacks), &ior).unwrap_err(), "it has no IIOP profile");
    }
}
