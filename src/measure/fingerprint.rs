//! The fingerprint of the measuring code by kernel family: which files of this folder belong to each key.
//!
//! A family's key covers its own folder and everything outside the folders of other families. A family may therefore import from
//! `kernels/shared/` and from modules below the kernels, but never from another family.
//!
//! The build script and `tests/identity.rs` also compile this file.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The folder with one folder per family of kernels, and [`SHARED`].
const KERNELS: &str = "kernels";
/// The folder with code that kernels of several families use.
const SHARED: &str = "shared";
/// The code of the simulated transport. It is a family for itself, because measurements do not run it.
const SIMULATED: &[&str] = &["comm/simulated", "worker/simulated.rs"];
/// Files that are part of no key: the list of kernels with the completion of points, the library's embedded run, the domains of
/// parameters, and what a kernel is. They decide which points are run, and the point itself is part of its sample's key. The
/// command line and the build script are excluded too.
pub const IN_NO_KEY: &[&str] = &[
    "build.rs",
    "cli/kernels.rs",
    "cli/mod.rs",
    "cli/worker.rs",
    "fingerprint.rs",
    "kernels/embedded.rs",
    "kernels/facts.rs",
    "kernels/kernel.rs",
    "kernels/mod.rs",
    "kernels/parameter.rs",
    "main.rs",
];

/// The fingerprints by family, and the fingerprint of all files together.
pub struct Fingerprints {
    pub families: BTreeMap<String, String>,
    pub whole: String,
}

/// Returns the fingerprints of the sources in `folder`. Each hash continues from `base`.
///
/// # Errors
/// Fails if a file or folder cannot be read.
pub fn fingerprints(folder: &Path, base: &Sha256) -> io::Result<Fingerprints> {
    let mut files = Vec::new();
    collect_files(folder, &mut files)?;
    files.sort();

    let mut whole = base.clone();
    let mut hashes: BTreeMap<String, Sha256> = BTreeMap::new();
    let relative_path = |file: &Path| file.strip_prefix(folder).unwrap_or(file).to_owned();
    files.iter().filter_map(|file| family(&relative_path(file))).for_each(|family| {
        hashes.entry(family).or_insert_with(|| base.clone());
    });
    for file in files {
        let name = relative_path(&file);
        if IN_NO_KEY.iter().any(|exempt| name == Path::new(exempt)) {
            continue;
        }
        let (own_family, text) = (family(&name), std::fs::read(&file)?);
        let affected = hashes.iter_mut().filter(|(family, _)| own_family.as_ref().is_none_or(|own| own == *family));
        for hash in affected.map(|(_, hash)| hash).chain([&mut whole]) {
            hash.update(name.to_string_lossy().as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(&text);
        }
    }
    let families = hashes.into_iter().map(|(family, hash)| (family, short_digest(hash))).collect();
    Ok(Fingerprints { families, whole: short_digest(whole) })
}

/// Returns the family of a file in a family's folder, or `None` for a file that all families share.
fn family(file: &Path) -> Option<String> {
    if SIMULATED.iter().any(|code| file.starts_with(code)) {
        return Some("simulated".to_owned());
    }
    let relative = file.strip_prefix(KERNELS).ok()?;
    let mut parts = relative.components();
    let folder = parts.next()?.as_os_str().to_string_lossy().into_owned();
    parts.next().filter(|_| folder != SHARED).map(|_| folder)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn short_digest(hash: Sha256) -> String {
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
