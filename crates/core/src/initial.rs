//! From text to references and back: `string_to_object`, initial references,
//! and the IORs of our own objects.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use oxorb_cdr::CharSet;
use oxorb_object::components::orb_type;
use oxorb_object::corbaloc::Location;
use oxorb_object::{
    CodeSetComponentInfo, Corbaloc, IiopEndpoint, IiopProfile, Ior, ReferenceError,
    SystemException, TaggedComponent, Url, Version, minor,
};

use crate::{Interface, ObjectRef, Orb, Ref, interface_repository, naming, raise};

/// A file, or an initial reference, may lead to a URL that leads to another ...
/// but not for ever.
const MAX_INDIRECTIONS: u32 = 8;

/// Longest file with a reference, in octets.
const MAX_FILE: u64 = 1 << 20;

/// Where objects' interfaces are looked up.
const INTERFACE_REPOSITORY: &str = "InterfaceRepository";

impl Orb {
    /// The object of a stringified reference: `IOR:`, `corbaloc:`,
    /// `corbaname:`, `file:`. Asks nobody, but for `corbaname:`, which asks
    /// the naming service.
    pub fn string_to_object(&self, text: &str) -> Result<ObjectRef, ResolveError> {
        self.follow(text, 0)
    }

    /// The same, as a reference of type `I`: asks the object unless its type
    /// id already says that it is one (`_narrow`).
    pub fn resolve<I: Interface>(&self, text: &str) -> Result<I, ResolveError> {
        let object = self.string_to_object(text)?;
        match object.narrow::<I>() {
            Ok(Some(typed)) => Ok(typed),
            Ok(None) => Err(ResolveError::WrongInterface {
                text: text.to_owned(),
                wanted: I::REPOSITORY_ID,
            }),
            Err(exception) => Err(ResolveError::call(text, exception)),
        }
    }

    /// A reference known by name: registered in this ORB, given by
    /// `-ORBInitRef`, or below `-ORBDefaultInitRef`.
    pub fn resolve_initial_references(&self, name: &str) -> Result<ObjectRef, ResolveError> {
        self.initial(name, 0)
    }

    /// The names that [`resolve_initial_references`](Self::resolve_initial_references) knows.
    pub fn list_initial_services(&self) -> Vec<String> {
        let mut names = self.initial_names();
        names.extend(
            self.options()
                .init_refs
                .iter()
                .map(|(name, _)| name.clone()),
        );
        names.sort();
        names.dedup();
        names
    }

    /// The entry of an interface in the Interface Repository, for `_interface`: asks the initial reference
    /// `InterfaceRepository`.
    ///
    /// Raises INTF_REPOS when this ORB knows no repository, when it cannot be reached, and when it does not know the
    /// interface.
    pub fn interface_of(&self, repository_id: &str) -> Result<Option<ObjectRef>, SystemException> {
        let repository = self
            .resolve_initial_references(INTERFACE_REPOSITORY)
            .map_err(|_| raise::NO_INTERFACE_REPOSITORY)?;
        match interface_repository::lookup_id(&repository, repository_id) {
            Ok(Some(entry)) => Ok(Some(entry)),
            Ok(None) => Err(raise::INTERFACE_NOT_IN_REPOSITORY),
            Err(_) => Err(raise::NO_INTERFACE_REPOSITORY),
        }
    }

    fn follow(&self, text: &str, depth: u32) -> Result<ObjectRef, ResolveError> {
        if depth >= MAX_INDIRECTIONS {
            return Err(ResolveError::TooManyIndirections(text.to_owned()));
        }
        let malformed = |error| ResolveError::Malformed {
            text: text.to_owned(),
            error,
        };
        match oxorb_object::parse_reference(text.trim()).map_err(malformed)? {
            Url::Ior(ior) => Ok(ObjectRef::from_ref(Ref::new(self, ior))),
            Url::Corbaloc(url) => self.locate(&url, depth),
            Url::Corbaname(url) => {
                let context = self.locate(&url.context, depth)?;
                if url.name.is_empty() {
                    return Ok(context);
                }
                naming::resolve_str(&context, &url.name).map_err(|why| ResolveError::Name {
                    name: url.name,
                    why,
                })
            }
            Url::File(path) => {
                let content =
                    read_reference(&path).map_err(|error| ResolveError::File { path, error })?;
                self.follow(&content, depth + 1)
            }
        }
    }

    fn locate(&self, url: &Corbaloc, depth: u32) -> Result<ObjectRef, ResolveError> {
        match (&url.location, url.to_ior()) {
            (_, Some(ior)) => Ok(ObjectRef::from_ref(Ref::new(self, ior))),
            (Location::InitialReference | Location::Iiop(_), None) => {
                self.initial(&String::from_utf8_lossy(&url.key), depth)
            }
        }
    }

    fn initial(&self, name: &str, depth: u32) -> Result<ObjectRef, ResolveError> {
        if let Some(registered) = self.initial_reference(name) {
            return Ok(ObjectRef::from_ref(registered));
        }
        let given = self
            .options()
            .init_refs
            .iter()
            .rfind(|(given, _)| given == name);
        if let Some((_, url)) = given {
            return self.follow(url, depth + 1);
        }
        match &self.options().default_init_ref {
            Some(base) => self.follow(&format!("{base}/{name}"), depth + 1),
            None => Err(ResolveError::UnknownName {
                name: name.to_owned(),
                known: self.list_initial_services(),
            }),
        }
    }
}

