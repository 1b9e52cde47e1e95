//! Object references as data: IORs, `corbaloc` and `corbaname` URLs, and tagged components.

#[doc(inline)]
pub use oxorb_object::components::DecodedComponent;
#[doc(inline)]
pub use oxorb_object::components::tag::{
    ALTERNATE_IIOP_ADDRESS, CSI_SEC_MECH_LIST, OMNIORB_UNIX, OXORB_SHM_SOCKET, OXORB_SOCKET,
    SSL_SEC_TRANS, TAO_ENDPOINTS,
};
#[doc(inline)]
pub use oxorb_object::corbaloc::Location;
#[doc(inline)]
pub use oxorb_object::{
    CodeSetComponentInfo, Corbaloc, Corbaname, IiopEndpoint, IiopProfile, Ior, Malformed,
    ReferenceError, SocketIdentity, TaggedComponent, TaggedProfile, TlsMechanism, Version,
    describe,
};

use crate::protocols;

/// Returns a reference as `corbaloc:iiop:...`, with the addresses of all protocols that an ORB speaks by default.
/// `None` if the reference has none of these addresses.
pub fn corbaloc(ior: &Ior) -> Option<String> {
    protocols::table().url_of(ior)
}
