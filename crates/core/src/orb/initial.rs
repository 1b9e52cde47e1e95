//! Conversions between text and references: `string_to_object`, initial references, and the IORs of this ORB's own
//! objects.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb_cdr::CharSet;
use oxorb_object::components::orb_type;
use oxorb_object::corbaloc::Location;
use oxorb_object::{
    CodeSetComponentInfo, Corbaloc, Ior, ReferenceError, SystemException, TaggedComponent, Url,
    Version, corbaloc, profile_tag,
};
use oxorb_rt::Priority;
use oxorb_transport::Address;

use super::naming;
use crate::error::{MAX_INDIRECTIONS, ResolveError, raise};
use crate::protocol::{ParsedUrl, Profile, ProtocolStack};
use crate::reference::{PublishedAddress, interface_repository};
use crate::{Interface, ObjectRef, Orb, Ref};

/// Longest file with a reference, in octets.
const MAX_FILE: u64 = 1 << 20;

/// Name of the initial reference of the Interface Repository.
const INTERFACE_REPOSITORY: &str = "InterfaceRepository";

impl Orb {
    /// Returns the object of a stringified reference: `IOR:`, `corbaloc:`, `corbaname:`, `file:`. Sends no request
    /// except for `corbaname:`, which queries the naming service.
    pub fn string_to_object(&self, text: &str) -> Result<ObjectRef, ResolveError> {
        self.follow(text, 0)
    }

    /// Returns the object of a stringified reference, typed as `I`. Queries the object unless its type id already names
    /// `I` (`_narrow`).
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

    /// Returns the reference of a name: registered in this ORB, set by `-ORBInitRef`, or below `-ORBDefaultInitRef`.
    pub fn resolve_initial_references(&self, name: &str) -> Result<ObjectRef, ResolveError> {
        self.initial(name, 0)
    }

    /// Returns the names that were registered in this ORB or set by `-ORBInitRef`.
    pub fn list_initial_services(&self) -> Vec<String> {
        let mut names = self.initial_names();
        names.extend(self.options().init_refs.iter().map(|(name, _)| name.clone()));
        names.sort();
        names.dedup();
        names
    }

    /// Returns the InterfaceDef of an interface from the Interface Repository, for `_interface`. The repository is the
    /// initial reference `InterfaceRepository`.
    ///
    /// Raises INTF_REPOS if this ORB knows no repository, cannot reach it, or the repository does not know the
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
        let malformed = |error| ResolveError::Malformed { text: text.to_owned(), error };
        let url = match oxorb_object::parse_reference(text.trim()) {
            // The protocol table has a protocol with this word, which defines the grammar of its own addresses.
            Err(ReferenceError::Corbaloc(corbaloc::Error::Protocol(word)))
                if self.options().protocols.located(&word).is_some() =>
            {
                return self.follow_by_table(text);
            }
            read => read.map_err(malformed)?,
        };
        match url {
            Url::Ior(ior) => Ok(ObjectRef::from_ref(Ref::new(self, ior))),
            Url::Corbaloc(url) => self.locate(&url, depth),
            Url::Corbaname(url) => {
                let context = self.locate(&url.context, depth)?;
                self.named(context, url.name)
            }
            Url::File(path) => {
                let path = PathBuf::from(path);
                let content =
                    read_reference(&path).map_err(|error| ResolveError::File { path, error })?;
                self.follow(&content, depth + 1)
            }
        }
    }

    /// Follows a URL with an address outside of IIOP's grammar.
    fn follow_by_table(&self, text: &str) -> Result<ObjectRef, ResolveError> {
        let found = self.options().protocols.read_url(text);
        let found =
            found.map_err(|error| ResolveError::Malformed { text: text.to_owned(), error })?;
        match found {
            ParsedUrl::Object(ior) => Ok(ObjectRef::from_ref(Ref::new(self, ior))),
            ParsedUrl::Name(ior, name) => {
                let context = ObjectRef::from_ref(Ref::new(self, ior));
                self.named(context, name)
            }
        }
    }

    /// Resolves a name in a context; an empty name is the context itself.
    fn named(&self, context: ObjectRef, name: String) -> Result<ObjectRef, ResolveError> {
        if name.is_empty() {
            return Ok(context);
        }
        let found = naming::resolve_str(&context, &name);
        found.map_err(|why| ResolveError::Name { name, why })
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
        let given = self.options().init_refs.iter().rfind(|(given, _)| given == name);
        if let Some((_, url)) = given {
            return self.follow(url, depth + 1);
        }
        match &self.options().default_init_ref {
            // If the address ends with its own separator before the key, as in UIOP, whose separator is `|`, no `/` is
            // added.
            Some(base) if base.ends_with('|') => self.follow(&format!("{base}{name}"), depth + 1),
            Some(base) => self.follow(&format!("{base}/{name}"), depth + 1),
            None => Err(ResolveError::UnknownName {
                name: name.to_owned(),
                known: self.list_initial_services(),
            }),
        }
    }
}

/// Reference to an object of this ORB, without its addresses.
pub(crate) struct PublishedReference<'a> {
    type_id: &'a str,
    key: &'a [u8],
    components: &'a [TaggedComponent],
    native: CharSet,
}

impl<'a> PublishedReference<'a> {
    pub(crate) fn new(
        type_id: &'a str,
        key: &'a [u8],
        components: &'a [TaggedComponent],
        native: CharSet,
    ) -> Self {
        PublishedReference { type_id, key, components, native }
    }

