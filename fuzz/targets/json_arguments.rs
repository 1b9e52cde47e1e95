#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| oxorb_dynamic::fuzz::json_arguments(data));
