//! Runs a real browser: returns the page as it renders it, and the results of scripts in a page.

use crate::needs;
use std::path::Path;
use std::process::Command;

fn browser(profile: &Path) -> Command {
    let mut command = Command::new(needs::browser().expect("tests that open one ask for it"));
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-quic",
        "--no-first-run",
    ]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// Opens a page. Returns its document after ten seconds of virtual time, and the messages of its console.
pub fn open(page: &Path) -> (String, Vec<String>) {
    let mut command = browser(&page.with_extension("profile"));
    command.args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--window-size=1280,900", "--dump-dom"]);
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(output.status.success(), "the browser could not open the page");
    let console = String::from_utf8_lossy(&output.stderr);
    let console = console.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// Prints the page to PDF.
pub fn print(page: &Path) -> Vec<u8> {
    let paper = page.with_extension("pdf");
    let mut command = browser(&page.with_extension("profile"));
    command.arg(format!("--print-to-pdf={}", paper.display())).arg("--no-pdf-header-footer");
    assert!(command.arg(format!("file://{}", page.display())).output().unwrap().status.success());
    std::fs::read(paper).unwrap()
}

/// Runs an `await`ed script body in a page and returns its object as JSON. The script runs in a copy of the page
/// without the content policy, because the page itself allows only its own script. A browser without a screen may never
/// draw a frame, so timers replace frames.
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
    let (_, encoded) = dom.split_once("data-told=\"").unwrap_or_else(|| panic!("the script failed: {console:?}"));
    let decoded_text = decode_percent(encoded.split_once('"').unwrap().0);
    let result: serde_json::Value = serde_json::from_str(&decoded_text).unwrap();
    assert!(result.get("error").is_none(), "{result}");
    result
}

fn decode_percent(text: &str) -> String {
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

/// Asserts that a page, after its scripts have run, is accessible: figures and controls have names, headings are in
/// order, tables have heads. On a screen 390 pixels wide, only parts with their own scroll bar scroll sideways, and
/// buttons are large enough for a finger.
pub fn check_usable(page: &Path) {
    needs!(Browser);
    let result = ask(
        page,
        r#"await frame();
        const faults = [], say = (what, one) => faults.push(what + ': ' + one.outerHTML.slice(0, 150));
        const all = (selector, within = document) => [...within.querySelectorAll(selector)];
        let level = 0;
        for (const heading of all('h1, h2, h3, h4, h5, h6')) {
          const next = Number(heading.tagName[1]);
          if (next > level + 1 || (next === 1 && level > 0)) say('the level of a heading', heading);
          level = next;
        }
        for (const one of all('figure, .drawing, nav, section, canvas, button, [role=group]'))
          if (!one.ariaLabel && !(one.matches('button') && /\w/.test(one.textContent))) say('no name', one);
        for (const one of all('select, input')) if (!one.labels.length) say('no label', one);
        for (const one of all('th, caption, summary, h1, h2, h3, a')) if (!one.textContent.trim()) say('empty', one);
        for (const one of all('table')) if (!one.querySelector('th')) say('no head', one);
        for (const one of all('button')) if (one.ariaLabel && !one.ariaLabel.includes(one.textContent) && /\w/.test(one.textContent)) say('another name than its text', one);
        for (const one of all('nav a, a.skip')) if (!document.querySelector(one.getAttribute('href'))) say('leads nowhere', one);
        const known = all('[id]').map((one) => one.id);
        if (new Set(known).size !== known.length) faults.push('an id twice: ' + known);
        // The page as scripts left it, on a telephone: the same style rules, with a finger as pointer.
        const phone = document.createElement('iframe');
        phone.style.cssText = 'width: 390px; height: 844px; border: 0';
        phone.srcdoc = '<!DOCTYPE html>' + document.documentElement.outerHTML.replace(/<script(?! type)[^]*?<\/script>/g, '')
          .replaceAll('(pointer: coarse)', 'all');
        document.body.append(phone);
        await new Promise((done) => (phone.onload = done));
        const inner = phone.contentDocument, wide = inner.documentElement.scrollWidth;
        if (inner.documentElement.clientWidth !== 390) faults.push('not a telephone');
        if (wide > 390) for (const one of all('main *', inner)) {
          if (one.getBoundingClientRect().right > 390.5 && !one.closest('.scroll, .drawing, pre')) say('beyond the edge', one);
        }
        if (wide > 390) faults.push('the page is as wide as ' + wide);
        for (const one of all('button, select, summary, nav a', inner)) {
          const { width, height } = one.getBoundingClientRect();
          if (one.checkVisibility() && (width < 24 || height < 43.5)) say(`too small for a finger, ${width} by ${height}`, one);
        }
        return { faults: faults.slice(0, 20), checked: inner.querySelectorAll('button').length };"#,
    );
    assert_eq!(result["faults"], serde_json::json!([]));
    assert!(result["checked"].as_u64().unwrap() > 0, "nothing was checked");
}
