//! Headers of GIOP messages in datagrams.

/// Size of GIOP's header, in octets.
pub(crate) const HEADER: usize = 12;

/// Kind of a message, by its number in GIOP's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Request of a client, to be run at most once.
    Request,
    /// Reply of a server.
    Reply,
    /// Cancellation by a client, which may be repeated.
    Cancel,
    /// Location request of a client.
    LocateRequest,
    /// Location reply of a server.
    LocateReply,
    /// Close of a connection, which datagrams do not have.
    Close,
    /// Error of a connection.
    Error,
    /// Fragment of a message. GIOP fragments have no sequence numbers, so reordered ones could not
    /// be reassembled.
    Fragment,
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    minor: u8,
    little: bool,
    /// Size of the complete message, in octets.
    pub(crate) octets: usize,
}

impl Header {
    /// Parses the header at the beginning of `octets`; returns `None` if it is incomplete or not of
    /// GIOP 1.0 to 1.2.
    #[inline]
    pub(crate) fn read(octets: &[u8]) -> Option<Header> {
        let header: &[u8; HEADER] = octets.first_chunk()?;
        let &[b'G', b'I', b'O', b'P', 1, minor @ 0..=2, flags, kind, ..] = header else {
            return None;
        };
        let little = flags & 1 != 0;
        let kind = match kind {
            // The more-fragments flag is set, so other messages contain the rest.
            _ if minor > 0 && flags & 2 != 0 => Kind::Fragment,
            0 => Kind::Request,
            1 => Kind::Reply,
            2 => Kind::Cancel,
            3 => Kind::LocateRequest,
            4 => Kind::LocateReply,
            5 => Kind::Close,
            6 => Kind::Error,
            7 if minor > 0 => Kind::Fragment,
            _ => return None,
        };
        let body = long(octets, 8, little)?;
        let octets = HEADER.checked_add(usize::try_from(body).ok()?)?;
        Some(Header { kind, minor, little, octets })
    }

    /// Reports whether the message concerns only a connection, or cancels a call that expects an answer;
    /// groups have neither.
    pub(crate) fn ends_connection(self) -> bool {
        matches!(self.kind, Kind::Close | Kind::Error | Kind::Cancel)
    }

    /// Reports whether a complete message is a GIOP 1.2 request without an answer.
    pub(crate) fn is_oneway(self, message: &[u8]) -> bool {
        // The response flags, of which two bits request a reply, follow the request id.
        let wanted = message.get(HEADER + 4).is_none_or(|flags| flags & 3 != 0);
        self.kind == Kind::Request && self.minor == 2 && !wanted
    }

    /// Returns the request id of a complete message; `None` if it has none or is truncated. Linear in
    /// the octets of the service contexts before it in GIOP 1.0 and 1.1.
    #[inline]
    pub(crate) fn request_id(self, message: &[u8]) -> Option<u32> {
        match self.kind {
            Kind::Close | Kind::Error | Kind::Fragment => None,
            Kind::Request | Kind::Reply if self.minor < 2 => self.behind_contexts(message),
            _ => long(message, HEADER, self.little),
        }
    }

    #[cold]
    fn behind_contexts(self, message: &[u8]) -> Option<u32> {
        let contexts = long(message, HEADER, self.little)?;
        let mut at = HEADER + 4;
        for _ in 0..contexts {
            let length = usize::try_from(long(message, at.checked_add(4)?, self.little)?).ok()?;
            at = at.checked_add(8)?.checked_add(length)?.checked_next_multiple_of(4)?;
        }
        long(message, at, self.little)
    }
}

#[inline]
fn long(octets: &[u8], at: usize, little: bool) -> Option<u32> {
    let octets = *octets.get(at..)?.first_chunk()?;
    Some(match little {
        true => u32::from_le_bytes(octets),
        false => u32::from_be_bytes(octets),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(minor: u8, flags: u8, kind: u8, body: &[u8]) -> Vec<u8> {
        let mut octets = vec![b'G', b'I', b'O', b'P', 1, minor, flags, kind];
        let length = body.len() as u32;
        octets.extend(match flags & 1 {
            1 => length.to_le_bytes(),
            _ => length.to_be_bytes(),
        });
        octets.extend(body);
        octets
    }

    #[test]
    fn the_number_stands_first_or_behind_the_contexts() {
        let new = message(2, 0, 0, &[0, 0, 1, 2, 9]);
        let header = Header::read(&new).unwrap();
        assert_eq!((header.kind, header.octets), (Kind::Request, new.len()));
        assert_eq!(header.request_id(&new), Some(258));

        let contexts =
            [2, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0];
        for minor in 0..2 {
            let old = message(minor, 1, 1, &contexts);
            assert_eq!(Header::read(&old).unwrap().request_id(&old), Some(261));
            for cut in 0..old.len() {
                if let Some(header) = Header::read(&old[..cut]) {
                    assert_eq!(header.request_id(&old[..cut]), None);
                }
            }
        }
    }

    #[test]
    fn octets_that_are_no_message_are_none() {
        let good = message(2, 0, 0, &[0; 4]);
        for (at, octet) in [(0, b'Z'), (3, 0), (4, 2), (5, 3), (7, 8)] {
            let mut bad = good.clone();
            bad[at] = octet;
            assert_eq!(Header::read(&bad), None, "octet {at}");
        }
        assert_eq!(Header::read(&good[..HEADER - 1]), None);
        let part = Header::read(&message(1, 2, 0, &[0; 8])).unwrap();
        assert_eq!(part.kind, Kind::Fragment);
        let whole = Header::read(&message(0, 2, 0, &[0; 8])).unwrap();
        assert_eq!(whole.kind, Kind::Request, "GIOP 1.0 has no such flag");
        let huge = message(0, 1, 1, &[255; 64]);
        assert_eq!(Header::read(&huge).unwrap().request_id(&huge), None);
    }
}
