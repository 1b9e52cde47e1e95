//! Servant of the repository of packages.

use std::sync::Arc;

use oxorb_core::Orb;
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_poa::Poa;

use super::fetch::Remote;
use super::node_event::{NodeEvent, Observer};
use super::packages::{PackageRepository, Refusal};
use crate::idl::deployment as d;
use crate::idl::deployment::repository_manager::{
    CreatePackageError, DeletePackageError, FindPackageByNameError, FindPackageByUuidError,
    InstallPackageError,
};
use crate::idl::ox_deployment as ox;
use crate::idl::ox_deployment::repository_manager::ReadArchiveError;

/// Key of the repository manager of an execution manager.
pub const REPOSITORY_MANAGER: &str = "RepositoryManager";

/// Exception for a package that cannot be read.
const NOT_READ: SystemException =
    SystemException::persist_store(minor::persist_store::NOT_READ, CompletionStatus::No);

/// Exception for a package that cannot be written or deleted.
const NOT_WRITTEN: SystemException =
    SystemException::persist_store(minor::persist_store::NOT_WRITTEN, CompletionStatus::No);

/// Exception for a package that is written or deleted, unless the computer fails.
const UNSURE: SystemException =
    SystemException::persist_store(minor::persist_store::NOT_SYNCED, CompletionStatus::Maybe);

/// Exception while the ORB ends.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

/// Maximum length in octets of a text in a PackageError. The texts contain parts of the request.
const MOST_TEXT: usize = 8_192;

/// `OxDeployment::RepositoryManager`. Without a repository, it is empty and refuses all packages.
pub(super) struct RepositoryManager {
    repository: Option<Arc<PackageRepository>>,
    observer: Observer,
    /// POA whose ORB calls other repositories.
    poa: Poa,
}

impl RepositoryManager {
    pub(super) fn new(
        repository: Option<Arc<PackageRepository>>,
        observer: Observer,
        poa: Poa,
    ) -> RepositoryManager {
        RepositoryManager { repository, observer, poa }
    }

    /// Returns the repository, or the exception for a package from `source`.
    fn repository(&self, source: &str) -> Result<&PackageRepository, d::PackageError> {
        self.repository.as_deref().ok_or_else(|| d::PackageError {
            source: clipped(source),
            reason: "this manager stores no packages: start it with --packages DIR (ExecutionSettings::packages), or \
                     make a plan from the package with `oxorb deploy assemble`, and launch the plan"
                .to_owned(),
        })
    }

    /// Reports a failure of the folder of packages, and returns the exception for the client.
    fn broken(&self, package: &str, reason: String, exception: SystemException) -> SystemException {
        self.observer.tell(&NodeEvent::Repository { package: package.to_owned(), reason });
        exception
    }

    /// Returns the exception for a package that was not installed.
    fn refused<E>(&self, name: &str, source: &str, refusal: Refusal) -> E
    where
        E: From<d::NameExists> + From<d::PackageError> + From<SystemException>,
    {
        match refusal {
            Refusal::NameExists => d::NameExists {}.into(),
            Refusal::Package(reason) => {
                d::PackageError { source: clipped(source), reason: clipped(&reason) }.into()
            }
            Refusal::Store(reason) => self.broken(name, reason, NOT_WRITTEN).into(),
            Refusal::Unsure(reason) => self.broken(name, reason, UNSURE).into(),
        }
    }
}

impl d::RepositoryManager for RepositoryManager {
    fn install_package(
        &self,
        name: &str,
        location: &str,
        replace: bool,
    ) -> Result<(), InstallPackageError> {
        let repository = self.repository(location)?;
        let installed = match Remote::parse(location) {
            None => repository.install(name, location, replace),
            Some(Err(reason)) => Err(Refusal::Package(reason)),
            Some(Ok(remote)) => {
                let orb: Orb = self.poa.orb().ok_or(GONE)?;
                repository.install_fetched(name, &remote, replace, &orb)
            }
        };
        installed.map_err(|refusal| self.refused(name, location, refusal))
    }

    fn create_package(
        &self,
        name: &str,
        package: &d::PackageConfiguration,
        base_location: &str,
        replace: bool,
    ) -> Result<(), CreatePackageError> {
        let repository = self.repository(base_location)?;
        let created = repository.create(name, package, base_location, replace);
        created.map_err(|refusal| self.refused(name, base_location, refusal))
    }

    fn find_package_by_name(
        &self,
        name: &str,
    ) -> Result<d::PackageConfiguration, FindPackageByNameError> {
        let found = match &self.repository {
            Some(repository) => repository.find(name),
            None => Ok(None),
        };
        let found = found.map_err(|reason| self.broken(name, reason, NOT_READ))?;
        found.ok_or_else(|| d::NoSuchName {}.into())
    }

    fn find_package_by_uuid(
        &self,
        uuid: &str,
    ) -> Result<d::PackageConfiguration, FindPackageByUuidError> {
        let found = match &self.repository {
            Some(repository) => repository.find_by_uuid(uuid),
            None => Ok(None),
        };
        let found = found.map_err(|reason| self.broken(uuid, reason, NOT_READ))?;
        found.ok_or_else(|| d::NoSuchName {}.into())
    }

    fn find_names_by_type(&self, of: &str) -> Result<Vec<String>, SystemException> {
        Ok(self.repository.as_ref().map_or_else(Vec::new, |it| it.names_by_type(of)))
    }

    fn get_all_names(&self) -> Result<Vec<String>, SystemException> {
        Ok(self.repository.as_ref().map_or_else(Vec::new, |it| it.names()))
    }

    fn get_all_types(&self) -> Result<Vec<String>, SystemException> {
        Ok(self.repository.as_ref().map_or_else(Vec::new, |it| it.types()))
    }

    fn delete_package(&self, name: &str) -> Result<(), DeletePackageError> {
        let deleted = match &self.repository {
            Some(repository) => repository.delete(name),
            None => Ok(false),
        };
        match deleted {
            Ok(true) => Ok(()),
            Ok(false) => Err(d::NoSuchName {}.into()),
            Err(Refusal::Unsure(reason)) => Err(self.broken(name, reason, UNSURE).into()),
            Err(Refusal::Store(reason) | Refusal::Package(reason)) => {
                Err(self.broken(name, reason, NOT_WRITTEN).into())
            }
            Err(Refusal::NameExists) => Err(NOT_WRITTEN.into()),
        }
    }
}

impl ox::RepositoryManager for RepositoryManager {
    fn read_archive(
        &self,
        name: &str,
        version: &str,
        offset: u64,
    ) -> Result<ox::ArchivePart, ReadArchiveError> {
        let read = match &self.repository {
            Some(repository) => repository.read_part(name, version, offset),
            None => Ok(None),
        };
        let read = read.map_err(|refusal| -> ReadArchiveError {
            match refusal {
                Refusal::Package(reason) => {
                    d::PackageError { source: clipped(name), reason: clipped(&reason) }.into()
                }
                Refusal::Store(reason) | Refusal::Unsure(reason) => {
                    self.broken(name, reason, NOT_READ).into()
                }
                Refusal::NameExists => NOT_READ.into(),
            }
        });
        read?.ok_or_else(|| d::NoSuchName {}.into())
    }
}

/// Returns a prefix of a text, short enough for an exception.
fn clipped(text: &str) -> String {
    match text.floor_char_boundary(MOST_TEXT) {
        end if end < text.len() => format!("{}...", &text[..end]),
        _ => text.to_owned(),
    }
}
