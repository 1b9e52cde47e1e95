//! The order of definitions: what was announced stands where it is defined.

use super::{DefId, DefKind, Model};

impl Model {
    /// Notes that what was announced is defined now; the front end only.
    pub(crate) fn defined_now(&mut self, id: DefId) {
        self.order[id.0 as usize] = self.clock;
        self.clock += 1;
    }

    /// Returns the key that sorts definitions as they stand in the source.
    pub(crate) fn order(&self, id: DefId) -> u32 {
        self.order[id.0 as usize]
    }

    /// Sorts the definitions of each scope by [`order`](Self::order), once all of them are there;
    /// the front end only.
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
    /// Returns the definitions inside this one, if it is of a kind that has some.
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
