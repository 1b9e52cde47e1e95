//! IDL files with all their includes, as text that can be compiled again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb_idl::source::{Disk, Loader, Memory, SourceMap};
use oxorb_idl::{Compiled, Options};
use oxorb_sys::sync::Mutex;
use serde::{Deserialize, Serialize};

use crate::Error;

/// IDL file, the text of all its includes, and the options for reading them.
///
/// The text is stored, not its meaning: later versions of OxORB may interpret it better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    main: PathBuf,
    include_dirs: Vec<PathBuf>,
    defines: Vec<String>,
    lenient: Lenient,
    #[serde(default)]
    no_builtins: bool,
    files: BTreeMap<PathBuf, String>,
}

/// Stored form of the front end's options of this name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Lenient {
    unquoted_prefix: bool,
    parameter_named_like_type: bool,
    member_named_like_type: bool,
    keyword_case: bool,
    named_like_scope: bool,
    superfluous_default: bool,
}

impl Unit {
    /// Reads and checks an IDL file. Also returns its compiled form, with the front end's warnings.
    ///
    /// # Errors
    /// [`Error::Idl`] with all problems of the file.
    pub fn read(path: &Path, options: &Options) -> Result<(Unit, Compiled), Error> {
        // An absolute path distinguishes files of the same name in different folders.
        let main = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let seen = Seen::default();
        let sources = SourceMap::new(Recorder(Arc::clone(&seen)));
        let compiled =
            oxorb_idl::compile_from(sources, &[&main], options).map_err(Error::from_idl)?;
        let files = std::mem::take(&mut *seen.lock());
        let unit = Unit {
            main,
            include_dirs: options.include_dirs.clone(),
            defines: options.defines.clone(),
            lenient: Lenient {
                unquoted_prefix: options.lenient.unquoted_prefix,
                parameter_named_like_type: options.lenient.parameter_named_like_type,
                member_named_like_type: options.lenient.member_named_like_type,
                keyword_case: options.lenient.keyword_case,
                named_like_scope: options.lenient.named_like_scope,
                superfluous_default: options.lenient.superfluous_default,
            },
            no_builtins: options.no_builtins,
            files,
        };
        Ok((unit, compiled))
    }

    /// Returns the absolute path of the IDL file, which identifies the unit.
    pub fn path(&self) -> &Path {
        &self.main
    }

    /// Compiles the text again.
    ///
    /// # Errors
    /// [`Error::Idl`] if it was stored by a version of OxORB that accepted IDL which this one rejects.
    pub fn compile(&self) -> Result<Compiled, Error> {
        let files = self.files.iter();
        let files = files.map(|(path, text)| (path.clone(), text.clone().into_bytes()));
        let sources = SourceMap::new(Memory(files.collect()));
        oxorb_idl::compile_from(sources, &[&self.main], &self.options()).map_err(Error::from_idl)
    }

    fn options(&self) -> Options {
        Options {
            include_dirs: self.include_dirs.clone(),
            defines: self.defines.clone(),
            lenient: oxorb_idl::Lenient {
                unquoted_prefix: self.lenient.unquoted_prefix,
                parameter_named_like_type: self.lenient.parameter_named_like_type,
                member_named_like_type: self.lenient.member_named_like_type,
                keyword_case: self.lenient.keyword_case,
                named_like_scope: self.lenient.named_like_scope,
                superfluous_default: self.lenient.superfluous_default,
            },
            no_builtins: self.no_builtins,
            ..Options::default()
        }
    }
}

impl Error {
    fn from_idl(failed: oxorb_idl::Failed) -> Self {
        Error::Idl(Box::new(failed))
    }
}

type Seen = Arc<Mutex<BTreeMap<PathBuf, String>>>;

/// File system that records a copy of every file read.
struct Recorder(Seen);

impl Loader for Recorder {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        let octets = Disk.load(path)?;
        let text = String::from_utf8_lossy(&octets).into_owned();
        let mut seen = self.0.lock();
        // Stores the text under the path by which `Memory` finds it when the unit is compiled again.
        seen.insert(Memory::default().identity(path), text);
        Ok(octets)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        Disk.identity(path)
    }
}
