//! Table of the protocols of an ORB.

use std::fmt::Write as _;
use std::sync::Arc;

use oxorb_transport::{Address, Endpoint, EndpointError, Notation, Part};

use super::{Mismatch, ProtocolStack};

/// Protocols of an ORB, in the order of its preference. An ORB without configured endpoints listens
/// with the first; by default the table contains IIOP alone.
#[derive(Clone, Debug)]
pub struct Protocols(Vec<Arc<ProtocolStack>>);

impl Default for Protocols {
    fn default() -> Self {
        Protocols(vec![Arc::new(ProtocolStack::iiop())])
    }
}

impl Protocols {
    /// Returns a table of these protocols, without IIOP unless it is among them.
    ///
    /// # Errors
    /// [`Mismatch`] if two protocols are indistinguishable, or there is none.
    pub fn of(all: impl IntoIterator<Item = ProtocolStack>) -> Result<Protocols, Mismatch> {
        let mut table = Protocols(Vec::new());
        for protocol in all {
            table.add(protocol)?;
        }
        match table.0.is_empty() {
            false => Ok(table),
            true => Err(Mismatch {
                name: "".into(),
                problem: "an ORB needs at least one protocol".into(),
            }),
        }
    }

    /// Adds a protocol after the others.
    ///
    /// # Errors
    /// [`Mismatch`] if a protocol of the table has the same name or the same profile tag, so that
    /// clients could not distinguish them.
    pub fn add(&mut self, protocol: ProtocolStack) -> Result<(), Mismatch> {
        for known in &self.0 {
            let tag = known.profile().tag();
            let problem = if known.name() == protocol.name() {
                "a protocol with this name exists".into()
            } else if tag == protocol.profile().tag() {
                let name = known.name();
                format!("its profiles have the same tag, {tag:#x}, as those of {name:?}").into()
            } else {
                continue;
            };
            let name = protocol.name.clone();
            return Err(Mismatch { name, problem });
        }
        self.0.push(Arc::new(protocol));
        Ok(())
    }

    /// Returns an iterator over all protocols.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ProtocolStack>> {
        self.0.iter()
    }

    /// Returns the protocol that an ORB listens with by default.
    pub(crate) fn first(&self) -> &Arc<ProtocolStack> {
        &self.0[0]
    }

    /// Returns the protocol of a name.
    pub fn named(&self, name: &str) -> Option<&Arc<ProtocolStack>> {
        self.iter().find(|protocol| protocol.name() == name)
    }

    /// Returns the protocol whose profiles have a tag.
    pub fn tagged(&self, tag: u32) -> Option<&Arc<ProtocolStack>> {
        self.iter().find(|protocol| protocol.profile().tag() == tag)
    }

    /// Returns the protocol with a keyword in `corbaloc:` URLs, compared without case.
    pub fn located(&self, word: &str) -> Option<&Arc<ProtocolStack>> {
        let is_it = |protocol: &&Arc<ProtocolStack>| {
            let profile = protocol.profile();
            let others = profile.other_urls().iter().copied();
            let mut words = others.chain([profile.url()]);
            words.any(|known| known.eq_ignore_ascii_case(word))
        };
        self.iter().find(is_it)
    }

    /// Returns the GIOP protocol for an address.
    pub(crate) fn giop_to(&self, address: &Address) -> Option<&Arc<ProtocolStack>> {
        let is_it = |protocol: &&Arc<ProtocolStack>| {
            protocol.messaging().is_none()
                && protocol.transport().scheme().as_str() == address.scheme()
        };
        self.iter().find(is_it)
    }

    /// Returns the endpoints of an ORB without configured ones: one for each preferred protocol, or that of the first
    /// protocol.
    pub(crate) fn default_endpoints(
        &self,
        preferred: &[String],
    ) -> Result<Vec<Endpoint>, EndpointError> {
        let mut named: Vec<_> = preferred.iter().filter_map(|name| self.named(name)).collect();
        if named.is_empty() {
            named.push(self.first());
        }
        let mut all = Vec::new();
        for protocol in named {
            let mut endpoints = read(protocol, Notation::Url, Part::new(""))?;
            all.push(endpoints.swap_remove(0));
        }
        Ok(all)
    }

    /// Parses endpoints separated by `;`: `PROTOCOL://` followed by its transport's notation, or
    /// omniORB's `giop:TRANSPORT:`.
    ///
    /// # Errors
    /// [`EndpointError`] for the first malformed endpoint.
    pub fn parse(&self, text: &str) -> Result<Vec<Endpoint>, EndpointError> {
        let mut endpoints = Vec::new();
        let mut rest = Some(Part::new(text));
        while let Some(part) = rest {
            let (one, more) = part.split(';');
            rest = more;
            endpoints.extend(self.parse_one(one)?);
        }
        Ok(endpoints)
    }

    /// Reports whether text has the form of an endpoint, with a protocol that is not in the table
    /// yet.
    pub(crate) fn may_know_later(&self, text: &str) -> bool {
        text.split(';').any(|one| match one.split_once("://") {
            Some((name, _)) => super::is_name(name) && self.named(name).is_none(),
            None => match one.strip_prefix("giop:").and_then(|it| it.split_once(':')) {
                Some((scheme, _)) => {
                    let giop = self.iter().filter(|it| it.messaging().is_none());
                    let mut schemes = giop.map(|it| it.transport().scheme().as_str());
                    super::is_name(scheme) && schemes.all(|known| known != scheme)
                }
                None => false,
            },
        })
    }

    fn parse_one(&self, text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
        for protocol in self.iter() {
            let url = text.after(&format!("{}://", protocol.name()));
            if let Some(part) = url {
                return read(protocol, Notation::Url, part);
            }
            let colon = format!("giop:{}:", protocol.transport().scheme());
            if let (Some(part), None) = (text.after(&colon), protocol.messaging()) {
                return read(protocol, Notation::Colon, part);
            }
        }
        if text.after("iiops://").is_some() {
            return Err(text.error(
                "iiops:// (IIOP over TLS) is not supported by this program: it needs the feature tls",
            ));
        }
        let mut forms = String::from("an endpoint begins with ");
        for (at, protocol) in self.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let _ = write!(forms, "{separator}{}://", protocol.name());
        }
        let giop = self.iter().filter(|it| it.messaging().is_none());
        for protocol in giop {
            let _ = write!(forms, " or giop:{}:", protocol.transport().scheme());
        }
        Err(text.error(forms))
    }
}

