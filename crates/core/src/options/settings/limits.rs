//! Settings of limits on received messages.

use oxorb_giop::setting;

use super::Setting;
use crate::options::value::{number, positive, zero_or_one};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: setting::MAX_MESSAGE,
        value: "OCTETS",
        help: "Maximum size of a message to accept and to send. Default 64 MiB.",
        apply: |options, text| {
            let octets = positive(text)?;
            options.limits.max_message = octets;
            // A message of the maximum length should be decodable, so the memory for decoded values is at least four
            // times that length.
            let decoded = u32::try_from(octets.saturating_mul(4)).unwrap_or(u32::MAX);
            let cdr = &mut options.limits.cdr;
            cdr.max_memory = cdr.max_memory.max(decoded);
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_PARTIAL_MESSAGES,
        value: "N",
        help: "Maximum number of incomplete fragmented messages of a connection. Default 16.",
        apply: |options, text| {
            options.limits.max_partial_messages = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_PARTIAL_OCTETS,
        value: "OCTETS",
        help: "Maximum memory of incomplete fragmented messages of a connection. Default 64 MiB.",
        apply: |options, text| {
            options.limits.max_partial_octets = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxDepth",
        value: "N",
        help: "Maximum nesting depth of encapsulations and recursive values. Default 64.",
        apply: |options, text| {
            options.limits.cdr.max_depth = match number(text)? {
                0 => return Err("expected a number of at least 1".to_owned()),
                depth => depth,
            };
            Ok(())
        },
    },
    Setting {
        name: "MaxDecoded",
        value: "OCTETS",
        help: "Maximum memory of the decoded values of one message. Default 256 MiB, or four times MaxMessage if that \
               is more and MaxMessage is set first.",
        apply: |options, text| {
            options.limits.cdr.max_memory = positive(text)?.try_into().unwrap_or(u32::MAX);
            Ok(())
        },
    },
    Setting {
        name: "MaxText",
        value: "OCTETS",
        help: "Maximum size of the JSON text for the values and types of one request or answer. Default 64 MiB.",
        apply: |options, text| {
            options.limits.cdr.max_text = positive(text)?.try_into().unwrap_or(u32::MAX);
            Ok(())
        },
    },
    Setting {
        name: "StrictEncoding",
        value: "0|1",
        help: "Whether booleans other than 0 and 1, and octets after the arguments of a request, are rejected with MARSHAL. Otherwise such booleans are true and such octets are ignored, because some ORBs send them. Default 0.",
        apply: |options, text| {
            options.limits.cdr.strict = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "KeptCapacity",
        value: "OCTETS",
        help: "Maximum size of the buffer that a connection keeps between messages. A server keeps at most a sixteenth of MaxOctetsPerClient for each client, and a client keeps at most 2 MiB for a connection that its thread did not use last. Default 9 MiB.",
        apply: |options, text| {
            options.limits.kept_capacity = number(text)?;
            Ok(())
        },
    },
];
