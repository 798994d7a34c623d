//! Runs the app on small scenes, and looks at its pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder per test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn app(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nyala-raytrace")).current_dir(folder).args(args).output().unwrap()
}

/// Renders a scene with 32 x 24 pixels, and returns its red, green and blue numbers.
fn picture(folder: &Path, scene: &str, args: &[&str]) -> Vec<[u8; 3]> {
    let common = [scene, "--size", "32x24", "--samples", "4", "--eye", "0,0,4", "--threads", "2"];
    let result = app(folder, &[&common[..], args].concat());
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let image = image::open(folder.join("out.png")).unwrap().into_rgb8();
    assert_eq!(image.dimensions(), (32, 24));
    image.pixels().map(|pixel| pixel.0).collect()
}

const CORNERS: [[f32; 3]; 4] = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];

/// A red square as OBJ.
fn write_obj(folder: &Path) {
    let corners: String = CORNERS.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    fs::write(
        folder.join("a.obj"),
        format!("mtllib a.mtl\n{corners}vn 0 0 1\nusemtl red\nf 1//1 2//1 3//1 -1//1\n"),
    )
    .unwrap();
    fs::write(folder.join("a.mtl"), "newmtl red\nKd 0.9 0.1 0.1\n").unwrap();
}

/// The same as PLY, in one of its formats.
fn ply(format: &str) -> Vec<u8> {
    let header = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\n\
                  property uchar blue\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let mut bytes = format!("ply\nformat {format} 1.0\n{header}").into_bytes();
    let is_big = format.contains("big");
    for [x, y, z] in CORNERS {
        if format == "ascii" {
            bytes.extend(format!("{x} {y} {z} 230 26 26\n").bytes());
        } else {
            for number in [x, y, z] {
                bytes.extend(if is_big { number.to_be_bytes() } else { number.to_le_bytes() });
            }
            bytes.extend([230, 26, 26]);
        }
    }
    if format == "ascii" {
        bytes.extend(b"4 0 1 2 3\n");
    } else {
        bytes.push(4);
        for corner in 0..4i32 {
            bytes.extend(if is_big { corner.to_be_bytes() } else { corner.to_le_bytes() });
        }
    }
    bytes
}

/// Half as large as glTF, with a node that doubles it, and the bytes of its buffer.
fn gltf(uri: &str) -> (String, Vec<u8>) {
    let mut bytes: Vec<u8> =
        CORNERS.iter().flatten().flat_map(|number| (0.5 * number).to_le_bytes()).collect();
    bytes.extend([0u16, 1, 2, 0, 2, 3].iter().flat_map(|corner| corner.to_le_bytes()));
    let text = format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}],
        "nodes": [{{"children": [1], "scale": [2, 2, 2]}}, {{"mesh": 0}}],
        "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "indices": 1, "material": 0}}]}}],
        "materials": [{{"pbrMetallicRoughness": {{"baseColorFactor": [0.9, 0.1, 0.1, 1]}}}}],
        "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}},
                      {{"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"}}],
        "bufferViews": [{{"buffer": 0, "byteOffset": 0, "byteLength": 48}}, {{"buffer": 0, "byteOffset": 48, "byteLength": 12}}],
        "buffers": [{{"byteLength": 60{uri}}}]}}"#
    );
    (text, bytes)
}

fn glb() -> Vec<u8> {
    let (mut text, bytes) = gltf("");
    while !text.len().is_multiple_of(4) {
        text.push(' ');
    }
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend(((12 + 8 + text.len() + 8 + bytes.len()) as u32).to_le_bytes());
    file.extend((text.len() as u32).to_le_bytes());
    file.extend(b"JSON");
    file.extend(text.bytes());
    file.extend((bytes.len() as u32).to_le_bytes());
    file.extend(b"BIN\0");
    file.extend(bytes);
    file
}

