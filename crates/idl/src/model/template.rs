//! Template modules (CORBA 3.3 part 3, 7; IDL 4.2, 7.4.12).

/// `module T<typename A> { ... }`: its contents exist only in its instances, which are ordinary
/// [modules](super::Module).
#[derive(Debug, Clone, Default)]
pub struct TemplateModule {
    /// Formal parameters as written: `typename A`, `sequence<A> S`.
    pub params: Vec<String>,
}
