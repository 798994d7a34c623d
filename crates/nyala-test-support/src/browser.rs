//! Pages in a real browser: Chromium, controlled by its debugging protocol: JSON in WebSocket frames, of which a
//! client needs few.
//!
//! A machine without Chromium has no [`Page`]; its tests are skipped, and say so.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a test waits for a page.
const PATIENCE: Duration = Duration::from_secs(90);

/// A process that ends with the test.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server, and returns it with the line of its output that has its address.
///
/// # Panics
/// If it does not start or prints no such line.
pub fn start_server(command: &mut Command) -> (Process, String) {
    let mut process = Process(command.stdout(Stdio::piped()).spawn().expect("the server starts"));
    let output = process.0.stdout.take().expect("it is a pipe");
    let address = line_with(output, "http://");
    (process, address)
}

/// The first line with this text. Later lines are read as well, since a full pipe would stop the process.
fn line_with(output: impl Read + Send + 'static, text: &str) -> String {
    let mut lines = BufReader::new(output).lines();
    let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains(text));
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    line.unwrap_or_else(|| panic!("no line has `{text}`"))
}

/// A page in a browser of its own.
pub struct Page {
    stream: TcpStream,
    n_sent: u64,
    _browser: Process,
}

impl Page {
    /// Opens a page, if there is a browser. `profile` is the folder of its data.
    ///
    /// # Panics
    /// If the browser does not show the page.
    pub fn open(url: &str, profile: &Path) -> Option<Page> {
        let Some(browser) = browser() else {
            eprintln!("skipped: there is no Chromium");
            return None;
        };
        let mut command = Command::new(browser);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg(url);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut browser = Process(command.spawn().expect("the browser starts"));
        let messages = browser.0.stderr.take().expect("it is a pipe");
        let line = line_with(messages, "DevTools listening on ws://");
        let host = line.split("ws://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address_of_page(host.expect("the address has a host"), url);
        Some(Page { stream: connect(&address), n_sent: 0, _browser: browser })
    }

    /// Calls a method of the protocol, and returns its result.
    ///
    /// # Panics
    /// If the browser has ended.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.n_sent += 1;
        let text = json!({"id": self.n_sent, "method": method, "params": params}).to_string().into_bytes();
        // One frame of text, masked by zeros.
        let mut frame = vec![0x81];
        match text.len() {
            n @ 0..126 => frame.push(0x80 | n as u8),
            n => frame.extend([&[0x80 | 126], &(n as u16).to_be_bytes()[..]].concat()),
        }
        frame.extend([0; 4]);
        frame.extend(text);
        self.stream.write_all(&frame).expect("the browser listens");
        loop {
            let answer: Value = serde_json::from_slice(&self.frame()).unwrap_or_default();
            if answer["id"] == self.n_sent {
                return answer["result"].clone();
            }
        }
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut read = |n: usize| {
            let mut bytes = vec![0; n];
            self.stream.read_exact(&mut bytes).expect("the browser answers");
            bytes
        };
        let n = match read(2)[1] {
            126 => read(2).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
            127 => read(8).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
            n => usize::from(n),
        };
        read(n)
    }

    /// The value of an expression in JavaScript.
    pub fn evaluate(&mut self, code: &str) -> Value {
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        self.call("Runtime.evaluate", params)["result"]["value"].clone()
    }

    /// Waits until the value of an expression is as wanted, and returns it.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn wait(&mut self, code: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let value = self.evaluate(code);
            if is_wanted(&value) {
                return value;
            }
            assert!(start.elapsed() < PATIENCE, "{code} is {value}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The colours of the image with this id, row by row: red, green, blue and alpha of each pixel. It is scaled to
    /// its own size.
    pub fn pixels(&mut self, id: &str) -> Vec<u8> {
        let code = format!(
            "(async () => {{
                const image = document.getElementById('{id}');
                await image.decode().catch(() => {{}});
                const canvas = document.createElement('canvas');
                canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
                const context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                return Array.from(context.getImageData(0, 0, canvas.width, canvas.height).data);
            }})()"
        );
        let value = self.evaluate(&code);
        value.as_array().into_iter().flatten().map(|value| value.as_u64().unwrap_or(0) as u8).collect()
    }
}

/// A browser on the path.
pub fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.exists())
}

/// Connects to a debugging address such as `ws://127.0.0.1:4711/devtools/page/1`.
fn connect(address: &str) -> TcpStream {
    let address = address.strip_prefix("ws://").unwrap_or(address);
    let (host, path) = address.split_once('/').expect("the address has a path");
    let mut stream = TcpStream::connect(host).expect("the browser listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("the time is not zero");
    let request = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("the browser listens");
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the browser answers");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// The debugging address of the page with this URL.
fn address_of_page(host: &str, url: &str) -> String {
    let start = Instant::now();
    loop {
        let text = list_of_pages(host).unwrap_or_default();
        let list: Value =
            text.find('[').and_then(|at| serde_json::from_str(&text[at..]).ok()).unwrap_or_default();
        let pages = list.as_array().cloned().unwrap_or_default();
        let page = pages.iter().find(|page| page["url"].as_str().is_some_and(|found| url.starts_with(found)));
        if let Some(address) = page.and_then(|page| page["webSocketDebuggerUrl"].as_str()) {
            return address.to_owned();
        }
        assert!(start.elapsed() < PATIENCE, "the browser has no page: {text}");
        thread::sleep(Duration::from_millis(200));
    }
}

fn list_of_pages(host: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /json/list HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut answer = vec![];
    // The browser may leave the connection open.
    let _ = stream.read_to_end(&mut answer);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
