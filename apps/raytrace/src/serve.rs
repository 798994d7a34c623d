//! `--serve`: a page on the loopback interface where one turns the camera and sees the picture refine.
//!
//! The page asks for `/picture?yaw=..&pitch=..&zoom=..`; the server adds a sample and answers with the picture so far, and starts again when the
//! camera has moved. One request is answered at a time: the kernel uses all threads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::files;
use crate::kernel::{Kernel, Sums};
use crate::picture;
use crate::view::{Camera, Light};

const PAGE: &str = include_str!("page.html");
/// The most bytes of a request that are read.
const MAX_REQUEST: usize = 8192;
/// How long a request may take to arrive, and how long the connection may wait to take more of an answer: others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn serve(port: u16, kernel: &Kernel<'_>, camera: Camera, light: Light, mut sums: Sums) -> Result<()> {
    let listener =
        TcpListener::bind(("127.0.0.1", port)).with_context(|| format!("cannot listen on port {port}"))?;
    files::print(&format!("http://{}/\n", listener.local_addr()?))?;
    let mut last = None;
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        // A browser that closes the connection early is no error of the server.
        let _ = answer(stream, |place| {
            let turn =
                [("yaw", 0.0), ("pitch", 0.0), ("zoom", 1.0)].map(|(name, value)| number(place, name, value));
            if last != Some(turn) {
                sums.clear();
                last = Some(turn);
            }
            let camera = camera.turned(turn[0], turn[1], turn[2].clamp(0.01, 100.0));
            kernel.render(&camera, &light, &mut sums);
            picture::png(&sums).map(|png| (png, sums.n_samples))
        });
    }
    Ok(())
}

/// A number of a query.
fn number(place: &str, name: &str, default: f32) -> f32 {
    let query = place.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).filter(|value: &f32| value.is_finite()).unwrap_or(default)
}

/// The head of a request.
fn request(stream: &mut TcpStream) -> Result<String> {
    let (start, mut bytes, mut part) = (Instant::now(), vec![], [0; 1024]);
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = PATIENCE.saturating_sub(start.elapsed());
        ensure!(!left.is_zero() && bytes.len() < MAX_REQUEST, "the request has no end");
        stream.set_read_timeout(Some(left))?;
        let n = stream.read(&mut part)?;
        ensure!(n > 0, "the request ends early");
        bytes.extend(&part[..n]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn answer(mut stream: TcpStream, render: impl FnOnce(&str) -> Result<(Vec<u8>, u32)>) -> Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let place = request.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let (status, kind, extra, body) = match place.split('?').next() {
        Some("/") => ("200 OK", "text/html; charset=utf-8", String::new(), PAGE.as_bytes().to_vec()),
        Some("/picture") => {
            let (png, n_samples) = render(place)?;
            ("200 OK", "image/png", format!("X-Samples: {n_samples}\r\n"), png)
        }
        _ => ("404 Not Found", "text/plain", String::new(), b"not found\n".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{extra}Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    Ok(())
}
