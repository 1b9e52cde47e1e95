//! Entry points of the fuzz targets: whatever the octets are, nothing may panic, hang, or exceed the limits.

use core::str;

use crate::{Frame, Header, Inbox, Ior, Limits, Message, Target, Url, describe, parse_reference};

/// Reads `data` as what a peer sends, in reads whose size the first octet chooses; every message in every detail.
pub fn receive(data: &[u8]) {
    let Some((&read, stream)) = data.split_first() else {
        return;
    };
    let limits = Limits {
        max_message: 4 << 10,
        max_partial_octets: 16 << 10,
        ..Limits::default()
    };
    let mut inbox = Inbox::new(&limits);
    for octets in stream.chunks(usize::from(read) + 1) {
        let mut rest = octets;
        while !rest.is_empty() {
            let (buffer, most) = inbox.room();
            let (now, later) = rest.split_at(most.min(rest.len()));
            buffer.extend_from_slice(now);
            rest = later;
            loop {
                match inbox.poll() {
                    Err(violation) => {
                        assert!(!violation.to_string().is_empty());
                        violation.answer();
                        return;
                    }
                    Ok(None) => break,
                    Ok(Some(_)) => examine(inbox.frame()),
                }
            }
        }
        assert!(
            inbox.memory() <= 128 << 10,
            "memory stays within the limits"
        );
    }
}

/// Reads `data` as a stringified reference if it is text, and as the octets of one; explains it; writes it again.
pub fn ior(data: &[u8]) {
    let mut text = String::from("IOR:");
    crate::hex::push(&mut text, data);
    for text in [str::from_utf8(data).unwrap_or_default(), &text] {
        if let Ok(ior) = text.parse::<Ior>() {
            let reference = describe::reference(&ior);
            assert_eq!(reference.profiles.len(), ior.profiles.len());
            assert_eq!(
                ior.to_string().parse().as_ref(),
                Ok(&ior),
                "a reference survives as text"
            );
        }
    }
}

/// Reads `data` as a URL; what can be read can be written and read again.
pub fn corbaloc(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match parse_reference(text) {
        Ok(Url::Corbaloc(url)) => {
            assert_eq!(url.to_string().parse().as_ref(), Ok(&url));
            if let Some(ior) = url.to_ior() {
                assert!(!ior.is_nil());
                assert_eq!(
                    crate::Corbaloc::from_ior(&ior).map(|url| url.key),
                    Some(url.key)
                );
            }
        }
        Ok(Url::Corbaname(url)) => assert_eq!(url.to_string().parse().as_ref(), Ok(&url)),
        Ok(_) => {}
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.to_exception();
        }
    }
}

fn examine(frame: Frame<'_>) {
    assert_eq!(frame.header.total(), frame.bytes.len());
    assert!(frame.bytes.len() >= Header::LEN);
    let Ok(message) = frame.message() else { return };
    let (target, contexts, body) = match message {
        Message::Request(request) => (Some(request.target), Some(request.contexts), request.body),
        Message::Reply(reply) => (None, Some(reply.contexts), reply.body),
        Message::LocateRequest(locate) => (Some(locate.target), None, Header::LEN),
        Message::LocateReply(reply) => (None, None, reply.body),
        _ => (None, None, Header::LEN),
    };
    assert!(body <= frame.bytes.len());
    if let Some(contexts) = contexts {
        assert_eq!(contexts.iter().count(), contexts.len());
    }
    if let Some(target) = target {
        let _ = target.object_key();
        if let Target::Reference { ior, .. } = target {
            let _ = ior.to_ior();
        }
    }
}
