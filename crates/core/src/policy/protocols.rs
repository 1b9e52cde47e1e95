//! Lists of protocols in policies.

use std::fmt;
use std::ops::Deref;

use oxorb_object::{MAX_PROTOCOLS, Protocol};

use super::UnusableList;
use crate::threads::sync::uncontrolled::Mutex;

/// Maximum number of different lists of protocols in one process.
pub const MAX_PROTOCOL_LISTS: usize = 1024;

/// List of protocols, the preferred one first (`RTCORBA::ProtocolList`).
///
/// A handle of the size of a slice reference, so that the policies of a call stay small: each different list is kept
/// once, for the life of the process.
///
/// ```
/// use oxorb_core::policy::{Protocol, ProtocolList};
///
/// let unix_then_tcp = ProtocolList::new(&[Protocol::new(0x5441_4f00), Protocol::new(0)])?;
/// assert_eq!(unix_then_tcp.len(), 2);
/// assert_eq!(unix_then_tcp, ProtocolList::new(&unix_then_tcp)?);
/// # Ok::<(), oxorb_core::policy::UnusableList>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProtocolList(&'static [Protocol]);

/// All lists of this process.
static LISTS: Mutex<Vec<&'static [Protocol]>> = Mutex::new(Vec::new());

impl ProtocolList {
    /// Returns the list of these protocols. Takes a lock; allocates for a new list.
    ///
    /// # Errors
    /// [`UnusableList`] if there is no protocol, there are more than [`MAX_PROTOCOLS`], one of them occurs twice, or
    /// this process already has [`MAX_PROTOCOL_LISTS`] different lists.
    pub fn new(protocols: &[Protocol]) -> Result<Self, UnusableList> {
        if protocols.is_empty() {
            return Err(UnusableList("the list contains no protocol"));
        }
        if protocols.len() > MAX_PROTOCOLS {
            return Err(UnusableList("the list contains more than 16 protocols"));
        }
        let twice = |(at, one): (usize, &Protocol)| {
            let mut before = protocols[..at].iter();
            before.any(|other| other.protocol_type == one.protocol_type)
        };
        if protocols.iter().enumerate().any(twice) {
            return Err(UnusableList("the list contains a protocol twice"));
        }
        let mut lists = LISTS.lock();
        if let Some(known) = lists.iter().find(|known| **known == protocols) {
            return Ok(Self(known));
        }
        if lists.len() == MAX_PROTOCOL_LISTS {
            return Err(UnusableList(
                "this process has created 1,024 different lists of protocols, which are kept as long as it runs: \
                 create each list once, and reuse it",
            ));
        }
        let list: &'static [Protocol] = protocols.to_vec().leak();
        lists.push(list);
        Ok(Self(list))
    }

    /// Returns the protocols.
    pub fn protocols(self) -> &'static [Protocol] {
        self.0
    }

    /// Returns the position of a protocol in the list by the tag of its profiles; 0 is the
    /// preferred protocol.
    pub fn position(&self, protocol_type: u32) -> Option<usize> {
        position(self.0, protocol_type)
    }
}

/// Returns the position of a protocol in a list by the tag of its profiles.
#[inline]
pub(crate) fn position(protocols: &[Protocol], protocol_type: u32) -> Option<usize> {
    let mut protocols = protocols.iter();
    protocols.position(|one| one.protocol_type == protocol_type)
}

impl Deref for ProtocolList {
    type Target = [Protocol];

    fn deref(&self) -> &[Protocol] {
        self.0
    }
}

impl fmt::Debug for ProtocolList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_kept_once_and_unusable_ones_not_at_all() {
        let protocols = [Protocol::new(0xfefe_0001), Protocol::new(0xfefe_0002)];
        let one = ProtocolList::new(&protocols).unwrap();
        let other = ProtocolList::new(&protocols).unwrap();
        assert!(std::ptr::eq(one.0, other.0));
        assert_eq!(one.position(0xfefe_0002), Some(1));
        assert_eq!(one.position(7), None);
        let many: Vec<_> = (0..=MAX_PROTOCOLS as u32).map(Protocol::new).collect();
        for unusable in [&[], &many[..], &[Protocol::new(1), Protocol::new(1)]] {
            ProtocolList::new(unusable).unwrap_err();
        }
    }
}
