//! Recordings: complete ones are read as they were written, those that are cut off are read up to their end, and
//! hostile ones within limits.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use oxorb_event::recording::{
    CDR, Ending, Playback, PlaybackLimits, Recorder, RecordingError, Schema, Topic, cdr_header,
    fuzz,
};
use oxorb_testkit::alloc::allocations;
use proptest::prelude::*;

/// A message that a test writes: topic, log time, publish time and octets.
type Written = (usize, u64, u64, Vec<u8>);

fn topic(name: &str) -> Topic {
    Topic {
        name: name.to_owned(),
        encoding: CDR.to_owned(),
        schema: Some(Schema::idl(
            "Plant::Level",
            "module Plant { struct Level { long value; }; };",
        )),
        metadata: BTreeMap::from([("type".to_owned(), name.len().to_string())]),
    }
}

/// Returns a file, and its length and the number of messages written after each flush.
fn record(messages: &[Written], flush_every: usize) -> (Vec<u8>, Vec<(usize, usize)>) {
    let mut recorder = Recorder::new(Tell(Cursor::new(Vec::new()))).unwrap();
    let mut flushed = vec![(LENGTH.get(), 0)];
    for (at, (name, log_time, publish_time, data)) in messages.iter().enumerate() {
        let id = recorder.topic(&topic(NAMES[*name])).unwrap();
        let parts: [&[u8]; 2] = [&cdr_header(true), data];
        recorder.write(id, *log_time, *publish_time, &parts).unwrap();
        if (at + 1) % flush_every == 0 {
            recorder.flush().unwrap();
            flushed.push((LENGTH.get(), at + 1));
        }
    }
    (recorder.finish().unwrap().0.into_inner(), flushed)
}

const NAMES: [&str; 3] = ["/a", "/plant/level", "/plant/level/inner"];

thread_local! {
    static LENGTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A file in memory that reports its current length.
struct Tell(Cursor<Vec<u8>>);

impl std::io::Write for Tell {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(octets)?;
        LENGTH.set(self.0.get_ref().len());
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Seek for Tell {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

fn play(file: &[u8]) -> Result<(Vec<Written>, Ending), RecordingError> {
    let mut playback = Playback::new(file)?;
    let mut read = Vec::new();
    while let Some(message) = playback.next_message()? {
        let name = NAMES.iter().position(|name| *name == message.topic.name);
        let name = name.expect("a topic that was written");
        assert_eq!(**message.topic, topic(NAMES[name]));
        assert_eq!(message.data[..4], cdr_header(true));
        let times = (message.log_time, message.publish_time);
        read.push((name, times.0, times.1, message.data[4..].to_vec()));
    }
    Ok((read, *playback.ending().expect("it has ended")))
}

fn messages() -> impl Strategy<Value = Vec<Written>> {
    let data = proptest::collection::vec(any::<u8>(), 0..40);
    proptest::collection::vec((0..NAMES.len(), any::<u64>(), any::<u64>(), data), 0..30)
}

proptest! {
    #[test]
    fn what_was_written_is_read(messages in messages(), flush_every in 1..20usize) {
        let (file, _) = record(&messages, flush_every);
        let (read, ending) = play(&file).unwrap();
        prop_assert_eq!(read, messages);
        prop_assert_eq!(ending, Ending::Complete);
    }

    #[test]
    fn a_file_cut_off_anywhere_has_all_that_was_flushed_before(
        messages in messages(), flush_every in 1..20usize, cut in any::<prop::sample::Index>(),
    ) {
        let (file, flushed) = record(&messages, flush_every);
        // Cut the file at any position before the footer and the final magic octets.
        let cut = flushed[0].0 + cut.index(file.len() - FOOTER - flushed[0].0);
        let kept = flushed.iter().filter(|(length, _)| *length <= cut).map(|(_, count)| *count);
        let kept = kept.max().unwrap_or(0);
        let (read, ending) = play(&file[..cut]).unwrap();
        prop_assert!(read.len() >= kept, "{} of {} messages at {}", read.len(), kept, cut);
        prop_assert_eq!(&read[..], &messages[..read.len()]);
        prop_assert_eq!(ending, Ending::CutOff);
    }

    #[test]
    fn any_octets_end_somehow(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz::play(&octets);
        fuzz::play(&[&MAGIC[..], &octets].concat());
    }

    #[test]
    fn one_changed_octet_ends_somehow(at in any::<prop::sample::Index>(), change in 1..=255u8) {
        let mut file = sample();
        let at = at.index(file.len());
        file[at] ^= change;
        fuzz::play(&file);
    }
}

/// Size in octets of the footer, which is the last record, and of the magic octets after it.
const FOOTER: usize = 9 + 20 + 8;

const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

fn sample() -> Vec<u8> {
    record(&[(0, 1, 2, vec![1; 9]), (1, 3, 4, vec![2; 5]), (0, 5, 6, vec![])], 2).0
}

/// Runs the fuzz target `mcap` with its seeds; `BLESS=1` writes the seeds.
#[test]
fn fuzz_entry_point_takes_its_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/mcap");
    let complete = sample();
    let seeds = [("complete", &complete[..]), ("cut_off", &complete[..complete.len() / 3])];
    for (name, seed) in seeds {
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), seed).unwrap();
        }
        let mut seed = std::fs::read(folder.join(name)).unwrap();
        for at in 0..seed.len() {
            for change in [1, 0x10, 0x80, 0xFF] {
                seed[at] ^= change;
                fuzz::play(&seed);
                seed[at] ^= change;
            }
        }
    }
}

fn put_record(file: &mut Vec<u8>, opcode: u8, octets: u64, body: &[u8]) {
    file.push(opcode);
    file.extend_from_slice(&octets.to_le_bytes());
    file.extend_from_slice(body);
}

