//! `import ::CORBA;`: brings in what every ORB defines, as the IDL that OMG publishes asks for it.

use crate::lex::Raw;

/// Follows the tokens of a file up to an import of module `CORBA` or of something in it.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Open braces; imports stand outside of all.
    depth: usize,
    stage: Stage,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Elsewhere,
    /// State behind `import`, and perhaps `::`.
    Name,
    /// State behind `CORBA`.
    Corba,
}

impl Imports {
    /// Takes the next token, and reports whether such an import ends with it.
    pub(super) fn sees(&mut self, raw: &Raw) -> bool {
        match &*raw.text {
            "{" => self.depth += 1,
            "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let (stage, ends) = match (self.stage, &*raw.text) {
            (Stage::Elsewhere, "import") if self.depth == 0 => (Stage::Name, false),
            (Stage::Name, "::") => (Stage::Name, false),
            (Stage::Name, "CORBA") => (Stage::Corba, false),
            (Stage::Corba, ";") => (Stage::Elsewhere, true),
            (Stage::Corba, _) => (Stage::Corba, false),
            _ => (Stage::Elsewhere, false),
        };
        self.stage = stage;
        ends
    }
}
