//! Documents from files; each error names its file.

use std::path::{Path, PathBuf};

use oxorb_deploy::{Document, Error, Format, Limits};

use oxorb_terminal::output::{Failed, because};

/// Form of a document on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// XML of the OMG; for real-time resources, XML of CIAO
    Xml,
    /// TOML
    Toml,
}

impl From<Form> for Format {
    fn from(form: Form) -> Format {
        match form {
            Form::Xml => Format::Xml,
            Form::Toml => Format::Toml,
        }
    }
}

/// Returns the format of a file: from the option if given, else from the file name extension.
pub(super) fn format(
    file: &Path,
    said: Option<Form>,
    option: Option<&str>,
) -> Result<Format, Failed> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let found = said.map(Format::from).or_else(|| Format::of_file(&name));
    found.ok_or_else(|| {
        let cure = match option {
            Some(option) => format!("say {option} xml or {option} toml"),
            None => "name it so".to_owned(),
        };
        because(format!(
            "{}: the ending tells no form: toml is TOML, and {} are XML; {cure}",
            file.display(),
            Format::XML_ENDINGS.join(", ")
        ))
    })
}

/// Reads a document; `-` reads standard input.
pub(super) fn read(file: &Path, said: Option<Form>) -> Result<Document, Failed> {
    let format = format(file, said, Some("--from"))?;
    let what = "a document of deployment";
    let octets = crate::input::octets(file, what).map_err(because)?;
    Document::read_octets(&octets, format, &Limits::default())
        .map_err(|error| located(file, &error))
}

/// Uses the real-time resources that the plan itself names, in a file next to it, unless an option names others. If the
/// plan cannot be read, does nothing: whatever reads it next reports the error.
pub(super) fn take_rt(plan: &Path, rt: &mut Option<PathBuf>) {
    if rt.is_some() || plan.as_os_str() == "-" {
        return;
    }
    if let Ok(Document::Plan(read)) = read(plan, None) {
        let folder = plan.parent().unwrap_or(Path::new(""));
        *rt = read.resources_file().map(|file| folder.join(file));
    }
}

/// Returns an error with the file name before each of its findings.
pub(super) fn located(file: &Path, error: &Error) -> Failed {
    let lines = error.findings.iter().map(|finding| {
        let place = match finding.place.line {
            0 => file.display().to_string(),
            _ => format!("{}:{}", file.display(), finding.place),
        };
        match finding.cure.as_str() {
            "" => format!("{place}: {}", finding.what),
            cure => format!("{place}: {}; {cure}", finding.what),
        }
    });
    because(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a text; `-` writes to standard output.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failed> {
    if file.as_os_str() == "-" {
        return oxorb_terminal::output::print(text);
    }
    std::fs::write(file, text).map_err(|error| because(format!("{}: {error}", file.display())))
}
