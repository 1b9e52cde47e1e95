//! Operations of paper 3's Table 1: two criticalities, four rates, 18 ms each, 129.6 % of a
//! processor.

use crate::error::Error;
use crate::level::{Criticality, Importance};
use crate::repository::{Characteristics, Repository};
use crate::time::{MILLISECOND, Nanos, SECOND};

/// Frame of the simulation: one second from the critical instant (paper 3, 4.1).
pub const FRAME: Nanos = SECOND;

/// Returns a repository with the eight operations, in the order of the table.
///
/// # Errors
/// No error occurs in practice: the operations are valid.
pub fn operations() -> Result<Repository, Error> {
    let mut repository = Repository::new();
    for (level, criticality, importance) in
        [("low", Criticality::Low, Importance::High), ("high", Criticality::High, Importance::Low)]
    {
        for rate in [1, 5, 10, 20] {
            let handle = repository.create(&format!("{level}_{rate}"))?;
            let said = Characteristics {
                criticality,
                importance,
                worst_case: 18 * MILLISECOND,
                typical: 18 * MILLISECOND,
                period: SECOND / rate,
                threads: 1,
                ..Characteristics::default()
            };
            repository.set(handle, said)?;
        }
    }
    Ok(repository)
}
