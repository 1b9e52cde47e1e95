//! Stand-ins for threads with attributes and for the reactor, which models and simulations share. Each of the two has a
//! network of its own: that of a model has no clock, and each wait is a choice of the scheduler; that of a simulation is made
//! of the moments at which octets arrive.

pub(crate) mod attributed;
pub(crate) mod reactor;
