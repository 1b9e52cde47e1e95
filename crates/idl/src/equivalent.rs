//! Components, homes and event types as the plain interfaces and valuetypes
//! they stand for (CORBA 3.3 part 3, chapter 6).

use crate::model::Model;
use crate::print::Printer;

/// The IDL of CORBA 2 that a model is equivalent to: what a client that knows
/// nothing of components sees.
///
/// Everything else is printed as by [`print`](crate::print::print). The text
/// includes `Components.idl`, where it needs what is defined there.
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
