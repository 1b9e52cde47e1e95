//! Return of proxies to a remote channel.

use oxorb::SystemExceptionKind;

use crate::rtec_event_channel_admin::ProxyPushSupplierRef;
use crate::rtec_event_comm::PushConsumerRef;
use crate::{Filter, asks_for};

/// Disconnects the proxy of a consumer, even if the proxy was never connected. In OxORB's and in TAO's channel,
/// disconnecting such a proxy raises BAD_INV_ORDER. It is therefore first connected, with an empty filter. Errors are
/// ignored, because the channel may no longer exist.
pub(crate) fn give_back(proxy: &ProxyPushSupplierRef, consumer: &PushConsumerRef) {
    let Err(why) = proxy.disconnect_push_supplier() else {
        return;
    };
    if why.kind == SystemExceptionKind::BadInvOrder
        && let Ok(()) = proxy.connect_push_consumer(Some(consumer), &asks_for(&Filter::NONE))
    {
        let _ = proxy.disconnect_push_supplier();
    }
}
