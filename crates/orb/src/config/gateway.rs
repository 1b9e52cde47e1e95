//! Configuration file of a gateway.

use std::path::{Path, PathBuf};

use oxorb_transport::Access;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::file::Source;
use crate::config::{ConfigError, Configuration};
use crate::gateway::UnknownTypes;
use crate::{Builder, Orb};

const KNOWN: [&str; 8] =
    ["callbacks", "idl", "ifr", "inside", "key", "objects", "outside", "unknown"];

const KNOWN_OF_OBJECT: [&str; 2] = ["interface", "reference"];

/// Parsed configuration file of a [`Gateway`](crate::gateway::Gateway).
///
/// ```
/// let file = oxorb::config::GatewayFile::parse(
///     r#"
///     key = "gateway.key"               # 32 octets or more; relative to this file, as all paths here
///     idl = ["CosNaming.idl"]
///     ifr = "corbaloc::10.0.0.7:2810/InterfaceRepository"
///     callbacks = "allow 192.0.2.0/24"  # as -ORBAccess; by default, no reference from outside is called
///     unknown = "refuse"                # or "search", the default
///
///     [outside.orb]                     # each side is configured as an ORB is
///     ListenEndpoints = "iiop://:2809"
///
///     [inside.orb]
///     ListenEndpoints = "iiop://10.0.0.1:2809"
///
///     [objects]
///     NameService = "corbaloc::10.0.0.7/NameService"
///
///     [objects.Bank]
///     reference = "corbaloc::10.0.0.8/Bank"
///     interface = "IDL:bank/Bank:1.0"
///     "#,
///     "/etc/oxorb/gateway.toml",
/// )?;
/// assert_eq!(file.key.unwrap().to_str(), Some("/etc/oxorb/gateway.key"));
/// assert_eq!(file.objects.len(), 2);
/// # Ok::<(), oxorb::config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GatewayFile {
    /// File of the key that signs references; `None` for a random key.
    pub key: Option<PathBuf>,
    /// IDL files of the interfaces that the gateway knows.
    pub idl: Vec<PathBuf>,
    /// Reference of an Interface Repository inside, whose interfaces the gateway knows in addition.
    pub ifr: Option<String>,
    /// Addresses outside that the gateway calls; `None` if it calls none.
    pub callbacks: Option<Access>,
    /// Treatment of operations whose types the gateway does not know.
    pub unknown: UnknownTypes,
    /// Names that the gateway opens for clients outside.
    pub objects: Vec<GatewayObject>,
    outside: Configuration,
    inside: Configuration,
}

/// Name that a gateway opens for clients outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayObject {
    /// The name.
    pub name: String,
    /// Reference of the target inside.
    pub reference: String,
    /// Interface of the target, if the file declares it: a repository id, or a scoped name of the IDL.
    pub interface: Option<String>,
    /// File and line of the name, for messages.
    pub place: String,
}

impl GatewayFile {
    /// Default of `MaxRequestsPerClient` outside. Each running request occupies a connection inside, of which a server
    /// accepts 500 of the gateway by default: with fewer for each client, one client alone cannot keep the others from
    /// the server.
    pub const REQUESTS_PER_CLIENT: u32 = 128;

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not the configuration of a gateway; the error has the line.
    pub fn read(path: &Path) -> Result<GatewayFile, ConfigError> {
        let origin = path.display().to_string();
        let failed = |problem| ConfigError { origin: origin.clone(), line: None, problem };
        let text = crate::config::text::read(path).map_err(failed)?;
        GatewayFile::parse(&text, &origin)
    }

    /// Parses the text of a file; `origin` is the path of the file.
    ///
    /// # Errors
    /// The text is not the configuration of a gateway; the error has the line.
    pub fn parse(text: &str, origin: &str) -> Result<GatewayFile, ConfigError> {
        let source = Source { text, origin };
        let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
        let mut file = GatewayFile {
            key: None,
            idl: Vec::new(),
            ifr: None,
            callbacks: None,
            unknown: UnknownTypes::default(),
            objects: Vec::new(),
            outside: Configuration::default(),
            inside: Configuration::default(),
        };
        for (key, value) in source.parse()?.get_ref() {
            match key.get_ref().as_ref() {
                "callbacks" => file.callbacks = Some(callbacks(&source, value)?),
                "idl" => {
                    for path in texts(&source, value)? {
                        file.idl.push(folder.join(path));
                    }
                }
                "ifr" => file.ifr = Some(source.text(value)?.to_owned()),
                "inside" => file.inside = side(&source, value)?,
                "key" => file.key = Some(folder.join(source.text(value)?)),
                "objects" => file.objects = objects(&source, source.table(value)?)?,
                "outside" => file.outside = side(&source, value)?,
                "unknown" => file.unknown = unknown(&source, value)?,
                _ => return Err(source.unknown(key, &KNOWN)),
            }
        }
        Ok(file)
    }