    /// Returns the IOR: a profile for the first address of each endpoint, with its other addresses as alternates if
    /// that kind of profile has alternates.
    pub(crate) fn at(&self, addresses: &[PublishedAddress]) -> Ior {
        let mut profiles: Vec<(&Arc<ProtocolStack>, Profile)> = Vec::new();
        for at in addresses {
            match profiles.last_mut() {
                Some((protocol, last))
                    if Arc::ptr_eq(protocol, &at.protocol)
                        && protocol.profile().joins(last, &at.address) =>
                {
                    last.addresses.push(at.address.clone());
                }
                _ => profiles.push((&at.protocol, self.profile(at))),
            }
        }
        self.tell_beside(&mut profiles);
        Self::carry_within(&mut profiles);
        self.ior(&profiles)
    }

    /// Adds the addresses of other protocols to the IIOP profiles, if there is a component for such addresses.
    fn tell_beside(&self, profiles: &mut [(&Arc<ProtocolStack>, Profile)]) {
        let beside = profiles.iter().filter_map(|(protocol, profile)| {
            let address = profile.addresses.first()?;
            Some(protocol.profile().beside(address))
        });
        let beside: Vec<_> = beside.flatten().collect();
        let iiop = profiles.iter_mut().filter(|(protocol, profile)| {
            protocol.profile().tag() == profile_tag::INTERNET_IOP
                && profile.version >= Version::V1_1
        });
        for (_, profile) in iiop {
            profile.components.extend_from_slice(&beside);
        }
    }

    /// Moves the addresses of other protocols into the IIOP profiles, where that makes their own profiles unnecessary.
    fn carry_within(profiles: &mut Vec<(&Arc<ProtocolStack>, Profile)>) {
        let carries = |(protocol, profile): &(&Arc<ProtocolStack>, Profile)| {
            protocol.profile().tag() == profile_tag::INTERNET_IOP
                && profile.version >= Version::V1_1
        };
        if !profiles.iter().any(carries) {
            return;
        }
        let mut kinds: Vec<(&Arc<ProtocolStack>, Vec<Address>)> = Vec::new();
        for (protocol, profile) in &*profiles {
            if protocol.profile().within_iiop(&profile.addresses).is_none() {
                continue;
            }
            match kinds.iter_mut().find(|(known, _)| Arc::ptr_eq(known, protocol)) {
                Some((_, addresses)) => addresses.extend_from_slice(&profile.addresses),
                None => kinds.push((protocol, profile.addresses.clone())),
            }
        }
        profiles.retain(|(protocol, _)| !kinds.iter().any(|(kind, _)| Arc::ptr_eq(kind, protocol)));
        for (protocol, addresses) in kinds {
            let told = protocol.profile().within_iiop(&addresses).unwrap_or_default();
            for (_, profile) in profiles.iter_mut().filter(|it| carries(it)) {
                profile.components.extend_from_slice(&told);
            }
        }
    }

    /// Returns the IOR of an object that lanes serve: for each protocol a profile with the first of its addresses, the
    /// other addresses of the same lane as alternates and, if `told`, all addresses with the priorities of their lanes.
    pub(crate) fn at_lanes(&self, addresses: &[(PublishedAddress, Priority)], told: bool) -> Ior {
        let mut profiles: Vec<(&Arc<ProtocolStack>, Profile)> = Vec::new();
        for (first, priority) in addresses {
            let protocol = &first.protocol;
            if profiles.iter().any(|(known, _)| Arc::ptr_eq(known, protocol)) {
                continue;
            }
            let mut profile = self.profile(first);
            let ours = addresses.iter().filter(|(at, _)| Arc::ptr_eq(&at.protocol, protocol));
            for (at, of) in ours {
                if told {
                    profile.lanes.push((at.address.clone(), of.get()));
                }
                if of == priority && at != first && protocol.profile().joins(&profile, &at.address)
                {
                    profile.addresses.push(at.address.clone());
                }
            }
            profiles.push((protocol, profile));
        }
        self.ior(&profiles)
    }

    fn profile(&self, at: &PublishedAddress) -> Profile {
        let mut profile = Profile::new(at.address.clone(), at.version, self.key);
        // Profiles of version 1.0 cannot contain components.
        if at.version >= Version::V1_1 {
            profile.components = vec![
                TaggedComponent::orb_type(orb_type::OXORB),
                TaggedComponent::code_sets(&CodeSetComponentInfo::native_to(self.native)),
            ];
            profile.components.extend_from_slice(self.components);
        }
        profile
    }

    /// Writes the profiles. If clients had to verify the server's identity at every address, they would have no address
    /// to fall back to, and the reference would be useless once the directory of a socket is gone or the host has
    /// restarted. Such a reference is written without these identities.
    fn ior(&self, profiles: &[(&Arc<ProtocolStack>, Profile)]) -> Ior {
        let is_bare = |address: &Address| address.verified().is_none();
        let mut addresses = profiles.iter().flat_map(|(_, profile)| &profile.addresses);
        let some_bare = addresses.any(is_bare);
        let written = profiles.iter().map(|(protocol, profile)| {
            match some_bare || profile.addresses.iter().all(is_bare) {
                true => protocol.profile().write(profile),
                false => protocol.profile().write(&profile.bare()),
            }
        });
        Ior { type_id: self.type_id.to_owned(), profiles: written.collect() }
    }
}

/// Reads a file, unless it is too long for a reference.
fn read_reference(path: &Path) -> io::Result<String> {
    let mut content = String::new();
    let file = std::fs::File::open(path)?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut content)?;
    if read as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long for a reference"));
    }
    // An editor may have written a byte order mark, which does not belong to the reference.
    Ok(content.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(content))
}
