//! Returning proxies to a remote channel.

use oxorb::SystemExceptionKind;

use crate::rtec_event_channel_admin::ProxyPushSupplierRef;
use crate::rtec_event_comm::PushConsumerRef;
use crate::{Filter, asks_for};

/// Disconnects a consumer's proxy, including one that could not be connected. A call to disconnect the latter raises
/// BAD_INV_ORDER, here and in TAO's channel, so that the proxy is first connected with an empty filter. Failures of a
/// channel that no longer exists are ignored.
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
