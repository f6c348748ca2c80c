#![no_main]
use std::sync::Once;

/// The fuzzer's own hook ends the program at every panic. Panics of polars are caught and become errors, so this hook
/// ignores them.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if panic.location().is_none_or(|place| !place.file().contains("polars")) {
                eprintln!("{panic}");
            }
        }));
    });
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    hook();
    apexmap_fuzz::parquet(data);
});
