//! Settings of security: certificates, keys, and trusted authorities.

use super::Setting;
use crate::options::value::{positive, some_milliseconds, yes_or_no};

pub(super) const ALL: &[Setting] = &[
    Setting {
        name: "SecureOnly",
        value: "yes|no",
        help: "Whether the ORB listens, publishes and calls only with protocols that protect their messages (iiops). \
               Default no.",
        apply: |options, text| {
            options.secure_only = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsCertificate",
        value: "FILE",
        help: "PEM file with this side's certificate and the intermediate certificates up to its root, for iiops.",
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
        help: "PEM file with the certificates of the trusted authorities. No other authority is trusted, not even \
               those of the system.",
        apply: |options, text| {
            options.security.roots = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsRevoked",
        value: "FILE",
        help: "PEM file with lists of revoked certificates (CRL), one for each authority; a certificate whose \
               authority has no list is rejected.",
        apply: |options, text| {
            options.security.revoked = Some(text.into());
            Ok(())
        },
    },
    Setting {
        name: "TlsPins",
        value: "PIN[,PIN...]",
        help: "SHA-256 of public keys, in hexadecimal or as sha256/BASE64: a server must have one of them. Without \
               TlsRoots, only these keys identify servers.",
        apply: |options, text| Ok(options.security.pin(text)?),
    },
    Setting {
        name: "TlsClients",
        value: "asked|required|ignored",
        help: "Whether servers request from clients a certificate that an authority of TlsRoots has signed: with \
               asked, clients without a certificate are served, too. Default asked.",
        apply: |options, text| {
            options.security.clients = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TlsServerName",
        value: "host|any|name:NAME",
        help: "Name that a server's certificate must contain: the host in the reference, any name, or this name. \
               Default host.",
        apply: |options, text| {
            options.security.server_name = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "TlsOld",
        value: "yes|no",
        help: "Whether TLS 1.2 is used with peers that do not support a newer version. Default no.",
        apply: |options, text| {
            options.security.old = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsHandshakeTime",
        value: "MS",
        help: "Time limit of a handshake, in milliseconds; ConnectTimeout also limits the handshake of a client. \
               Default 5000.",
        apply: |options, text| {
            options.security.handshake_time = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TlsHandshakes",
        value: "N",
        help: "Maximum number of concurrent handshakes at one endpoint. For a further handshake, the oldest one of the \
               address with the most handshakes is ended. Default 256.",
        apply: |options, text| {
            options.security.handshakes = positive(text)?;
            Ok(())
        },
    },
];
