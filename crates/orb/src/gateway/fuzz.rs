//! Entry point of the fuzz target for ids and references that a gateway receives. No input may cause a panic, or name a
//! target that the gateway has not signed.

use std::sync::LazyLock;

use crate::Orb;
use crate::ior::{IiopProfile, Ior, Version};

use super::key::{MAX_REFERENCE, SigningKey};
use super::{Fate, Gateway, GatewaySettings, Side};

/// Octets of the gateway's key.
const SECRET: [u8; 32] = [7; 32];

/// Uses octets as the id of an object, as the key in a reference, and as a reference. The reference is also signed, and
/// the octet of the id at the place that the first octet determines is changed by the second octet.
pub fn ids(data: &[u8]) {
    let [place, change, octets @ ..] = data else {
        return;
    };
    if octets.len() > MAX_REFERENCE / 2 {
        return;
    }
    for side in [Side::Outside, Side::Inside] {
        assert_eq!(KEY.target(side, octets), None, "nobody has signed this id");
        let profile = IiopProfile::new(Version::V1_2, "192.0.2.1", 2809, octets);
        let profiles = vec![profile.to_profile()];
        check(&Ior { type_id: "IDL:T:1.0".to_owned(), profiles }, side);
        let Ok(reference) = Ior::from_octets(octets) else {
            continue;
        };
        check(&reference, side);
        let mut id = KEY.sign(side, &reference);
        assert_eq!(KEY.target(side.other(), &id), None, "the other side");
        assert_eq!(KEY.target(side, &id), Some(reference));
        let place = usize::from(*place) % id.len();
        id[place] ^= (*change).max(1);
        assert_eq!(KEY.target(side, &id), None, "a changed id");
    }
}

/// Checks what becomes of a reference that the gateway has not handed out.
fn check(reference: &Ior, from: Side) {
    match GATEWAY.fate(reference, from) {
        Fate::Unchanged => assert!(reference.is_nil()),
        Fate::Original(_) | Fate::Own(_) => panic!("nobody has signed {reference:?}"),
        Fate::Replaced(target) => {
            let again = GATEWAY.fate(&target, from);
            assert!(matches!(again, Fate::Replaced(_)), "{again:?}: {reference:?}");
        }
        Fate::Refused(reason) => assert!(!reason.is_empty()),
    }
}

static KEY: LazyLock<SigningKey> = LazyLock::new(key);

/// Gateway that does not listen, and calls some addresses outside.
static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| {
    let builder = || Orb::builder().listen("iiop://127.0.0.1:0");
    let callbacks = "deny 192.0.2.13, allow 192.0.2.0/24, allow 2001:db8::/32";
    let settings = GatewaySettings {
        callbacks: Some(callbacks.parse().expect("rules")),
        ..GatewaySettings::new(key())
    };
    Gateway::new(builder(), builder(), settings).expect("a gateway that does not listen")
});

fn key() -> SigningKey {
    SigningKey::from_octets(&SECRET).expect("32 octets")
}