/// The IOR of one of our objects: a profile for the first address of each
/// endpoint, with the others as alternates of it.
pub(crate) fn build_ior<'a>(
    type_id: &str,
    key: &[u8],
    components: &[TaggedComponent],
    native: CharSet,
    addresses: impl Iterator<Item = (&'a str, u16, Version)>,
) -> Ior {
    let mut profiles: Vec<IiopProfile> = Vec::new();
    for (host, port, version) in addresses {
        match profiles.last_mut() {
            // GIOP 1.0 profiles have no room for components.
            Some(last) if last.port == port && version >= Version::V1_1 => {
                last.components
                    .push(TaggedComponent::alternate_iiop_address(&IiopEndpoint {
                        host: host.to_owned(),
                        port,
                    }));
            }
            _ => {
                let mut profile = IiopProfile::new(version, host, port, key);
                if version >= Version::V1_1 {
                    profile.components = vec![
                        TaggedComponent::orb_type(orb_type::OXORB),
                        TaggedComponent::code_sets(&CodeSetComponentInfo::native_to(native)),
                    ];
                    profile.components.extend_from_slice(components);
                }
                profiles.push(profile);
            }
        }
    }
    Ior {
        type_id: type_id.to_owned(),
        profiles: profiles.iter().map(IiopProfile::to_profile).collect(),
    }
}

/// Why text did not lead to an object.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[non_exhaustive]
pub enum ResolveError {
    /// Not a stringified reference; says where and why.
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: ReferenceError,
    },
    /// A `file:` that cannot be read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Files and initial references lead to each other.
    TooManyIndirections(String),
    /// No initial reference of this name.
    UnknownName {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The naming service does not know the name.
    Name {
        /// The name asked for.
        name: String,
        /// What the naming service said.
        why: String,
    },
    /// Reached, but of another interface.
    WrongInterface {
        /// The reference.
        text: String,
        /// The repository id that was expected.
        wanted: &'static str,
    },
    /// The object could not be asked for its type.
    Call {
        /// The reference.
        text: String,
        /// What the call raised.
        exception: SystemException,
        /// Each endpoint tried and what failed there, if none was reached.
        failure: Option<crate::Failure>,
    },
}

impl ResolveError {
    fn call(text: &str, exception: SystemException) -> Self {
        let failure = crate::last_failure().filter(|failure| failure.exception == exception);
        ResolveError::Call {
            text: text.to_owned(),
            exception,
            failure,
        }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveError::Malformed {
                error: error @ ReferenceError::Scheme { .. },
                ..
            } => error.fmt(f),
            ResolveError::Malformed { text, error } => {
                write!(f, "{:?} is no object reference: {error}", abridged(text))
            }
            ResolveError::File { path, error } => {
                write!(
                    f,
                    "cannot read the reference in {}: {error}",
                    path.display()
                )
            }
            ResolveError::TooManyIndirections(text) => write!(
                f,
                "following {:?} led to more than {MAX_INDIRECTIONS} further references",
                abridged(text)
            ),
            ResolveError::UnknownName { name, known } if known.is_empty() => write!(
                f,
                "no initial reference {name:?}; give one with -ORBInitRef {name}=URL"
            ),
            ResolveError::UnknownName { name, known } => write!(
                f,
                "no initial reference {name:?}, only {}; give it with -ORBInitRef {name}=URL",
                known.join(", ")
            ),
            ResolveError::Name { name, why } => {
                write!(f, "the naming service did not resolve {name:?}: {why}")
            }
            ResolveError::WrongInterface { text, wanted } => {
                write!(f, "the object at {:?} is no {wanted}", abridged(text))
            }
            ResolveError::Call {
                text,
                exception,
                failure,
            } => {
                write!(f, "cannot reach {:?}: ", abridged(text))?;
                match failure {
                    Some(failure) => failure.fmt(f),
                    None => exception.fmt(f),
                }
            }
        }
    }
}

impl fmt::Debug for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ResolveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ResolveError::Malformed { error, .. } => Some(error),
            ResolveError::File { error, .. } => Some(error),
            ResolveError::Call { exception, .. } => Some(exception),
            _ => None,
        }
    }
}

impl From<ResolveError> for SystemException {
    /// For code that only knows CORBA exceptions.
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Malformed { error, .. } => error.to_exception(),
            ResolveError::Call { exception, .. } => exception,
            _ => SystemException::bad_param(
                minor::bad_param::URL_OTHER,
                oxorb_object::CompletionStatus::No,
            ),
        }
    }
}

/// What is in a file, if that can be a reference by its size.
fn read_reference(path: &Path) -> io::Result<String> {
    let mut content = String::new();
    let file = std::fs::File::open(path)?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut content)?;
    if read as u64 > MAX_FILE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is too long for a reference",
        ));
    }
    Ok(content)
}

/// Long IORs would drown the message.
pub(crate) fn abridged(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
