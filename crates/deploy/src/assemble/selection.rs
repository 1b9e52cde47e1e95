//! Selection of an implementation by the requirements of a part and the capabilities of
//! implementations.

use crate::model::basic::{Property, Requirement, SatisfierProperty, SatisfierPropertyKind};
use crate::model::package::Capability;

/// Reports whether capabilities meet a requirement: one of its type has all required properties.
pub(super) fn meets(capabilities: &[Capability], wanted: &Requirement) -> bool {
    capabilities.iter().any(|one| {
        one.resource_type.contains(&wanted.resource_type)
            && wanted.property.iter().all(|property| {
                let mut offered = one.property.iter();
                offered.any(|offer| offer.name == property.name && satisfies(offer, property))
            })
    })
}

/// Returns the maximum number of comparisons for a selection.
pub(super) fn comparisons(capabilities: &[Capability], wanted: &[&Requirement]) -> usize {
    let offers = capabilities.iter().map(|one| 1 + one.resource_type.len() + one.property.len());
    let demands = wanted.iter().map(|one| 1 + one.property.len());
    offers.sum::<usize>().saturating_mul(demands.sum())
}

fn satisfies(offer: &SatisfierProperty, wanted: &Property) -> bool {
    let numbers = (offer.value.as_number(), wanted.value.as_number());
    match (offer.kind, numbers) {
        (SatisfierPropertyKind::Minimum, (Some(offer), Some(wanted))) => wanted >= offer,
        (
            SatisfierPropertyKind::Maximum
            | SatisfierPropertyKind::Capacity
            | SatisfierPropertyKind::Quantity,
            (Some(offer), Some(wanted)),
        ) => wanted <= offer,
        _ => offer.value.data == wanted.value.data,
    }
}
