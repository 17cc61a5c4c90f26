//! A person's browser: headless Chromium, driven through chromedriver by W3C's `WebDriver` protocol.
//!
//! No sleeps: [`Browser::open`] and [`Browser::press`] return when the next page is there and complete. A test that fails prints
//! the page that the browser showed.

#![expect(clippy::missing_panics_doc, reason = "a harness reports by panicking: the test that called it fails")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::crawler::http_client_builder;
use crate::folder;
use crate::pause::pause;

/// How long one `WebDriver` command may take, page loads and the start of Chromium included.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
/// How often chromedriver is started before the test fails. A start fails if another test's server has its port; few ports are
/// taken, so this many failures in a row do not happen by chance.
const STARTS_MAX: u32 = 10;
/// Narrower viewports behave like a phone: the viewport meta tag counts and scroll bars take no room.
const PHONE_WIDTH_MAX: u32 = 600;
/// Tallest screenshot, in CSS pixels.
const SCREENSHOT_HEIGHT_MAX: f64 = 10_000.0;
/// Where pictures are kept for people to look at.
pub const SHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/shots");
/// How the addresses of the browser's own pages begin.
const OWN_PAGES: [&str; 4] = ["chrome:", "chrome-untrusted:", "chrome-extension:", "devtools:"];
/// The key under which `WebDriver` names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Runs chromedriver until standard input ends, which it does however the test ends, even by SIGKILL.
///
/// chromedriver and Chromium share the shell's process group, so `kill 0` ends exactly these processes.
///
/// If root starts it, Chromium gives its own threads a higher priority than any other process has, and on a machine of two cores
/// a database beside it then waits for seconds. So where possible Chromium is started without the right to raise priorities
/// (`sys_nice`).
const SUPERVISE: &str = "calm='setpriv --bounding-set=-sys_nice'; $calm true 2>/dev/null || calm=; \
    { $calm chromedriver --port=0; kill -KILL 0; } & read -r _; kill -KILL 0";

/// axe-core, unchanged as its authors publish it (MPL-2.0, see the licence beside it); no shipped program contains it.
const AXE: &str = include_str!("../vendor/axe-core-4.10.3.min.js");

/// Every rule of WCAG 2.0 to 2.2, A and AA, and further rules of good practice, the size of targets and unfinished rules
/// included.
const AXE_RUN: &str = "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice', 'experimental'] })\
    .then((result) => result.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html} ${node.failureSummary}`)))";

/// The properties of the person's screen.
#[derive(Clone, Copy, Debug)]
pub struct BrowserOptions {
    /// Width of the viewport in CSS pixels.
    pub width: u32,
    /// Height of the viewport in CSS pixels.
    pub height: u32,
    /// Whether `prefers-color-scheme` is dark.
    pub dark: bool,
    /// Whether scripts of the page run.
    pub javascript: bool,
}

/// One browser with one tab; dropping it ends all of its processes.
pub struct Browser {
    client: Client,
    session_url: String,
    // Last, because fields drop in this order, and the other fields need the processes.
    _driver: Driver,
}

/// The processes, and the folder they write to.
struct Driver {
    supervisor: Child,
    profile: TempDir,
}

impl Browser {
    /// Starts Chromium with an empty profile.
    pub async fn start(options: BrowserOptions) -> Self {
        let (driver, port) = tokio::task::spawn_blocking(Driver::start).await.expect("failed to start chromedriver");
        let client = http_client_builder().timeout(COMMAND_TIMEOUT).build().expect("failed to build a client");
        let driver_url = format!("http://127.0.0.1:{port}/session");
        let session = command(&client, Method::POST, &driver_url, Some(capabilities(driver.profile.path()))).await;
        let session = session
            .unwrap_or_else(|error| panic!("failed to start Chromium ({error}); `./test` installs chromium and chromium-driver"));
        let id = session["sessionId"].as_str().expect("a new session has an id");
        let browser = Self { client, session_url: format!("{driver_url}/{id}"), _driver: driver };
        browser.emulate(options).await;
        browser
    }

