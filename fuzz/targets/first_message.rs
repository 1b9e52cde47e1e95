#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_giop::fuzz::first_message(data));
