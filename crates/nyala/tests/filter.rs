//! `nyala filter`: pictures in and out, animations, errors, and the page.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use nyala_filter::{Picture, files};
use support::{Folder, run};

const NEGATIVE: &str = "[ 3 channels: 1.0 - image(row, col, current) ]\n";
const FADE: &str = "[ 3 channels: image(row, col, current) * (1.0 - iter / 4.0) ]\n";

fn picture(folder: &Folder) -> String {
    let picture = Picture::from_interleaved(9, 7, 3, 255, |index| index as u16).expect("it is small");
    folder.file("in.png", files::encode(&picture).expect("it is a picture"))
}

fn values(path: &str) -> Vec<u16> {
    let bytes = fs::read(path).expect("it was written");
    files::decode(&bytes).expect("it is a picture").interleaved().collect()
}

#[test]
fn a_picture_is_filtered() {
    let folder = Folder::new("filter-negative");
    let (filter, input) = (folder.file("negative.img", NEGATIVE.as_bytes()), picture(&folder));
    let out = folder.path("out.png");
    let expected: Vec<u16> = (0..9 * 7 * 3).map(|index| 255 - index).collect();
    for engine in ["interpret", "compile", "specialize"] {
        let result = run(&["filter", &filter, &input, "-o", &out, "--engine", engine], "");
        assert_eq!(result, (Some(0), String::new(), String::new()));
        assert_eq!(values(&out), expected, "{engine}");
    }
}

#[test]
fn frames_are_animations_or_numbered_files() {
    let folder = Folder::new("filter-frames");
    let (filter, input) = (folder.file("fade.img", FADE.as_bytes()), picture(&folder));
    let write = |name: &str| {
        let out = folder.path(name);
        let (status, _, stderr) = run(&["filter", &filter, &input, "-o", &out, "--frames", "3"], "");
        assert_eq!(status, Some(0), "{stderr}");
        out
    };
    write("fade.png");
    let last = values(&folder.path("fade-0002.png"));
    assert!(last.iter().enumerate().all(|(index, &value)| value.abs_diff(index as u16 / 2) <= 1), "{last:?}");
    let gif = fs::read(write("fade.gif")).expect("it was written");
    assert!(gif.starts_with(b"GIF89a") && gif.ends_with(b";"));
    let apng = fs::read(write("fade.apng")).expect("it was written");
    assert_eq!(apng.windows(4).filter(|window| window == b"fcTL").count(), 3);
    // A fault of a later frame is reported, and no file is written.
    let late = folder.file("late.img", "[ 3 channels: 1 / (iter - 2) ]");
    for name in ["late.png", "late.gif", "late.apng"] {
        let out = folder.path(name);
        let (status, _, stderr) = run(&["filter", &late, &input, "-o", &out, "--frames", "5"], "");
        assert!(status == Some(1) && stderr.contains("error[E1211]: division by zero"), "{stderr}");
        assert!(fs::metadata(&out).is_err() && fs::metadata(folder.path("late-0000.png")).is_err());
    }
    let (status, _, stderr) = run(&["filter", &filter, &input, "-o", "fade.bmp"], "");
    assert_eq!((status, stderr.as_str()), (Some(1), "error: `fade.bmp` must end in .png, .apng or .gif\n"));
}

#[test]
fn errors_name_their_place() {
    let folder = Folder::new("filter-errors");
    let (filter, input) = (folder.file("bad.img", b"[ image(row, col - 1, 0) ]"), picture(&folder));
    let (status, _, stderr) =
        run(&["filter", &filter, &input, "-o", &folder.path("out.png"), "--boundary", "error"], "");
    assert_eq!(status, Some(1));
    assert!(stderr.contains("error[E1208]: there is no pixel at row 0, column -1"), "{stderr}");
    assert!(stderr.contains("bad.img:1:3"), "{stderr}");
    let (status, _, stderr) = run(&["filter", &filter, &filter, "-o", &folder.path("out.png")], "");
    assert!(status == Some(1) && stderr.contains("is no picture that can be read"), "{stderr}");
}

