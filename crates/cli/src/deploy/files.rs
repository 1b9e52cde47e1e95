//! Documents from files; each error names its file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oxorb_deploy::{Document, Error, Finding, Format, Limits, Place, Source};

use oxorb_terminal::output::{Done, Failed, at_file, because};

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
        if option.is_none() && name == "-" {
            return because(
                "-: the format cannot be derived, because standard input and output have no ending; specify a file",
            );
        }
        let cure = match option {
            Some(option) => format!("specify {option} xml or {option} toml"),
            None => "change the ending".to_owned(),
        };
        because(format!(
            "{}: the format cannot be derived from the ending: toml is TOML, and {} are XML; {cure}",
            file.display(),
            Format::XML_ENDINGS.join(", ")
        ))
    })
}

/// Reads a document, whose format the file name extension tells.
pub(super) fn read(file: &Path) -> Result<Document, Failed> {
    read_in(file, format(file, None, None)?)
}

/// Reads a document of a format; `-` reads standard input.
pub(super) fn read_in(file: &Path, format: Format) -> Result<Document, Failed> {
    let what = "a deployment document";
    let octets = crate::input::octets(file, what).map_err(because)?;
    Document::read_octets(&octets, format, &Limits::default())
        .map_err(|error| located(file, &error))
}

/// Uses the real-time resources that the plan itself names, in a file next to it, unless an option names others. If the
/// plan cannot be read, does nothing: whatever reads it next reports the error.
///
/// # Errors
/// The file that the plan names is missing.
pub(super) fn take_rt(plan: &Path, rt: &mut Option<PathBuf>) -> Done {
    if rt.is_some() {
        return Ok(());
    }
    let Ok(Document::Plan(read)) = read(plan) else {
        return Ok(());
    };
    let Some(name) = read.resources_file() else {
        return Ok(());
    };
    let file = plan.parent().unwrap_or(Path::new("")).join(name);
    if let Err(error) = std::fs::metadata(&file) {
        let is_it = |text: &str| text.trim() == name;
        let mut properties = read.info_property.iter();
        let place = properties.find(|one| one.value.as_text().is_some_and(is_it));
        let what = format!("the plan names the real-time resources {}: {error}", file.display());
        let error =
            Error::from(Finding::error(place.map(|one| one.place).unwrap_or_default(), what));
        return Err(located(plan, &error));
    }
    *rt = Some(file);
    Ok(())
}

/// Reports whether two paths lead to the same file.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Files of the documents to which findings refer.
pub(super) struct Files<'a> {
    pub(super) plan: &'a Path,
    pub(super) rt: Option<&'a Path>,
    pub(super) domain: Option<&'a Path>,
}

impl Files<'_> {
    /// Returns the file of a document.
    pub(super) fn of(&self, source: Source) -> &Path {
        let other = match source {
            Source::Plan => None,
            Source::Rtcad => self.rt,
            Source::Domain => self.domain,
        };
        other.unwrap_or(self.plan)
    }

    /// Returns a finding as `FILE:LINE:COLUMN: SEVERITY: WHAT; CURE`.
    pub(super) fn line(&self, finding: &Finding) -> String {
        let mut line = at(self.of(finding.source), finding.place);
        let _ = write!(line, ": {}: {}", finding.severity, finding.what);
        if !finding.cure.is_empty() {
            let _ = write!(line, "; {}", finding.cure);
        }
        line
    }
}

/// Returns a position in a file as `FILE:LINE:COLUMN`.
pub(super) fn at(file: &Path, place: Place) -> String {
    match place.line {
        0 => file.display().to_string(),
        _ => format!("{}:{place}", file.display()),
    }
}

/// Returns an error with the file name before each of its findings.
pub(super) fn located(file: &Path, error: &Error) -> Failed {
    let lines = error.findings.iter().map(|finding| {
        let place = at(file, finding.place);
        match finding.cure.as_str() {
            "" => format!("{place}: {}", finding.what),
            cure => format!("{place}: {}; {cure}", finding.what),
        }
    });
    because(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns an error in a package. If the package is a folder, a finding in a file of it has the path of that file, whose
/// name begins the finding.
pub(super) fn within(package: &Path, error: &Error) -> Failed {
    let lines = error.findings.iter().map(|finding| {
        let named = finding.what.split_once(": ");
        let named = named.map(|(name, what)| (package.join(name), what));
        let (file, what) = match named {
            Some((file, what)) if package.is_dir() && file.is_file() => (file, what),
            _ => (package.to_owned(), finding.what.as_str()),
        };
        let place = at(&file, finding.place);
        match finding.cure.as_str() {
            "" => format!("{place}: {what}"),
            cure => format!("{place}: {what}; {cure}"),
        }
    });
    because(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a text; `-` writes to standard output.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failed> {
    if file.as_os_str() == "-" {
        return oxorb_terminal::output::print(text);
    }
    std::fs::write(file, text).map_err(|error| at_file(file, error))
}
