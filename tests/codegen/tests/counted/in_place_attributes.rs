//! `@in_place` attributes, and answers that reply handlers read where the server wrote them.
//!
//! Copied octets are counted for the whole process, both ends together, so the tests that count them run one at a time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use oxorb::client::ReplyTo;
use oxorb::policy::LargePayloads;
use oxorb::servant::Amh;
use oxorb::values::{Octets, ValueLink};
use oxorb::{Interface as _, Orb, Result, SystemException};
use oxorb_codegen_tests::album::albums::album::{
    CoverAnswer, PictureAnswer, PlainAnswer, ReadAnswer, SetPictureAnswer, SetPlainAnswer,
    SetUnmarkedAnswer, UnmarkedAnswer, WriteAnswer,
};
use oxorb_codegen_tests::album::albums::{
    Album, AlbumRef, AmhAlbum, AmiAlbumHandler, AmiAlbumHandlerRef,
};
use oxorb_codegen_tests::album::messaging::{ExceptionHolder, ReplyHandler};
use oxorb_testkit::process::{Turn, turn};

const OCTETS: usize = 100_000;
/// Number of octets greater than the headers and small arguments of a few calls and their replies.
const HEADS: u64 = 8_000;

struct Servant {
    picture: Vec<u8>,
    /// Length and last octet of the last value set, and whether it was read where the client wrote it.
    set: Mutex<(usize, u8, bool)>,
}

impl Servant {
    fn new() -> Self {
        Self { picture: (0..OCTETS).map(|at| (at % 251) as u8).collect(), set: Mutex::default() }
    }

    fn keep(&self, value: &Octets<'_>) {
        let mut last = [0];
        value.copy_to(value.len() - 1, &mut last);
        *self.set.lock().unwrap() = (value.len(), last[0], value.is_leased());
    }
}

impl Album for Servant {
    fn picture(&self) -> Result<Octets<'_>> {
        Ok((&self.picture).into())
    }
    fn set_picture(&self, value: Octets<'_>) -> Result<()> {
        self.keep(&value);
        Ok(())
    }
    fn cover(&self) -> Result<Octets<'_>> {
        Ok(self.picture.clone().into())
    }
    fn plain(&self) -> Result<std::borrow::Cow<'_, [u8]>> {
        Ok((&self.picture).into())
    }
    fn set_plain(&self, value: &[u8]) -> Result<()> {
        self.keep(&value.into());
        Ok(())
    }
    fn unmarked(&self) -> Result<std::borrow::Cow<'_, [u8]>> {
        Ok((&self.picture).into())
    }
    fn set_unmarked(&self, value: &[u8]) -> Result<()> {
        self.keep(&value.into());
        Ok(())
    }
    fn read(&self, octets: i32) -> Result<(Octets<'_>, String, Octets<'_>)> {
        let part = &self.picture[..octets as usize];
        Ok((part.into(), "name".to_owned(), part.into()))
    }
    fn write(&self, image: Octets<'_>) -> Result<()> {
        self.keep(&image);
        Ok(())
    }
}

/// Handler that reports the operation, the number of octets, the last one, and whether they were read where they were
/// written.
struct Told(Mutex<Sender<String>>);

impl Told {
    fn new() -> (Arc<Self>, Receiver<String>) {
        let (sender, told) = channel();
        (Arc::new(Self(Mutex::new(sender))), told)
    }

    fn note(&self, what: String) -> Result<()> {
        self.0.lock().unwrap().send(what).unwrap();
        Ok(())
    }

    fn came(&self, what: &str, octets: &Octets<'_>) -> Result<()> {
        let mut last = [0];
        octets.copy_to(octets.len() - 1, &mut last);
        self.note(format!("{what} {} {} {}", octets.len(), last[0], octets.is_leased()))
    }

    fn failed(&self, holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        let holder = holder.get().expect("not null");
        self.note(SystemException::from(&*holder).to_string())
    }
}

impl ReplyHandler for Told {}

impl AmiAlbumHandler for Told {
    fn get_picture(&self, ami_return_val: Octets<'_>) -> Result<()> {
        self.came("picture", &ami_return_val)
    }
    fn get_picture_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn set_picture(&self) -> Result<()> {
        self.note("set".to_owned())
    }
    fn set_picture_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn get_cover(&self, ami_return_val: Octets<'_>) -> Result<()> {
        self.came("cover", &ami_return_val)
    }
    fn get_cover_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn get_plain(&self, ami_return_val: &[u8]) -> Result<()> {
        self.came("plain", &ami_return_val.into())
    }
    fn get_plain_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn set_plain(&self) -> Result<()> {
        self.note("set".to_owned())
    }
    fn set_plain_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn get_unmarked(&self, ami_return_val: &[u8]) -> Result<()> {
        self.came("unmarked", &ami_return_val.into())
    }
    fn get_unmarked_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn set_unmarked(&self) -> Result<()> {
        self.note("set".to_owned())
    }
    fn set_unmarked_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn read(&self, ami_return_val: Octets<'_>, name: &str, again: Octets<'_>) -> Result<()> {
        let text = format!("read {name} {} {}", again.len(), again.is_leased());
        self.came(&text, &ami_return_val)
    }
    fn read_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
    fn write(&self) -> Result<()> {
        self.note("written".to_owned())
    }
    fn write_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed(excep_holder)
    }
}

