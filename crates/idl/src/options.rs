//! Options of the front end.

use std::path::PathBuf;

/// Options of reading a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Folders where `#include` looks, in order (`-I`).
    pub include_dirs: Vec<PathBuf>,
    /// Macros defined beforehand: `NAME`, `NAME=VALUE` or `NAME(x)=VALUE` (`-D`).
    pub defines: Vec<String>,
    /// Departures from the specification that pass as warnings.
    pub lenient: Lenient,
    /// Whether files that OxORB brings along, `<orb.idl>` and `<Components.idl>`, are left out, so that only those in
    /// [`include_dirs`](Self::include_dirs) are found.
    pub no_builtins: bool,
    /// Limits of what one source may cost.
    pub limits: Limits,
}

/// Departures from the specification that older compilers let pass; all off by
/// default. Each that is switched on turns one error into a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lenient {
    /// `#pragma prefix omg.org` without quotes (JacORB accepts it).
    pub unquoted_prefix: bool,
    /// `in Foo foo`: a parameter named like its type but for case (TAO accepts it).
    pub parameter_named_like_type: bool,
    /// `struct S { Foo foo; };`: a member named like its type but for case (JacORB and OpenJDK's `idlj` accept it).
    pub member_named_like_type: bool,
    /// Names that differ from a keyword in case only (TAO's `-Cw`).
    pub keyword_case: bool,
    /// `struct Right { string right; }`: a name like that of the scope around it
    /// (in the Security Service's IDL that omniORB brings).
    pub named_like_scope: bool,
    /// `default:` in a union whose labels cover all values (TAO accepts it): a member
    /// that only `default` selects is left out, since it never travels.
    pub superfluous_default: bool,
}

impl Lenient {
    /// Names that [`allow`](Self::allow) understands: those of the fields.
    pub const NAMES: [&'static str; 6] = [
        "unquoted_prefix",
        "parameter_named_like_type",
        "member_named_like_type",
        "keyword_case",
        "named_like_scope",
        "superfluous_default",
    ];

    /// Switches on the departure with this name; `false` if there is none.
    ///
    /// ```
    /// let mut lenient = oxorb_idl::Lenient::default();
    /// assert!(lenient.allow("keyword_case") && lenient.keyword_case);
    /// assert!(!lenient.allow("everything"));
    /// assert!(oxorb_idl::Lenient::NAMES.into_iter().all(|name| lenient.allow(name)));
    /// ```
    pub fn allow(&mut self, name: &str) -> bool {
        let field = match name {
            "unquoted_prefix" => &mut self.unquoted_prefix,
            "parameter_named_like_type" => &mut self.parameter_named_like_type,
            "member_named_like_type" => &mut self.member_named_like_type,
            "keyword_case" => &mut self.keyword_case,
            "named_like_scope" => &mut self.named_like_scope,
            "superfluous_default" => &mut self.superfluous_default,
            _ => return false,
        };
        *field = true;
        true
    }
}

/// Bounds on what one source may cost; an input that meets one is refused with
/// an error that names it. Real IDL stays far below all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most levels of nested `#include` (200).
    pub include_depth: usize,
    /// Most files that are included, repeated ones counted again (16,384).
    pub includes: usize,
    /// Most octets of source that are read, repeated includes counted again (64 MiB).
    pub source_octets: usize,
    /// Most octets of text that macros produce, each token counted with 16 more (16 MiB).
    pub macro_octets: usize,
    /// Most diagnostics that are kept (100).
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            include_depth: 200,
            includes: 1 << 14,
            source_octets: 64 << 20,
            macro_octets: 16 << 20,
            diagnostics: crate::diagnostic::Diagnostics::DEFAULT_LIMIT,
        }
    }
}
