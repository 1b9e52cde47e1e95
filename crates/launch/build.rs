//! Compiles the IDL of deployment (the OMG's, DAnCE's and OxORB's) and of naming, and the components of the tests.

fn main() -> Result<(), oxorb_idlgen::Error> {
    facts();
    oxorb_idlgen::Builder::new()
        .files(["idl/omg/Deployment.idl", "idl/tao/DAnCE.idl", "idl/oxorb/deployment.idl"])
        .joined("deployment")
        .runtime("::oxorb_core::__gen")
        .compile()?;
    oxorb_idlgen::Builder::new()
        .file("idl/omg/CosNaming.idl")
        .runtime("::oxorb_core::__gen")
        .compile()?;
    // Only the repository has the components of the tests; a published package does without.
    let tested = std::path::Path::new("../../tests/components/idl/avionics.idl");
    if tested.exists() {
        oxorb_idlgen::Builder::new().file(tested).executors(true).compile()?;
    }
    Ok(())
}

/// Passes properties of the compilation to the crate. Shared libraries record these properties, and are refused if they
/// differ from those of the program that loads them.
fn facts() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = std::process::Command::new(variable("RUSTC")).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let version = version.expect("cargo names the compiler");
    println!("cargo:rustc-env=OXORB_COMPILER={version}");
    println!("cargo:rustc-env=OXORB_TARGET={}", variable("TARGET"));
}
