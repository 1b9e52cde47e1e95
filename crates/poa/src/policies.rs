//! What a POA promises about its objects.

/// The policies of one POA (CORBA 3.3 part 1, 15.3.8), fixed when it is created.
///
/// The default is that of the specification for a new POA; the root POA differs
/// in [`ImplicitActivation::Yes`].
///
/// ```
/// use oxorb_poa::{IdAssignment, Lifespan, Policies};
///
/// let accounts = Policies {
///     lifespan: Lifespan::Persistent,
///     id_assignment: IdAssignment::User,
///     ..Policies::default()
/// };
/// # let _ = accounts;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policies {
    /// Whether references outlive the process.
    pub lifespan: Lifespan,
    /// Who makes object ids.
    pub id_assignment: IdAssignment,
    /// Whether a servant may incarnate several objects.
    pub id_uniqueness: IdUniqueness,
    /// Whether asking for a servant's reference activates it.
    pub implicit_activation: ImplicitActivation,
}

/// LifespanPolicy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifespan {
    /// References are good as long as this POA lives. Fastest to find.
    #[default]
    Transient,
    /// References are good again after a restart, given the same POA names,
    /// object ids and listening endpoint.
    Persistent,
}

/// IdAssignmentPolicy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdAssignment {
    /// [`Poa::activate`](crate::Poa::activate): the POA makes the id.
    #[default]
    System,
    /// [`Poa::activate_with_id`](crate::Poa::activate_with_id): you do.
    User,
}

/// IdUniquenessPolicy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdUniqueness {
    /// A servant incarnates at most one object of the POA.
    #[default]
    Unique,
    /// A servant may incarnate many.
    Multiple,
}

/// ImplicitActivationPolicy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImplicitActivation {
    /// [`Poa::this`](crate::Poa::this) works for active servants only.
    #[default]
    No,
    /// [`Poa::this`](crate::Poa::this) activates a servant that is not active.
    /// Needs [`IdAssignment::System`].
    Yes,
}

impl Policies {
    /// Those of the root POA.
    pub const ROOT: Policies = Policies {
        lifespan: Lifespan::Transient,
        id_assignment: IdAssignment::System,
        id_uniqueness: IdUniqueness::Unique,
        implicit_activation: ImplicitActivation::Yes,
    };

    /// The name of a policy that contradicts the others (InvalidPolicy).
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        (self.implicit_activation == ImplicitActivation::Yes
            && self.id_assignment == IdAssignment::User)
            .then_some("implicit_activation: Yes needs id_assignment: System")
    }
}
