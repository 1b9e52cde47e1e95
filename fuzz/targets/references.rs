#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb::bridge::fuzz::references(data));
