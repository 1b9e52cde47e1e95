//! Service contexts that interceptors add to a message.

use oxorb_object::{CompletionStatus, ServiceContext, SystemException, minor};

/// Added contexts, with unique ids.
#[derive(Debug, Default)]
pub(super) struct Contexts(Vec<(u32, Vec<u8>)>);

impl Contexts {
    /// Adds a context; replaces one of the same id if `replace`.
    pub(super) fn add(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some(_) if !replace => Err(SystemException::bad_inv_order(
                minor::bad_inv_order::CONTEXT_EXISTS,
                CompletionStatus::No,
            )),
            Some((_, known)) => {
                *known = data;
                Ok(())
            }
            None => {
                self.0.push((id, data));
                Ok(())
            }
        }
    }

    pub(super) fn find(&self, id: u32) -> Option<&[u8]> {
        self.0.iter().find_map(|(known, data)| (*known == id).then_some(&**data))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ServiceContext<'_>> {
        self.0.iter().map(|(id, data)| ServiceContext { id: *id, data })
    }

    pub(super) fn take(&mut self) -> Contexts {
        std::mem::take(self)
    }
}
