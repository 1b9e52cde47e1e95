#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_protocols::datagram::fuzz::datagrams(data));
