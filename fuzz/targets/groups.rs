#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_protocols::datagram::group::fuzz::groups(data));
