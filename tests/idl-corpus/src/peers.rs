//! Our copies of the OMG's interfaces beside those of omniORB and JacORB.

use std::path::Path;

use oxorb_idl::diff::{Effect, diff};
use oxorb_idl::{Options, compile};

use crate::report::Report;

/// Differences that have to be: name of the file, of the definition, and why.
const KNOWN: &[(&str, &str, &str)] = &[(
    "CosTransactions.idl",
    "CosTransactions::Current",
    "local since CORBA 3; omniORB's copy is older",
)];

/// Compares all of `idl/omg` with what the others bring.
pub(crate) fn compare(root: &Path, _work: &Path, report: &mut Report) -> Result<(), String> {
    omniorb(root, report)
}

/// Files of the same name: no change from theirs to ours may be seen on the wire.
fn omniorb(root: &Path, report: &mut Report) -> Result<(), String> {
    let theirs = Path::new("/usr/share/idl/omniORB");
    let mut options = Options {
        include_dirs: vec![theirs.to_owned(), theirs.join("COS")],
        // Their copies work around omniidl with it as omniidl itself does.
        defines: vec!["__OMNIIDL__".to_owned(), "__DEFINE_CURRENT__".to_owned()],
        ..Options::default()
    };
    options.lenient.keyword_case = true;
    let folder = root.join("idl/omg");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
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
        let new = compile(&[&ours], &Options::default()).map_err(|failed| failed.to_string())?;
        for change in diff(&old.model, &new.model) {
            // What is included is compared with its own file.
            let own = change.name.strip_prefix(stem.as_str());
            if change.effect < Effect::Wire || !own.is_some_and(|rest| rest.starts_with("::")) {
                continue;
            }
            differences += 1;
            let known = KNOWN
                .iter()
                .any(|(file, def, _)| *file == name && *def == change.name);
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
