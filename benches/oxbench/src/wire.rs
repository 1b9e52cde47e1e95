//! Lengths of the GIOP messages of an experiment; the raw exchange sends as many octets.

use crate::experiment::Operation;

/// Length in octets of the object key that the raw exchange assumes: that of OxORB's key, with the slot of the
/// operation; omniORB's key is twelve octets shorter.
const KEY: usize = 26;

/// Lengths in octets of one call's request and reply, including GIOP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lengths {
    pub(crate) request: usize,
    pub(crate) reply: usize,
}

impl Lengths {
    /// Returns the length of the longer message.
    pub(crate) fn longer(self) -> usize {
        self.request.max(self.reply)
    }
}

/// Returns the lengths of the GIOP 1.2 messages of one call, without service contexts.
pub(crate) fn lengths(operation: Operation, size: u32) -> Lengths {
    let name = match operation {
        Operation::Ping => "ping",
        Operation::Octets => "echo_octets",
        Operation::Samples => "echo_samples",
    };
    let body = body(operation, size as usize);
    call(name, body, body)
}

/// Returns the lengths for an operation with an argument and a result of these sizes in octets.
pub(crate) fn call(operation: &str, argument: usize, result: usize) -> Lengths {
    Lengths { request: request_header(operation) + argument, reply: REPLY_HEADER + result }
}

/// GIOP header, request id, status, empty service contexts.
const REPLY_HEADER: usize = 12 + 4 + 4 + 4;

fn request_header(operation: &str) -> usize {
    // GIOP header, request id, response flags and reserved, addressing disposition and padding.
    let mut at = 12 + 4 + 4 + 4;
    at += 4 + KEY;
    at = at.next_multiple_of(4) + 4 + operation.len() + 1;
    at = at.next_multiple_of(4) + 4;
    at.next_multiple_of(8)
}

/// Returns the octets of the argument, equal to those of the result: every operation is an echo.
fn body(operation: Operation, size: usize) -> usize {
    match operation {
        Operation::Ping => 8,
        Operation::Octets => 4 + size,
        Operation::Samples => (0..size).fold(4, |at: usize, _| {
            let number = (at + 1).next_multiple_of(4);
            let level = number + 4;
            level + 2
        }),
    }
}

/// Returns a whole GIOP 1.2 oneway request without arguments, little-endian. With a slot of the operation, it is as
/// OxORB's own clients send it.
pub(crate) fn oneway(key: &[u8], operation: &str, slot: Option<u16>) -> Vec<u8> {
    let mut message = b"GIOP\x01\x02\x01\x00".to_vec();
    let align = |message: &mut Vec<u8>| message.resize(message.len().next_multiple_of(4), 0);
    let number = |message: &mut Vec<u8>, n: usize| {
        message.extend_from_slice(&(n as u32).to_le_bytes());
    };
    number(&mut message, 0);
    // Request id, no response, target by key.
    number(&mut message, 7);
    number(&mut message, 0);
    number(&mut message, 0);
    let slot = slot.map(u16::to_le_bytes);
    let slot = slot.as_ref().map_or(&[][..], |slot| &slot[..]);
    number(&mut message, key.len() + slot.len());
    message.extend_from_slice(key);
    message.extend_from_slice(slot);
    align(&mut message);
    number(&mut message, operation.len() + 1);
    message.extend_from_slice(operation.as_bytes());
    message.push(0);
    align(&mut message);
    // No service contexts.
    number(&mut message, 0);
    let size = (message.len() - 12) as u32;
    message[8..12].copy_from_slice(&size.to_le_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ping_is_a_header_and_eight_octets() {
        let lengths = lengths(Operation::Ping, 8);
        assert_eq!(lengths.request, 72 + 8);
        assert_eq!(lengths.reply, 24 + 8);
    }

    #[test]
    fn samples_are_padded_inside_but_not_behind() {
        // count, octet, 3 of padding, long, short
        assert_eq!(body(Operation::Samples, 1), 4 + 1 + 3 + 4 + 2);
        // the next octet follows at once, its long needs one octet of padding
        assert_eq!(body(Operation::Samples, 2), 14 + 1 + 1 + 4 + 2);
    }
}
