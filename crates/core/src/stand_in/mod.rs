//! What models and simulations put in place of threads with attributes and of a reactor that waits for descriptors. Their
//! networks are two, because they answer different questions: one has no clock, and each wait there is a choice of the
//! scheduler; the other is made of moments at which octets arrive.

pub(crate) mod attributed;
pub(crate) mod reactor;
