//! Requests over HTTP/2 without negotiation ("prior knowledge", RFC 9113, 3.3).

use std::io::{ErrorKind, Read, Write};

use super::{Bank, client};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags, 0, 0, 0, stream];
    [&head[..], payload].concat()
}

/// Returns a header field that HPACK encodes without indexing, with a name of the static table.
fn literal(name: u8, value: &str) -> Vec<u8> {
    [&[name, value.len() as u8], value.as_bytes()].concat()
}

/// Reads the balance of the account; returns the encoded status, and the body.
pub(super) fn read_balance(
    stream: &mut (impl Read + Write),
    authority: &str,
) -> (Option<u8>, Vec<u8>) {
    // :method GET, :scheme http, :path, :authority
    let fields =
        [vec![0x82, 0x86], literal(4, "/objects/Account/balance"), literal(1, authority)].concat();
    let settings = frame(SETTINGS, 0, 0, &[]);
    let request = frame(HEADERS, END_STREAM | END_HEADERS, 1, &fields);
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&[settings, request].concat()).unwrap();
    stream.flush().unwrap();
    let (mut status, mut body) = (None, Vec::new());
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).expect("a whole frame");
        let (kind, flags, number) = (head[3], head[4], head[8]);
        if number != 1 {
            continue;
        }
        match kind {
            // An update of the table's size may precede the first field.
            HEADERS => status = payload.iter().copied().find(|octet| octet & 0xe0 != 0x20),
            DATA => body.extend(payload),
            other => panic!("a frame of type {other}"),
        }
        if flags & END_STREAM != 0 {
            return (status, body);
        }
    }
}

/// Indexed field `:status: 200`.
pub(super) const STATUS_200: u8 = 0x88;

#[test]
fn an_attribute_is_read_over_http_2() {
    let bank = Bank::open("http-2", &[]);
    let mut stream = client::connect(&bank.address);
    let (status, body) = read_balance(&mut stream, &bank.address);
    assert_eq!(status, Some(STATUS_200));
    assert_eq!(body, b"100");
}

#[test]
fn frames_without_a_request_end_the_connection() {
    let bank = Bank::open("http-2-flood", &[]);
    let frames = [
        frame(PING, 0, 0, &[7; 8]),
        frame(SETTINGS, 0, 0, &[]),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1]),
    ];
    for frame in frames {
        let mut stream = client::connect(&bank.address);
        stream.set_write_timeout(Some(super::LIMIT)).expect("a time limit");
        let settings = self::frame(SETTINGS, 0, 0, &[]);
        stream.write_all(&[PREFACE, &settings].concat()).expect("a connection");
        let many = frame.repeat(1000);
        // The system takes some megabytes before it reports that the connection has ended.
        let end = (0..5000).find_map(|_| stream.write_all(&many).err());
        let end = end.expect("the connection ends");
        let is_open = matches!(end.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!is_open, "{end}");
    }
    let mut stream = client::connect(&bank.address);
    assert_eq!(read_balance(&mut stream, &bank.address).0, Some(STATUS_200));
}
