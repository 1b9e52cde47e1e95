//! Giving proxies back to a channel elsewhere.

use oxorb::SystemExceptionKind;

use crate::rtec_event_channel_admin::ProxyPushSupplierRef;
use crate::rtec_event_comm::PushConsumerRef;
use crate::{Filter, asks_for};

/// Disconnects a consumer's proxy, also one to which connecting failed. The latter answers BAD_INV_ORDER and stays, here and
/// in TAO's channel: it is connected to nothing first. A channel that is gone needs no answer.
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
