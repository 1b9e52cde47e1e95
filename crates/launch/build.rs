//! Compiles the interfaces of deployment: the OMG's, DAnCE's and ours; and components for the tests.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files([
            "../../idl/omg/Deployment.idl",
            "../../idl/tao/DAnCE.idl",
            "../../idl/oxorb/deployment.idl",
        ])
        .joined("deployment")
        .runtime("::oxorb_core::__gen")
        .compile()?;
    oxorb_idlgen::Builder::new()
        .file("../../tests/components/idl/avionics.idl")
        .executors(true)
        .compile()
}
