//! Admission of work by its processor time, and budgets that hold clients, operations and servants to it.

#[doc(inline)]
pub use oxorb_core::{
    Admission, AdmissionError, AdmissionPlan, AdmissionRequest, BeyondBudget, Budget, BudgetError,
    BudgetOf, BudgetUse, Overrun, OverrunHooks, ProcessorShare, RequestRate,
};
