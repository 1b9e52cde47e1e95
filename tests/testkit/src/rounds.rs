//! Number of repetitions in a test.

/// Returns the number of repetitions in a test: `gate` if it has to be quick, `full` if `OXORB_FULL` is set, as in
/// `.ci/full`.
///
/// For tests in which one round shows the behaviour, and further rounds find rare cases.
///
/// ```
/// for round in 0..oxorb_testkit::rounds(20, 1000) {
///     // ... kill one more process: nothing may be left of it ...
/// }
/// ```
pub fn rounds<N>(gate: N, full: N) -> N {
    match std::env::var_os("OXORB_FULL") {
        None => gate,
        Some(_) => full,
    }
}
