//! Oneways with an `@in_place` argument. No caller waits for the servant, which reads the octets where the client wrote
//! them. Further calls of the client do not change these octets.
//!
//! Copied octets are counted for the whole process, both ends together, so the tests that count them run one at a time.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use in_place::{Store, StoreRef};
use oxorb::policy::SyncScope;
use oxorb::values::Octets;
use oxorb::{Interface as _, Orb, Result};
use oxorb_codegen_tests::in_place;
use oxorb_testkit::process::turn;

const OCTETS: usize = 100_000;
/// Number of octets greater than the headers of two messages.
const HEADS: u64 = 4_000;

struct Servant(SyncSender<Octets<'static>>);

impl Store for Servant {
    fn put(&self, _: &str, _: Octets<'_>, _: i16, _: f64) -> Result<i64> {
        Ok(0)
    }
    fn both(&self, _: &[i64], _: Octets<'_>) -> Result<i64> {
        Ok(0)
    }
    fn copied(&self, _: &[u8]) -> Result<i64> {
        Ok(0)
    }
    fn marked_false(&self, _: &[u8]) -> Result<i64> {
        Ok(0)
    }
    fn keep(&self, _: Octets<'_>) -> Result<()> {
        Ok(())
    }
    fn tell(&self, image: Octets<'_>) {
        self.0.send(image.into_owned()).unwrap();
    }
    fn echo<'a>(&'a self, image: Octets<'a>) -> Result<Cow<'a, [u8]>> {
        Ok(image.into_vec().into())
    }
}

fn next(told: &Receiver<Octets<'static>>) -> Octets<'static> {
    told.recv_timeout(Duration::from_secs(20)).unwrap()
}

/// Runs `work` and returns the number of times a payload was copied, by both ends together.
fn copies(work: impl FnOnce()) -> u64 {
    let before = oxorb_sys::shared::copied();
    work();
    let copied = oxorb_sys::shared::copied() - before;
    let payloads = copied / OCTETS as u64;
    let heads = copied - payloads * OCTETS as u64;
    assert!(heads <= HEADS, "{copied} octets");
    payloads
}

#[test]
fn a_oneway_is_read_where_the_client_wrote_it() {
    let _turn = turn();
    for endpoint in ["shm://", "giop-lite+shm://", "giop-lite-rt+shm://"] {
        let server = Orb::builder().listen(endpoint).build().unwrap();
        let client = Orb::builder().build().unwrap();
        let (sender, told) = sync_channel(64);
        let local: StoreRef = server.root_poa().activate(Servant(sender)).unwrap();
        let store: StoreRef = client.resolve(&local.to_ior()).unwrap();
        let room = |store: &StoreRef, octet| {
            let mut room = store.room(OCTETS).unwrap();
            assert!(room.is_in_place(), "{endpoint}");
            room.fill(octet);
            Octets::from(room)
        };
        let is = |image: &Octets<'_>, octet| {
            image.for_each_chunk::<1000>(|chunk| assert!(chunk.iter().all(|seen| *seen == octet)));
            image.len() == OCTETS && image.is_leased()
        };
        store.tell(room(&store, 1)).unwrap();
        assert!(is(&next(&told), 1), "{endpoint}");
        for scope in [SyncScope::WithTransport, SyncScope::WithServer, SyncScope::WithTarget] {
            let store = store.with(scope);
            let mut image = None;
            let copied = copies(|| {
                store.tell(room(&store, 2)).unwrap();
                image = Some(next(&told));
            });
            assert!(is(&image.unwrap(), 2), "{endpoint} {scope:?}");
            assert_eq!(copied, 0, "{endpoint} {scope:?}");
            let copied = copies(|| {
                store.tell((&[3; OCTETS]).into()).unwrap();
                assert!(next(&told).is_leased(), "{endpoint} {scope:?}");
            });
            assert_eq!(copied, 1, "{endpoint} {scope:?}");
        }
        // Kept octets stay unchanged while further ones arrive, which use separate rooms.
        let kept: Vec<_> = (10..14)
            .map(|octet| {
                store.tell(room(&store, octet)).unwrap();
                (next(&told), octet)
            })
            .collect();
        assert!(kept.iter().all(|(image, octet)| is(image, *octet)));
        // Oneways that wait in a buffer of the client are copied there.
        let buffered = store.with(SyncScope::None);
        let copied = copies(|| {
            buffered.tell(room(&store, 4)).unwrap();
            buffered.reference().flush().unwrap();
            assert_eq!(*next(&told).into_vec(), [4; OCTETS]);
        });
        assert!((1..=3).contains(&copied), "{endpoint} {copied}");
        drop(kept);
        for orb in [&client, &server] {
            orb.shutdown(true).unwrap();
        }
    }
}
