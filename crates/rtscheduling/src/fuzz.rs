//! Entry points of the fuzz targets: no input may cause a panic or a hang.

use crate::{DsrtQos, Fp, Kokyu, Mif, Muf, Scheduler, cancel};

/// Decodes `data` as the scheduling context of a request and as a cancelling context; each decoded
/// context is encoded and decoded again.
pub fn context(data: &[u8]) {
    match DsrtQos::parse(data) {
        Ok(qos) => {
            let mut octets = Vec::new();
            qos.append_to(&mut octets);
            assert_eq!(DsrtQos::parse(&octets).as_ref(), Ok(&qos));
            by(&Kokyu::<Fp>::new(crate::Enforcement::default()), data);
            by(&Kokyu::<Mif>::new(crate::Enforcement::default()), data);
            by(&Kokyu::<Muf>::new(crate::Enforcement::default()), data);
        }
        Err(bad) => assert!(!bad.to_string().is_empty()),
    }
    if let Ok((id, hops)) = cancel::read(data) {
        let mut octets = Vec::new();
        cancel::write(&id, hops, &mut octets);
        assert_eq!(cancel::read(&octets), Ok((id, hops)));
    }
}

fn by<S: Scheduler>(scheduler: &S, data: &[u8]) {
    if let Ok((id, parameter)) = scheduler.read_context(data) {
        let mut octets = Vec::new();
        scheduler.write_context(&id, &parameter, &mut octets);
        assert!(scheduler.read_context(&octets).is_ok());
    }
}
