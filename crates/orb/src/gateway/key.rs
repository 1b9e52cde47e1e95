//! Signed object ids: a gateway forwards requests only to targets that it has signed.
//!
//! | octets of an id | content |
//! |---|---|
//! | 32 | HMAC-SHA256 of the side and of the other octets |
//! | the rest | encapsulated reference of the target ([`Ior::to_octets`]) |

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::bridge::Error;
use crate::ior::Ior;

use super::side::Side;

/// Number of octets of a key, and of a signature.
const LENGTH: usize = 32;

/// Maximum size in octets of a reference for which the gateway makes an object. Without it, a client could fill the
/// memory of the gateway and of servers with keys.
pub(crate) const MAX_REFERENCE: usize = 16 << 10;

/// Maximum number of octets of an id. Alignment adds less than the size of the reference. Without this limit, the
/// octets of long messages would be hashed to find that the gateway has not signed them.
const MAX_ID: usize = LENGTH + 2 * MAX_REFERENCE;

/// Key with which a gateway signs the references that it hands out.
///
/// References that were handed out stay valid as long as the gateway has the same key. Whoever has the key can make the
/// gateway call any address on either side.
pub struct SigningKey(hmac::Key);

impl SigningKey {
    /// Creates a random key.
    ///
    /// # Errors
    /// The system returns no random octets.
    pub fn random() -> Result<SigningKey, Error> {
        let mut octets = [0; LENGTH];
        match SystemRandom::new().fill(&mut octets) {
            Ok(()) => SigningKey::from_octets(&octets),
            Err(_) => Err(Error::Key("the system returns no random octets".to_owned())),
        }
    }

    /// Creates a key from octets that cannot be guessed.
    ///
    /// # Errors
    /// There are fewer than 32 octets.
    pub fn from_octets(octets: &[u8]) -> Result<SigningKey, Error> {
        if octets.len() < LENGTH {
            let problem =
                format!("it has {} octets, but at least {LENGTH} are needed", octets.len());
            return Err(Error::Key(problem));
        }
        Ok(SigningKey(hmac::Key::new(hmac::HMAC_SHA256, octets)))
    }

    /// Returns the id of the object that clients on `side` call, and that forwards to `target`.
    pub(crate) fn sign(&self, side: Side, target: &Ior) -> Vec<u8> {
        let message = message(side, &target.to_octets());
        let signature = hmac::sign(&self.0, &message);
        [signature.as_ref(), &message[1..]].concat()
    }

    /// Returns the target of an id; `None` if the id was not [signed](Self::sign) for this side.
    pub(crate) fn target(&self, side: Side, id: &[u8]) -> Option<Ior> {
        if id.len() > MAX_ID {
            return None;
        }
        let (signature, target) = id.split_at_checked(LENGTH)?;
        hmac::verify(&self.0, &message(side, target), signature).ok()?;
        Ior::from_octets(target).ok()
    }
}

/// Returns the octets that are signed.
fn message(side: Side, target: &[u8]) -> Vec<u8> {
    let side: &[u8] = match side {
        Side::Outside => b"o",
        Side::Inside => b"i",
    };
    [side, target].concat()
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ior::{IiopProfile, Version};

    fn target() -> Ior {
        let profile = IiopProfile::new(Version::V1_2, "10.0.0.7", 2809, b"key");
        Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile.to_profile()] }
    }

    #[test]
    fn an_id_has_a_target_on_its_side_and_with_its_key() {
        let key = SigningKey::from_octets(&[7; 32]).unwrap();
        let id = key.sign(Side::Outside, &target());
        assert_eq!(key.target(Side::Outside, &id), Some(target()));
        assert_eq!(key.target(Side::Inside, &id), None);
        assert_eq!(SigningKey::random().unwrap().target(Side::Outside, &id), None);
        let again = SigningKey::from_octets(&[7; 32]).unwrap();
        assert_eq!(again.sign(Side::Outside, &target()), id);
    }

    #[test]
    fn changed_and_cut_ids_have_no_target() {
        let key = SigningKey::random().unwrap();
        let mut id = key.sign(Side::Inside, &target());
        for end in 0..id.len() {
            assert_eq!(key.target(Side::Inside, &id[..end]), None);
        }
        for at in 0..id.len() {
            id[at] ^= 1;
            assert_eq!(key.target(Side::Inside, &id), None);
            id[at] ^= 1;
        }
        id.push(0);
        assert_eq!(key.target(Side::Inside, &id), None);
    }

    #[test]
    fn ids_are_limited() {
        let key = SigningKey::from_octets(&[7; 32]).unwrap();
        let with_key = |length: usize| {
            let profile = IiopProfile::new(Version::V1_2, "10.0.0.7", 2809, &vec![7; length]);
            Ior { profiles: vec![profile.to_profile()], ..target() }
        };
        let has_target = |length: usize| {
            let target = with_key(length);
            key.target(Side::Outside, &key.sign(Side::Outside, &target)) == Some(target)
        };
        assert!(has_target(MAX_REFERENCE));
        assert!(!has_target(3 * MAX_REFERENCE));
    }

    #[test]
    fn a_short_key_is_refused_and_no_key_is_printed() {
        let refused = SigningKey::from_octets(&[7; 31]).unwrap_err().to_string();
        assert!(refused.contains("31 octets"), "{refused}");
        assert_eq!(format!("{:?}", SigningKey::random().unwrap()), "a secret key");
    }
}