/// An announced length must not allocate memory for octets that do not exist.
#[test]
fn lengths_that_are_not_there_cost_no_memory() {
    let limits = PlaybackLimits { record: 1 << 30, ..PlaybackLimits::default() };
    // Announce a large length in a message, a schema, a channel and a record of an unknown kind, then within records
    // and in a chunk.
    let mut files: Vec<Vec<u8>> = Vec::new();
    for opcode in [3, 4, 5, 0x90] {
        let mut file = MAGIC.to_vec();
        put_record(&mut file, opcode, (1 << 30) - 1, &[0; 100]);
        files.push(file);
    }
    for opcode in [3, 4] {
        let mut body = vec![1, 0, 1, 0];
        body.extend_from_slice(&u32::MAX.to_le_bytes());
        body.extend_from_slice(&[b'x'; 90]);
        let mut file = MAGIC.to_vec();
        put_record(&mut file, opcode, body.len() as u64, &body);
        files.push(file);
    }
    for file in files {
        let ((), made) = allocations(|| {
            let mut playback = Playback::with_limits(file.as_slice(), limits).unwrap();
            let _ = playback.next_message();
        });
        assert!(made.octets < 1 << 20, "{} octets for {:?}", made.octets, &file[8..30]);
    }
}

#[test]
fn limits_are_named_where_they_are_exceeded() {
    let refused = |file: &[u8], record: usize, descriptions: usize| {
        let limits = PlaybackLimits { record, descriptions };
        let mut playback = Playback::with_limits(file, limits)?;
        while playback.next_message()?.is_some() {}
        Ok::<(), RecordingError>(())
    };
    let large = record(&[(0, 1, 2, vec![1; 200])], 1).0;
    let error = refused(&large, 100, 1000).unwrap_err();
    assert!(matches!(error, RecordingError::RecordTooLarge { limit: 100, .. }), "{error}");
    let described = record(&[(0, 1, 2, vec![])], 1).0;
    let error = refused(&described, 100, 60).unwrap_err();
    assert!(matches!(error, RecordingError::DescriptionsTooLarge { limit: 60 }), "{error}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let why = |file: &[u8]| play(file).unwrap_err().to_string();
    assert!(why(b"").contains("not an MCAP file"));
    assert!(why(b"{\"json\": true}").contains("not an MCAP file"));
    // A compressed chunk: times, size, CRC, name of the compression, and size of the records.
    let mut chunk = vec![0; 28];
    chunk.extend_from_slice(&4u32.to_le_bytes());
    chunk.extend_from_slice(b"zstd");
    chunk.extend_from_slice(&[0; 8]);
    let mut file = MAGIC.to_vec();
    put_record(&mut file, 6, chunk.len() as u64, &chunk);
    let compressed = why(&file);
    assert!(compressed.contains("zstd") && compressed.contains("mcap compress"), "{compressed}");
    // A message of channel 9, which was not declared.
    let mut message = vec![9, 0];
    message.extend_from_slice(&[0; 20]);
    let mut file = MAGIC.to_vec();
    put_record(&mut file, 5, message.len() as u64, &message);
    assert!(why(&file).contains("channel 9"));
    // Change an octet of a message's body in a chunk that has a checksum.
    let mut file = record(&[(0, 1, 2, vec![0xA5; 64])], 1).0;
    let at = file.windows(8).position(|octets| octets == [0xA5; 8]).unwrap();
    file[at] ^= 1;
    assert!(why(&file).contains("CRC"));
}

/// The reader of the format's authors returns the same messages, and finds the indexes with which viewers seek.
/// Conversely, files that their writer creates without chunks and in other encodings can be read.
#[test]
fn the_authors_of_the_format_read_it_and_are_read() {
    let messages: Vec<Written> =
        (0..50).map(|n| (n as usize % 3, n, n / 2, vec![n as u8; n as usize])).collect();
    let (file, _) = record(&messages, 7);
    let theirs = mcap::MessageStream::new(&file).unwrap().map(|message| {
        let message = message.unwrap();
        let schema = message.channel.schema.clone().unwrap();
        assert_eq!((&*schema.name, &*schema.encoding), ("Plant::Level", "omgidl"));
        assert_eq!(message.channel.message_encoding, "cdr");
        let name = NAMES.iter().position(|name| *name == message.channel.topic);
        let data = message.data[4..].to_vec();
        (name.unwrap(), message.log_time, message.publish_time, data)
    });
    assert_eq!(theirs.collect::<Vec<_>>(), messages);
    let summary = mcap::Summary::read(&file).unwrap().expect("it was finished");
    assert_eq!(summary.stats.unwrap().message_count, 50);
    assert_eq!(summary.chunk_indexes.len(), 8);

    let plain = mcap::WriteOptions::new().use_chunks(false);
    let mut writer = plain.create(Cursor::new(Vec::new())).unwrap();
    let channel = writer.add_channel(0, "/log", "json", &BTreeMap::new()).unwrap();
    let header = mcap::records::MessageHeader {
        channel_id: channel,
        sequence: 3,
        log_time: 4,
        publish_time: 5,
    };
    writer.write_to_known_channel(&header, b"{}").unwrap();
    writer.finish().unwrap();
    let file = writer.into_inner().into_inner();
    let mut playback = Playback::new(file.as_slice()).unwrap();
    let message = playback.next_message().unwrap().unwrap();
    assert_eq!((message.sequence, message.data), (3, &b"{}"[..]));
    assert_eq!((&*message.topic.name, &message.topic.schema), ("/log", &None));
    assert!(playback.next_message().unwrap().is_none());
}