    /// Gives the person this screen from now on.
    pub async fn emulate(&self, options: BrowserOptions) {
        let BrowserOptions { width, height, dark, javascript } = options;
        // A window has a minimum width and a frame; the emulated screen is exact at any size.
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width <= PHONE_WIDTH_MAX });
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !javascript })).await;
    }

    /// Opens `url` and waits until the document of this very navigation, redirections included, is there and complete.
    ///
    /// `WebDriver`'s own command returns when the tab has stopped loading. If an earlier page is still loading when the command
    /// comes (for example the browser's own first page), the end of that loading can be mistaken for the end of the navigation:
    /// the command then returns while the tab still shows the earlier page.
    pub async fn open(&self, url: &str) {
        let navigation = self.devtools("Page.navigate", json!({ "url": url })).await;
        assert!(navigation.get("errorText").is_none(), "failed to open {url}: {}", navigation["errorText"]);
        // A link to a part of the present page has no document of its own.
        let Some(document) = navigation["loaderId"].as_str() else { return };
        let give_up = Instant::now() + COMMAND_TIMEOUT;
        while !self.shows(document).await {
            assert!(Instant::now() < give_up, "{url} did not load");
            pause().await;
        }
    }

    /// Whether the document of a navigation is the one in the tab, and complete.
    async fn shows(&self, document: &str) -> bool {
        let tree = self.devtools("Page.getFrameTree", json!({})).await;
        tree["frameTree"]["frame"]["loaderId"] == document && self.try_evaluate("document.readyState").await == "complete"
    }

    /// The text of the page as a person sees it.
    pub async fn text(&self) -> String {
        self.element_text(&self.find("body").await).await
    }

    /// The title of the page.
    pub async fn title(&self) -> String {
        text_of(&self.get("/title").await)
    }

    /// Sets a cookie of the site of the present page.
    pub async fn set_cookie(&self, name: &str, value: &str) {
        self.post("/cookie", json!({ "cookie": { "name": name, "value": value, "path": "/" } })).await;
    }

    /// The address of the present page.
    pub async fn url(&self) -> String {
        text_of(&self.get("/url").await)
    }

    /// Gives the browser an authenticator that makes passkeys and always verifies its user; returns its id.
    pub async fn add_authenticator(&self) -> String {
        self.devtools("WebAuthn.enable", json!({})).await;
        let options = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
            "isUserVerified": true, "automaticPresenceSimulation": true,
        });
        text_of(&self.devtools("WebAuthn.addVirtualAuthenticator", json!({ "options": options })).await["authenticatorId"])
    }

    /// Takes an authenticator away, with all of its passkeys.
    pub async fn remove_authenticator(&self, id: &str) {
        self.devtools("WebAuthn.removeVirtualAuthenticator", json!({ "authenticatorId": id })).await;
    }

    /// Clicks the first element that matches, as a mouse does: a hidden or covered element is an error.
    pub async fn click(&self, css: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    /// Clicks an element that leads to another page, and waits until that page has loaded.
    ///
    /// chromedriver itself waits only for a page whose loading has begun. A form begins to load the next page a moment after the
    /// click, so this method waits for that page.
    pub async fn press(&self, css: &str) {
        self.leaving(css, self.click(css)).await;
    }

    /// Presses Enter on the element that has the focus, and waits until the next page has loaded.
    pub async fn press_enter(&self) {
        self.leaving("Enter", self.key("\u{E007}")).await;
    }

    /// Runs a script that leads to another page, and waits until that page has loaded.
    pub async fn leave_by(&self, script: &str) {
        self.leaving(script, async { drop(self.evaluate(script).await) }).await;
    }

    async fn leaving(&self, what: &str, act: impl Future<Output = ()>) {
        const WHERE: &str = "[performance.timeOrigin, document.readyState]";
        let before = self.evaluate(WHERE).await[0].clone();
        act.await;
        let give_up = Instant::now() + COMMAND_TIMEOUT;
        loop {
            let here = self.try_evaluate(WHERE).await;
            if here[0].is_number() && here[0] != before && here[1] == "complete" {
                return;
            }
            assert!(Instant::now() < give_up, "pressing {what} led nowhere");
            pause().await;
        }
    }

    /// Types at the end of the first element that matches; key codes of `WebDriver` (`\u{E007}` is Enter) work.
    pub async fn type_into(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{element}/value"), json!({ "text": text })).await;
    }

    /// The visible text of every element that matches, in the order of the document.
    pub async fn find_all_text(&self, css: &str) -> Vec<String> {
        let found = self.post("/elements", json!({ "using": "css selector", "value": css })).await;
        let mut texts = Vec::new();
        for element in found.as_array().expect("a list of elements") {
            texts.push(self.element_text(element[ELEMENT].as_str().expect("an element id")).await);
        }
        texts
    }

    /// The width of the content and the available width; the page scrolls sideways when they differ.
    pub async fn scroll_width(&self) -> (u64, u64) {
        let widths = self.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]").await;
        (widths[0].as_u64().expect("a width"), widths[1].as_u64().expect("a width"))
    }

    /// Writes the whole page, not only what the viewport shows, to a PNG file.
    pub async fn screenshot(&self, path: &Path) {
        let layout = self.devtools("Page.getLayoutMetrics", json!({})).await;
        let size = &layout["cssContentSize"];
        let height = size["height"].as_f64().expect("a height").min(SCREENSHOT_HEIGHT_MAX);
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1 });
        let shot = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.devtools("Page.captureScreenshot", shot).await;
        let png = BASE64_STANDARD.decode(text_of(&shot["data"])).expect("a screenshot is base64");
        std::fs::write(path, png).unwrap_or_else(|error| panic!("failed to write {}: {error}", path.display()));
    }

    /// The value of a JavaScript expression; works with the page's own scripts off, too.
    pub async fn evaluate(&self, js: &str) -> Value {
        let expression = json!({ "expression": js, "returnByValue": true, "awaitPromise": true });
        let result = self.devtools("Runtime.evaluate", expression).await;
        assert!(result.get("exceptionDetails").is_none(), "failed to evaluate {js}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// The value of a JavaScript expression, or null while one page gives way to the next.
    async fn try_evaluate(&self, js: &str) -> Value {
        let body = json!({ "cmd": "Runtime.evaluate", "params": { "expression": js, "returnByValue": true } });
        let url = format!("{}/goog/cdp/execute", self.session_url);
        let mut result = command(&self.client, Method::POST, &url, Some(body)).await.unwrap_or_default();
        result["result"]["value"].take()
    }

    /// Shows the page in another medium (`print`; empty is the screen) and with other preferences (`forced-colors` and the like).
    pub async fn show_as(&self, medium: &str, wishes: &[(&str, &str)]) {
        let wishes: Vec<Value> = wishes.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.devtools("Emulation.setEmulatedMedia", json!({ "media": medium, "features": wishes })).await;
    }

    /// The obstacles on this page for people with disabilities or other devices, by axe-core; works with the page's own scripts
    /// off, too.
    pub async fn accessibility_violations(&self) -> Vec<String> {
        let scripts_off = self.evaluate("matchMedia('(scripting: none)').matches").await == true;
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": false })).await;
        // axe-core is loaded through the developer tools, because the page's content security policy does not apply to them.
        self.evaluate(&format!("{AXE};0")).await;
        // A colour that still changes, for example after the wish for a dark page, is none that a person reads.
        self.evaluate("for (const moving of document.getAnimations()) moving.finish(); 0").await;
        let found = self.evaluate(AXE_RUN).await;
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": scripts_off })).await;
        let found = found.as_array().unwrap_or_else(|| panic!("axe answered {found}"));
        found.iter().map(text_of).collect()
    }

    /// Presses one key with nothing but the keyboard: the element that has the focus gets it. Key codes are `WebDriver`'s.
    pub async fn key(&self, key: &str) {
        let actions = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] })).await;
    }

    /// Errors that the console has shown since the last call: broken scripts, refused styles, missing files. Errors of the
    /// browser's own pages tell nothing about ours.
    pub async fn console_errors(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().expect("a list of log entries").iter();
        let errors = entries.filter(|entry| entry["level"] == "SEVERE").map(|entry| text_of(&entry["message"]));
        errors.filter(|message| !OWN_PAGES.iter().any(|scheme| message.starts_with(scheme))).collect()
    }

    /// Prints address, title and picture of the page, for a test that fails.
    #[expect(clippy::print_stderr, reason = "the test's own output is where its failure is read")]
    fn print_what_is_shown(&self) {
        // The test's own runtime is unwinding, so this one has a thread to itself.
        let shown = std::thread::scope(|scope| {
            scope.spawn(|| Runtime::new().map_err(|error| error.to_string())?.block_on(self.shown())).join()
        });
        match shown {
            Ok(Ok((url, title, png))) => {
                let test = std::thread::current().name().unwrap_or("test").replace(':', "-");
                let picture = Path::new(SHOTS).join(format!("failed-{test}.png"));
                let written = std::fs::create_dir_all(SHOTS).and_then(|()| std::fs::write(&picture, png));
                eprintln!("the browser showed {url}, titled {title}; picture: {} ({written:?})", picture.display());
            }
            failed => eprintln!("the browser did not say which page it showed: {failed:?}"),
        }
    }

    /// Address, title and picture (PNG) of the page.
    async fn shown(&self) -> Result<(Value, Value, Vec<u8>), String> {
        // A client belongs to the runtime that made it.
        let client = http_client_builder().timeout(COMMAND_TIMEOUT).build().map_err(|error| error.to_string())?;
        let look = async |path: &str| command(&client, Method::GET, &format!("{}/{path}", self.session_url), None).await;
        let png = BASE64_STANDARD.decode(look("screenshot").await?.as_str().unwrap_or_default());
        Ok((look("url").await?, look("title").await?, png.map_err(|error| error.to_string())?))
    }

    /// Moves the person to another time zone, named as `Europe/Berlin`.
    pub async fn move_to(&self, time_zone: &str) {
        self.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": time_zone })).await;
    }

    /// Lets the browser ask for pages in these languages, as `Accept-Language` names them.
    pub async fn speak(&self, languages: &str) {
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.setExtraHTTPHeaders", json!({ "headers": { "Accept-Language": languages } })).await;
    }

    /// Blocks requests of the browser to addresses that match the pattern.
    pub async fn refuse(&self, pattern: &str) {
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.setBlockedURLs", json!({ "urls": [pattern] })).await;
    }

    async fn find(&self, css: &str) -> String {
        text_of(&self.post("/element", json!({ "using": "css selector", "value": css })).await[ELEMENT])
    }

    async fn element_text(&self, element: &str) -> String {
        text_of(&self.get(&format!("/element/{element}/text")).await)
    }

    /// One command of the `DevTools` protocol.
    async fn devtools(&self, method: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": method, "params": parameters })).await
    }

    async fn get(&self, path: &str) -> Value {
        let result = command(&self.client, Method::GET, &format!("{}{path}", self.session_url), None).await;
        result.unwrap_or_else(|error| panic!("the browser failed at {path}: {error}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let what = format!("{path} {body}");
        let result = command(&self.client, Method::POST, &format!("{}{path}", self.session_url), Some(body)).await;
        result.unwrap_or_else(|error| panic!("the browser failed at {what}: {error}"))
    }
}

/// Sends one command to chromedriver; the error is chromedriver's own message, or says that there was no usable answer.
async fn command(client: &Client, method: Method, url: &str, body: Option<Value>) -> Result<Value, String> {
    let mut request = client.request(method, url);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.map_err(|error| format!("chromedriver does not answer: {error:?}"))?;
    let status = response.status();
    let mut answer: Value = response.json().await.map_err(|error| format!("chromedriver answers no JSON: {error:?}"))?;
    match answer["value"].take() {
        value if status.is_success() => Ok(value),
        error => Err(format!("{}: {}", error["error"], error["message"])),
    }
}

fn capabilities(profile: &Path) -> Value {
    let flags = [
        "--headless",
        "--no-sandbox", // Containers and root have none; the pages are ours.
        "--disable-gpu",
        "--disable-quic",
        "--hide-scrollbars", // Or a long page would be narrower than it was asked to be.
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage", // /dev/shm is 64 MB in a container by default.
        "--no-proxy-server",
    ];
    let mut flags: Vec<String> = flags.map(str::to_owned).into();
    flags.push(format!("--user-data-dir={}", profile.display()));
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        // The browser starts blank: its own first page would go on loading beside the first page that a test opens.
        "goog:chromeOptions": { "args": flags, "prefs": { "session.restore_on_startup": 4, "session.startup_urls": ["about:blank"] } },
        "goog:loggingPrefs": { "browser": "ALL" },
    } } })
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("the browser answered {value}, not a text")).to_owned()
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_what_is_shown();
        }
    }
}

