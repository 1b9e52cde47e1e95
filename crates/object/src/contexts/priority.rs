//! Priority of the caller (RTCorbaPriority, RT-CORBA 1.2, 5.8).

use oxorb_cdr::{Decoder, Dialect};

use crate::{Malformed, ServiceContext, ServiceContexts, context_id};

/// Priority of the caller of an operation, as sent; negative values are outside RT-CORBA's range.
///
/// ```
/// use oxorb_object::contexts::Priority;
///
/// assert_eq!(Priority::parse(&Priority(31).encode()), Ok(Priority(31)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i16);

impl Priority {
    /// Size of the context, in octets.
    pub const OCTETS: usize = 4;

    /// Returns the octets of the service context, in the byte order used for encapsulations.
    /// Allocates nothing.
    pub const fn encode(self) -> [u8; Self::OCTETS] {
        let [high, low] = self.0.to_be_bytes();
        [0, 0, high, low]
    }

    /// Parses the octets of the service context. Allocates nothing.
    ///
    /// # Errors
    /// Octets that are not an encapsulation of a `short`.
    #[inline]
    pub fn parse(data: &[u8]) -> Result<Priority, Malformed> {
        Ok(Priority(Decoder::encapsulated(data, Dialect::GIOP_1_2)?.short()?))
    }

    /// Returns the context with the priority of a request; `None` if there is none.
    #[inline(never)]
    pub fn find<'c>(contexts: &ServiceContexts<'c>) -> Option<ServiceContext<'c>> {
        if contexts.is_empty() {
            return None;
        }
        contexts.find(context_id::RT_CORBA_PRIORITY)
    }

    /// Returns the service context with these octets of a priority.
    pub const fn context(octets: &[u8; Self::OCTETS]) -> ServiceContext<'_> {
        ServiceContext { id: context_id::RT_CORBA_PRIORITY, data: octets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_read_and_nonsense_is_an_error() {
        assert_eq!(Priority::parse(&[1, 0, 5, 1]), Ok(Priority(0x0105)));
        assert_eq!(Priority::parse(&Priority(-2).encode()), Ok(Priority(-2)));
        for octets in [&[][..], &[0, 0, 1]] {
            assert!(Priority::parse(octets).is_err(), "{octets:?}");
        }
    }
}
