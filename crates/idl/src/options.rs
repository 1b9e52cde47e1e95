//! Options of the front end.

use std::path::PathBuf;

/// Options for reading a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Folders to search for `#include`, in order (`-I`).
    pub include_dirs: Vec<PathBuf>,
    /// Predefined macros: `NAME`, `NAME=VALUE` or `NAME(x)=VALUE` (`-D`).
    pub defines: Vec<String>,
    /// Departures from the specification that are reported as warnings.
    pub lenient: Lenient,
    /// Whether the files built into OxORB, `<orb.idl>` and `<Components.idl>`, are ignored, so that only those in
    /// [`include_dirs`](Self::include_dirs) are found.
    pub no_builtins: bool,
    /// Limits on the cost of one source.
    pub limits: Limits,
}

/// Departures from the specification that older compilers accept; all off by default. Each one turns an error into a
/// warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lenient {
    /// `#pragma prefix omg.org` without quotes (JacORB accepts it).
    pub unquoted_prefix: bool,
    /// `in Foo foo`: parameter with its type's name in another case (TAO accepts it).
    pub parameter_named_like_type: bool,
    /// `struct S { Foo foo; };`: member with its type's name in another case (JacORB and OpenJDK's `idlj` accept it).
    pub member_named_like_type: bool,
    /// Names that differ from a keyword only in case (TAO's `-Cw`).
    pub keyword_case: bool,
    /// `struct Right { string right; }`: name of the enclosing scope in another case (occurs in the Security Service's
    /// IDL in omniORB).
    pub named_like_scope: bool,
    /// `default:` in a union whose labels cover all values (TAO accepts it): a member that only `default` selects is
    /// left out, since it is never marshalled.
    pub superfluous_default: bool,
}

impl Lenient {
    /// Names accepted by [`allow`](Self::allow): those of the fields.
    pub const NAMES: [&'static str; 6] = [
        "unquoted_prefix",
        "parameter_named_like_type",
        "member_named_like_type",
        "keyword_case",
        "named_like_scope",
        "superfluous_default",
    ];

    /// Accepts the departure with this name. Returns `false` if no departure has this name.
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

/// Limits on the cost of one source; an input beyond a limit is rejected with an error that names the limit. Real IDL
/// stays far below all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of levels of nested `#include` (default: 200).
    pub include_depth: usize,
    /// Maximum number of included files, counting repetitions (default: 16,384).
    pub includes: usize,
    /// Maximum number of octets of source to read, counting repeated includes (default: 64 MiB).
    pub source_octets: usize,
    /// Maximum number of octets of text produced by macros, plus 16 for each token (default: 16 MiB).
    pub macro_octets: usize,
    /// Maximum number of octets of names and strings in the bodies of templates, plus 64 for each token, counted for
    /// each instance (default: 64 MiB). The definitions of the instances take about as much memory.
    pub instance_octets: usize,
    /// Maximum number of diagnostics to keep (default: 100).
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            include_depth: 200,
            includes: 1 << 14,
            source_octets: 64 << 20,
            macro_octets: 16 << 20,
            instance_octets: 64 << 20,
            diagnostics: crate::diagnostic::Diagnostics::DEFAULT_LIMIT,
        }
    }
}
