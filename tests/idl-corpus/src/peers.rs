//! Comparison of our copies of the OMG's interfaces with those of omniORB and JacORB.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use oxorb_idl::diff::{Effect, diff};
use oxorb_idl::model::{DefKind, Export};
use oxorb_idl::{Options, compile};

use crate::report::Report;

/// Necessary differences: name of the file, of the definition, and the reason.
const KNOWN: &[(&str, &str, &str)] = &[(
    "CosTransactions.idl",
    "CosTransactions::Current",
    "local since CORBA 3; omniORB's copy is older",
)];

/// Interfaces whose operations differ from JacORB's, and the reason.
const KNOWN_OF_JACORB: &[(&str, &str)] = &[
    ("CORBA::InterfaceDef", "ours only stands for references; crates/ifr has the whole one"),
    ("CosTransactions::Current", "JacORB's is older than version 1.4 of the service"),
    ("PortableInterceptor::IORInfo", "JacORB's is that of CORBA 2"),
    ("PortableServer::POAManager", "JacORB's is that of CORBA 2"),
    ("RTCORBA::RTORB", "JacORB's lacks named mutexes"),
];

/// Compares all of `idl/omg` with the files of the other ORBs.
pub(crate) fn compare(root: &Path, report: &mut Report) -> Result<(), String> {
    let folder = root.join("idl/omg");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    omniorb(&files, report)?;
    jacorb(root, &files, report)
}

/// Compares with JacORB, whose jars (and source jars) contain no IDL, but interfaces that its compiler generated from
/// the OMG's: the names of their operations and attributes must be ours.
fn jacorb(root: &Path, files: &[PathBuf], report: &mut Report) -> Result<(), String> {
    let theirs = operations_of_jacorb(&root.join("target/interop/jars"))?;
    let model = compile(files, &Options::default()).map_err(|failed| failed.to_string())?.model;
    let (mut compared, mut differences) = (0, 0);
    for def in model.defs() {
        let DefKind::Interface(interface) = &def.kind else {
            continue;
        };
        let Some(theirs) = theirs.get(&def.scoped_name) else {
            continue;
        };
        compared += 1;
        let names = interface.exports.iter().map(|export| match export {
            Export::Operation(operation) => &operation.name,
            Export::Attribute(attribute) => &attribute.name,
        });
        let ours: BTreeSet<String> =
            names.map(|name| name.trim_start_matches('_').to_owned()).collect();
        if ours == *theirs {
            continue;
        }
        differences += 1;
        if !KNOWN_OF_JACORB.iter().any(|(name, _)| *name == def.scoped_name) {
            let more: Vec<_> = ours.difference(theirs).collect();
            let less: Vec<_> = theirs.difference(&ours).collect();
            report.complain(format!(
                "{}: JacORB's has not {more:?}, and has besides {less:?}",
                def.scoped_name
            ));
        }
    }
    if compared == 0 {
        return Err("no interface of idl/omg is in JacORB's jars".to_owned());
    }
    report.compared.push(format!(
        "{compared} interfaces of idl/omg beside JacORB's: {differences} with known differences"
    ));
    Ok(())
}

/// Returns the operations and attributes of each interface in the jars, by its scoped name in IDL.
fn operations_of_jacorb(jars: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let missing = |what: &dyn std::fmt::Display| {
        format!("{what} (tests/interop/install-peers.sh installs the peers)")
    };
    let jars = ["jacorb", "jacorb-omgapi", "jacorb-services"]
        .map(|name| jars.join(format!("{name}-3.9.jar")));
    let mut classes = Vec::new();
    for jar in &jars {
        if !jar.exists() {
            return Err(missing(&format!("there is no {}", jar.display())));
        }
        let listing = output(Command::new("jar").arg("tf").arg(jar)).map_err(|e| missing(&e))?;
        let names = listing.lines().filter_map(|line| line.strip_suffix("Operations.class"));
        let names = names.filter(|name| name.starts_with("org/omg/"));
        classes.extend(names.map(|name| name.replace('/', ".") + "Operations"));
    }
    let path = std::env::join_paths(&jars).map_err(|error| error.to_string())?;
    let text = output(Command::new("javap").arg("-cp").arg(path).args(&classes));
    let text = text.map_err(|e| missing(&e))?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut open = None;
    for line in text.lines() {
        let words = line.trim().trim_start_matches("public ").trim_start_matches("abstract ");
        if let Some(name) = words.strip_prefix("interface org.omg.") {
            // `CosTrading.LookupOperations extends ..`, and `CosTrading.LookupPackage.XOperations`.
            let name = name.split([' ', '{']).next().unwrap_or_default();
            let name = name.trim_end_matches("Operations").replace("Package.", ".");
            open = Some(name.replace('.', "::"));
            found.entry(name.replace('.', "::")).or_default();
        } else if let (Some(interface), Some((before, _))) = (&open, words.split_once('(')) {
            let name = before.rsplit(' ').next().unwrap_or_default();
            let of = found.entry(interface.clone()).or_default();
            of.insert(name.trim_start_matches('_').to_owned());
        }
    }
    Ok(found)
}

/// Returns the output of a tool.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Compares files of the same name with omniORB's: no difference may affect the wire.
fn omniorb(files: &[PathBuf], report: &mut Report) -> Result<(), String> {
    let theirs = Path::new("/usr/share/idl/omniORB");
    let mut options = Options {
        include_dirs: vec![theirs.to_owned(), theirs.join("COS")],
        // omniidl sets this macro, which enables workarounds for omniidl in these files.
        defines: vec!["__OMNIIDL__".to_owned(), "__DEFINE_CURRENT__".to_owned()],
        ..Options::default()
    };
    options.lenient.keyword_case = true;
    let (mut compared, mut differences) = (0, 0);
    for ours in files {
        let name = ours.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.trim_end_matches(".idl").to_owned();
        let theirs = theirs.join("COS").join(&*name);
        if !theirs.exists() {
            continue;
        }
        compared += 1;
        let old = compile(&[&theirs], &options).map_err(|failed| failed.to_string())?;
        let new = compile(&[ours], &Options::default()).map_err(|failed| failed.to_string())?;
        for change in diff(&old.model, &new.model) {
            // Included definitions are compared with their own file.
            let own = change.name.strip_prefix(stem.as_str());
            if change.effect < Effect::Wire || !own.is_some_and(|rest| rest.starts_with("::")) {
                continue;
            }
            differences += 1;
            let known = KNOWN.iter().any(|(file, def, _)| *file == name && *def == change.name);
            if !known {
                report.complain(format!(
                    "{name} differs from omniORB's: {}: {} ({})",
                    change.name, change.what, change.why
                ));
            }
        }
    }
    report.compared.push(format!(
        "{compared} files of idl/omg beside omniORB's: {differences} known differences on the wire"
    ));
    Ok(())
}
