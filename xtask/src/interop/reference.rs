//! Minimal parsing of an IOR, to write the same object as a corbaloc.

/// Returns `corbaloc:iiop:<version>@<host>:<port>/<key>` for the first IIOP profile; over TLS, `corbaloc:ssliop:` with
/// the port of its TAG_SSL_SEC_TRANS.
pub(super) fn corbaloc(ior: &str, over_tls: bool) -> Option<String> {
    let hex = ior.trim().strip_prefix("IOR:")?;
    let octets: Vec<u8> = (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok())
        .collect::<Option<_>>()?;
    let mut ior = Reader::encapsulation(&octets)?;
    ior.counted()?; // the repository id
    for _ in 0..ior.ulong()? {
        let tag = ior.ulong()?;
        let data = ior.counted()?;
        if tag != 0 {
            continue;
        }
        let mut profile = Reader::encapsulation(data)?;
        let version = profile.octets(2)?;
        let host = profile.counted()?.strip_suffix(b"\0")?;
        let port = profile.ushort()?;
        let key: String = profile.counted()?.iter().map(|octet| format!("%{octet:02x}")).collect();
        let host = std::str::from_utf8(host).ok()?;
        let (scheme, port) = match over_tls {
            false => ("iiop", port),
            true => ("ssliop", ssl_port(&mut profile)?),
        };
        let (major, minor) = (version[0], version[1]);
        return Some(format!("corbaloc:{scheme}:{major}.{minor}@{host}:{port}/{key}"));
    }
    None
}

/// Tag of the component TAG_SSL_SEC_TRANS.
const SSL_SEC_TRANS: u32 = 20;

/// Returns the port in the TLS component, if present.
fn ssl_port(components: &mut Reader<'_>) -> Option<u16> {
    for _ in 0..components.ulong()? {
        let (tag, data) = (components.ulong()?, components.counted()?);
        if tag == SSL_SEC_TRANS {
            let mut data = Reader::encapsulation(data)?;
            let (_supported, _required) = (data.ushort()?, data.ushort()?);
            return data.ushort();
        }
    }
    None
}

struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
    little: bool,
}

impl<'a> Reader<'a> {
    fn encapsulation(octets: &'a [u8]) -> Option<Self> {
        Some(Self { octets, at: 1, little: *octets.first()? == 1 })
    }

    fn octets(&mut self, count: usize) -> Option<&'a [u8]> {
        let found = self.octets.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(found)
    }

    fn ushort(&mut self) -> Option<u16> {
        self.at = self.at.next_multiple_of(2);
        let octets = self.octets(2)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(octets) } else { u16::from_be_bytes(octets) })
    }

    fn ulong(&mut self) -> Option<u32> {
        self.at = self.at.next_multiple_of(4);
        let octets = self.octets(4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(octets) } else { u32::from_be_bytes(octets) })
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.ulong()?;
        self.octets(count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::corbaloc;

    #[test]
    fn an_iiop_profile_becomes_a_corbaloc() {
        // Big-endian, no type id, one IIOP 1.2 profile: host "h", port 2809, key "ab".
        let ior = "IOR:0000000000000001000000000000000100000000\
                   00000012000102000000000268000af9000000026162";
        assert_eq!(corbaloc(ior, false).as_deref(), Some("corbaloc:iiop:1.2@h:2809/%61%62"));
        assert_eq!(corbaloc(ior, true), None);
        assert_eq!(corbaloc("IOR:00", false), None);
        assert_eq!(corbaloc("IOR:zz", false), None);
    }

    #[test]
    fn over_tls_the_port_is_that_of_the_component() {
        // As above, but with port 0, and a component 20: options 0x66 twice, port 2810.
        let ior = "IOR:0000000000000001000000000000000100000000\
                   00000028000102000000000268000000000000026162\
                   000000000001000000140000000800000066\
                   00660afa";
        assert_eq!(corbaloc(ior, true).as_deref(), Some("corbaloc:ssliop:1.2@h:2810/%61%62"));
    }
}
