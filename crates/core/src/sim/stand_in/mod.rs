//! Stand-ins for threads with attributes and for the reactor, shared by models and simulations. Each of the two has its
//! own network: that of a model has no clock, and each wait is a choice of the scheduler; that of a simulation consists
//! of the times at which octets arrive.

pub(crate) mod attributed;
pub(crate) mod reactor;
