//! Types at run time: from IDL files or an Interface Repository, for calls and servers without stubs.

use std::path::PathBuf;

use oxorb::ior::Ior;
use oxorb::values::LongDouble;
use oxorb::{Interface as _, Orb};
use oxorb_dynamic::json::{Json, LeftOut, Names};
use oxorb_dynamic::{Dynamic, Shape, TypeCode};
use oxorb_idl::model::{DefKind, Value as Constant};
use oxorb_ifr::client;
use oxorb_ifr::corba::RepositoryRef;
use oxorb_ifr::types::Types;
use serde_json::Value;

use crate::idl::Reading;
use oxorb_terminal::output::{Failed, because};

/// Options for the IDL of types.
#[derive(clap::Args)]
pub(crate) struct IdlArgs {
    /// IDL file that declares the interface; may be repeated
    #[arg(long = "idl", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl IdlArgs {
    /// Compiles the files; prints diagnostics.
    pub(crate) fn load(&self) -> Result<Types, Failed> {
        Ok(Types::new(self.reading.model(&self.files)?))
    }
}

/// Source of types.
pub(crate) enum Source {
    /// IDL files.
    Idl(Box<Types>),
    /// A repository.
    Repository(RepositoryRef),
}

impl Source {
    /// Returns the repository at a reference.
    pub(crate) fn repository(orb: &Orb, reference: &str) -> Result<RepositoryRef, Failed> {
        let found: Result<RepositoryRef, _> = orb.resolve(reference);
        found.map_err(|error| because(format!("the Interface Repository {reference}: {error}")))
    }

    /// Registers the valuetypes with the ORB, for derived values that arrive by repository id. Queries a repository
    /// when one arrives.
    pub(crate) fn register_values(&self, orb: &Orb) {
        match self {
            Self::Idl(types) => orb.values().register_types(types.valuetypes()),
            Self::Repository(repository) => {
                let repository = repository.clone();
                orb.values().ask_for_types(move |id| {
                    // A type that the repository lacks is unknown: the value is truncated or refused.
                    client::type_of(&repository, id).ok().flatten()
                });
            }
        }
    }
}

/// Resolution of names in JSON for the command: types of the source, and every reference that an ORB understands.
pub(crate) struct Known<'k> {
    pub(crate) source: &'k Source,
    pub(crate) orb: &'k Orb,
    /// `--defaults`: omitted members are zero unless the IDL has a default.
    pub(crate) defaults: bool,
}

impl Names for Known<'_> {
    fn limits(&self) -> oxorb_dynamic::DecoderLimits {
        self.orb.options().limits.cdr
    }

    fn find_type(&self, name: &str) -> Option<TypeCode> {
        match self.source {
            Source::Idl(types) => types.by_name(name).ok(),
            Source::Repository(repository) => client::type_of(repository, name).ok().flatten(),
        }
    }

    fn name_of_type(&self, ty: &TypeCode) -> Option<String> {
        match self.source {
            Source::Idl(types) => types.name_of(ty).map(str::to_owned),
            // Names are not looked up in a repository, because each lookup would be a call.
            Source::Repository(_) => None,
        }
    }

    fn left_out(&self, id: &str, member: &str) -> LeftOut {
        if let Source::Idl(types) = self.source
            && let Some(value) = types.default_of(id, member)
        {
            return LeftOut::Default(constant(value, types));
        }
        match self.defaults {
            true => LeftOut::Zero,
            false => LeftOut::Refused("; --defaults sets omitted members to zero"),
        }
    }

    fn find_object(&self, text: &str) -> Result<Ior, String> {
        let object = self.orb.string_to_object(text);
        object.map(|object| object.reference().ior().clone()).map_err(|error| error.to_string())
    }
}

/// Returns a constant of IDL as JSON.
fn constant(value: &Constant, types: &Types) -> Value {
    match value {
        // An integer beyond 64 bits signed becomes text, which is accepted for 64-bit numbers.
        Constant::Integer(value) => match i64::try_from(*value) {
            Ok(value) => value.into(),
            Err(_) => value.to_string().into(),
        },
        Constant::Float(value) => (*value).into(),
        Constant::LongDouble(value) => {
            let value = LongDouble::from_bits(value.to_bits());
            serde_json::to_value(Json(&Dynamic::Longdouble(value))).unwrap_or_default()
        }
        Constant::Boolean(value) => (*value).into(),
        Constant::Char(value) => value.to_string().into(),
        Constant::String(value) => value.to_string().into(),
        Constant::Fixed(value) => value.clone().into(),
        Constant::Enumerator(id, ordinal) => {
            let by_name = types.of_def(*id).is_ok_and(|ty| matches!(ty.shape(), Shape::Enum));
            match &types.model().def(*id).kind {
                DefKind::Enum(body) => match body.enumerators.get(*ordinal as usize) {
                    Some(enumerator) if by_name => enumerator.name.clone().into(),
                    Some(enumerator) => enumerator.value.into(),
                    None => Value::Null,
                },
                _ => Value::Null,
            }
        }
    }
}
