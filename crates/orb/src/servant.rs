//! Means of servants: answers that are sent later, servants of one thread, and facts about the request.

#[doc(inline)]
pub use oxorb_core::{
    Aliased, Amh, ClientConnection, ConfinedBy, ConfinedServant, Context, DelegatesTo,
    DetachedReply, DetachedRequest, HeldReply, LentArena, MainThreadQueueFull, NotConfined,
    NotOneThread, Operations, Rejected, ResponseHandler, ServantError, ServedBy,
    current_connection, escape, request_is_cancelled,
};
