//! The page of `--serve` in a real browser: the picture refines, and turns with the mouse. Without Chromium the test is skipped, and says so.
//!
//! The browser is controlled by its debugging protocol: JSON in WebSocket frames, of which a client needs few.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A page of the browser.
struct Page {
    stream: TcpStream,
    n_sent: u64,
}

impl Page {
    /// Connects to a debugging address such as `ws://127.0.0.1:4711/devtools/page/1`.
    fn connect(address: &str) -> Page {
        let (host, path) = address.strip_prefix("ws://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = vec![];
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Page { stream, n_sent: 0 }
    }

    /// Calls a method, and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
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
        self.stream.write_all(&frame).unwrap();
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
            self.stream.read_exact(&mut bytes).unwrap();
            bytes
        };
        let n = match read(2)[1] {
            126 => read(2).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
            127 => read(8).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
            n => usize::from(n),
        };
        read(n)
    }

    fn evaluate(&mut self, code: &str) -> Value {
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        self.call("Runtime.evaluate", params)["result"]["value"].clone()
    }

    /// Waits until the state of the page is as wanted.
    fn wait(&mut self, is_wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let state = self.evaluate("document.getElementById('state').textContent");
            let state = state.as_str().unwrap_or_default().to_owned();
            if is_wanted(&state) {
                return state;
            }
            assert!(start.elapsed() < Duration::from_secs(90), "the page says `{state}`");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// How many pixels of the picture are bright.
    fn n_bright(&mut self) -> u64 {
        let code = "(async () => {
            const image = document.getElementById('picture');
            await image.decode().catch(() => {});
            const canvas = document.createElement('canvas');
            canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
            let n = 0;
            for (let i = 0; i < data.length; i += 4) if (data[i] > 100) n++;
            return n;
        })()";
        (0..50).find_map(|_| self.evaluate(code).as_u64().filter(|&n| n > 0)).unwrap_or(0)
    }
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect())?;
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.exists())
}

/// Starts a program, and returns it with the first line of its output or messages that has this text.
fn start(command: &mut Command, text: &str, in_messages: bool) -> (Process, String) {
    let mut process = Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let lines: Box<dyn Read + Send> = match in_messages {
        true => Box::new(process.0.stderr.take().unwrap()),
        false => Box::new(process.0.stdout.take().unwrap()),
    };
    let mut lines = BufReader::new(lines).lines();
    let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains(text));
    // A full pipe would stop the program.
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (process, line.unwrap_or_else(|| panic!("no line with `{text}`")))
}

#[test]
fn the_picture_refines_and_turns() {
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no Chromium");
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    // A square, which is narrow from the side.
    fs::write(folder.join("a.obj"), "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nf 1 2 3 4\n").unwrap();
    let mut app = Command::new(env!("CARGO_BIN_EXE_nyala-raytrace"));
    app.args(["a.obj", "--serve", "0", "--size", "96x64", "--eye", "0,0,4", "--threads", "1"]);
    let (_app, url) = start(app.current_dir(&folder), "http://", false);
    let mut command = Command::new(browser);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display())).arg(&url);
    let (_browser, line) = start(&mut command, "DevTools listening on ws://", true);
    let host = line.split("ws://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let mut page = Page::connect(&address_of_page(&host, &url));

    // At least this many samples, from this direction.
    let refined = |n: u32, turned: &'static str| {
        move |state: &str| {
            let samples = state.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
            samples >= n && state.contains(turned)
        }
    };
    page.wait(refined(3, "turned by 0°"));
    let front = page.n_bright();
    assert!(front > 1000, "{front} bright pixels");
    // A drag by 200 pixels turns the camera by 80 degrees.
    let place = "(() => { const r = document.getElementById('picture').getBoundingClientRect(); return [r.x + 10, r.y + 10]; })()";
    let place = page.evaluate(place);
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    for (kind, x) in [
        ("mousePressed", x),
        ("mouseMoved", x + 100.0),
        ("mouseMoved", x + 200.0),
        ("mouseReleased", x + 200.0),
    ] {
        let params = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        page.call("Input.dispatchMouseEvent", params);
    }
    page.wait(refined(5, "turned by 80°"));
    let side = page.n_bright();
    assert!(side > 0 && side < front / 2, "{front} bright pixels from the front, {side} from the side");
}

/// The debugging address of the page with this URL.
fn address_of_page(host: &str, url: &str) -> String {
    let start = Instant::now();
    loop {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /json/list HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let list: Value =
            text.find('[').and_then(|at| serde_json::from_str(&text[at..]).ok()).unwrap_or_default();
        let pages = list.as_array().cloned().unwrap_or_default();
        let page = pages.iter().find(|page| page["url"].as_str().is_some_and(|found| url.starts_with(found)));
        if let Some(address) = page.and_then(|page| page["webSocketDebuggerUrl"].as_str()) {
            return address.to_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(30), "the browser has no page: {text}");
        thread::sleep(Duration::from_millis(200));
    }
}
