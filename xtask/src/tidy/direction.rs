//! Permitted dependencies of packages: the rows of `layers.toml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Package};

use super::Finding;

/// Packages that a package may use, directly or indirectly.
#[derive(serde::Deserialize)]
struct Layer {
    uses: Vec<String>,
    why: String,
}

static LAYERS: LazyLock<BTreeMap<String, Layer>> =
    LazyLock::new(|| toml::from_str(include_str!("../../layers.toml")).expect("tables of rows"));

/// Prefix of packages that share a row, unless they have their own.
const EXAMPLE: &str = "oxorb-example-";

/// Package that applications use.
const FACADE: &str = "oxorb";

/// Packages that the facade re-exports whole, as modules.
const SHOWN_WHOLE: &[&str] = &["oxorb-component", "oxorb-dynamic", "oxorb-launch"];

/// Packages that any package may use in its tests.
const TESTS: &[&str] = &["oxorb-testkit", "oxorb-conformance"];

/// Packages that build scripts may use: they may only compile IDL.
const BUILD: &[&str] = &["oxorb-idlgen"];

/// Checks every edge between packages of the workspace.
pub(super) fn check(workspace: &Path, packages: &[Package]) -> Vec<Finding> {
    let ours: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let edges = package.dependencies.iter();
        let edges = edges.filter(|edge| ours.contains(&edge.name.as_str()));
        for edge in edges {
            if let Err(why) = allowed(&package.name, &edge.name, edge.kind) {
                let manifest = package.manifest_path.as_std_path();
                let file = manifest.strip_prefix(workspace).unwrap_or(manifest);
                let file = file.display().to_string();
                let what = format!("{} must not depend on {}: {why}", package.name, edge.name);
                findings.push(Finding::error(&file, None, what));
            }
        }
    }
    findings
}

/// Checks whether `user` may depend on `used`; returns the violated rule if not.
fn allowed(user: &str, used: &str, kind: DependencyKind) -> Result<(), &'static str> {
    let Some(layer) = layer(user) else {
        return Err("it has no row in xtask/layers.toml yet");
    };
    let fine = match kind {
        DependencyKind::Build => BUILD.contains(&used),
        // Tests may also use the packages below the tested one, the testkit and the compiler. If the facade does not
        // depend on the tested package, or re-exports it whole, its tests may use the facade like applications.
        DependencyKind::Development => {
            layer.uses(used)
                || TESTS.contains(&used)
                || BUILD.contains(&used)
                || used == FACADE && (SHOWN_WHOLE.contains(&user) || !reaches(FACADE, user))
                || layer.uses.iter().any(|next| reaches(next, used))
        }
        _ => layer.uses(used),
    };
    if fine { Ok(()) } else { Err(&layer.why) }
}

fn reaches(user: &str, used: &str) -> bool {
    layer(user).is_some_and(|layer| {
        let mut uses = layer.uses.iter();
        uses.any(|next| next == used || reaches(next, used))
    })
}

fn layer(package: &str) -> Option<&'static Layer> {
    let shared = || package.starts_with(EXAMPLE).then(|| LAYERS.get("oxorb-example-*")).flatten();
    LAYERS.get(package).or_else(shared)
}

impl Layer {
    fn uses(&self, package: &str) -> bool {
        self.uses.iter().any(|used| used == package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_transport_never_see_each_other() {
        let normal = DependencyKind::Normal;
        assert!(allowed("oxorb-giop", "oxorb-transport", normal).is_err());
        assert!(allowed("oxorb-transport", "oxorb-giop", normal).is_err());
        assert_eq!(allowed("oxorb-core", "oxorb-giop", normal), Ok(()));
        assert_eq!(allowed("oxorb-core", "oxorb-transport", normal), Ok(()));
    }

    #[test]
    fn the_vocabulary_names_no_messages_and_the_object_adapter_and_the_facade_need_none() {
        let normal = DependencyKind::Normal;
        assert!(allowed("oxorb-object", "oxorb-giop", normal).is_err());
        assert!(allowed("oxorb-object", "oxorb-giop", DependencyKind::Development).is_err());
        assert_eq!(allowed("oxorb-giop", "oxorb-object", normal), Ok(()));
        assert!(allowed("oxorb-poa", "oxorb-giop", normal).is_err());
        assert!(allowed("oxorb", "oxorb-giop", normal).is_err());
    }

    #[test]
    fn core_does_not_know_the_object_adapter() {
        assert!(allowed("oxorb-core", "oxorb-poa", DependencyKind::Normal).is_err());
        assert!(allowed("oxorb-core", "oxorb-poa", DependencyKind::Development).is_err());
    }

    #[test]
    fn the_compiler_never_touches_the_run_time() {
        assert!(allowed("oxorb-idlgen", "oxorb-cdr", DependencyKind::Normal).is_err());
        assert!(allowed("oxorb", "oxorb-idl", DependencyKind::Normal).is_err());
        assert_eq!(allowed("oxbench", "oxorb-idlgen", DependencyKind::Build), Ok(()));
    }

    #[test]
    fn tests_reach_down_but_not_up() {
        let tests = DependencyKind::Development;
        assert_eq!(allowed("oxorb-cdr", "oxorb-testkit", tests), Ok(()));
        assert_eq!(allowed("oxorb-codegen-tests", "oxorb-cdr", tests), Ok(()));
        assert!(allowed("oxorb-cdr", "oxorb-giop", tests).is_err());
        assert!(allowed("oxorb-poa", "oxorb", tests).is_err());
        assert_eq!(allowed("oxorb-dynamic", "oxorb", tests), Ok(()));
    }

    #[test]
    fn a_new_package_needs_a_row() {
        let why = allowed("oxorb-new", "oxorb-cdr", DependencyKind::Normal).unwrap_err();
        assert!(why.contains("no row"));
    }

    #[test]
    fn an_example_is_an_application() {
        let normal = DependencyKind::Normal;
        assert_eq!(allowed("oxorb-example-bank", "oxorb", normal), Ok(()));
        assert!(allowed("oxorb-example-bank", "oxorb-core", normal).is_err());
    }

    #[test]
    fn layers_have_no_cycle() {
        for package in LAYERS.keys() {
            assert!(!reaches(package, package), "{package}");
        }
    }
}
