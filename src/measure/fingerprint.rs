//! The fingerprint of the measuring code by kernel family. A family's key covers its own folder and everything outside the folders
//! of other families. A family may therefore import from `kernels/shared/` and from modules below the kernels, but never from
//! another family. A key covers the tokens of a file, and the text of a kernel for devices (`.cl`). Comments, documentation, white
//! space, trailing commas, and the fields of [`DESCRIBING`] are not in it, because they change no machine code. The build script
//! and `tests/identity.rs` also compile this file.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const KERNELS: &str = "kernels";
const SHARED: &str = "shared";
/// A family for itself, because measurements do not run it.
const SIMULATED: &[&str] = &["comm/simulated", "worker/simulated.rs"];
/// Files that are part of no key. They decide which points are run, and the point itself is part of its sample's key.
pub const IN_NO_KEY: &[&str] = &[
    "build.rs",
    "cli/kernels.rs",
    "cli/mod.rs",
    "cli/worker.rs",
    "fingerprint.rs",
    "kernels/embedded.rs",
    "kernels/facts.rs",
    "kernels/kernel.rs",
    "kernels/keys.rs",
    "kernels/mod.rs",
    "kernels/parameter.rs",
    "kernels/refusal.rs",
    "main.rs",
];

/// Fields whose texts are for people. Texts at a position, such as the meaning in `key(...)`, are in the keys: a position does not
/// say what it is for.
const DESCRIBING: &[&str] = &["meaning", "method", "place", "summary"];

pub struct Fingerprints {
    pub families: BTreeMap<String, String>,
    pub whole: String,
}

pub type Sources = BTreeMap<PathBuf, Vec<u8>>;

pub fn sources(folder: &Path) -> io::Result<Sources> {
    let mut files = Vec::new();
    collect_files(folder, &mut files)?;
    let digest = |file: PathBuf| {
        let text = std::fs::read_to_string(&file)?;
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        let digest = if is_rust { digest(&text) } else { Ok(Sha256::digest(&text).to_vec()) }
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", file.display())))?;
        Ok((file.strip_prefix(folder).unwrap_or(&file).to_owned(), digest))
    };
    files.into_iter().map(digest).collect()
}

/// Each hash continues from `base`.
pub fn fingerprints(sources: &Sources, base: &Sha256) -> Fingerprints {
    let mut whole = base.clone();
    let mut hashes: BTreeMap<String, Sha256> =
        sources.keys().filter_map(|file| Some((family(file)?, base.clone()))).collect();
    for (file, digest) in sources {
        if IN_NO_KEY.iter().any(|exempt| file == Path::new(exempt)) {
            continue;
        }
        let own_family = family(file);
        let affected = hashes.iter_mut().filter(|(family, _)| own_family.as_ref().is_none_or(|own| own == *family));
        for hash in affected.map(|(_, hash)| hash).chain([&mut whole]) {
            hash.update(file.to_string_lossy().as_bytes());
            hash.update(digest);
        }
    }
    let families = hashes.into_iter().map(|(family, hash)| (family, short_digest(hash))).collect();
    Fingerprints { families, whole: short_digest(whole) }
}

pub fn digest(text: &str) -> Result<Vec<u8>, proc_macro2::LexError> {
    let mut hash = Sha256::new();
    hash_tokens(text.parse()?, &mut hash);
    Ok(hash.finalize().to_vec())
}

fn hash_tokens(tokens: TokenStream, hash: &mut Sha256) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [first, others @ ..] = rest {
        match describing_tokens(rest) {
            0 => {
                hash_token(first, hash);
                rest = others;
            }
            count => rest = &rest[count..],
        }
    }
}

fn hash_token(token: &TokenTree, hash: &mut Sha256) {
    match token {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            hash.update(open);
            hash_tokens(group.stream(), hash);
            hash.update(close);
        }
        TokenTree::Punct(punct) => {
            hash.update(punct.to_string());
            hash.update(if punct.spacing() == Spacing::Joint { "" } else { "\0" });
        }
        word => hash.update(format!("{word}\0")),
    }
}

/// Returns the number of tokens at the start of these that change no machine code.
fn describing_tokens(tokens: &[TokenTree]) -> usize {
    let is = |token: &TokenTree, sign| matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign);
    let is_documentation = |token: &TokenTree| {
        matches!(token, TokenTree::Group(group)
        if group.delimiter() == Delimiter::Bracket && group.stream().to_string().starts_with("doc ="))
    };
    let is_describing = |token: &TokenTree| DESCRIBING.iter().any(|name| token.to_string() == *name);
    match tokens {
        [comma] if is(comma, ',') => 1,
        [hash, attribute, ..] if is(hash, '#') && is_documentation(attribute) => 2,
        [hash, inner, attribute, ..] if is(hash, '#') && is(inner, '!') && is_documentation(attribute) => 3,
        [name, colon, TokenTree::Literal(text), ..]
            if is(colon, ':') && is_describing(name) && text.to_string().starts_with('"') =>
        {
            3
        }
        _ => 0,
    }
}

/// `None` for a file that all families share.
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
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "cl") {
            files.push(path);
        }
    }
    Ok(())
}

fn short_digest(hash: Sha256) -> String {
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
