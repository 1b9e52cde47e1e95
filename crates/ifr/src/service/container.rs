//! Operations of all entries that contain definitions.

use super::Object;
use crate::corba::{ContainedRef, Container, DefinitionKind, container};

impl Container for Object {
    fn lookup(&self, search_name: &str) -> oxorb::Result<Option<ContainedRef>> {
        let found = self.repository().lookup(self.id, search_name);
        found.map(|id| self.reference(id)).transpose()
    }

    fn contents(
        &self,
        limit_type: DefinitionKind,
        exclude_inherited: bool,
    ) -> oxorb::Result<Vec<Option<ContainedRef>>> {
        let found = self.repository().contents(self.id, limit_type, exclude_inherited);
        self.all(&found)
    }

    fn lookup_name(
        &self,
        search_name: &str,
        levels_to_search: i32,
        limit_type: DefinitionKind,
        exclude_inherited: bool,
    ) -> oxorb::Result<Vec<Option<ContainedRef>>> {
        let found = self.repository().lookup_name(
            self.id,
            search_name,
            levels_to_search,
            limit_type,
            exclude_inherited,
        );
        self.all(&found)
    }

    fn describe_contents(
        &self,
        limit_type: DefinitionKind,
        exclude_inherited: bool,
        max_returned_objs: i32,
    ) -> oxorb::Result<Vec<container::Description>> {
        let found = self.repository().contents(self.id, limit_type, exclude_inherited);
        // The number -1 means no limit.
        let most = usize::try_from(max_returned_objs).unwrap_or(usize::MAX);
        let found = found.into_iter().take(most);
        found
            .map(|id| {
                Ok(container::Description {
                    contained_object: self.nilable(id)?,
                    kind: self.repository().entry(id).kind.definition_kind(),
                    value: self.description(id)?,
                })
            })
            .collect()
    }
}
