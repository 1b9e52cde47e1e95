#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_notify::etcl::fuzz::filter(data));
