//! Settings of the form of messages.

use super::Setting;
use crate::options::value::{
    byte_order, char_set, fragment_size, giop_version, number, zero_or_one,
};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "MaxGIOPVersion",
        value: "1.0|1.1|1.2",
        help: "Highest GIOP version to publish and to use. Default 1.2.",
        apply: |options, text| {
            options.max_giop = giop_version(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PreferUtf8",
        value: "0|1",
        help: "Whether clients send strings in UTF-8 to every server that lists it as a conversion set, even if the \
               server's native set is smaller, such as the ISO-8859-1 of TAO and omniORB. Every character can then be \
               sent, but a single char must be ASCII. Default 0: the server's native set, as the specification \
               requires.",
        apply: |options, text| {
            options.prefer_utf8 = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "NativeCharCodeSet",
        value: "UTF-8|ISO-8859-1",
        help: "Native code set of char and string; clients with the same native code set select it. With UTF-8 all \
               strings can be sent, but a single char must be ASCII. With ISO-8859-1 every char of that set can be \
               sent, but peers that support both sets cannot send other characters in strings either. Default UTF-8.",
        apply: |options, text| {
            options.native_chars = char_set(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ByteOrder",
        value: "native|big|little",
        help: "Byte order of sent messages; for tests of peers. Default native.",
        apply: |options, text| {
            options.byte_order = byte_order(text)?;
            Ok(())
        },
    },
    Setting {
        name: "CDRTradeoff",
        value: "OCTETS",
        help: "Size in octets above which sequences are sent from their own memory, without a copy. Default 4096.",
        apply: |options, text| {
            options.gather_above = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LargePayloads",
        value: "copied|single-copy|in-place|in-place-only",
        help: "Copies of large @in_place parameters between processes that share memory: by both sides (copied), only \
               by the client (single-copy), or none if the client fills memory of the ORB (in-place); in-place-only \
               also rejects other memory, and requests that were copied. payloads= of an endpoint and the policy of a \
               POA override this setting. Default in-place.",
        apply: |options, text| {
            options.large_payloads = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "FragmentSize",
        value: "OCTETS",
        help: "Size in octets above which messages are sent as GIOP 1.2 fragments; 0: never. Default 0.",
        apply: |options, text| {
            options.fragment_size = fragment_size(text)?;
            Ok(())
        },
    },
];