/// The square is red, and covers about (2 / 3.3)^2 of the middle of the picture.
fn assert_red_square(pixels: &[[u8; 3]]) {
    let is_red = |[r, g, b]: [u8; 3]| r > 150 && g < 150 && b < 150;
    let n_red = pixels.iter().filter(|&&pixel| is_red(pixel)).count();
    assert!(is_red(pixels[12 * 32 + 16]) && !is_red(pixels[0]), "{:?}", (pixels[12 * 32 + 16], pixels[0]));
    assert!((180..=240).contains(&n_red), "{n_red} red pixels");
}

#[test]
fn all_formats_give_the_same_picture() {
    let folder = folder("formats");
    write_obj(&folder);
    let expected = picture(&folder, "a.obj", &[]);
    assert_red_square(&expected);
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        fs::write(folder.join("a.ply"), ply(format)).unwrap();
        assert_red_square(&picture(&folder, "a.ply", &[]));
    }
    fs::write(folder.join("a.glb"), glb()).unwrap();
    assert_eq!(picture(&folder, "a.glb", &[]), expected);
    let (text, bytes) = gltf(r#", "uri": "a.bin""#);
    fs::write(folder.join("a.gltf"), text).unwrap();
    fs::write(folder.join("a.bin"), bytes).unwrap();
    assert_eq!(picture(&folder, "a.gltf", &[]), expected);
}

