//! Finds valgrind and compiles the tool with its headers and libraries, once for each version.

use super::compiler::{self, COMPILER_VARIABLE, compiler};
use super::program::{self, Processor, processor};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::new_file;
use apexmap_base::programs::find_on_path;
use apexmap_base::regular_file;
use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = include_str!("tool.c");

/// Where valgrind's tools are linked, on both processors. SOURCE: `valt_load_address` in valgrind's configure.ac.
const LOAD_ADDRESS: &str = "0x58000000";

/// Starts of the names of tools, and of folders in which they are compiled.
const PREFIX: &str = "locate-valgrind-";
const TEMPORARY_PREFIX: &str = ".locate-";

pub struct Tool {
    pub path: PathBuf,
    /// The folder of valgrind's own parts.
    parts: PathBuf,
    /// The folder to remove afterwards, if the cache cannot be written.
    temporary: Option<TemporaryFolder>,
}

impl Tool {
    /// Returns the tool, compiled now if it is not in the cache (the user's, or `cache`). Programs that compile it at the
    /// same time replace each other's file by an equal one.
    pub fn prepare(cache: Option<&Path>) -> Result<Self> {
        let installation = Installation::find()?;
        let name = installation.tool_name()?;
        let cache = cache.map(Path::to_owned).or_else(cache_folder).filter(|folder| make_private(folder).is_ok());
        if let Some(folder) = &cache {
            remove_old(folder, &name);
            let path = folder.join(&name);
            if is_own_tool(&path) && program::is_whole(&path) {
                return Ok(Self { path, parts: installation.parts, temporary: None });
            }
        }
        let temporary = cache.iter().find_map(|folder| TemporaryFolder::create_in(folder, TEMPORARY_PREFIX).ok());
        let is_cached = temporary.is_some();
        let temporary = temporary.map_or_else(|| TemporaryFolder::create("locate"), Ok)?;
        let folder = temporary.path.clone();
        let mut tool = Self { path: folder.join(&name), parts: installation.parts.clone(), temporary: Some(temporary) };
        installation.compile(&folder, &tool.path)?;
        let private = fs::set_permissions(&tool.path, Permissions::from_mode(0o700));
        private.map_err(|e| Error::file("write", &tool.path, e))?;
        if let (true, Some(cache)) = (is_cached, cache) {
            let path = cache.join(&name);
            // Before the rename, so that the name never leads to a file whose contents are not on the disk.
            let synced = regular_file::open(&tool.path).and_then(|file| file.sync_all());
            synced.and_then(|()| fs::rename(&tool.path, &path)).map_err(|e| Error::file("write", &path, e))?;
            tool.path = path;
            tool.temporary = None;
        }
        Ok(tool)
    }

    /// Returns the command that starts the tool. Valgrind's launcher on Debian sets variables that the program would see.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("VALGRIND_LIB", &self.parts).env("VALGRIND_LAUNCHER", &self.path);
        command
    }
}

/// Creates the folder of the cache for this user alone. Fails if another user owns it, could replace it, or has put a link in its place.
#[expect(clippy::disallowed_methods, reason = "it opens a folder")]
fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let opened = OpenOptions::new().read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(folder)?;
    let is_of_user = |metadata: &Metadata| metadata.uid() == geteuid().as_raw();
    // In a sticky folder, only the owner of a file replaces it.
    let is_safe = |above: &Path| {
        above.metadata().is_ok_and(|metadata| {
            (is_of_user(&metadata) || metadata.uid() == 0)
                && (metadata.mode() & 0o002 == 0 || metadata.mode() & 0o1000 != 0)
        })
    };
    if !is_of_user(&opened.metadata()?) || !folder.canonicalize()?.ancestors().skip(1).all(is_safe) {
        return Err(io::Error::other("another user can replace it"));
    }
    opened.set_permissions(Permissions::from_mode(0o700))
}

/// Returns whether a tool in the cache is a file that only this user can have written. A link is none.
fn is_own_tool(path: &Path) -> bool {
    let opened = regular_file::open_with(OpenOptions::new().read(true), O_NOFOLLOW, path);
    let metadata = opened.and_then(|file| file.metadata());
    metadata.is_ok_and(|metadata| metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0)
}

/// Removes tools of other versions, and what compilations that were killed have left, if they are a day old. Running tools go on.
fn remove_old(cache: &Path, name: &str) {
    const AGE: Duration = Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let (file, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let is_ours = file != name && [PREFIX, TEMPORARY_PREFIX].iter().any(|prefix| file.starts_with(prefix));
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        if is_ours && changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > AGE)) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(folder.join("apexmap"))
}

struct Installation {
    headers: PathBuf,
    libraries: PathBuf,
    parts: PathBuf,
    processor: &'static Processor,
}

