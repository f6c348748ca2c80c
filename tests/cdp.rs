//! Drives a real browser with real input over the Chrome DevTools Protocol: pages as they are, with their content policy.

use crate::needs;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest wait for an answer of the browser.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Page {
    browser: Child,
    requests: File,
    messages: Receiver<Value>,
    session: Value,
    next_id: u64,
    /// Messages of the console, and errors that the browser logs, such as violations of the content policy.
    pub console: Vec<String>,
}

impl Page {
    /// Opens a page in a window of this size in CSS pixels. `density` is the number of device pixels per CSS pixel.
    pub fn open(folder: &Path, address: &str, (width, height): (u32, u32), density: f64, dark: bool) -> Self {
        let [requests, answers] = ["requests", "answers"].map(|name| folder.join(name));
        for path in [&requests, &answers] {
            let _ = std::fs::remove_file(path);
            mkfifo(path, Mode::S_IRWXU).expect("a named pipe");
        }
        // The browser reads requests from descriptor 3 and writes answers to 4.
        let browser = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<requests 4>answers"])
            .arg(needs::browser().expect("tests that open one ask for it"))
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-sync",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let requests = File::options().write(true).open(requests).expect("the requests");
        let answers = BufReader::new(File::open(answers).expect("the answers"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let _ = serde_json::from_slice(&message).map(|message| sender.send(message));
            }
        });
        let mut page = Self { browser, requests, messages, session: Value::Null, next_id: 0, console: Vec::new() };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        page.session = page.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Runtime", "Log", "Page"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": density, "mobile": false });
        page.call("Emulation.setDeviceMetricsOverride", screen);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        page.call("Emulation.setEmulatedMedia", media);
        page.navigate(address);
        page
    }

    /// Opens an address and waits until its scripts have run and drawn.
    pub fn navigate(&mut self, address: &str) {
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": address }));
        self.evaluate(
            "new Promise((done) => (document.readyState === 'complete' ? done() : addEventListener('load', done)))",
        );
        self.settle();
    }

    /// Waits for two frames: a page draws the effect of an event in the next one.
    pub fn settle(&mut self) {
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let mut request = json!({ "id": self.next_id, "method": method, "params": parameters });
        if !self.session.is_null() {
            request["sessionId"] = self.session.clone();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).expect("a browser that reads");
        loop {
            let message = self.messages.recv_timeout(MAX_WAIT).unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == self.next_id {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            match message["method"].as_str() {
                Some("Runtime.consoleAPICalled") => self.console.push(message["params"]["args"].to_string()),
                Some("Runtime.exceptionThrown") => self.console.push(message["params"]["exceptionDetails"].to_string()),
                Some("Log.entryAdded") => self.console.push(message["params"]["entry"]["text"].to_string()),
                _ => {}
            }
        }
    }

    /// Returns the value of an expression, awaited if it is a promise. The content policy of the page applies to it.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let mut parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        parameters["allowUnsafeEvalBlockedByCSP"] = false.into();
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Moves the mouse to a point of the window.
    pub fn point(&mut self, (x, y): (f64, f64)) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
        self.settle();
    }

    /// Clicks at a point of the window.
    pub fn click(&mut self, (x, y): (f64, f64)) {
        self.point((x, y));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
        self.settle();
    }

    /// Presses a key by its name: `ArrowLeft`, `Enter`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "End" => 35,
            "Home" => 36,
            "PageUp" => 33,
            "PageDown" => 34,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("no code for the key {key}"),
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
        self.settle();
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let close = json!({ "id": self.next_id + 1, "method": "Browser.close" });
        let _ = self.requests.write_all(format!("{close}\0").as_bytes());
        for _ in 0..50 {
            if matches!(self.browser.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
