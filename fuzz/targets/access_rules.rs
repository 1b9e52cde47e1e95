#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb::config::fuzz::access_rules(data));
