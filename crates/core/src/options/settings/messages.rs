//! Settings of the form of messages.

use super::Setting;
use crate::options::value::{
    byte_order, char_set, fragment_size, giop_version, number, zero_or_one,
};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "MaxGIOPVersion",
        value: "1.0|1.1|1.2",
        help: "The highest GIOP version to publish and to speak. Default 1.2.",
        apply: |options, text| {
            options.max_giop = giop_version(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PreferUtf8",
        value: "0|1",
        help: "Clients send strings in UTF-8 to every server that lists it as a conversion set, though the server's native \
               set be narrower, such as TAO's and omniORB's ISO-8859-1: so every character passes. A single char must then \
               be ASCII. Default 0: the server's native set, as the specification says.",
        apply: |options, text| {
            options.prefer_utf8 = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "NativeCharCodeSet",
        value: "UTF-8|ISO-8859-1",
        help: "The native code set of char and string, which clients at home in it choose. With UTF-8 every string passes, \
               but no single char outside of ASCII; with ISO-8859-1 every char of that set passes, but peers that know \
               both sets may send no other characters in strings either. Default UTF-8.",
        apply: |options, text| {
            options.native_chars = char_set(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ByteOrder",
        value: "native|big|little",
        help: "Byte order of what is sent; for tests of peers. Default native.",
        apply: |options, text| {
            options.byte_order = byte_order(text)?;
            Ok(())
        },
    },
    Setting {
        name: "CDRTradeoff",
        value: "OCTETS",
        help: "Sequences longer than this are sent from where they lie. Default 4096.",
        apply: |options, text| {
            options.gather_above = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LargePayloads",
        value: "copied|single-copy|in-place|in-place-only",
        help: "Which side copies large @in_place parameters where both share memory: both, the client alone, or nobody who \
               asks the ORB for the memory to fill; in-place-only refuses to give other memory, and requests that were copied. payloads= of an endpoint and the policy of a POA go before it. Default in-place.",
        apply: |options, text| {
            options.large_payloads = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "FragmentSize",
        value: "OCTETS",
        help: "Messages longer than this are sent as GIOP 1.2 fragments; 0: never. Default 0.",
        apply: |options, text| {
            options.fragment_size = fragment_size(text)?;
            Ok(())
        },
    },
];
