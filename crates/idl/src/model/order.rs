//! Order of definitions: a forward-declared definition takes the position of its body.

use super::{DefId, DefKind, Model};

impl Model {
    /// Records that a forward-declared definition is defined now; front end only.
    pub(crate) fn defined_now(&mut self, id: DefId) {
        self.order[id.0 as usize] = self.clock;
        self.clock += 1;
    }

    /// Returns the sort key of a definition for source order.
    pub(crate) fn order(&self, id: DefId) -> u32 {
        self.order[id.0 as usize]
    }

    /// Sorts the definitions of each scope by [`order`](Self::order), once all of them exist; front end only.
    pub(crate) fn sort_members(&mut self) {
        let order = &self.order;
        let sort = |members: &mut Vec<DefId>| members.sort_by_key(|id| order[id.0 as usize]);
        sort(&mut self.roots);
        for def in &mut self.defs {
            def.kind.members_mut().map(sort);
        }
    }
}

impl DefKind {
    /// Returns the definitions inside this one, if its kind can have any.
    pub(crate) fn members_mut(&mut self) -> Option<&mut Vec<DefId>> {
        match self {
            DefKind::Module(module) => Some(&mut module.members),
            DefKind::Interface(interface) => Some(&mut interface.members),
            DefKind::Struct(body) | DefKind::Exception(body) => Some(&mut body.members),
            DefKind::Union(body) => Some(&mut body.members),
            DefKind::ValueType(body) => Some(&mut body.members),
            DefKind::Home(body) => Some(&mut body.members),
            _ => None,
        }
    }
}