impl Installation {
    fn find() -> Result<Self> {
        let processor = processor()?;
        let named = std::env::var_os("VALGRIND_LIB").map(PathBuf::from);
        let program = find_on_path("valgrind").and_then(|path| path.canonicalize().ok());
        // `PREFIX/libexec/valgrind` and `PREFIX/bin/valgrind`.
        let prefix_of = |path: &Path| Some(path.parent()?.parent()?.to_owned());
        let prefixes: Vec<PathBuf> = match &named {
            Some(named) => prefix_of(named).into_iter().collect(),
            None => {
                let own = program.as_deref().and_then(prefix_of);
                own.into_iter().chain(["/usr", "/usr/local"].map(PathBuf::from)).collect()
            }
        };
        let platform = format!("{}-linux", processor.valgrind);
        let folders: Vec<String> = ["libexec", &format!("lib/{}", processor.folder), "lib64", "lib"]
            .map(|folder| format!("{folder}/valgrind"))
            .to_vec();
        let with = |folders: &[String], file: &str| {
            let candidates = prefixes.iter().flat_map(|prefix| folders.iter().map(|folder| prefix.join(folder)));
            named.iter().cloned().chain(candidates).find(|folder| folder.join(file).is_file())
        };
        let help = "install it: on Debian and Ubuntu the package valgrind, on Fedora valgrind and valgrind-tools-devel";
        let missing = |part: &str| Error::environment(format!("`locate` needs {part}"), help);
        let parts = with(&folders, &format!("vgpreload_core-{platform}.so")).ok_or_else(|| missing("valgrind"))?;
        let headers = with(&["include/valgrind".to_owned()], "pub_tool_basics.h");
        let libraries = with(&folders, &format!("libcoregrind-{platform}.a"));
        let headers = headers.ok_or_else(|| missing("valgrind's headers for tools"))?;
        Ok(Self {
            headers,
            libraries: libraries.ok_or_else(|| missing("valgrind's static libraries"))?,
            parts,
            processor,
        })
    }

    fn library(&self, name: &str) -> PathBuf {
        self.libraries.join(format!("lib{name}-{}-linux.a", self.processor.valgrind))
    }

    /// Returns a name with valgrind's version and a hash of all that the tool is made from. An update of valgrind changes it.
    fn tool_name(&self) -> Result<String> {
        let core = self.library("coregrind");
        let file = core.metadata().map_err(|e| Error::file("read", &core, e))?;
        let config = self.headers.join("config.h");
        let config = regular_file::read_text(&config).map_err(|e| Error::file("read", &config, e))?;
        let version = config.lines().find_map(|line| line.strip_prefix("#define VERSION "));
        let version = version.map_or("unknown", |version| version.trim_matches('"'));
        let identity =
            format!("{SOURCE}{version}{}{}{}{}", core.display(), file.size(), file.mtime(), file.mtime_nsec());
        let hash = Sha256::digest(identity.as_bytes());
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{PREFIX}{version}-{hash}"))
    }

    /// Compiles the tool to a path. The folder also holds its source.
    fn compile(&self, folder: &Path, path: &Path) -> Result<()> {
        let source = folder.join("tool.c");
        new_file::replace_contents(&source, SOURCE)?;
        let compiler = compiler();
        let processor = self.processor.valgrind;
        let mut command = Command::new(&compiler);
        // The flags of valgrind's own tools. SOURCE: Makefile.tool.am and Makefile.all.am of valgrind.
        command.args([
            "-O2",
            "-w",
            "-fno-stack-protector",
            "-fno-builtin",
            "-fno-strict-aliasing",
            "-fno-pie",
            "-no-pie",
        ]);
        command.args([format!("-DVGA_{processor}=1"), "-DVGO_linux=1".into(), format!("-DVGP_{processor}_linux=1")]);
        command.arg(format!("-DVGPV_{processor}_linux_vanilla=1")).arg("-I").arg(&self.headers);
        command.args(["-static", "-nodefaultlibs", "-nostartfiles", "-u", "_start", "-Wl,--build-id=none"]);
        command.arg(format!("-Wl,-Ttext-segment={LOAD_ADDRESS}")).arg("-o").arg(path).arg(&source);
        command.args([self.library("coregrind"), self.library("vex")]);
        let support = self.library("gcc-sup");
        command.args(support.is_file().then_some(support)).arg("-lgcc");
        let (status, text) = compiler::run(command, folder)?;
        if status.success() {
            return Ok(());
        }
        let reason =
            text.lines().find(|line| line.contains("error")).or_else(|| text.lines().last()).unwrap_or("no message");
        Err(Error::environment(
            format!(
                "{} cannot compile the tool of `locate` with valgrind in {}: {reason}",
                compiler.display(),
                self.headers.display()
            ),
            format!("check that the C compiler works; set {COMPILER_VARIABLE} to use another one"),
        ))
    }
}
