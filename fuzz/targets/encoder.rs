#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_cdr::fuzz::encode_as_modelled(data));