impl Driver {
    /// Starts chromedriver on a port of its own choice and returns the port.
    ///
    /// chromedriver lets the system choose a port of IPv6 and then takes the same one of IPv4. If a server of another test has
    /// that port, chromedriver gives up, and is started again.
    fn start() -> (Self, u16) {
        for _ in 0..STARTS_MAX {
            match Self::try_start() {
                Ok(started) => return started,
                Err(said) if said.contains("port not available") => {}
                Err(said) => panic!("chromedriver did not start; `./test` installs chromium and chromium-driver\n{said}"),
            }
        }
        panic!("chromedriver found no port that is free, {STARTS_MAX} times");
    }

    /// The error is the text that chromedriver printed before it ended.
    fn try_start() -> Result<(Self, u16), String> {
        let profile = folder::quick("placet-browser-");
        let supervisor = Command::new("sh")
            .args(["-c", SUPERVISE])
            // A killed Chromium cannot clean up: its files disappear with the folder.
            .env("TMPDIR", profile.path())
            .env("XDG_CONFIG_HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("failed to start sh");
        let mut driver = Self { supervisor, profile };
        let mut output = BufReader::new(driver.supervisor.stdout.take().expect("standard output is piped"));
        let mut said = String::new();
        // The output ends without a port when chromedriver is missing or fails: the supervisor then ends the group.
        while output.read_line(&mut said).is_ok_and(|length| length > 0) {
            let port = said.split_once("started successfully on port ").map(|(_, port)| port.trim_end().trim_end_matches('.'));
            if let Some(port) = port.and_then(|port| port.parse().ok()) {
                driver.supervisor.stdout = Some(output.into_inner()); // Held open: chromedriver may print more.
                return Ok((driver, port));
            }
        }
        Err(said)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take()); // The end of its input is the supervisor's signal to end the group.
        // A second panic while the first unwinds would abort the other tests.
        assert!(self.supervisor.wait().is_ok() || std::thread::panicking(), "failed to end the browser's processes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "data:text/html,<meta name=viewport content='width=device-width'><title>T</title>\
        <style>@media (prefers-color-scheme: dark) { body { background: rgb(0,0,0) } } .h { display: none }</style>\
        <h1>Refund?</h1><p class=h>hidden</p><li>one</li><li>two</li>\
        <form action='data:text/html,done'><input name=q><button>Go</button></form>\
        <p id=js>static</p><script>document.getElementById('js').textContent = 'scripted'; oops()</script>";

    #[tokio::test]
    #[expect(clippy::used_underscore_binding, reason = "only the test looks into the profile's folder")]
    async fn a_browser_shows_what_a_person_would_see_and_leaves_nothing_behind() {
        let phone = BrowserOptions { width: 320, height: 640, dark: true, javascript: false };
        for options in [phone, BrowserOptions { width: 1280, height: 800, dark: false, javascript: true }] {
            let browser = Browser::start(options).await;
            assert_eq!(browser.url().await, "about:blank", "a page of the browser's own loads beside ours");
            browser.open(PAGE).await;
            assert_eq!(browser.title().await, "T");
            let text = browser.text().await;
            assert!(text.contains("Refund?") && !text.contains("hidden"), "{text}");
            assert_eq!(text.contains("scripted"), options.javascript, "{text}");
            assert_eq!(browser.console_errors().await.len(), usize::from(options.javascript));
            assert_eq!(browser.find_all_text("li").await, ["one", "two"]);
            assert_eq!(browser.scroll_width().await, (options.width.into(), options.width.into()));
            let background = browser.evaluate("getComputedStyle(document.body).backgroundColor").await;
            assert_eq!(background == "rgb(0, 0, 0)", options.dark, "{background}");

            let profile = browser._driver.profile.path().to_owned();
            browser.screenshot(&profile.join("page.png")).await;
            assert!(std::fs::read(profile.join("page.png")).unwrap().starts_with(b"\x89PNG"));
            browser.type_into("input", "why").await;
            assert_eq!(browser.evaluate("document.querySelector('input').value").await, "why");
            browser.evaluate("document.body.append(document.createElement('div'))").await;
            browser.evaluate("document.querySelector('div').style.width = '2000px'").await;
            assert_eq!(browser.evaluate("document.querySelector('div').style.width").await, "2000px");
            // A page without a language and with an unnamed field is reported, whether its own scripts may run or not.
            let found = browser.accessibility_violations().await;
            for rule in ["html-has-lang", "label", "landmark-one-main"] {
                assert!(
                    found.iter().any(|violation| violation.starts_with(&format!("{rule}:"))),
                    "{rule} is missing in {found:?}"
                );
            }
            browser.open(PAGE).await;
            assert_eq!(browser.text().await.contains("scripted"), options.javascript, "looking has changed what may run");
            browser.key("\u{E004}").await;
            assert_eq!(browser.evaluate("document.activeElement.name").await, "q");
            drop(browser);
            assert!(!profile.exists(), "the profile is still there");
        }
    }
}
