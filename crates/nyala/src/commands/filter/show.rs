//! `nyala filter --show`: a page on the loopback device with source, picture and frame slider.
//!
//! The server handles one connection at a time, and only for this machine: it listens on 127.0.0.1. The page asks
//! for the state twice per second, so it follows changes of the filter's file.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use nyala_driver::{Options, Report, Session};
use nyala_filter::{Picture, RenderOptions, Renderer, files};

use super::load;

/// The page. It has no references to other addresses.
const PAGE: &str = include_str!("show.html");

/// A client that is silent for this long is dropped.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest request that is read.
const MAX_REQUEST: u64 = 16 << 10;

/// What is shown.
pub struct Shown {
    pub filter: PathBuf,
    pub picture: Picture,
    pub options: RenderOptions,
    pub n_frames: i32,
}

/// Serves the page until the process is ended.
pub fn serve(shown: Shown, port: u16, opens_browser: bool) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.with_context(|| format!("cannot listen on port {port}"))?;
    let url = format!("http://{}/", listener.local_addr()?);
    writeln!(io::stdout(), "{url}").context(crate::output::NO_OUTPUT)?;
    if opens_browser {
        open(&url);
    }
    let mut server = Server { shown, read: None, source: String::new(), state: Err(String::new()) };
    for stream in listener.incoming() {
        // A client that disappears is no error of the server.
        let _ = stream.and_then(|stream| server.answer(stream));
    }
    Ok(())
}

/// Opens a page in the user's browser, if the system has a command for it.
fn open(url: &str) {
    let command = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // The address is also printed.
    let _ = Command::new(command).arg(url).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

/// The time of the last change of a file.
pub fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

struct Server {
    shown: Shown,
    /// When the filter's file was changed before it was read.
    read: Option<SystemTime>,
    source: String,
    /// The filter, or its errors as text.
    state: Result<Renderer, String>,
}

impl Server {
    fn answer(&mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(io::Read::take(&stream, MAX_REQUEST));
        let mut request = String::new();
        reader.read_line(&mut request)?;
        // The headers are read, so that the client sees no reset connection, and ignored but for the host.
        let mut host = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("host") => host = value.trim().to_owned(),
                _ => {}
            }
        }
        // Pages of other hosts cannot read the answers through a name that points here.
        let name = host.split(':').next().unwrap_or_default();
        if name != "127.0.0.1" && !name.eq_ignore_ascii_case("localhost") {
            return respond(&stream, "403 Forbidden", "text/plain", b"only for this machine\n");
        }
        self.refresh();
        let mut words = request.split_whitespace();
        match (words.next(), words.next()) {
            (Some("GET"), Some("/")) => {
                respond(&stream, "200 OK", "text/html; charset=utf-8", PAGE.as_bytes())
            }
            (Some("GET"), Some("/state")) => {
                respond(&stream, "200 OK", "application/json", self.state_as_json().as_bytes())
            }
            (Some("GET"), Some(path)) if path.starts_with("/frame/") => self.frame(&stream, path),
            _ => respond(&stream, "404 Not Found", "text/plain", b"not found\n"),
        }
    }

    /// Reads the filter again if its file has changed.
    fn refresh(&mut self) {
        let now = changed(&self.shown.filter);
        if self.read == now && now.is_some() {
            return;
        }
        self.read = now;
        let mut session = Session::new(Options::default());
        let filter = load(&mut session, &self.shown.filter);
        self.source = session.sources.files().last().map_or_else(String::new, |(_, file)| file.text.clone());
        self.state = match filter {
            Some(filter) => Ok(Renderer::new(filter, self.shown.picture.clone(), self.shown.options)),
            None => Err(Report::new(session.diagnostics).human(&session.sources, false)),
        };
    }

    fn state_as_json(&self) -> String {
        let errors = self.state.as_ref().err().map_or("", String::as_str);
        let version = self.read.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let version = version.map_or(0, |time| time.as_micros());
        format!(
            "{{\"version\":{version},\"frames\":{},\"name\":{},\"source\":{},\"errors\":{}}}",
            self.shown.n_frames,
            json(&self.shown.filter.display().to_string()),
            json(&self.source),
            json(errors)
        )
    }

    /// `/frame/12.png?version`
    fn frame(&mut self, stream: &TcpStream, path: &str) -> io::Result<()> {
        let number = path.trim_start_matches("/frame/").split('.').next().and_then(|text| text.parse().ok());
        let Some(number) = number.filter(|number| (0..self.shown.n_frames).contains(number)) else {
            return respond(stream, "404 Not Found", "text/plain", b"there is no such frame\n");
        };
        let rendered = match &mut self.state {
            Ok(renderer) => renderer.frame(number).map_err(|diagnostics| {
                let mut session = Session::new(Options::default());
                session.add_text(self.shown.filter.display().to_string(), self.source.as_str());
                Report::new(diagnostics).human(&session.sources, false)
            }),
            Err(errors) => Err(errors.clone()),
        };
        match rendered.and_then(|frame| files::encode(&frame)) {
            Ok(bytes) => respond(stream, "200 OK", "image/png", &bytes),
            Err(errors) => {
                respond(stream, "422 Unprocessable Content", "text/plain; charset=utf-8", errors.as_bytes())
            }
        }
    }
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

/// A text as a string of JSON.
fn json(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
