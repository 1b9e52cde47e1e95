//! IDL files and options for reading them, for the verbs and other commands.

use std::path::{Path, PathBuf};

use oxorb_idl::model::Model;
use oxorb_idl::{Lenient, Options, Report};

use oxorb_terminal::output::Failed;

/// IDL files, and options for reading them.
#[derive(clap::Args)]
pub(super) struct Source {
    /// IDL files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// Options for reading IDL.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// Search DIR for included files, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub(super) include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    pub(super) define: Vec<String>,
    /// Accept a departure from the specification with a warning; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = oxorb_idl::Lenient::NAMES)]
    lenient: Vec<String>,
    /// Take <orb.idl> and <Components.idl> from the folders of -I instead of those built into OxORB
    #[arg(long)]
    pub(super) no_builtins: bool,
}

impl Source {
    pub(super) fn files(&self) -> Vec<&Path> {
        self.files.iter().map(|file| readable(file)).collect()
    }

    /// Returns the model of the files; prints diagnostics.
    pub(super) fn model(&self) -> Result<Model, Failed> {
        self.reading.model(&self.files())
    }
}

impl Reading {
    pub(crate) fn options(&self) -> Options {
        Options {
            include_dirs: self.include.clone(),
            defines: self.define.clone(),
            lenient: self.lenient(),
            no_builtins: self.no_builtins,
            ..Options::default()
        }
    }

    pub(super) fn lenient(&self) -> Lenient {
        let mut lenient = Lenient::default();
        for name in &self.lenient {
            lenient.allow(name);
        }
        lenient
    }

    /// Returns the model of files; prints diagnostics.
    pub(crate) fn model<P: AsRef<Path>>(&self, files: &[P]) -> Result<Model, Failed> {
        match oxorb_idl::compile(files, &self.options()) {
            Ok(compiled) => Ok(compiled.model),
            Err(failed) => {
                tell(&failed.report);
                Err(Failed::Told)
            }
        }
    }
}

/// Prints the diagnostics of the front end, with the lines that they refer to.
pub(crate) fn tell(report: &Report) {
    anstream::eprint!("{}", report.text(true));
}

/// Returns a path that can be opened for a file that the user may have given as `-`.
pub(super) fn readable(file: &Path) -> &Path {
    match file.as_os_str() == "-" {
        true => Path::new("/dev/stdin"),
        false => file,
    }
}
