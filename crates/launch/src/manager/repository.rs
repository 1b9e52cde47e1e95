//! The repository of packages. It is always empty, because plans are created from packages before they are launched.

use oxorb_object::SystemException;

use crate::idl::deployment as d;
use crate::idl::deployment::repository_manager::{
    CreatePackageError, DeletePackageError, FindPackageByNameError, FindPackageByUuidError,
    InstallPackageError,
};

/// Key of the repository manager of an execution manager.
pub const REPOSITORY_MANAGER: &str = "RepositoryManager";

/// An empty `Deployment::RepositoryManager`, which refuses all packages.
pub(super) struct RepositoryManager;

/// Returns the exception for a package that a client tries to install.
fn refused(source: &str) -> d::PackageError {
    d::PackageError {
        source: source.to_owned(),
        reason: "packages are not kept here: make a plan of the package with `oxorb deploy assemble`, and launch that"
            .to_owned(),
    }
}

impl d::RepositoryManager for RepositoryManager {
    fn install_package(&self, _: &str, location: &str, _: bool) -> Result<(), InstallPackageError> {
        Err(refused(location).into())
    }

    fn create_package(
        &self,
        _: &str,
        _: &d::PackageConfiguration,
        base_location: &str,
        _: bool,
    ) -> Result<(), CreatePackageError> {
        Err(refused(base_location).into())
    }

    fn find_package_by_name(
        &self,
        _: &str,
    ) -> Result<d::PackageConfiguration, FindPackageByNameError> {
        Err(d::NoSuchName {}.into())
    }

    fn find_package_by_uuid(
        &self,
        _: &str,
    ) -> Result<d::PackageConfiguration, FindPackageByUuidError> {
        Err(d::NoSuchName {}.into())
    }

    fn find_names_by_type(&self, _: &str) -> Result<Vec<String>, SystemException> {
        Ok(Vec::new())
    }

    fn get_all_names(&self) -> Result<Vec<String>, SystemException> {
        Ok(Vec::new())
    }

    fn get_all_types(&self) -> Result<Vec<String>, SystemException> {
        Ok(Vec::new())
    }

    fn delete_package(&self, _: &str) -> Result<(), DeletePackageError> {
        Err(d::NoSuchName {}.into())
    }
}
