//! The page to try operations, in a browser.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use oxorb_testkit::peers::is_there;
use oxorb_testkit::process::Process;
use oxorb_testkit::watchdog;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::{Bank, LIMIT};
use crate::common::Folder;

/// Program of the browser.
const CHROMIUM: &str = "chromium";

/// Environment variable with a folder for pictures of the page. Without it, none are written.
const PICTURES: &str = "OXORB_PAGE_PICTURES";

/// Functions for scripts in the page.
const HELPERS: &str = r##"
    const find = (selector, text) =>
        [...document.querySelectorAll(selector)].find((it) => it.textContent.includes(text));
    const until = (get) => new Promise((resolve, reject) => {
        const end = Date.now() + 30000;
        const look = () => {
            const got = get();
            if (got) resolve(got);
            else if (Date.now() > end) reject(new Error("in vain: " + get));
            else setTimeout(look, 10);
        };
        look();
    });
    const press = async (member, button, value) => {
        const details = find("#members details", member);
        details.open = true;
        if (value !== undefined) details.querySelector("textarea").value = value;
        const status = document.querySelector("#status");
        status.textContent = "";
        [...details.querySelectorAll("button")].find((it) => it.textContent === button).click();
        await until(() => /^[0-9]/.test(status.textContent));
        return [status.textContent, document.querySelector("#answer").textContent];
    };
"##;

/// Browser without a window, controlled by its protocol for debuggers: JSON, each message followed by a zero octet.
struct Browser {
    process: Process,
    commands: File,
    answers: BufReader<File>,
    /// Number of the last command.
    last: u64,
    /// Session with the page; `None` before there is one.
    session: Option<String>,
    /// Holds the pipes and the profile.
    _folder: Folder,
}

impl Browser {
    /// Starts the browser, and opens a page.
    fn open(url: &str) -> Browser {
        let folder = Folder::new("browser");
        let open = |name: &str| {
            let path = folder.path(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
            // Opened in both directions, so that this does not wait for the browser.
            File::options().read(true).write(true).open(path).expect("the pipe can be opened")
        };
        let (commands, answers) = (open("commands"), BufReader::new(open("answers")));
        let mut command = Command::new("sh");
        command.env("HOME", &folder.0).current_dir(&folder.0);
        command.args(["-c", "exec \"$0\" \"$@\" 3<commands 4>answers", CHROMIUM]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", folder.path("profile")));
        command.args(["--remote-debugging-pipe", "about:blank"]);
        let process = Process::spawn(command);
        let mut browser =
            Browser { process, commands, answers, last: 0, session: None, _folder: folder };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        browser.resize(1200, 900);
        let opened = browser.ask("Page.navigate", json!({ "url": url }));
        assert_eq!(opened.get("errorText"), None, "{opened}");
        browser
    }

    /// Sends a command, and waits for its result.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut octets = command.to_string().into_bytes();
        octets.push(0);
        self.commands.write_all(&octets).expect("the browser reads commands");
        loop {
            let mut answer = Vec::new();
            self.answers.read_until(0, &mut answer).expect("the browser answers");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            if answer["id"] == self.last {
                assert_eq!(answer.get("error"), None, "{command}: {:?}", self.process.output());
                return answer["result"].clone();
            }
        }
    }

    /// Runs the body of an asynchronous function in the page; returns its result.
    #[track_caller]
    fn run(&mut self, body: &str) -> Value {
        let expression = format!("(async () => {{ {HELPERS} {body} }})()");
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let done = self.ask("Runtime.evaluate", params);
        assert_eq!(done.get("exceptionDetails"), None, "{body}");
        done["result"]["value"].clone()
    }

    /// Sets the size of the page.
    fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }

    /// Writes a picture of the page as a PNG file, if somebody wants one.
    fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os(PICTURES) else {
            return;
        };
        let picture = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        let path = std::path::Path::new(&folder).join(format!("{name}.png"));
        let file = File::create(&path).expect("the picture can be written");
        let mut decode = Command::new("base64");
        let mut decode = decode.arg("-d").stdin(Stdio::piped()).stdout(file).spawn().unwrap();
        let mut octets = decode.stdin.take().unwrap();
        octets.write_all(picture["data"].as_str().unwrap().as_bytes()).unwrap();
        drop(octets);
        assert!(decode.wait().unwrap().success());
    }

    /// Ends the browser.
    fn close(mut self) {
        self.session = None;
        self.ask("Browser.close", json!({}));
        self.process.wait(LIMIT);
    }
}

