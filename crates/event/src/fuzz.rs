//! Entry points of fuzz targets, which use arbitrary octets as dependencies, events and datagrams.

use std::time::{Duration, Instant};

use oxorb::cdr::{Decode as _, Decoder, Dialect};

use crate::filter::{Filter, Program, Trigger};
use crate::gateway::reassembly::{Reassembly, ReassemblyLimits};
use crate::gateway::{datagram, read_payload};
use crate::rtec_event_channel_admin::ConsumerQos;
use crate::rtec_event_comm::Event;
use crate::{FilterLimits, Syntax};

/// Decodes an encapsulated `ConsumerQOS` and the events that follow it, and applies the filter to the events.
///
/// # Panics
/// Panics if a filter changes when it is written and parsed again, or if its interest excludes an event that it uses.
pub fn filter(octets: &[u8]) {
    let Ok(mut d) = Decoder::encapsulated(octets, Dialect::GIOP_1_2) else {
        return;
    };
    let Ok(qos) = ConsumerQos::decode(&mut d) else {
        return;
    };
    let mut events = Vec::new();
    while events.len() < 64 {
        let Ok(event) = Event::decode(&mut d) else {
            break;
        };
        events.push(event);
    }
    for syntax in [Syntax::Basic, Syntax::Prefix, Syntax::Auto] {
        run(&qos, &events, syntax);
    }
}

fn run(qos: &ConsumerQos, events: &[Event], syntax: Syntax) {
    let limits = FilterLimits::default();
    let Ok(filter) = Filter::parse(&qos.dependencies, syntax, &limits) else {
        return;
    };
    let written = filter.to_dependencies(0);
    if !qos.dependencies.is_empty() {
        assert_eq!(Filter::parse(&written, Syntax::Prefix, &limits), Ok(filter.clone()));
    }
    let program = Program::new(&filter);
    let mut progress = program.progress();
    for (at, event) in events.iter().enumerate() {
        let timer = (at % 5 == 4).then_some(at / 5);
        let trigger = Trigger { event, timer };
        let matched = program.advance(trigger, &mut progress);
        if !program.remembers() {
            assert_eq!(program.accepts(trigger), matched != crate::Matched::No);
        }
    }
}

/// Decodes datagrams of two senders, and complete messages as events. Each datagram is preceded by two octets: its
/// length, and its sender with a pause.
///
/// # Panics
/// Panics if the reassembly uses more memory than its limits permit.
pub fn datagrams(octets: &[u8]) {
    let limits = ReassemblyLimits {
        sources: 1,
        window: 4,
        message: 1_000,
        octets: 2_000,
        ..ReassemblyLimits::default()
    };
    let mut reassembly = Reassembly::new(limits);
    let mut now = Instant::now();
    let mut rest = octets;
    while let [length, how, after @ ..] = rest {
        let (one, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        now += Duration::from_millis(u64::from(how >> 1) * 10);
        let Ok((header, fragment)) = datagram::read(one, how & 1 == 1) else {
            continue;
        };
        let from = ([127, 0, 0, 1], 1 + u16::from(how & 1)).into();
        if let Ok(Some(message)) = reassembly.take(from, &header, fragment, now) {
            assert_eq!(message.len(), header.size as usize);
            let _ = read_payload(&message, header.order);
        }
        assert!(reassembly.held() <= limits.octets);
    }
}
