//! Settings of security: certificates, keys, and trusted authorities.

use super::Setting;
use crate::options::value::{positive, some_milliseconds, yes_or_no};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "SecureOnly",
        value: "yes|no",
        help: "Whether the ORB listens, publishes and calls only with protocols that protect what they carry (iiops). Default no.",
        apply: |options, text| {
            options.secure_only = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsCertificate",
        value: "FILE",
        help: "PEM file with this side's certificate and those between it and its root, for iiops.",
        apply: |options, text| {
            options.security.certificate = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsKey",
        value: "FILE",
        help: "PEM file with the private key of TlsCertificate. Default: the same file.",
        apply: |options, text| {
            options.security.key = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsRoots",
        value: "FILE",
        help: "PEM file with the certificates of the authorities whose signature is trusted; no other is, not even the system's.",
        apply: |options, text| {
            options.security.roots = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsRevoked",
        value: "FILE",
        help: "PEM file with lists of revoked certificates (CRL), one for each authority; a certificate of which none tells is refused.",
        apply: |options, text| {
            options.security.revoked = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsPins",
        value: "PIN[,PIN...]",
        help: "SHA-256 of public keys, in hexadecimal or as sha256/BASE64: a server must have one of them. Without TlsRoots they alone decide.",
        apply: |options, text| Ok(options.security.pin(text)?),
    },
    Setting {
        name: "TlsClients",
        value: "asked|required|ignored",
        help: "Whether servers ask clients for a certificate that TlsRoots vouch for: asked also serves clients without one. Default asked.",
        apply: |options, text| {
            options.security.clients = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TlsServerName",
        value: "host|any|name:NAME",
        help: "Name that a server's certificate must have: that of the host in the reference, any, or this one. Default host.",
        apply: |options, text| {
            options.security.server_name = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TlsOld",
        value: "yes|no",
        help: "Whether TLS 1.2 is spoken with peers that know nothing newer. Default no.",
        apply: |options, text| {
            options.security.old = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsHandshakeTime",
        value: "MS",
        help: "How long a handshake may take, in milliseconds; a client's is bounded by ConnectTimeout, too. Default 5000.",
        apply: |options, text| {
            options.security.handshake_time = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsHandshakes",
        value: "N",
        help: "Most handshakes under way at one endpoint; for a further one the address that has most of them loses its oldest. Default 256.",
        apply: |options, text| {
            options.security.handshakes = positive(text)?;
            Ok(())
        },
    },
];
