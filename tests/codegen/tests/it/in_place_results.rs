//! `@in_place` results. Over shared memory, the client reads them where the server wrote them. Over other transports,
//! and if they are small, it gets a copy of the octets.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use in_place::{AmhSource, Missing, Source, SourceRef, source};
use oxorb::servant::Amh;
use oxorb::values::Octets;
use oxorb::{Interface as _, Orb, Result};
use oxorb_codegen_tests::in_place;

struct Servant {
    image: Vec<u8>,
}

/// Size in octets of the largest image.
const MOST: usize = 4 << 20;

fn octet(at: usize) -> u8 {
    (at % 253) as u8
}

fn assert_image(image: &Octets<'_>, octets: usize) {
    let mut at = 0;
    image.for_each_chunk::<1000>(|chunk| {
        let right = chunk.iter().zip(at..).all(|(found, at)| *found == octet(at));
        assert!(right, "from {at} of {octets}");
        at += chunk.len();
    });
    assert_eq!(at, octets);
}

impl Servant {
    fn new() -> Self {
        Self { image: (0..MOST).map(octet).collect() }
    }

    fn part(&self, octets: i32) -> &[u8] {
        &self.image[..octets as usize]
    }
}

impl Source for Servant {
    fn read(&self, octets: i32) -> Result<Octets<'_>> {
        Ok(self.part(octets).into())
    }

    fn copied(&self, octets: i32) -> Result<Cow<'_, [u8]>> {
        Ok(self.part(octets).into())
    }

    fn marked_false(&self, octets: i32) -> Result<Cow<'_, [u8]>> {
        Ok(self.part(octets).into())
    }

    fn all(&self, octets: i32, number: &mut f64) -> Result<(i16, String, Octets<'_>)> {
        *number += 0.5;
        Ok((octets as i16, "x".repeat(octets as usize % 9), self.part(octets).to_vec().into()))
    }

    fn behind(&self, octets: i32) -> Result<(Octets<'_>, String, Cow<'_, [i64]>)> {
        let counts = vec![7; octets as usize];
        Ok((self.part(octets).into(), "between".into(), counts.into()))
    }

    fn two(&self, octets: i32) -> Result<(Cow<'_, [i64]>, Octets<'_>)> {
        Ok((vec![7; octets as usize].into(), self.part(octets).into()))
    }

    fn find<'a>(&'a self, name: &'a str) -> std::result::Result<Octets<'a>, source::FindError> {
        match name {
            "missing" => Err(Missing {}.into()),
            octets => Ok(self.part(octets.parse().unwrap()).into()),
        }
    }

    fn back<'a>(&'a self, image: Octets<'a>) -> Result<Octets<'a>> {
        Ok(image)
    }
}

struct Setting {
    server: Orb,
    client: Orb,
    source: SourceRef,
}

fn setting_with(endpoint: &str, client: &[(&str, &str)]) -> Setting {
    let server = Orb::builder().listen(endpoint).build().unwrap();
    let client =
        client.iter().fold(Orb::builder(), |builder, (name, value)| builder.setting(name, value));
    let client = client.build().unwrap();
    let local: SourceRef = server.root_poa().activate(Servant::new()).unwrap();
    let source = client.resolve(&local.to_ior()).unwrap();
    Setting { server, client, source }
}

fn setting(endpoint: &str) -> Setting {
    setting_with(endpoint, &[])
}