/// The square of `gltf`, after a text in it is replaced by others; its buffer has some more bytes.
fn changed_gltf(changes: &[(&str, &str)], more: &[u8]) -> (String, Vec<u8>) {
    let (mut text, mut bytes) = gltf(r#", "uri": "a%20b.bin""#);
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    bytes.extend(more);
    (text, bytes)
}

#[test]
fn gltf_with_strips_sparse_accessors_and_normalized_numbers_gives_the_same_picture() {
    let folder = folder("gltf");
    write_obj(&folder);
    let expected = picture(&folder, "a.obj", &[]);
    let floats =
        |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let corners =
        |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let triangles = r#""count": 6, "type": "SCALAR""#;
    let four = r#""count": 4, "type": "SCALAR""#;
    let view =
        |at: u32| format!(r#"48, "byteLength": 12}}, {{"buffer": 0, "byteOffset": {at}, "byteLength": 99}}"#);
    let view = view(60);
    let mode = |mode: &str| format!(r#""mode": {mode}, "material": 0"#);
    // Two corners of a square without a buffer view are at other places.
    let sparse = r#"{"componentType": 5126, "count": 4, "type": "VEC3", "sparse": {"count": 4,
        "indices": {"bufferView": 2, "componentType": 5121},
        "values": {"bufferView": 0}}}"#;
    let normalized =
        r#"{"bufferView": 2, "componentType": 5120, "normalized": true, "count": 4, "type": "VEC3"}"#;
    let positions = r#"{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}"#;
    let bytes: Vec<u8> = CORNERS.iter().flatten().map(|number| (127.0 * number) as i8 as u8).collect();
    for (name, changes, more) in [
        (
            "strip",
            vec![
                (r#""material": 0"#, mode("5")),
                (triangles, four.into()),
                (r#""bufferView": 1"#, r#""bufferView": 2"#.into()),
                (r#"48, "byteLength": 12}"#, view.clone()),
            ],
            corners(&[0, 1, 3, 2]),
        ),
        (
            "fan",
            vec![
                (r#""material": 0"#, mode("6")),
                (triangles, four.into()),
                (r#""bufferView": 1"#, r#""bufferView": 2"#.into()),
                (r#"48, "byteLength": 12}"#, view.clone()),
            ],
            corners(&[1, 2, 3, 0]),
        ),
        (
            "sparse",
            vec![(positions, sparse.into()), (r#"48, "byteLength": 12}"#, view.clone())],
            vec![0, 1, 2, 3],
        ),
        (
            "normalized",
            vec![
                (positions, normalized.into()),
                (r#"48, "byteLength": 12}"#, view.clone()),
                (r#""scale": [2, 2, 2]"#, r#""scale": [1, 1, 1]"#.into()),
            ],
            bytes,
        ),
        ("no scenes", vec![(r#""scene": 0, "scenes": [{"nodes": [0]}],"#, String::new())], floats(&[])),
    ] {
        let changes: Vec<(&str, &str)> = changes.iter().map(|(old, new)| (*old, new.as_str())).collect();
        let (text, bytes) = changed_gltf(&changes, &more);
        fs::write(folder.join("a.gltf"), text).unwrap();
        fs::write(folder.join("a b.bin"), bytes).unwrap();
        assert_eq!(picture(&folder, "a.gltf", &[]), expected, "{name}");
    }
}

#[test]
fn names_of_materials_and_files_may_have_spaces() {
    let folder = folder("spaces");
    write_obj(&folder);
    let expected = picture(&folder, "a.obj", &[]);
    let text = fs::read_to_string(folder.join("a.obj")).unwrap();
    let text = text.replace("a.mtl", "two words.mtl").replace("usemtl red", "usemtl bright red");
    fs::write(folder.join("a.obj"), text).unwrap();
    fs::write(folder.join("two words.mtl"), "newmtl bright red\nKd 0.9 0.1 0.1\n").unwrap();
    assert_eq!(picture(&folder, "a.obj", &[]), expected);
    fs::remove_file(folder.join("two words.mtl")).unwrap();
    let result = app(&folder, &["a.obj", "--size", "8x8", "--samples", "1"]);
    let message = String::from_utf8_lossy(&result.stderr).into_owned();
    assert!(result.status.success() && message.contains("the materials `two` are not used"), "{message}");
}

#[test]
fn a_file_may_have_camera_light_and_samples() {
    let folder = folder("view");
    write_obj(&folder);
    let expected = picture(&folder, "a.obj", &["--fov", "60"]);
    let view = r#"{"eye": [0, 0, 4], "fov": 60, "samples": 4}"#;
    fs::write(folder.join("v.json"), view).unwrap();
    assert_eq!(picture(&folder, "a.obj", &["--fov", "30", "--view", "v.json"]), expected);
    for (view, part) in [
        (r#"{"fov": 0}"#, "`fov` must be between 0.1 and 179, not 0"),
        (r#"{"eye": [1, 2]}"#, "`eye` must be three numbers, not [1,2]"),
        (r#"{"eyes": 3}"#, "unknown name `eyes`"),
        ("[", "`v.json` is not JSON"),
    ] {
        fs::write(folder.join("v.json"), view).unwrap();
        let result = app(&folder, &["a.obj", "--view", "v.json"]);
        let message = String::from_utf8_lossy(&result.stderr).into_owned();
        assert!(result.status.code() == Some(1) && message.contains(part), "{message}");
    }
}

/// In a closed box whose walls emit 0.25 and scatter half of the light, each of 4 bounces adds half as much as the one before it. No ray gets lost.
#[test]
fn a_closed_box_has_the_light_that_its_walls_emit() {
    let folder = folder("furnace");
    let corners: String = (0..8).map(|i| format!("v {} {} {}\n", i & 1, i >> 1 & 1, i >> 2)).collect();
    let faces = "f 1 2 4 3\nf 5 6 8 7\nf 1 2 6 5\nf 3 4 8 7\nf 1 3 7 5\nf 2 4 8 6\n";
    fs::write(folder.join("a.obj"), format!("mtllib a.mtl\n{corners}usemtl a\n{faces}")).unwrap();
    fs::write(folder.join("a.mtl"), "newmtl a\nKd 0.5 0.5 0.5\nKe 0.25 0.25 0.25\n").unwrap();
    let args = ["--mode", "path", "--bounces", "4", "--eye", "0.5,0.4,0.3", "--look-at", "0.6,0.5,0.9"];
    let common = ["a.obj", "--size", "64x48", "--samples", "16", "--fov", "90"];
    let result = app(&folder, &[&common[..], &args].concat());
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let expected = (0.25f32 * (2.0 - 0.0625)).powf(1.0 / 2.2) * 255.0;
    let image = image::open(folder.join("out.png")).unwrap().into_rgb8();
    for pixel in image.pixels() {
        assert!(
            pixel.0.iter().all(|&part| (f32::from(part) - expected).abs() <= 1.0),
            "{pixel:?}, not {expected}"
        );
    }
}

#[test]
fn occlusion_and_paths_see_the_light() {
    let folder = folder("light");
    // A floor below a roof that covers its left half.
    let text = "v -2 0 -2\nv 2 0 -2\nv 2 0 2\nv -2 0 2\nf 1 2 3 4\nv -2 0.5 -2\nv 0 0.5 -2\nv 0 0.5 2\nv -2 0.5 2\nf 5 6 7 8\n";
    fs::write(folder.join("a.obj"), text).unwrap();
    for mode in ["ao", "path"] {
        let args = [
            "--mode",
            mode,
            "--eye",
            "0,0.25,6",
            "--look-at",
            "0,0,0",
            "--fov",
            "30",
            "--distance",
            "3",
            "--sun",
            "0,1,0",
        ];
        let common = ["a.obj", "--size", "64x64", "--samples", "32", "--threads", "1"];
        let result = app(&folder, &[&common[..], &args].concat());
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        let image = image::open(folder.join("out.png")).unwrap().into_rgb8();
        let mean = |columns: std::ops::Range<u32>| {
            let sum: u32 = columns.clone().map(|x| u32::from(image.get_pixel(x, 33).0[1])).sum();
            sum / columns.len() as u32
        };
        let (dark, bright) = (mean(12..24), mean(40..52));
        assert!(bright > 200 && dark + 60 < bright, "{mode}: {dark} under the roof, {bright} beside it");
    }
}

#[test]
fn errors_name_the_file_and_the_place() {
    let folder = folder("errors");
    fs::write(folder.join("a.obj"), "v 0 0 0\nf 1 2 3\n").unwrap();
    fs::write(folder.join("b.obj"), "v 0 zero 0\n").unwrap();
    fs::write(
        folder.join("c.ply"),
        "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n1",
    )
    .unwrap();
    fs::write(folder.join("d.glb"), b"glTF\x02\0\0\0\xff\xff\xff\xff\xff\xff\xff\xffJSON").unwrap();
    fs::write(folder.join("e.gltf"), r#"{"scenes": [{"nodes": [0]}], "nodes": [{"children": [0]}]}"#)
        .unwrap();
    let nodes = r#"{"scenes": [{"nodes": [0]}], "nodes": [{"children": [1, 1]}, {"children": []}]}"#;
    fs::write(folder.join("g.gltf"), nodes).unwrap();
    fs::write(folder.join("h.gltf"), r#"{"extensionsRequired": ["KHR_draco_mesh_compression"]}"#).unwrap();
    let endless = "ply\nformat ascii 1.0\nelement vertex 99999999999999\nend_header\n";
    fs::write(folder.join("i.ply"), endless).unwrap();
    for (file, part) in [
        ("g.gltf", "node 1 is below two nodes"),
        ("h.gltf", "the scene needs the extension KHR_draco_mesh_compression"),
        ("i.ply", "`vertex` has no properties"),
        ("a.obj", "triangle 0 has the corners [0, 1, 2], and there are 1 corners"),
        ("b.obj", "line 1: `v 0 zero 0`: `zero` is not a number"),
        ("c.ply", "vertex 1: the data ends early"),
        ("d.glb", "a chunk ends behind the file"),
        ("e.gltf", "node 0 is below two nodes, or below itself"),
        ("f.stl", "the name of a scene ends with .obj, .ply, .gltf or .glb"),
    ] {
        let result = app(&folder, &[file]);
        let message = String::from_utf8_lossy(&result.stderr).into_owned();
        assert_eq!(result.status.code(), Some(1), "{message}");
        assert!(message.contains(part) && message.contains(file), "{message}");
    }
    assert_eq!(app(&folder, &["a.obj", "--size", "0x5"]).status.code(), Some(2));
}

#[test]
fn an_empty_scene_is_the_background() {
    let folder = folder("empty");
    fs::write(folder.join("a.obj"), "v 0 0 0\n").unwrap();
    let pixels = picture(&folder, "a.obj", &[]);
    assert!(pixels.iter().all(|pixel| *pixel == pixels[0]), "{pixels:?}");
}

/// A square with a texture of four colors: `x`, `y`, the color that is expected there.
const PARTS: [(usize, usize, [bool; 3]); 4] = [
    (12, 8, [true, false, false]),
    (20, 8, [false, true, false]),
    (12, 16, [false, false, true]),
    (20, 16, [true, true, true]),
];

#[test]
fn textures_lie_on_surfaces_as_in_the_file() {
    let folder = folder("textures");
    let color = |x: u32, y: u32| match (x < 8, y < 8) {
        (true, true) => image::Rgb([255u8, 0, 0]),
        (false, true) => image::Rgb([0, 255, 0]),
        (true, false) => image::Rgb([0, 0, 255]),
        (false, false) => image::Rgb([255, 255, 255]),
    };
    image::RgbImage::from_fn(16, 16, color).save(folder.join("four.png")).unwrap();
    let corners: String = CORNERS.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    let places = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n";
    let text = format!("mtllib a.mtl\n{corners}{places}usemtl four\nf 1/1 2/2 3/3 4/-1\n");
    fs::write(folder.join("a.obj"), text).unwrap();
    fs::write(folder.join("a.mtl"), "newmtl four\nKd 1 1 1\nmap_Kd -clamp off four.png\n").unwrap();
    let pixels = picture(&folder, "a.obj", &[]);
    for (x, y, expected) in PARTS {
        assert_eq!(pixels[32 * y + x].map(|part| part > 100), expected, "{x} {y}: {:?}", pixels[32 * y + x]);
    }
    // In glTF, rows are counted from above.
    let (text, mut bytes) = gltf(r#", "uri": "a.bin""#);
    bytes.extend([0f32, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0].iter().flat_map(|number| number.to_le_bytes()));
    let material = r#""baseColorFactor": [1, 1, 1, 1], "baseColorTexture": {"index": 0}"#;
    let text = text
        .replace(r#""POSITION": 0"#, r#""POSITION": 0, "TEXCOORD_0": 2"#)
        .replace(r#""baseColorFactor": [0.9, 0.1, 0.1, 1]"#, material)
        .replace(
            r#""type": "SCALAR"}"#,
            r#""type": "SCALAR"}, {"bufferView": 2, "componentType": 5126, "count": 4, "type": "VEC2"}"#,
        )
        .replace(
            r#""byteLength": 12}"#,
            r#""byteLength": 12}, {"buffer": 0, "byteOffset": 60, "byteLength": 32}"#,
        )
        .replace(
            r#""scene": 0,"#,
            r#""scene": 0, "textures": [{"source": 0}], "images": [{"uri": "four.png"}],"#,
        );
    fs::write(folder.join("a.gltf"), text).unwrap();
    fs::write(folder.join("a.bin"), bytes).unwrap();
    assert_eq!(picture(&folder, "a.gltf", &[]), pixels);
    // A picture that is missing is a warning.
    fs::remove_file(folder.join("four.png")).unwrap();
    let result = app(&folder, &["a.obj", "--size", "8x8", "--samples", "1"]);
    let message = String::from_utf8_lossy(&result.stderr).into_owned();
    assert!(result.status.success() && message.contains("the texture `four.png` is not used"), "{message}");
}

#[test]
fn a_device_traces_the_same_rays() {
    let folder = folder("device");
    write_obj(&folder);
    assert_eq!(app(&folder, &["a.obj", "--device", "abacus:0"]).status.code(), Some(2));
    let args = ["a.obj", "--device", "opencl:0", "--size", "8x8", "--samples", "1"];
    let errors = String::from_utf8_lossy(&app(&folder, &args).stderr).into_owned();
    if errors.contains("there is no driver") || errors.contains("there are no devices") {
        return;
    }
    for mode in ["primary", "ao"] {
        let on_host = picture(&folder, "a.obj", &["--mode", mode]);
        assert_eq!(picture(&folder, "a.obj", &["--mode", mode, "--device", "opencl"]), on_host, "{mode}");
    }
}
