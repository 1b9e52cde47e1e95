//! Servants that delegate operations to another servant.

/// Servant that delegates the operations of the interface `I` to another servant.
///
/// Generated code implements each servant trait for all types that delegate to it. The operations of a base interface
/// are therefore written once, in a servant that the servants of derived interfaces hold:
///
/// ```text
/// struct Branch { account: Account }
///
/// impl oxorb::servant::DelegatesTo<dyn bank::Account> for Branch {
///     fn delegate(&self) -> &dyn bank::Account {
///         &self.account
///     }
/// }
///
/// impl bank::Savings for Branch { /* only what `Savings` adds */ }
/// ```
///
/// `docs/mapping.md` has the complete example. A call costs one more indirection, and neither allocates nor locks.
pub trait DelegatesTo<I: ?Sized> {
    /// Returns the servant that implements `I`.
    fn delegate(&self) -> &I;
}
