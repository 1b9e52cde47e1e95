//! Messages for TLS errors, with advice.

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible, PeerMisbehaved};

/// Text of the verifier's error for a server or client whose certificate says that it belongs to an authority. The
/// library has no variant for this error.
const OF_AUTHORITY: &str = "CaUsedAsEndEntity";

/// Returns the reason why a handshake or a connection failed, as the rest of a sentence. `peer` is
/// the word for the other end: `client` or `server`.
pub(crate) fn why(error: &Error, peer: &str) -> String {
    match error {
        Error::InvalidCertificate(fault) => format!("the {peer}'s certificate {}", fault_of(fault)),
        Error::InvalidCertRevocationList(fault) => {
            format!("the list of revoked certificates (-ORBTlsRevoked) cannot be used: {fault:?}")
        }
        Error::NoCertificatesPresented => format!(
            "the {peer} showed no certificate, but one is required (-ORBTlsClients required here; -ORBTlsCertificate \
             at the {peer})"
        ),
        Error::AlertReceived(alert) => format!("the {peer} refused: {}", alert_of(*alert)),
        Error::PeerIncompatible(
            PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::ServerDoesNotSupportTls12Or13,
        ) => format!(
            "the {peer} supports no version of TLS that is allowed here: only 1.3, unless -ORBTlsOld yes adds 1.2"
        ),
        // Clients send this extension since TLS 1.2. The library looks for it before it looks at the version.
        Error::PeerIncompatible(PeerIncompatible::SignatureAlgorithmsExtensionRequired) => format!(
            "the {peer} names no signature algorithms, so it may not support a TLS version newer than 1.1: only 1.3 is \
             allowed here, unless -ORBTlsOld yes adds 1.2"
        ),
        Error::PeerIncompatible(fault) => {
            format!("the {peer} and this side support no common parameters: {fault:?}")
        }
        Error::InvalidMessage(_) => format!("the {peer} sent data that is not TLS ({error})"),
        Error::PeerMisbehaved(PeerMisbehaved::IllegalMiddleboxChangeCipherSpec)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => {
            format!("the {peer} sent an unexpected message ({error})")
        }
        Error::DecryptError => {
            format!("octets of the {peer} were changed in transit, or another sender forged them")
        }
        Error::General(why) => why.clone(),
        other => format!("{other}"),
    }
}

fn fault_of(fault: &CertificateError) -> String {
    use CertificateError as Fault;
    match fault {
        Fault::Expired | Fault::ExpiredContext { .. } => {
            "has expired; its holder needs a new one (or a clock is wrong)".to_owned()
        }
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => {
            "is not valid yet; a clock may be wrong".to_owned()
        }
        Fault::Revoked => "was revoked by its authority (-ORBTlsRevoked)".to_owned(),
        Fault::UnknownIssuer => {
            "was not signed by a trusted authority (-ORBTlsRoots)".to_owned()
        }
        Fault::UnknownRevocationStatus => {
            "was issued by an authority whose list of revoked certificates is missing (-ORBTlsRevoked)"
                .to_owned()
        }
        Fault::ExpiredRevocationList | Fault::ExpiredRevocationListContext { .. } => {
            "may have been revoked: the list of revoked certificates is too old (-ORBTlsRevoked)".to_owned()
        }
        Fault::NotValidForName => {
            "is for another name (-ORBTlsServerName sets the expected name)".to_owned()
        }
        Fault::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            let presented: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let presented = presented.join(", ");
            format!(
                "is for {presented}, not for {expected} (-ORBTlsServerName sets the expected name)"
            )
        }
        Fault::BadSignature => "has a signature that its authority did not make".to_owned(),
        Fault::BadEncoding => "is malformed".to_owned(),
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => {
            "is not for this purpose: its extended key usage names only the other side".to_owned()
        }
        Fault::Other(other) if other.0.to_string() == OF_AUTHORITY => {
            "is the certificate of an authority (CA:TRUE), as self-signed ones usually are; its holder needs one that \
             an authority has signed"
                .to_owned()
        }
        Fault::Other(other) => format!("is refused: {}", other.0),
        other => format!("is refused: {other:?}"),
    }
}

/// Returns the name in a description such as `DnsName("bank.example")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.map_or(name, |inner| inner.trim_matches('"'))
}

fn alert_of(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    let what = match alert {
        Alert::CertificateRequired | Alert::NoCertificate => {
            "it requires a certificate, but received none (-ORBTlsCertificate)"
        }
        Alert::CertificateExpired => "our certificate has expired",
        Alert::CertificateRevoked => "our certificate was revoked",
        Alert::UnknownCA => "it does not trust the authority of our certificate",
        Alert::BadCertificate => {
            "it does not accept our certificate, which may be for another name or purpose"
        }
        Alert::UnsupportedCertificate => "it does not support certificates such as ours",
        Alert::CertificateUnknown => "it does not accept our certificate",
        Alert::AccessDenied => "it denied access",
        Alert::ProtocolVersion => {
            "it supports no version of TLS that is allowed here (-ORBTlsOld yes adds 1.2)"
        }
        Alert::HandshakeFailure => {
            "it requires something that this side does not offer: a certificate (-ORBTlsCertificate), a version or a \
             cipher"
        }
        Alert::UnrecognisedName => "it does not have the requested name",
        Alert::DecryptError => "it could not verify our signature",
        _ => return format!("{alert:?}"),
    };
    format!("{what} (alert {})", u8::from(alert))
}

/// Reports whether an alert means that the server rejected the client's part of the handshake.
pub(crate) fn is_refusal(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::CertificateRequired
            | Alert::NoCertificate
            | Alert::CertificateExpired
            | Alert::CertificateRevoked
            | Alert::UnknownCA
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateUnknown
            | Alert::AccessDenied
            | Alert::HandshakeFailure
            | Alert::DecryptError
            | Alert::InsufficientSecurity
    )
}
