//! Sources of IDL.

use std::path::{Path, PathBuf};

/// Values of `--source`.
pub(crate) const NAMES: &[&str] = &["omniorb", "openjdk", "omg", "ours", "tests"];

/// Files of one origin, and their requirements.
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Folder to which file names are relative.
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) include: Vec<PathBuf>,
    /// Whether the files were written before CORBA 2.3 added keywords and rules. In such files `Factory` is a name, and
    /// `struct Right { string right; }` is valid.
    pub(crate) old: bool,
}

/// Returns the requested sources; all by default.
pub(crate) fn all(root: &Path, wanted: &[String]) -> Result<Vec<Source>, String> {
    let omniorb = PathBuf::from("/usr/share/idl/omniORB");
    let omg = root.join("idl/omg");
    let openjdk = root.join("target/interop/idl");
    let mut sources = vec![
        Source {
            name: "omniorb",
            title: "omniORB (Debian's omniorb-idl)",
            files: below(&omniorb),
            // No Debian package contains IOP.idl; ours is used.
            include: vec![omniorb.clone(), omniorb.join("COS"), omg.clone()],
            folder: omniorb,
            old: true,
        },
        Source {
            name: "openjdk",
            title: "OpenJDK's ORB (of WildFly)",
            files: below(&openjdk),
            // The files include each other by name alone. If two files have one name, that of the OMG is meant.
            include: folders(&openjdk).into_iter().rev().collect(),
            folder: openjdk,
            old: true,
        },
        Source {
            name: "omg",
            title: "OMG's and TAO's services (idl/omg)",
            files: below(&omg),
            include: vec![omg.clone()],
            folder: omg.clone(),
            old: false,
        },
        Source {
            name: "ours",
            title: "services, examples and interop tests",
            files: ["crates", "examples", "benches", "tests/interop"]
                .iter()
                .flat_map(|folder| below(&root.join(folder)))
                // The file `builtin/orb.idl` is built into the front end.
                .filter(|file| !file.ends_with("builtin/orb.idl") && is_direct(file, root))
                .collect(),
            include: vec![omg.clone()],
            folder: root.to_owned(),
            old: false,
        },
        Source {
            name: "tests",
            title: "tests of the compiler",
            files: ["tests/codegen", "tests/idl-ui/ok", "tests/idl-ui/equivalent"]
                .iter()
                .flat_map(|folder| below(&root.join(folder)))
                .filter(|file| !file.parent().is_some_and(|folder| folder.ends_with("inc")))
                .collect(),
            include: vec![root.join("tests/idl-ui"), omg],
            folder: root.join("tests"),
            old: false,
        },
    ];
    sources.retain(|source| wanted.is_empty() || wanted.iter().any(|name| name == source.name));
    for source in &sources {
        if source.files.is_empty() {
            return Err(format!(
                "no IDL file in {} (tests/interop/install-peers.sh installs what is not ours)",
                source.folder.display()
            ));
        }
    }
    Ok(sources)
}

impl Source {
    /// Returns a file's name for reports.
    pub(crate) fn name_of<'f>(&self, file: &'f Path) -> &'f str {
        let short = file.strip_prefix(&self.folder).unwrap_or(file);
        short.to_str().unwrap_or("?")
    }
}

/// Reports whether a path below `root` contains no symbolic link. Crates have links to the IDL that they share.
fn is_direct(path: &Path, root: &Path) -> bool {
    let (Ok(file), Ok(folder)) = (path.canonicalize(), root.canonicalize()) else {
        return false;
    };
    path.strip_prefix(root).is_ok_and(|rest| folder.join(rest) == file)
}

/// Returns the folders that contain IDL.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let files = below(folder);
    let mut folders: Vec<_> = files.iter().filter_map(|file| file.parent()).collect();
    folders.dedup();
    folders.into_iter().map(Path::to_owned).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.extension().is_some_and(|ending| ending == "idl") {
            found.push(path);
        }
    }
    found.sort();
    found
}
