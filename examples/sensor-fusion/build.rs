//! IDL to Rust, with a table of the annotations `@rt`.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new().file("idl/nav.idl").rt_infos(true).compile()
}
