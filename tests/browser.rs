//! A real browser, for pages: what it makes of a page, and what a script that looks at the page finds.

use std::path::Path;
use std::process::Command;

fn browser(profile: &Path) -> Command {
    let named = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let mut command = Command::new(named.expect("no browser; `make install-deps` installs chromium"));
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// The page as the browser sees it after ten seconds of its own time, and what its console said.
pub fn open(page: &Path) -> (String, Vec<String>) {
    let mut command = browser(&page.with_extension("profile"));
    command.args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--window-size=1280,900", "--dump-dom"]);
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(output.status.success(), "the browser could not open the page");
    let console = String::from_utf8_lossy(&output.stderr);
    let console = console.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// Prints the page.
pub fn print(page: &Path) -> Vec<u8> {
    let paper = page.with_extension("pdf");
    let mut command = browser(&page.with_extension("profile"));
    command.arg(format!("--print-to-pdf={}", paper.display())).arg("--no-pdf-header-footer");
    assert!(command.arg(format!("file://{}", page.display())).output().unwrap().status.success());
    std::fs::read(paper).unwrap()
}

/// What a script's `await`ed body returns as an object, as JSON. The script runs in a copy of the page that lets it: the page
/// itself runs no script but its own. A browser without a screen may never ask for a frame: here timers do.
pub fn ask(page: &Path, body: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(page).unwrap();
    let guard = "<meta http-equiv=\"Content-Security-Policy\"";
    let (before, after) = text.split_once(guard).expect("the page has a policy");
    let (_, after) = after.split_once('>').unwrap();
    let asking = format!(
        "<script>window.requestAnimationFrame = (draw) => setTimeout(draw, 0); (async () => {{ const frame = () => new Promise((done) => setTimeout(done, 60)); {body} }})()\
         .catch((error) => ({{ error: String(error) }}))\
         .then((told) => document.documentElement.setAttribute('data-told', encodeURIComponent(JSON.stringify(told))));\
         </script>"
    );
    let copy = page.with_extension("asked.html");
    std::fs::write(&copy, format!("{before}{after}").replace("</body>", &format!("{asking}</body>"))).unwrap();
    let (dom, console) = open(&copy);
    let (_, told) = dom.split_once("data-told=\"").unwrap_or_else(|| panic!("the script told nothing: {console:?}"));
    let told = decoded(told.split_once('"').unwrap().0);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(told.get("error").is_none(), "{told}");
    told
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}
