//! Types at run time: from IDL files, for calls and servers without stubs.

use std::path::PathBuf;

use oxorb::{Interface as _, Ior, Orb};
use oxorb_dynamic::TypeCode;
use oxorb_dynamic::json::Names;
use oxorb_idltypes::Types;

use crate::output::Failed;

/// Which IDL to take types from.
#[derive(clap::Args)]
pub(crate) struct IdlArgs {
    /// IDL file that declares the interface; may be given several times
    #[arg(long = "idl", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Look for included files in DIR, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

impl IdlArgs {
    /// Compiles the files. What is wrong with them is printed here.
    pub(crate) fn load(&self) -> Result<Types, Failed> {
        let options = oxorb_idl::Options {
            include_dirs: self.include.clone(),
            defines: self.define.clone(),
            ..oxorb_idl::Options::default()
        };
        match oxorb_idl::compile(&self.files, &options) {
            Ok(compiled) => Ok(Types::new(compiled.model)),
            Err(failed) => {
                anstream::eprint!("{}", failed.report.text(true));
                Err(Failed::Told)
            }
        }
    }
}

/// What names in JSON mean to the command: types of the IDL, and every reference that an ORB understands.
pub(crate) struct Known<'k> {
    pub(crate) types: &'k Types,
    pub(crate) orb: &'k Orb,
}

impl Names for Known<'_> {
    fn find_type(&self, name: &str) -> Option<TypeCode> {
        self.types.by_name(name).ok()
    }

    fn find_object(&self, text: &str) -> Result<Ior, String> {
        let object = self.orb.string_to_object(text);
        object
            .map(|object| object.as_ref().ior().clone())
            .map_err(|error| error.to_string())
    }
}
