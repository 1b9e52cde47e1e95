//! `Components::HomeFinder`: finds homes by name, by type and by component type.

use oxorb_core::Interface;

use crate::container::Container;
use crate::home::Home;
use crate::{CcmHomeRef, HomeFinder, HomeNotFound, home_finder};

/// Servant of `Components::HomeFinder` for the homes of some containers. Its initial reference is
/// `ComponentHomeFinder`.
pub struct Homes(Vec<Container>);

impl Homes {
    /// Creates a finder for these containers, searched in this order.
    pub fn of(containers: impl IntoIterator<Item = Container>) -> Self {
        Homes(containers.into_iter().collect())
    }

    fn find<E: From<HomeNotFound>>(
        &self,
        is_it: impl Fn(&Home) -> bool,
    ) -> Result<Option<CcmHomeRef>, E> {
        let mut homes = self.0.iter().flat_map(Container::homes);
        let home = homes.find(|home| is_it(home)).ok_or(HomeNotFound {})?;
        Ok(home.object().map(Interface::unchecked_narrow))
    }
}

impl HomeFinder for Homes {
    fn find_home_by_component_type(
        &self,
        id: &str,
    ) -> Result<Option<CcmHomeRef>, home_finder::FindHomeByComponentTypeError> {
        self.find(|home| home.component_id() == id)
    }

    fn find_home_by_home_type(
        &self,
        id: &str,
    ) -> Result<Option<CcmHomeRef>, home_finder::FindHomeByHomeTypeError> {
        self.find(|home| home.home_id() == id)
    }

    fn find_home_by_name(
        &self,
        name: &str,
    ) -> Result<Option<CcmHomeRef>, home_finder::FindHomeByNameError> {
        self.find(|home| home.name() == name)
    }
}