#[test]
#[ignore = "needs a browser: .ci/full peers"]
fn operations_are_called_from_the_page() {
    let _guard = watchdog(Duration::from_secs(180));
    if !is_there(CHROMIUM) {
        return;
    }
    let bank = Bank::open("http-browser", &[]);
    let mut page = Browser::open(&format!("http://{}/", bank.address));
    let listed = page.run(
        "await until(() => document.querySelector('#objects button'));
         return [...document.querySelectorAll('#objects button')].map((it) => it.textContent);",
    );
    assert_eq!(listed, json!(["Account"]));
    page.picture("objects");

    let described = page.run(
        "find('#objects button', 'Account').click();
         await until(() => find('#members details', 'withdraw'));
         return [document.querySelector('#name').textContent,
                 document.querySelector('#interface').textContent,
                 find('#members details', 'withdraw').querySelector('textarea').value];",
    );
    assert_eq!(described[0], "Account");
    assert_eq!(described[1], "IDL:bank/Account:1.0");
    let marked = page.run("return document.querySelector('[aria-current]').textContent;");
    assert_eq!(marked, "Account");
    let arguments: Value = serde_json::from_str(described[2].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "amount": 0 }));
    page.picture("members");

    let called = page.run(r#"return await press("withdraw", "Call", '{"amount": 1234}');"#);
    assert_eq!(called, json!(["200 OK", "1234"]));
    assert_eq!(bank.post("withdraw", r#"{"amount": 1234}"#).json(), json!(1234));
    page.picture("answer");

    let raised = page.run(r#"return await press("withdraw", "Call", '{"amount": 1000}');"#);
    assert_eq!(raised[0], "422 Unprocessable Entity");
    let problem: Value = serde_json::from_str(raised[1].as_str().unwrap()).unwrap();
    assert_eq!(problem["type"], "IDL:bank/Overdrawn:1.0");
    page.picture("problem");

    let set = page.run(r#"return await press("attribute balance", "Set", "77");"#);
    assert_eq!(set, json!(["204 No Content", ""]));
    let read = page.run(r#"return await press("attribute balance", "Read");"#);
    assert_eq!(read, json!(["200 OK", "77"]));
    assert_eq!(bank.get("/objects/Account/balance").json(), json!(77));

    // The page fits into a window, and into that of a telephone, and the answer is in view.
    for (name, width, height) in [("window", 1200, 900), ("telephone", 360, 740)] {
        page.resize(width, height);
        let beyond = page.run(
            "const answer = document.querySelector('#answer').getBoundingClientRect();
             return [document.documentElement.scrollWidth - window.innerWidth, -answer.top,
                     answer.bottom - window.innerHeight];",
        );
        let beyond: Vec<f64> = serde_json::from_value(beyond).expect("three numbers");
        assert!(beyond.iter().all(|pixels| *pixels <= 0.0), "{name}: {beyond:?} pixels beyond");
        page.picture(name);
    }
    page.close();
}

#[test]
#[ignore = "needs a browser: .ci/full peers"]
fn text_of_a_server_does_not_become_markup() {
    let _guard = watchdog(Duration::from_secs(180));
    if !is_there(CHROMIUM) {
        return;
    }
    let bank = Bank::open("http-browser-markup", &[]);
    let mut page = Browser::open(&format!("http://{}/", bank.address));
    let shown = page.run(
        r##"await until(() => find("#objects button", "Account"));
           find("#objects button", "Account").click();
           await until(() => find("#members details", "echo"));
           const text = '<b id="bold">bold</b><script>document.title = "run"</script>';
           const body = JSON.stringify({ a: { type: "string", value: text } });
           const answer = await press("echo", "Call", body);
           const isSame = JSON.parse(answer[1]).value === text;
           return [answer[0], isSame, document.querySelector("#bold"), document.title];"##,
    );
    assert_eq!(shown, json!(["200 OK", true, null, "CORBA objects"]));
    page.close();
}
