//! Scenes and places that would hang the app or exhaust memory: each ends with a message and a status.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nyala_test_support::browser::start_server;

/// An empty folder per test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala-raytrace"));
    command.current_dir(folder).args(["--size", "8x8", "--samples", "1"]).args(args);
    command
}

fn app(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The error output of a run with this status.
fn errors(folder: &Path, args: &[&str], status: i32) -> String {
    let result = app(folder, args);
    let errors = String::from_utf8_lossy(&result.stderr).into_owned();
    assert_eq!(result.status.code(), Some(status), "{args:?}: {errors}");
    errors
}

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n";

#[test]
fn devices_and_pipes_are_not_read() {
    let folder = folder("files");
    symlink("/dev/zero", folder.join("zero.ply")).unwrap();
    assert!(Command::new("mkfifo").arg("pipe").current_dir(&folder).status().unwrap().success());
    fs::create_dir(folder.join("folder.obj")).unwrap();
    let gltf = r#"{"buffers": [{"uri": "pipe"}]}"#;
    fs::write(folder.join("pipe.gltf"), gltf).unwrap();
    for scene in ["zero.ply", "folder.obj", "pipe.gltf"] {
        let errors = errors(&folder, &[scene], 1);
        assert!(errors.contains(scene) && errors.contains("it is no regular file"), "{errors}");
    }
    // Materials and textures are only warnings.
    let materials = "mtllib pipe\nmtllib /dev/zero\nmtllib a.mtl\n";
    fs::write(folder.join("a.obj"), format!("{materials}{TRIANGLE}")).unwrap();
    fs::write(folder.join("a.mtl"), "newmtl a\nmap_Kd pipe\n").unwrap();
    let errors = errors(&folder, &["a.obj"], 0);
    for name in ["the materials `pipe`", "the materials `/dev/zero`", "the texture `pipe`"] {
        let line = errors.lines().find(|line| line.contains(name)).expect(name);
        assert!(line.starts_with("warning: ") && line.ends_with("it is no regular file"), "{line}");
    }
}

#[test]
fn short_files_with_many_corners_are_errors() {
    let folder = folder("counts");
    let gltf = |corners: u64, indices: u64| {
        format!(
            r#"{{"nodes": [{{"mesh": 0}}], "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "indices": 1}}]}}],
            "accessors": [{{"count": {corners}, "componentType": 5126}}, {{"count": {indices}, "componentType": 5125}}]}}"#
        )
    };
    fs::write(folder.join("a.gltf"), gltf(99_999_999_999, 3)).unwrap();
    fs::write(folder.join("b.gltf"), gltf(3, 99_999_999_999)).unwrap();
    let list = "element face 9999999999\nproperty list int int vertex_indices\nend_header\n999999999 1 2\n";
    fs::write(folder.join("c.ply"), format!("ply\nformat ascii 1.0\n{list}")).unwrap();
    fs::write(folder.join("d.gltf"), r#"{"nodes": [{"mesh": 7}]}"#).unwrap();
    fs::write(folder.join("e.obj"), "v 3e38 0 0\nv -3e38 0 0\nv 0 3e38 0\nf 1 2 3\n").unwrap();
    for (scene, part) in [
        ("a.gltf", "there are too many corners"),
        ("b.gltf", "there are too many triangles"),
        ("c.ply", "a list of 999999999 elements"),
        ("d.gltf", "there is no mesh 7"),
        ("e.obj", "its place is not a finite number"),
    ] {
        let errors = errors(&folder, &[scene], 1);
        assert!(errors.contains(part), "{scene}: {errors}");
    }
}

#[test]
fn omitted_parts_are_warnings() {
    let folder = folder("warnings");
    fs::write(folder.join("a.obj"), format!("{TRIANGLE}v nan 0 0\nf 1 2 4\n")).unwrap();
    fs::write(folder.join("b.obj"), "").unwrap();
    assert_eq!(
        errors(&folder, &["a.obj"], 0),
        "warning: triangles left out, since a corner is not finite: 1\n"
    );
    assert_eq!(errors(&folder, &["b.obj"], 0), "warning: the scene has no triangles\n");
}

#[test]
fn pictures_replace_only_regular_files() {
    let folder = folder("output");
    fs::write(folder.join("a.obj"), TRIANGLE).unwrap();
    symlink("/dev/full", folder.join("full.png")).unwrap();
    for (output, status, part) in [
        ("full.png", 1, "it is no regular file"),
        ("a.obj/x.png", 1, "cannot write `a.obj/x.png`"),
        ("none/x.png", 1, "cannot write `none/x.png`"),
        ("a.jpg", 2, "the name of a picture ends with .png"),
    ] {
        let errors = errors(&folder, &["a.obj", "-o", output], status);
        assert!(errors.contains(part), "{errors}");
    }
    assert!(fs::symlink_metadata(folder.join("full.png")).unwrap().is_symlink());
    let mut large = Command::new(env!("CARGO_BIN_EXE_nyala-raytrace"));
    let result = large.current_dir(&folder).args(["a.obj", "--size", "16384x16384"]).output().unwrap();
    let errors = String::from_utf8_lossy(&result.stderr).into_owned();
    assert!(result.status.code() == Some(2) && errors.contains("a picture has at most"), "{errors}");
}

#[test]
fn a_pipe_without_a_reader_ends_the_process() {
    const SIGPIPE: i32 = 13;
    let folder = folder("pipe");
    fs::write(folder.join("a.obj"), TRIANGLE).unwrap();
    // The reader is gone before the process starts: short output would fit into the pipe.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let result = command(&folder, &["a.obj", "--show-program"]).stdout(writer).stderr(Stdio::piped()).spawn();
    let result = result.unwrap().wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&result.stderr);
    assert_eq!((result.status.signal(), errors.as_ref()), (Some(SIGPIPE), ""));
}

/// Connections that send nothing, or too much, are closed, and others are answered.
#[test]
fn the_server_answers_after_useless_connections() {
    let folder = folder("server");
    fs::write(folder.join("a.obj"), TRIANGLE).unwrap();
    let (_server, url) = start_server(&mut command(&folder, &["a.obj", "--serve", "0"]));
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let connect = || TcpStream::connect(address).unwrap();
    let _silent = connect();
    // The server may close the connection before all is written.
    let _ = connect().write_all(&[b'a'; 100_000]);
    for (request, expected) in
        [("/nothing", "HTTP/1.1 404 Not Found"), ("/picture?yaw=nan", "HTTP/1.1 200 OK")]
    {
        let mut stream = connect();
        write!(stream, "GET {request} HTTP/1.1\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }
}