impl Drop for Setting {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

const SHARED: &[(&str, &str)] = &[("ClientConnections", "multiplexed")];

/// Sizes with every remainder, because following values are aligned as if the octets were present.
#[test]
fn a_client_reads_a_large_result_where_the_server_wrote_it() {
    for (endpoint, client) in [
        ("shm://", &[][..]),
        ("shm://", SHARED),
        ("giop-lite+shm://", &[]),
        ("giop-lite-rt+shm://", &[]),
        ("giop-lite-rt+shm://", SHARED),
    ] {
        let setting = setting_with(endpoint, client);
        let source = &setting.source;
        for octets in (20_000..20_009).chain([16 << 10, 1 << 20, 3 << 20]) {
            let image = source.read(octets as i32).unwrap();
            assert!(image.is_leased(), "{octets}");
            assert_image(&image, octets);
            drop(image);
            let mut number = 1.25;
            let (short, name, image) = source.all(octets as i32, &mut number).unwrap();
            assert!(image.is_leased(), "{octets}");
            assert_image(&image, octets);
            assert_eq!((short, name.len()), (octets as i16, octets % 9));
            assert_eq!(number, 1.75);
        }
    }
}

#[test]
fn answers_that_nobody_waits_for_are_read_in_place_as_well() {
    let setting = setting("shm://");
    let source = &setting.source;
    let sizes = [100, 20_000, 300_000];
    let answers = sizes.map(|octets| source.read_async(octets));
    for (answer, octets) in answers.into_iter().zip(sizes) {
        let image = answer.wait().unwrap();
        assert_eq!(image.is_leased(), octets > 100);
        assert_image(&image, octets as usize);
    }
    let (_, _, image, number) = source.all_async(20_001, 0.5).wait().unwrap();
    assert_image(&image, 20_001);
    assert_eq!((image.is_leased(), number), (true, 1.0));
    assert_eq!(source.copied_async(20_001).wait().unwrap().len(), 20_001);
}

#[test]
fn what_is_small_or_not_marked_or_another_result_is_copied() {
    let setting = setting("shm://");
    let source = &setting.source;
    for octets in [0, 1, 100, 4000, 16_000] {
        let image = source.read(octets).unwrap();
        assert!(!image.is_leased());
        assert_image(&image, octets as usize);
    }
    for _ in 0..3 {
        assert_eq!(*source.copied(100_000).unwrap(), *Servant::new().part(100_000));
        assert_eq!(source.marked_false(100_000).unwrap().len(), 100_000);
    }
    let (image, name, counts) = source.behind(20_003).unwrap();
    assert_image(&image, 20_003);
    assert_eq!((image.is_leased(), &*name, &*counts), (true, "between", &[7; 20_003][..]));
    let (counts, image) = source.two(20_003).unwrap();
    assert_image(&image, 20_003);
    assert_eq!((image.is_leased(), &*counts), (false, &[7; 20_003][..]));
    assert_image(&source.find("50000").unwrap(), 50_000);
    let missing = source.find("missing");
    assert!(matches!(missing, Err(source::FindError::Missing(_))), "{missing:?}");
}

#[test]
fn over_other_transports_the_octets_are_the_same() {
    for endpoint in ["iiop://127.0.0.1:0", "uiop://", "shm://|blocks=0"] {
        let setting = setting(endpoint);
        let image = setting.source.read(100_000).unwrap();
        assert_image(&image, 100_000);
        assert!(!image.is_leased(), "{endpoint}");
        let (_, _, image) = setting.source.all(100_000, &mut 0.0).unwrap();
        assert_image(&image, 100_000);
    }
}

#[test]
fn within_the_process_results_are_the_callers_own() {
    let setting = setting("shm://");
    let local: SourceRef = setting.server.resolve(&setting.source.to_ior()).unwrap();
    let image = local.read(100_000).unwrap();
    assert!(!image.is_leased());
    assert_image(&image, 100_000);
    let (_, _, image) = local.all(100_000, &mut 0.0).unwrap();
    assert_image(&image, 100_000);
}

/// Payloads in both directions: the servant returns the octets that it borrows.
#[test]
fn what_is_borrowed_by_the_servant_goes_back() {
    let setting = setting("shm://");
    let servant = Servant::new();
    for octets in [10, 20_000, 2 << 20] {
        let image = setting.source.back(servant.part(octets).into()).unwrap();
        assert_image(&image, octets as usize);
    }
}

/// Blocks that are held are unavailable to the server, which then sends through the ring; the memory outlives the
/// connection and both ORBs.
#[test]
fn leases_that_are_kept_stay_as_they_are_and_nobody_waits_for_them() {
    for client in [&[], SHARED] {
        let setting = setting_with("shm://|blocks=256K", client);
        let kept: Vec<_> =
            (0..20).map(|more| setting.source.read(30_000 + more).unwrap()).collect();
        let leased = kept.iter().filter(|image| image.is_leased()).count();
        assert_eq!(leased, 8, "as many as there is memory");
        drop(setting);
        for (image, octets) in kept.into_iter().zip(30_000..) {
            thread::spawn(move || assert_image(&image, octets)).join().unwrap();
        }
    }
}

/// A dropped lease frees memory for the next reply, on any thread.
#[test]
fn leases_that_are_dropped_are_used_again() {
    let setting = setting("shm://|blocks=64K");
    for _ in 0..100 {
        let image = setting.source.read(60_000).unwrap();
        assert!(image.is_leased());
        thread::spawn(move || drop(image)).join().unwrap();
    }
}

#[test]
fn calls_side_by_side_find_their_own_octets() {
    for client in [&[], SHARED] {
        let setting = setting_with("shm://", client);
        thread::scope(|scope| {
            for thread in 0..4 {
                let source = &setting.source;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for round in 0..50 {
                        let octets = 14_000 + 2_500 * thread + 100 * round;
                        let image = source.read(octets as i32).unwrap();
                        assert_image(&image, octets);
                        kept.push((image, octets));
                        if round % 5 == 4 {
                            for (image, octets) in kept.drain(..) {
                                assert_image(&image, octets);
                            }
                        }
                    }
                });
            }
        });
    }
}

struct Later(Servant);

impl AmhSource for Later {
    fn read(&self, octets: i32, answer: source::ReadAnswer) {
        answer.reply(self.0.part(octets).into());
    }
    fn copied(&self, octets: i32, answer: source::CopiedAnswer) {
        answer.reply(self.0.part(octets).to_vec());
    }
    fn marked_false(&self, octets: i32, answer: source::MarkedFalseAnswer) {
        answer.reply(self.0.part(octets).to_vec());
    }
    fn all(&self, octets: i32, number: f64, answer: source::AllAnswer) {
        answer.reply(0, "later".into(), self.0.part(octets).into(), number);
    }
    fn behind(&self, octets: i32, answer: source::BehindAnswer) {
        answer.reply(self.0.part(octets).into(), String::new(), vec![]);
    }
    fn two(&self, octets: i32, answer: source::TwoAnswer) {
        answer.reply(vec![], self.0.part(octets).into());
    }
    fn find(&self, _: &str, answer: source::FindAnswer) {
        answer.raise(Missing {});
    }
    fn back(&self, image: Octets<'_>, answer: source::BackAnswer) {
        answer.reply(image);
    }
}

#[test]
fn servants_that_answer_later_have_results_in_place() {
    let setting = setting("shm://");
    let later = Amh(Arc::new(Later(Servant::new())));
    let local: SourceRef = setting.server.root_poa().activate(later).unwrap();
    let source: SourceRef = setting.client.resolve(&local.to_ior()).unwrap();
    for octets in [100, 30_000] {
        assert_image(&source.read(octets).unwrap(), octets as usize);
        let (_, name, image) = source.all(octets, &mut 0.0).unwrap();
        assert_eq!(name, "later");
        assert_image(&image, octets as usize);
        let image = source.back(Servant::new().part(octets).into()).unwrap();
        assert_image(&image, octets as usize);
    }
}