fn read(
    protocol: &ProtocolStack,
    notation: Notation,
    text: Part<'_>,
) -> Result<Vec<Endpoint>, EndpointError> {
    let mut endpoints = protocol.transport().endpoints(notation, text)?;
    for endpoint in &mut endpoints {
        endpoint.protocol = protocol.name.clone();
        if let Some((major, minor)) = endpoint.version
            && !(major == 1 && minor <= 2)
        {
            let version = format!("{major}.{minor}");
            let at = text.text().find(&format!("{version}@")).unwrap_or(0);
            let (_, behind) = text.split_at(at);
            let (place, _) = behind.split_at(version.len().min(behind.text().len()));
            return Err(place.error("the supported GIOP versions are 1.0, 1.1 and 1.2"));
        }
    }
    Ok(endpoints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_transport::mem::Memory;
    use oxorb_transport::tcp::Place;

    fn both() -> Protocols {
        let mut table = Protocols::default();
        table.add(ProtocolStack::memory(Memory::new())).unwrap();
        table
    }

    #[track_caller]
    fn refused(text: &str, place: &str, problem: &str) {
        let error = both().parse(text).unwrap_err();
        assert_eq!(&text[error.place.clone()], place, "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }

    #[test]
    fn both_notations_mean_the_same() {
        let table = Protocols::default();
        let tao = table.parse("iiop://1.2@[::1]:2809/portspan=10").unwrap();
        let omniorb = table.parse("giop:tcp:[::1]:2809-2818").unwrap();
        assert_eq!(Place::of(&tao[0]), Place::of(&omniorb[0]));
        assert_eq!(omniorb[0].protocol, "iiop");
    }

    #[test]
    fn lists_share_options_within_one_endpoint_only() {
        let list = both().parse("iiop://a:1,1.0@b:2/portspan=2;giop:tcp:c:3;mem://d,e");
        let seen: Vec<_> = list.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            seen,
            [
                "iiop://a:1/portspan=2",
                "iiop://1.0@b:2/portspan=2",
                "iiop://c:3",
                "mem://d",
                "mem://e",
            ]
        );
        for text in seen {
            let again = both().parse(&text).unwrap();
            assert_eq!(again[0].to_string(), text);
        }
    }

    #[test]
    fn errors_point_at_the_place_and_name_what_there_is() {
        let forms = "begins with iiop://, mem:// or giop:tcp: or giop:mem:";
        refused("", "", forms);
        refused("shmiop://x", "shmiop://x", forms);
        refused("iiop://a:1;", "", forms);
        refused("iiops://:2810", "iiops://:2810", "needs the feature tls");
        refused("iiop://a:1;mem://b c", "b c", "letters, digits");
        refused("iiop://2.0@h:1", "2.0", "versions");
        refused("iiop://1.1@h:1,1.3@h:2", "1.3", "versions");
        refused("mem://a/colour=red", "colour", "options are");
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let error = both().add(ProtocolStack::iiop()).unwrap_err();
        let text = error.to_string();
        assert_eq!(text, "the protocol \"iiop\" cannot be added: a protocol with this name exists");
        let again = ProtocolStack::new("iiop2", super::super::Iiop, None, Arc::new(Memory::new()));
        let error = both().add(again.unwrap()).unwrap_err();
        assert!(error.problem.contains("0x0, as those of \"iiop\""), "{error}");
        let named = ProtocolStack::new("I I", super::super::Iiop, None, Arc::new(Memory::new()));
        assert!(named.unwrap_err().problem.contains("characters"));
        assert!(Protocols::of([]).is_err());
    }
}
