//! Servants that delegate operations to another servant.

/// A servant that leaves the operations of the interface `I` to another servant.
///
/// Generated code implements each servant trait for all types that delegate to it. A servant of a derived interface thus
/// needs the operations of its base written once, in a servant that it holds:
///
/// ```text
/// struct Branch { account: Account }
///
/// impl oxorb::DelegatesTo<dyn bank::Account> for Branch {
///     fn delegate(&self) -> &dyn bank::Account {
///         &self.account
///     }
/// }
///
/// impl bank::Savings for Branch { /* only what `Savings` adds */ }
/// ```
///
/// `docs/mapping.md` shows the whole of it. A call costs one indirection more, and neither allocates nor locks.
pub trait DelegatesTo<I: ?Sized> {
    /// Returns the servant that implements `I`.
    fn delegate(&self) -> &I;
}
