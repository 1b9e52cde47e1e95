//! A client's offer of its connection for requests of the other side.

use oxorb_object::{
    IiopEndpoint, MAX_LISTEN_ADDRESSES, Malformed, ServiceContext, ServiceContexts, context_id,
};
use oxorb_transport::{Link, PeerId};

use crate::reference::PublishedAddress;

/// Largest offer of a client, in octets. Real offers have a few hundred octets.
pub(crate) const MAX_OFFER: usize = 32 << 10;

/// Data of the service contexts that list a client's listening addresses; empty if a context is
/// absent.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// TCP hosts and ports: BI_DIR_IIOP, which every ORB supports.
    iiop: Vec<u8>,
    /// Addresses of other transports: OXORB_LISTEN, which other ORBs ignore.
    others: Vec<u8>,
}

impl Offer {
    /// Returns the offer of a connection to a server: those addresses of this ORB that speak GIOP.
    pub(crate) fn to(server: &dyn Link, published: &[PublishedAddress]) -> Self {
        // Addresses within this host are useless to a server on another host, which would refuse them.
        let here = matches!(server.identity(), PeerId::User { .. } | PeerId::Process);
        let (mut points, mut others) = (Vec::new(), Vec::new());
        for at in published.iter().filter(|at| at.protocol.messaging().is_none()) {
            let transport = at.protocol.transport();
            match transport.listen_point(&at.address) {
                // A server refuses a protected address that is offered over an unprotected connection.
                Some(_) if transport.is_secure() && !server.is_protected() => {}
                Some((host, port)) => points.push(IiopEndpoint { host, port }),
                None if here => others.push(at.address.to_string()),
                None => {}
            }
        }
        others.truncate(MAX_LISTEN_ADDRESSES);
        Self::new(&points, &others)
    }

    /// Returns the offer of a client with these addresses. An empty context is left out, as TAO and omniORB do.
    pub(crate) fn new(points: &[IiopEndpoint], others: &[String]) -> Self {
        let mut offer = Self::default();
        if !points.is_empty() {
            offer.iiop = oxorb_object::listen_points(points);
        }
        if !others.is_empty() {
            offer.others = oxorb_object::listen_addresses(others);
        }
        offer
    }

    /// Returns the size of a request's offer in octets.
    pub(crate) fn octets(contexts: &ServiceContexts<'_>) -> usize {
        data(contexts).iter().map(|data| data.len()).sum()
    }

    /// Returns the offer of a request.
    pub(crate) fn of(contexts: &ServiceContexts<'_>) -> Self {
        let [iiop, others] = data(contexts).map(<[u8]>::to_vec);
        Self { iiop, others }
    }

    /// Reports whether a request makes an offer.
    #[inline]
    pub(crate) fn is_in(contexts: &ServiceContexts<'_>) -> bool {
        let ours = |id| matches!(id, context_id::BI_DIR_IIOP | context_id::OXORB_LISTEN);
        contexts.iter().any(|context| ours(context.id))
    }

    /// Reports whether a request makes this offer.
    pub(crate) fn is(&self, contexts: &ServiceContexts<'_>) -> bool {
        data(contexts) == [&*self.iiop, &*self.others]
    }

    /// Returns the service contexts of the offer.
    pub(crate) fn contexts(&self) -> [Option<ServiceContext<'_>>; 2] {
        [(context_id::BI_DIR_IIOP, &self.iiop), (context_id::OXORB_LISTEN, &self.others)]
            .map(|(id, data)| (!data.is_empty()).then_some(ServiceContext { id, data }))
    }

    /// Decodes the TCP hosts and ports.
    ///
    /// # Errors
    /// The encoding is malformed.
    pub(crate) fn points(&self) -> Result<Vec<IiopEndpoint>, Malformed> {
        match self.iiop.is_empty() {
            true => Ok(Vec::new()),
            false => oxorb_object::parse_listen_points(&self.iiop),
        }
    }

    /// Decodes the addresses of other transports.
    ///
    /// # Errors
    /// The encoding is malformed.
    pub(crate) fn others(&self) -> Result<Vec<String>, Malformed> {
        match self.others.is_empty() {
            true => Ok(Vec::new()),
            false => oxorb_object::parse_listen_addresses(&self.others),
        }
    }
}

fn data<'a>(contexts: &ServiceContexts<'a>) -> [&'a [u8]; 2] {
    [context_id::BI_DIR_IIOP, context_id::OXORB_LISTEN]
        .map(|id| contexts.find(id).map_or(&[][..], |context| context.data))
}
