//! Plain interfaces and valuetypes that components, homes and event types stand for (CORBA 3.3 part 3, chapter 6).

use crate::driver::{Failed, compile_from};
use crate::model::{DefKind, Model};
use crate::options::Options;
use crate::print::Printer;
use crate::source::{Disk, Loader, SourceMap};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Prints the CORBA 2 IDL that a model is equivalent to: the view of a client without component support.
///
/// All other definitions are printed as by [`print()`](crate::print::print). The text includes `Components.idl` if
/// needed.
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let text = b"interface I {}; component C { provides I facet; };";
/// let files = Memory([("a.idl".into(), text.to_vec())].into());
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
/// assert_eq!(
///     oxorb_idl::equivalent::print(&compiled.model),
///     "#include <Components.idl>\n\ninterface I {\n};\n\
///      interface C : ::Components::CCMObject {\n    ::I provide_facet();\n};\n"
/// );
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn print(model: &Model) -> String {
    Printer::new(model, true).text()
}

/// Returns a hash of the output of [`print()`]: equal for IDL that differs only in comments and layout (FNV-1a, 64
/// bits). The hash distinguishes versions, but is not cryptographic.
pub fn hash(model: &Model) -> u64 {
    print(model).bytes().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the equivalent IDL as a model: without components, connectors, homes and port types.
/// Event types are valuetypes that [are events](crate::model::ValueType::event).
///
/// `options` are those that the model was made with; `Components.idl` is the file of this name in the include folders,
/// or else the one built into OxORB.
///
/// # Errors
/// A foreign `Components.idl` lacks definitions that components need.
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let text = b"interface I {}; component C { provides I side; };";
/// let files = Memory([("a.idl".into(), text.to_vec())].into());
/// let options = oxorb_idl::Options::default();
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &options)?;
/// let model = oxorb_idl::equivalent::compile(&compiled.model, &options)?;
/// assert!(model.defs().any(|def| def.scoped_name == "Components::CCMObject"));
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn compile(model: &Model, options: &Options) -> Result<Model, Failed> {
    let options = Options {
        // Macros were expanded when the model was compiled, and must not be applied to the printed text again.
        defines: Vec::new(),
        ..options.clone()
    };
    let text = SourceMap::new(Text(print(model).into_bytes()));
    let mut equivalent = compile_from(text, &[Text::NAME], &options)?.model;
    let is_event = |kind: &DefKind| matches!(kind, DefKind::ValueType(value) if value.event);
    let events = model.defs().filter(|def| is_event(&def.kind));
    let events: BTreeSet<&str> = events.map(|def| &*def.scoped_name).collect();
    let same = equivalent.defs();
    let same = same.filter(|def| events.contains(&*def.scoped_name));
    for id in same.map(|def| def.id).collect::<Vec<_>>() {
        if let DefKind::ValueType(value) = &mut equivalent.def_mut(id).kind {
            value.event = true;
        }
    }
    Ok(equivalent)
}

/// Text in memory that includes files from disk.
struct Text(Vec<u8>);

impl Text {
    const NAME: &str = "equivalent.idl";
}

impl Loader for Text {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path == Path::new(Self::NAME) {
            true => Ok(self.0.clone()),
            false => Disk.load(path),
        }
    }
}
