//! How often a test does the same.

/// Returns how often a test is to do what it does many times over: `gate` times where it has to be quick, `full` times where
/// `OXORB_FULL` is set, as in `.ci/full`.
///
/// For numbers without a meaning of their own: one round shows the behaviour, and more of them catch what is rare.
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
