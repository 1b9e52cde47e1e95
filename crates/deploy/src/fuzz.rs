//! Entry point of the fuzz target: any text is refused, or survives both formats.

use crate::{Archive, ArchiveLimits, Assembly, AssemblyLimits, Document, Format, Limits};

/// Reads a document: TOML if the first octet is even, XML if it is odd, an archive if it is a `P`. An accepted
/// document is written and read again in both formats, and must then have the same text.
pub fn document(data: &[u8]) {
    let limits = Limits { octets: 1 << 16, elements: 10_000, depth: 32 };
    if data.first() == Some(&b'P') {
        let bounds = ArchiveLimits { entries: 64, octets: 1 << 16 };
        if let Ok(archive) = Archive::read(data, &bounds) {
            let _ = archive.documents(&limits);
            let limits = AssemblyLimits { elements: 10_000, octets: 1 << 16, depth: 8 };
            let node = Some("n".to_owned());
            let _ = archive.plan(&Assembly { node, limits, ..Assembly::default() });
        }
        return;
    }
    let Some((first, octets)) = data.split_first() else {
        return;
    };
    let format = if first % 2 == 0 { Format::Toml } else { Format::Xml };
    let Ok(document) = Document::read_octets(octets, format, &limits) else {
        return;
    };
    // Writing fails if the document is nested too deeply: XML and table headers permit more levels than inline tables.
    let Ok(written) = document.write(Format::Toml) else {
        return;
    };
    // The default limits apply here, because the written text may be longer than the original.
    let roomy = Limits::default();
    let again = Document::read(&written, Format::Toml, &roomy);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.write(Format::Toml).as_ref(), Ok(&written));
    // Writing fails if TOML contained characters that XML does not permit.
    if let Ok(xml) = document.write(Format::Xml) {
        let again = Document::read(&xml, Format::Xml, &roomy);
        let again = again.unwrap_or_else(|error| panic!("{error}\n{xml}"));
        assert_eq!(again.write(Format::Toml).as_ref(), Ok(&written), "{xml}");
    }
}