    /// Returns a builder of the ORB outside, where one address may have
    /// [`REQUESTS_PER_CLIENT`](Self::REQUESTS_PER_CLIENT) running requests unless the file or the environment says otherwise.
    pub fn outside(&self) -> Builder {
        Orb::builder()
            .default_setting("MaxRequestsPerClient", &Self::REQUESTS_PER_CLIENT.to_string())
            .configuration(self.outside.clone())
    }

    /// Returns a builder of the ORB inside.
    pub fn inside(&self) -> Builder {
        Orb::builder().configuration(self.inside.clone())
    }
}

fn callbacks(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Access, ConfigError> {
    let rules = source.text(value)?;
    let read: Result<Access, _> = rules.parse();
    match read {
        Ok(access) if !access.refuses_others() => Err(source.error(
            value.span().start,
            "no rule allows any address; write \"allow NETWORK\", or omit `callbacks` to call no client",
        )),
        Ok(access) => Ok(access),
        Err(error) => Err(source.error(value.span().start, error.to_string())),
    }
}

fn unknown(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<UnknownTypes, ConfigError> {
    match source.text(value)? {
        "search" => Ok(UnknownTypes::Search),
        "refuse" => Ok(UnknownTypes::Refuse),
        _ => Err(source.error(value.span().start, "expected \"search\" or \"refuse\"")),
    }
}

/// Reads the table of a side, which has the form of a configuration file of an ORB.
fn side(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Configuration, ConfigError> {
    Configuration::of_table(source, source.table(value)?, &mut Vec::new())
}

fn objects(source: &Source<'_>, table: &DeTable<'_>) -> Result<Vec<GatewayObject>, ConfigError> {
    let mut objects = Vec::new();
    for (key, value) in table {
        let place = key.span().start;
        let (mut reference, mut interface) = (None, None);
        match value.get_ref() {
            DeValue::Table(table) => {
                for (key, value) in table {
                    match key.get_ref().as_ref() {
                        "interface" => interface = Some(source.text(value)?.to_owned()),
                        "reference" => reference = Some(source.text(value)?.to_owned()),
                        _ => return Err(source.unknown(key, &KNOWN_OF_OBJECT)),
                    }
                }
            }
            _ => reference = Some(source.text(value)?.to_owned()),
        }
        let name = key.get_ref().to_string();
        let missing = || source.error(place, format!("{name} has no `reference`"));
        objects.push(GatewayObject {
            reference: reference.ok_or_else(missing)?,
            interface,
            place: format!("{}:{}", source.origin, source.line(place)),
            name,
        });
    }
    Ok(objects)
}

/// Returns one text, or the texts of an array.
fn texts<'v>(
    source: &Source<'_>,
    value: &'v Spanned<DeValue<'_>>,
) -> Result<Vec<&'v str>, ConfigError> {
    match value.get_ref() {
        DeValue::Array(all) => all.iter().map(|one| source.text(one)).collect(),
        _ => Ok(vec![source.text(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_their_lines() {
        for (text, error) in [
            ("key = 1", "g.toml:1: expected a text in quotes"),
            ("\ncalbacks = \"allow all\"", "g.toml:2: there is no entry `calbacks` here"),
            ("callbacks = \"\"", "g.toml:1: no rule allows any address"),
            ("callbacks = \"deny 192.0.2.13\"", "g.toml:1: no rule allows any address"),
            ("callbacks = \"permit all\"", "g.toml:1: \"permit all\": a rule must begin with"),
            ("unknown = \"pass\"", "g.toml:1: expected \"search\" or \"refuse\""),
            ("[outside]\nlisten = \"iiop://:1\"", "g.toml:2: there is no entry `listen` here"),
            ("[objects.A]\ninterface = \"IDL:A:1.0\"", "g.toml:1: A has no `reference`"),
            ("[objects.A]\nurl = \"\"", "g.toml:2: there is no entry `url` here"),
            ("[inside", "g.toml:1: "),
        ] {
            let refused = GatewayFile::parse(text, "g.toml").unwrap_err().to_string();
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn each_side_has_its_own_settings() {
        let text = "[outside.orb]\nMaxConnections = 5000\n[inside.orb]\nMaxConnections = 7\n\
                    [objects]\nA = \"corbaloc::a/A\"\n";
        let file = GatewayFile::parse(text, "g.toml").unwrap();
        for (builder, most) in [(file.outside(), 5000), (file.inside(), 7)] {
            let _ = builder.configure(|options| assert_eq!(options.max_connections, most));
        }
        assert_eq!(file.objects[0].place, "g.toml:6");
        assert_eq!((file.key, file.callbacks, file.ifr), (None, None, None));
    }
}
