//! Positions in documents, and findings there.

use std::fmt;

/// Line and column of an element, both from 1; 0 for an element that was not read from text.
///
/// Positions are only annotations: all compare equal, so that equal documents compare equal regardless of where they
/// were read.
#[derive(Debug, Clone, Copy, Default, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The document must not be deployed.
    Error,
    /// The plan may be deployed, but is probably wrong.
    Warning,
    /// The finding states an assumption of a check.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// Document that contains a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Source {
    /// Plan, or the only document.
    #[default]
    Plan,
    /// Document of real-time resources.
    Rtcad,
    /// Document of the domain.
    Domain,
}

/// Result of reading or of checking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Document of the position.
    pub source: Source,
    /// Position of the element; line 0 if it was not read from text.
    pub place: Place,
    /// Problem, as a sentence.
    pub what: String,
    /// Remedy; empty if it is obvious.
    pub cure: String,
}

impl Finding {
    /// Creates an error in the plan, without a remedy.
    pub fn error(place: Place, what: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Error,
            source: Source::Plan,
            place,
            what: what.into(),
            cure: String::new(),
        }
    }

    /// Creates a warning in the plan, without a remedy.
    pub fn warning(place: Place, what: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..Finding::error(place, what) }
    }

    /// Creates a note in the plan, without a remedy.
    pub fn note(place: Place, what: impl Into<String>) -> Finding {
        Finding { severity: Severity::Note, ..Finding::error(place, what) }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn cure(mut self, cure: impl Into<String>) -> Finding {
        self.cure = cure.into();
        self
    }

    /// Moves the finding to another document.
    #[must_use]
    pub fn within(mut self, source: Source) -> Finding {
        self.source = source;
        self
    }
}

/// Findings of a check. A hostile document may cause any number of findings: the first of each severity are kept, the
/// others are counted.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Finding>,
    /// Number of errors, warnings and notes.
    counts: [usize; 3],
}

impl Findings {
    pub(crate) fn push(&mut self, finding: Finding) {
        let count = &mut self.counts[finding.severity as usize];
        *count += 1;
        if *count <= Error::MOST {
            self.kept.push(finding);
        }
    }

    pub(crate) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    fn errors(&self) -> usize {
        self.counts[Severity::Error as usize]
    }

    /// Returns the number of errors that were not kept.
    pub(crate) fn more_errors(&self) -> usize {
        self.errors().saturating_sub(Error::MOST)
    }

    pub(crate) fn into_kept(self) -> Vec<Finding> {
        self.kept
    }
}

/// Lists names for a remedy: the first ten, and the number of others.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 10;
    let mut names = names.into_iter();
    let first: Vec<&str> = names.by_ref().take(MOST).collect();
    match (first.as_slice(), names.count()) {
        ([], _) => "none".to_owned(),
        (first, 0) => first.join(", "),
        (first, more) => format!("{} and {more} more", first.join(", ")),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.line > 0 {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}: {}", self.severity, self.what)?;
        match self.cure.as_str() {
            "" => Ok(()),
            cure => write!(f, "; {cure}"),
        }
    }
}

/// Reasons for which a document is refused: at least one finding, in the order of the document.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// First [`MOST`](Self::MOST) findings, followed by one with the number of others, if any.
    pub findings: Vec<Finding>,
}

impl Error {
    /// Maximum number of findings that are kept.
    pub const MOST: usize = 100;

    pub(crate) fn at(place: Place, what: impl Into<String>) -> Error {
        Error::from(Finding::error(place, what))
    }

    pub(crate) fn plain(what: impl Into<String>) -> Error {
        Error::at(Place::default(), what)
    }

    /// Fails if there are errors among findings.
    pub(crate) fn unless_none(found: Findings) -> Result<(), Error> {
        if !found.has_errors() {
            return Ok(());
        }
        let more = found.more_errors();
        let mut findings = found.into_kept();
        findings.retain(|finding| finding.severity == Severity::Error);
        if more > 0 {
            findings.push(Finding::error(Place::default(), format!("and {more} more errors")));
        }
        Err(Error { findings })
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Error {
        Error { findings: vec![finding] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, finding) in self.findings.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{finding}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
