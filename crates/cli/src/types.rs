//! Types at run time: from IDL files or an Interface Repository, for calls and servers without stubs.

use std::path::PathBuf;

use oxorb::{Interface as _, Ior, Orb};
use oxorb_dynamic::TypeCode;
use oxorb_dynamic::json::Names;
use oxorb_idltypes::Types;
use oxorb_ifr::client;
use oxorb_ifr::corba::RepositoryRef;

use crate::idl::Reading;
use crate::output::{Failed, because};

/// Which IDL to take types from.
#[derive(clap::Args)]
pub(crate) struct IdlArgs {
    /// IDL file that declares the interface; may be given several times
    #[arg(long = "idl", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl IdlArgs {
    /// Compiles the files. What is wrong with them is printed here.
    pub(crate) fn load(&self) -> Result<Types, Failed> {
        Ok(Types::new(self.reading.model(&self.files)?))
    }
}

/// Where types come from.
pub(crate) enum Source {
    /// IDL files.
    Idl(Types),
    /// A repository.
    Repository(RepositoryRef),
}

impl Source {
    /// The repository at a reference.
    pub(crate) fn repository(orb: &Orb, reference: &str) -> Result<RepositoryRef, Failed> {
        let found: Result<RepositoryRef, _> = orb.resolve(reference);
        found.map_err(|error| because(format!("the Interface Repository {reference}: {error}")))
    }

    /// Lets the ORB know the valuetypes, by whose repository ids derived values come. A repository is asked when one comes.
    pub(crate) fn register_values(&self, orb: &Orb) {
        match self {
            Self::Idl(types) => orb.values().register_types(types.valuetypes()),
            Self::Repository(repository) => {
                let repository = repository.clone();
                orb.values().ask_for_types(move |id| {
                    // What it cannot say is not known: the value is truncated or refused.
                    client::type_of(&repository, id).ok().flatten()
                });
            }
        }
    }
}

/// What names in JSON mean to the command: types of the source, and every reference that an ORB understands.
pub(crate) struct Known<'k> {
    pub(crate) source: &'k Source,
    pub(crate) orb: &'k Orb,
}

impl Names for Known<'_> {
    fn find_type(&self, name: &str) -> Option<TypeCode> {
        match self.source {
            Source::Idl(types) => types.by_name(name).ok(),
            Source::Repository(repository) => client::type_of(repository, name).ok().flatten(),
        }
    }

    fn find_object(&self, text: &str) -> Result<Ior, String> {
        let object = self.orb.string_to_object(text);
        object
            .map(|object| object.reference().ior().clone())
            .map_err(|error| error.to_string())
    }
}
