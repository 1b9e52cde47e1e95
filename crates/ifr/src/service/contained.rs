//! Operations of all named entries.

use oxorb::Any;

use super::{NO_SUCH, Object};
use crate::corba::{Contained, ContainerRef, RepositoryRef, contained};
use crate::{Named, Repository};

impl Object {
    fn name_of(&self) -> oxorb::Result<&Named> {
        let entry = self.repository().entry(self.id);
        entry.named.as_ref().ok_or(NO_SUCH)
    }
}

impl Contained for Object {
    fn id(&self) -> oxorb::Result<String> {
        Ok(self.name_of()?.id.clone())
    }

    fn name(&self) -> oxorb::Result<String> {
        Ok(self.name_of()?.name.clone())
    }

    fn version(&self) -> oxorb::Result<String> {
        Ok(self.name_of()?.version.clone())
    }

    fn defined_in(&self) -> oxorb::Result<Option<ContainerRef>> {
        self.nilable(self.name_of()?.defined_in)
    }

    fn absolute_name(&self) -> oxorb::Result<String> {
        Ok(self.name_of()?.absolute_name.clone())
    }

    fn containing_repository(&self) -> oxorb::Result<Option<RepositoryRef>> {
        self.nilable(Repository::ROOT)
    }

    fn describe(&self) -> oxorb::Result<contained::Description> {
        let kind = self.kind().definition_kind();
        let value: Any = self.description(self.id)?;
        Ok(contained::Description { kind, value })
    }
}