#[test]
fn the_residual_is_a_filter() {
    let folder = Folder::new("filter-residual");
    let text = "let m = [ 0 1 | 2 0 ] in [ sum i from 0 to 1 of sum j from 0 to 1 of m[i, j] * image(row + i, col + j, 0); row / width ]";
    let (filter, input) = (folder.file("sum.img", text), picture(&folder));
    let (status, stdout, stderr) = run(&["filter", &filter, &input, "--residual"], "");
    let expected = "# 24 nodes before evaluation, 19 after it\n[ image(row, col + 1, 0) + image(row + 1, col, 0) * 2.0;\n  row / 9 ]\n";
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (Some(0), expected, ""));
    let loops = folder.file("loop.img", "[ sum i from 0 to col of i ]");
    let (status, _, stderr) = run(&["filter", &loops, &input, "--residual"], "");
    assert!(status == Some(1) && stderr.contains("which cannot be shown as a filter"), "{stderr}");
}

/// The answer of the server to a request.
fn get(address: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("the server reads");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("the server answers");
    answer
}

/// Waits until a file has this picture.
fn expect_values(path: &str, expected: &[u16]) {
    let start = std::time::Instant::now();
    loop {
        let found = fs::read(path).ok().and_then(|bytes| files::decode(&bytes).ok());
        let found = found.map(|picture| picture.interleaved().collect::<Vec<u16>>());
        if found.as_deref() == Some(expected) {
            return;
        }
        assert!(start.elapsed().as_secs() < 60, "{found:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn watch_renders_again_after_each_change() {
    let folder = Folder::new("filter-watch");
    let (filter, input) = (folder.file("f.img", "[ 3 channels: 1.0 ]"), picture(&folder));
    let out = folder.path("out.png");
    let mut watcher = Command::new(env!("CARGO_BIN_EXE_nyala"))
        .args(["filter", &filter, &input, "-o", &out, "--watch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nyala runs");
    expect_values(&out, &[255; 9 * 7 * 3]);
    // An error is shown, and the next version is rendered.
    for (text, expected) in [("[ 3 channels: ]", 255), ("[ 3 channels: 0.2 ]", 51)] {
        fs::write(&filter, text).expect("the folder is writable");
        expect_values(&out, &[expected; 9 * 7 * 3]);
    }
    watcher.kill().and_then(|()| watcher.wait()).expect("it runs");
}

/// Starts a server of the page for a filter; returns it with its address.
fn serve(filter: &str, input: &str, more: &[&str]) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_nyala"))
        .args(["filter", filter, input, "--show", "--no-open"])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .expect("nyala runs");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("it is a pipe")).read_line(&mut url).expect("it prints");
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    (server, address)
}

#[test]
fn the_page_is_for_this_machine_only() {
    let folder = Folder::new("filter-host");
    let (filter, input) = (folder.file("fade.img", FADE.as_bytes()), picture(&folder));
    let (mut server, address) = serve(&filter, &input, &[]);
    for (host, status) in
        [("localhost:1", "200"), ("127.0.0.1.example.org", "403"), ("localhost.example.org", "403")]
    {
        let mut stream = TcpStream::connect(&address).expect("the server listens");
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
    server.kill().and_then(|()| server.wait()).expect("it runs");
}

#[test]
fn the_page_follows_the_file() {
    let folder = Folder::new("filter-show");
    let (filter, input) = (folder.file("fade.img", FADE.as_bytes()), picture(&folder));
    let (mut server, address) = serve(&filter, &input, &["--frames", "3"]);
    let text = |path: &str| String::from_utf8_lossy(&get(&address, path)).into_owned();
    assert!(text("/").contains("<img id=\"picture\""));
    assert!(text("/state").contains("\"frames\":3"));
    let frame = get(&address, "/frame/2.png");
    let start = frame.windows(4).position(|window| window == b"\r\n\r\n").expect("headers end") + 4;
    let shown = files::decode(&frame[start..]).expect("it is a picture");
    assert_eq!((shown.width, shown.height), (9, 7));
    assert!(text("/frame/3.png").starts_with("HTTP/1.1 404"));
    fs::write(&filter, "[ imag(row, col, 0) ]").expect("the folder is writable");
    assert!(text("/state").contains("E1206") || text("/state").contains("E1201"));
    server.kill().and_then(|()| server.wait()).expect("it runs");
}
