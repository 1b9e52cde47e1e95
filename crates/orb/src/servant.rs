//! Means of servants: answers that are sent later, servants of one thread, and facts about the request.

#[doc(inline)]
pub use oxorb_core::{
    Aliased, Amh, Busy, ClientConnection, ConfinedBy, ConfinedServant, Context, DelegatesTo,
    Detached, DetachedReply, Held, Later, LentArena, NotConfined, NotOneThread, Operations, Raise,
    Rejected, ServedBy, current_connection, escape, request_is_cancelled,
};
