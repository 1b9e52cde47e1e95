//! `import ::CORBA;`: includes the definitions that every ORB provides, because the OMG's published IDL files rely on
//! it.

use crate::lex::Raw;

/// Detector of imports of module `CORBA` or of a name in it, among the tokens of a file.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Number of open braces; imports are at depth 0.
    depth: usize,
    stage: Stage,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Elsewhere,
    /// State after `import`, and an optional `::`.
    Name,
    /// State after `CORBA`.
    Corba,
}

impl Imports {
    /// Processes the next token, and reports whether such an import ends with it.
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
