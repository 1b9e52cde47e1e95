//! `corbaloc:` and `corbaname:` URLs with addresses of protocols other than IIOP.

use oxorb_object::{Corbaloc, Corbaname, Ior, ReferenceError, Version, corbaloc};

use super::{LocatedAddress, Profile, Protocols};

/// Result of parsing a URL.
pub(crate) enum ParsedUrl {
    /// An object by its address.
    Object(Ior),
    /// Naming context, and the name in it.
    Name(Ior, String),
}

impl Protocols {
    /// Parses a URL by the grammar of each protocol that it names.
    pub(crate) fn read_url(&self, text: &str) -> Result<ParsedUrl, ReferenceError> {
        let text = text.trim();
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let (mut rest, name) = match scheme.eq_ignore_ascii_case("corbaname") {
            true => rest.split_at(rest.find('#').unwrap_or(rest.len())),
            false => (rest, ""),
        };
        let mut profiles = Vec::new();
        let key = loop {
            let (word, text) = rest.split_once(':').unwrap_or((rest, ""));
            let word = if word.is_empty() { "iiop" } else { word };
            let protocol = self.located(word).ok_or_else(|| {
                ReferenceError::Corbaloc(corbaloc::Error::Protocol(word.to_owned()))
            })?;
            let malformed = |why| {
                let address = text.to_owned();
                ReferenceError::Corbaloc(corbaloc::Error::Address { address, why })
            };
            let LocatedAddress { version, address, rest: behind } =
                protocol.profile().locate(text).map_err(malformed)?;
            profiles.push((protocol, version, address));
            match behind.split_at_checked(1) {
                Some((",", more)) => rest = more,
                Some(("/" | "|", key)) => break key,
                None => break "",
                Some(_) => return Err(malformed("neither a key nor another address follows it")),
            }
        };
        let written = |key: &[u8]| Ior {
            type_id: String::new(),
            profiles: profiles
                .iter()
                .map(|(protocol, version, address)| {
                    let profile = Profile::new(address.clone(), *version, key);
                    protocol.profile().write(&profile)
                })
                .collect(),
        };
        // Key and name are parsed as part of a `rir:` URL, because they have the same form in all URLs.
        let rest = format!("{scheme}:rir:/{key}{name}");
        if scheme.eq_ignore_ascii_case("corbaname") {
            let read: Corbaname = rest.parse().map_err(ReferenceError::Corbaloc)?;
            return Ok(ParsedUrl::Name(written(&read.context.key), read.name));
        }
        let read: Corbaloc = rest.parse().map_err(ReferenceError::Corbaloc)?;
        Ok(ParsedUrl::Object(written(&read.key)))
    }
}

impl Protocols {
    /// Returns the `corbaloc:` URL of a reference, with its addresses of the table's protocols and
    /// the key of the first such profile. `None` if there is none.
    ///
    /// Type id, components and other profiles are lost; profiles with another key are left out.
    pub fn url_of(&self, ior: &Ior) -> Option<String> {
        let mut key = None;
        let mut addresses = Vec::new();
        for tagged in &ior.profiles {
            let Some(protocol) = self.tagged(tagged.tag) else {
                continue;
            };
            let Ok(profile) = protocol.profile().read(tagged) else {
                continue;
            };
            if protocol.profile().names_group() {
                let print = |address| protocol.profile().print(profile.version, address);
                addresses.extend(profile.addresses.iter().map(print));
                continue;
            }
            if *key.get_or_insert_with(|| profile.key.clone()) == profile.key {
                let version = profile.version.min(Version::V1_2);
                for other in self.iter() {
                    let within = other.profile().found_within(tagged).addresses.into_iter();
                    addresses.extend(within.map(|(at, _)| other.profile().print(version, &at)));
                }
                let print = |address| protocol.profile().print(version, address);
                addresses.extend(profile.addresses.iter().map(print));
            }
        }
        let last = addresses.last()?;
        let Some(key) = key else {
            // A reference to a group has no object key.
            return Some(format!("corbaloc:{}", addresses.join(",")));
        };
        let slash = if last.ends_with('|') { "" } else { "/" };
        // The key is escaped as part of a `rir:` URL, because escapes are the same in all URLs.
        let key = Corbaloc { location: corbaloc::Location::InitialReference, key };
        let key = key.to_string();
        let key = key.strip_prefix("corbaloc:rir:/")?;
        Some(format!("corbaloc:{}{slash}{key}", addresses.join(",")))
    }
}

/// Parses a `MAJOR.MINOR@` at the beginning of an address, with 1.2 as the default, and returns it with the rest. The
/// address itself may contain or begin with an `@`.
pub(super) fn version(text: &str) -> Result<(Version, &str), &'static str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let version = &text[..text.len() - rest.len()];
    match rest.strip_prefix('@') {
        Some(rest) if !version.is_empty() => {
            let minor = version.strip_prefix("1.").ok_or("only GIOP 1.x is supported")?;
            match minor.parse() {
                Ok(minor) => Ok((Version { major: 1, minor }, rest)),
                Err(_) => Err("its version must have the form MAJOR.MINOR"),
            }
        }
        _ => Ok((Version::V1_2, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ProtocolStack;
    use oxorb_transport::mem::Memory;

    fn read(text: &str) -> Result<ParsedUrl, ReferenceError> {
        let mut table = Protocols::default();
        table.add(ProtocolStack::memory(Memory::new())).unwrap();
        table.read_url(text)
    }

    #[test]
    fn addresses_of_several_protocols() {
        let Ok(ParsedUrl::Object(ior)) = read("corbaloc:mem:1.2@bank,iiop:1.1@h:5/a%20b") else {
            panic!("an object");
        };
        let [memory, iiop] = &ior.profiles[..] else {
            panic!("{ior:?}");
        };
        assert_eq!(memory.tag, oxorb_object::profile_tag::OXORB_MEMORY);
        let iiop = oxorb_object::IiopProfile::parse(iiop).unwrap();
        assert_eq!((iiop.port, iiop.version), (5, Version::V1_1));
        assert_eq!(iiop.object_key, b"a b");
    }

    #[test]
    fn urls_are_written_as_they_are_read() {
        let mut table = Protocols::default();
        table.add(ProtocolStack::memory(Memory::new())).unwrap();
        for text in [
            "corbaloc:mem:1.2@bank,iiop:1.1@h:5/a%20b",
            "corbaloc:iiop:1.2@[fe80::1%25eth0]:5,mem:1.0@bank/NameService",
        ] {
            let Ok(ParsedUrl::Object(ior)) = table.read_url(text) else {
                panic!("an object");
            };
            assert_eq!(table.url_of(&ior).as_deref(), Some(text));
        }
        let nothing = Ior { type_id: String::new(), profiles: Vec::new() };
        assert_eq!(table.url_of(&nothing), None);
    }

    #[test]
    fn names_in_contexts_there() {
        let Ok(ParsedUrl::Name(ior, name)) = read("corbaname:MEM:names#bank/teller%201") else {
            panic!("a name");
        };
        assert_eq!((ior.profiles.len(), name.as_str()), (1, "bank/teller 1"));
    }

    #[test]
    fn errors_name_the_address() {
        for (text, part) in [
            ("corbaloc:smoke:signals/key", "smoke"),
            ("corbaloc:mem:2.0@bank/key", "only GIOP 1.x"),
            ("corbaloc:mem:/key", "contains no address"),
            ("corbaloc:mem:a,iiop:h:x/key", "port"),
            ("corbaloc:mem:a/%zz", "escape"),
        ] {
            let error = read(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
