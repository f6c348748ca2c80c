//! Finds valgrind and compiles the tool with its headers and libraries, once for each version.

use super::program::find_on_path;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::regular_file;
use nix::unistd::mkdtemp;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("tool.c");

/// Environment variable that names the C compiler instead of `cc`.
pub const COMPILER_VARIABLE: &str = "CC";

/// This processor in the names of valgrind's files, and of Debian's folders.
const PROCESSOR: (&str, &str) =
    if cfg!(target_arch = "aarch64") { ("arm64", "aarch64-linux-gnu") } else { ("amd64", "x86_64-linux-gnu") };

/// Where valgrind's tools are linked, on both processors. SOURCE: `valt_load_address` in valgrind's configure.ac.
const LOAD_ADDRESS: &str = "0x58000000";

/// The tool, ready to start.
pub struct Tool {
    pub path: PathBuf,
    /// The folder of valgrind's own parts.
    parts: PathBuf,
    /// The folder to remove afterwards, if the cache cannot be written.
    temporary: Option<PathBuf>,
}

impl Drop for Tool {
    fn drop(&mut self) {
        self.temporary.as_ref().map(fs::remove_dir_all);
    }
}

impl Tool {
    /// Returns the tool, compiled now if it is not in the cache. Programs that do this at the same time replace each other's file
    /// by an equal one.
    pub fn prepare() -> Result<Self> {
        let installation = Installation::find()?;
        let name = installation.tool_name()?;
        let cache = cache_folder().filter(|folder| fs::create_dir_all(folder).is_ok());
        if let Some(folder) = &cache {
            let path = folder.join(&name);
            if path.is_file() {
                return Ok(Self { path, parts: installation.parts, temporary: None });
            }
        }
        let temporary = cache.iter().find_map(|folder| mkdtemp(&folder.join(".locate-XXXXXX")).ok());
        let is_cached = temporary.is_some();
        let pattern = std::env::temp_dir().join("apexmap-locate-XXXXXX");
        let folder = temporary.map_or_else(|| mkdtemp(&pattern), Ok);
        let folder = folder.map_err(|e| Error::file("create", &pattern, e))?;
        let mut tool =
            Self { path: folder.join(&name), parts: installation.parts.clone(), temporary: Some(folder.clone()) };
        installation.compile(&folder, &tool.path)?;
        if let (true, Some(cache)) = (is_cached, cache) {
            let path = cache.join(&name);
            fs::rename(&tool.path, &path).map_err(|e| Error::file("write", &path, e))?;
            tool.path = path;
            tool.temporary.take().map(fs::remove_dir_all);
        }
        Ok(tool)
    }

    /// Returns the command that starts the tool. Valgrind's launcher would do the same, but Debian's sets variables that the
    /// traced program would see.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("VALGRIND_LIB", &self.parts).env("VALGRIND_LAUNCHER", &self.path);
        command
    }
}

/// `$XDG_CACHE_HOME/apexmap`, or `~/.cache/apexmap`.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(folder.join("apexmap"))
}

/// The folders of an installed valgrind.
struct Installation {
    headers: PathBuf,
    libraries: PathBuf,
    parts: PathBuf,
}

impl Installation {
    fn find() -> Result<Self> {
        let named = std::env::var_os("VALGRIND_LIB").map(PathBuf::from);
        let program = find_on_path("valgrind").and_then(|path| path.canonicalize().ok());
        // `PREFIX/libexec/valgrind` and `PREFIX/bin/valgrind`.
        let prefix_of = |path: &Path| Some(path.parent()?.parent()?.to_owned());
        let own_prefixes = [named.as_deref(), program.as_deref()].into_iter().flatten().filter_map(prefix_of);
        let prefixes: Vec<PathBuf> = own_prefixes.chain(["/usr", "/usr/local"].map(PathBuf::from)).collect();
        let platform = format!("{}-linux", PROCESSOR.0);
        let folders: Vec<String> = ["libexec", &format!("lib/{}", PROCESSOR.1), "lib64", "lib"]
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
        Ok(Self { headers, libraries: libraries.ok_or_else(|| missing("valgrind's static libraries"))?, parts })
    }

    fn library(&self, name: &str) -> PathBuf {
        self.libraries.join(format!("lib{name}-{}-linux.a", PROCESSOR.0))
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
        Ok(format!("locate-valgrind-{version}-{hash}"))
    }

    /// Compiles the tool to a path. The folder also holds its source.
    fn compile(&self, folder: &Path, path: &Path) -> Result<()> {
        let source = folder.join("tool.c");
        new_file::replace_contents(&source, SOURCE)?;
        let compiler =
            std::env::var_os(COMPILER_VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
        let processor = PROCESSOR.0;
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
        command.args(support.is_file().then_some(support)).arg("-lgcc").stdin(Stdio::null());
        let output = command.output().map_err(|e| no_compiler(&compiler, &e))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
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

fn no_compiler(compiler: &OsStr, cause: &std::io::Error) -> Error {
    Error::environment(
        format!(
            "`locate` compiles its tool at first use, and cannot start the C compiler {}: {cause}",
            compiler.display()
        ),
        format!("install one: on Debian the package gcc; or set {COMPILER_VARIABLE} to its path"),
    )
}