struct Setting {
    server: Orb,
    client: Orb,
    servant: Arc<Servant>,
    album: AlbumRef,
    _turn: Turn,
}

fn setting(endpoint: &str) -> Setting {
    let turn = turn();
    let server = Orb::builder().listen(endpoint).build().unwrap();
    let client = Orb::builder().build().unwrap();
    let servant = Arc::new(Servant::new());
    let local: AlbumRef = server.root_poa().activate(Arc::clone(&servant)).unwrap();
    let album = client.resolve(&local.to_ior()).unwrap();
    Setting { server, client, servant, album, _turn: turn }
}

impl Setting {
    fn set(&self) -> (usize, u8, bool) {
        std::mem::take(&mut *self.servant.set.lock().unwrap())
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

/// Returns the number of times a payload was copied.
fn copies(work: impl FnOnce()) -> u64 {
    let before = oxorb_sys::shared::copied();
    work();
    let copied = oxorb_sys::shared::copied() - before;
    let payloads = copied / OCTETS as u64;
    assert!(copied - payloads * OCTETS as u64 <= HEADS, "{copied} octets");
    payloads
}

const LAST: u8 = ((OCTETS - 1) % 251) as u8;

fn assert_picture(image: &Octets<'_>, leased: bool) {
    let mut at = 0;
    image.for_each_chunk::<1000>(|chunk| {
        let right = chunk.iter().zip(at..).all(|(octet, at)| *octet == (at % 251) as u8);
        assert!(right, "from {at} on");
        at += chunk.len();
    });
    assert_eq!((at, image.is_leased()), (OCTETS, leased));
}

#[test]
fn attributes_are_read_and_set_where_the_other_side_wrote_them() {
    let setting = setting("shm://");
    let (album, image) = (&setting.album, vec![9; OCTETS]);
    album.set_picture((&image).into()).unwrap(); // the connection is there
    let get = copies(|| drop(album.picture().unwrap()));
    assert_eq!(get, 1, "by the server alone");
    assert_picture(&album.picture().unwrap(), true);
    assert_picture(&album.cover().unwrap(), true);
    assert_picture(&album.picture_async().wait().unwrap(), true);
    let set = copies(|| album.set_picture((&image).into()).unwrap());
    assert_eq!((set, setting.set()), (1, (OCTETS, 9, true)));
    let set = copies(|| {
        let mut room = album.room(OCTETS).unwrap();
        room.fill(3);
        album.set_picture(room.into()).unwrap();
    });
    assert_eq!(set, 0, "of the payload");
    assert_eq!(setting.set(), (OCTETS, 3, true));
    let set = copies(|| album.set_picture_async((&image).into()).wait().unwrap());
    assert_eq!((set, setting.set()), (1, (OCTETS, 9, true)));
    // Without the annotation, or with FALSE, both sides copy.
    assert_eq!(copies(|| album.set_plain(&image).unwrap()), 2);
    assert_eq!(copies(|| album.set_unmarked(&image).unwrap()), 2);
    assert_eq!(copies(|| assert_eq!(album.plain().unwrap().len(), OCTETS)), 2);
    assert!(!setting.set().2);
    // A client that copies has its own results.
    let copying = album.with(LargePayloads::Copied);
    copying.picture().unwrap();
    assert_eq!(copies(|| assert_picture(&copying.picture().unwrap(), false)), 2);
    assert_picture(&copying.picture_async().wait().unwrap(), false);
    let (_, _, again) = copying.read(30_000).unwrap();
    assert!(!again.is_leased());
    let single = album.with(LargePayloads::SingleCopy);
    assert_eq!(copies(|| drop(single.picture().unwrap())), 1);
}

#[test]
fn over_other_transports_attributes_are_the_same() {
    for endpoint in ["iiop://127.0.0.1:0", "uiop://", "shm://|blocks=0"] {
        let setting = setting(endpoint);
        assert_picture(&setting.album.picture().unwrap(), false);
        assert_picture(&setting.album.cover_async().wait().unwrap(), false);
        setting.album.set_picture((&[5; OCTETS]).into()).unwrap();
        assert_eq!(setting.set(), (OCTETS, 5, false), "{endpoint}");
        let local: AlbumRef = setting.server.resolve(&setting.album.to_ior()).unwrap();
        assert_picture(&local.picture().unwrap(), false);
        local.set_picture((&[6; OCTETS]).into()).unwrap();
        assert_eq!(setting.set(), (OCTETS, 6, false));
    }
}

#[test]
fn a_reply_handler_reads_where_the_server_wrote() {
    let setting = setting("shm://");
    let album = &setting.album;
    let (handler, told) = Told::new();
    let to = || ReplyTo::Local(handler.clone() as Arc<dyn AmiAlbumHandler>);
    album.sendc_get_picture(to());
    let first = told.recv().unwrap();
    assert_eq!(first, format!("picture {OCTETS} {LAST} true"));
    // The handler copies one octet; the next call begins when the handler has finished.
    let get = copies(|| {
        album.sendc_get_cover(to());
        assert_eq!(told.recv().unwrap(), format!("cover {OCTETS} {LAST} true"));
    });
    assert_eq!(get, 1, "by the server alone");
    album.sendc_read(to(), 30_000);
    let last = (29_999 % 251) as u8;
    assert_eq!(told.recv().unwrap(), format!("read name 30000 false 30000 {last} true"));
    album.sendc_get_plain(to());
    assert_eq!(told.recv().unwrap(), format!("plain {OCTETS} {LAST} false"));
    let image = vec![8; OCTETS];
    let set = copies(|| {
        album.sendc_set_picture(to(), (&image).into());
        assert_eq!(told.recv().unwrap(), "set");
    });
    assert_eq!((set, setting.set()), (1, (OCTETS, 8, true)));
    album.sendc_write(to(), album.room(OCTETS).unwrap().into());
    assert_eq!(told.recv().unwrap(), "written");
    assert!(setting.set().2);
    // A client that copies makes its handlers copy, too.
    album.with(LargePayloads::Copied).sendc_get_picture(to());
    assert_eq!(told.recv().unwrap(), format!("picture {OCTETS} {LAST} false"));
}

/// A handler that keeps no octets returns each block; a handler object is called with the octets.
#[test]
fn reply_handlers_of_all_kinds_get_the_octets() {
    for (endpoint, leased) in [
        ("shm://|blocks=256K", true),
        ("giop-lite+shm://|blocks=256K", true),
        ("iiop://127.0.0.1:0", false),
        ("uiop://", false),
        ("shm://|blocks=0", false),
    ] {
        let setting = setting(endpoint);
        let (handler, told) = Told::new();
        for _ in 0..20 {
            let to = handler.clone() as Arc<dyn AmiAlbumHandler>;
            setting.album.sendc_get_picture(ReplyTo::Local(to));
            let picture = format!("picture {OCTETS} {LAST} {leased}");
            assert_eq!(told.recv().unwrap(), picture, "{endpoint}");
        }
        let object: AmiAlbumHandlerRef = setting.client.root_poa().activate(handler).unwrap();
        setting.album.sendc_get_picture(ReplyTo::Object(object.clone()));
        let text = told.recv().unwrap();
        assert!(text.starts_with(&format!("picture {OCTETS} {LAST} ")), "{text}");
        // Failures are passed to the handler, too.
        let nobody = setting.client.string_to_object("corbaloc::127.0.0.1:1/x");
        let nobody = AlbumRef::from_ref(nobody.unwrap().reference().clone());
        nobody.sendc_get_picture(ReplyTo::Object(object));
        let text = told.recv().unwrap();
        assert!(text.contains("TRANSIENT"), "{text}");
    }
}

struct Later;

impl AmhAlbum for Later {
    fn picture(&self, answer: PictureAnswer) {
        answer.reply((&Servant::new().picture).into());
    }
    fn set_picture(&self, value: Octets<'_>, answer: SetPictureAnswer) {
        assert_eq!(value.len(), OCTETS);
        answer.reply();
    }
    fn cover(&self, answer: CoverAnswer) {
        answer.reply(Servant::new().picture.into());
    }
    fn plain(&self, answer: PlainAnswer) {
        answer.reply(Vec::new());
    }
    fn set_plain(&self, _: &[u8], answer: SetPlainAnswer) {
        answer.reply();
    }
    fn unmarked(&self, answer: UnmarkedAnswer) {
        answer.reply(Vec::new());
    }
    fn set_unmarked(&self, _: &[u8], answer: SetUnmarkedAnswer) {
        answer.reply();
    }
    fn read(&self, _: i32, answer: ReadAnswer) {
        answer.reply((&[1; 3]).into(), String::new(), (&[]).into());
    }
    fn write(&self, _: Octets<'_>, answer: WriteAnswer) {
        answer.reply();
    }
}

#[test]
fn servants_that_answer_later_have_attributes_in_place() {
    let setting = setting("shm://");
    let later = Amh(Arc::new(Later));
    let local: AlbumRef = setting.server.root_poa().activate(later).unwrap();
    let album: AlbumRef = setting.client.resolve(&local.to_ior()).unwrap();
    assert_picture(&album.picture().unwrap(), true);
    assert_picture(&album.cover().unwrap(), true);
    album.set_picture((&[1; OCTETS]).into()).unwrap();
}
