//! Means of servants: answers that are sent later, servants of one thread, and facts about the request.
//!
//! [`CoreOrb`] is the ORB as references, servants and interceptors see it; applications have an [`Orb`](crate::Orb).

#[doc(inline)]
pub use oxorb_core::{
    Aliased, Amh, ClientConnection, ConfinedBy, ConfinedServant, Context, DelegatesTo,
    DetachedReply, DetachedRequest, HeldReply, LentArena, MainThreadQueueFull, NotConfined,
    NotOneThread, Operations, Orb as CoreOrb, Rejected, ResponseHandler, ServantError, ServedBy,
    WeakOrb, current_connection, escape, request_is_cancelled,
};
