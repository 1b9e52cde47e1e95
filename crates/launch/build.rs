//! Compiles the interfaces of deployment: the OMG's, DAnCE's and ours.

fn main() -> Result<(), oxorb_idlgen::Error> {
    oxorb_idlgen::Builder::new()
        .files([
            "../../idl/omg/Deployment.idl",
            "../../idl/tao/DAnCE.idl",
            "../../idl/oxorb/deployment.idl",
        ])
        .joined("deployment")
        .runtime("::oxorb_core::__gen")
        .compile()
}
