#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| apexmap_fuzz::trace(data));
