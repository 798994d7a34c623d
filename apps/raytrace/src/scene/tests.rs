//! Changed files: readers end with a scene whose indices are valid, or with an error, and neither panic nor hang nor take much memory.

use std::fmt::Write;
use std::path::Path;

use super::*;

/// A square with everything that readers know, in each format.
fn good_files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = vec![("obj", obj().into_bytes())];
    files.extend(["ascii", "binary_little_endian", "binary_big_endian"].map(|format| ("ply", ply(format))));
    let (json, buffer) = (gltf(), gltf_buffer());
    let uri = format!(r#"{{"uri": "data:application/octet-stream;base64,{}"}}"#, base64(&buffer));
    files.push(("gltf", json.replace("{}", &uri).into_bytes()));
    files.push(("glb", glb(&json, &buffer)));
    files
}

const CORNERS: [[f32; 3]; 4] = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.5], [1.0, 1.0, 0.0], [0.25, 0.0, 0.0]];

fn obj() -> String {
    let mut text = String::from("# a square\nmtllib none.mtl\n");
    for [x, y, z] in CORNERS {
        let _ = writeln!(text, "v {x} {y} {z}\nvt {x} {y}\nvn 0 0 1");
    }
    text + "usemtl red\nf 1/1/1 2/2/2 3/3/3 4/4/4\nf -4//1 -3//1 -1//1\nf 1 2 4\n"
}

fn ply(format: &str) -> Vec<u8> {
    let header = "element vertex 4\nproperty float x\nproperty double y\nproperty float z\nproperty uchar red\nelement face 2\n\
                  property list uchar int vertex_indices\nproperty short flags\nend_header\n";
    let mut bytes = format!("ply\nformat {format} 1.0\ncomment a square\n{header}").into_bytes();
    if format == "ascii" {
        bytes.extend(b"0 0 0 9\n1 0 0 9\n1 1 0 9\n0 1 0 9\n4 0 1 2 3 0\n3 0 1 2 0\n");
        return bytes;
    }
    let is_big = format.contains("big");
    let mut add = |number: &mut [u8]| {
        if is_big {
            number.reverse();
        }
        bytes.extend(&*number);
    };
    for [x, y, z] in CORNERS {
        add(&mut x.to_le_bytes());
        add(&mut f64::from(y).to_le_bytes());
        add(&mut z.to_le_bytes());
        add(&mut [200]);
    }
    for corners in [&[0, 1, 2, 3][..], &[0, 1, 2]] {
        add(&mut [corners.len() as u8]);
        corners.iter().for_each(|corner: &i32| add(&mut corner.to_le_bytes()));
        add(&mut 0i16.to_le_bytes());
    }
    bytes
}

/// With `{}` as its only buffer.
fn gltf() -> String {
    r#"{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "buffers": [{}],
    "nodes": [{"children": [1, 2], "scale": [2, 2, 2], "rotation": [0, 0, 0, 1]}, {"mesh": 0}, {"mesh": 1, "translation": [1, 0, 0]}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 2}, "indices": 1, "material": 0}]},
               {"primitives": [{"attributes": {"POSITION": 3}, "mode": 5}]}],
    "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.1, 0.1, 1], "baseColorTexture": {"index": 0}}, "emissiveFactor": [1, 0, 0]}],
    "textures": [{"source": 0}], "images": [{"bufferView": 1}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
                  {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
                  {"bufferView": 0, "componentType": 5121, "normalized": true, "count": 4, "type": "VEC2"},
                  {"componentType": 5126, "count": 4, "type": "VEC3", "sparse": {"count": 2,
                   "indices": {"bufferView": 1, "componentType": 5123}, "values": {"bufferView": 0}}}],
    "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": 48, "byteStride": 12}, {"buffer": 0, "byteOffset": 48, "byteLength": 12}]}"#
        .to_owned()
}

fn gltf_buffer() -> Vec<u8> {
    let corners = CORNERS.iter().flatten().flat_map(|number| number.to_le_bytes());
    corners.chain([0u16, 1, 2, 0, 2, 3].iter().flat_map(|corner| corner.to_le_bytes())).collect()
}

fn glb(json: &str, buffer: &[u8]) -> Vec<u8> {
    let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, data) in [(b"JSON", json.as_bytes()), (b"BIN\0", buffer)] {
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend(kind);
        bytes.extend(data);
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |part: &[u8], i: usize| {
        let bits = part.iter().fold(0u32, |bits, &byte| (bits << 8) | u32::from(byte));
        char::from(letters[((bits >> (18 - 6 * i)) & 63) as usize])
    };
    // The buffer has a multiple of three bytes.
    bytes.chunks(3).flat_map(|part| (0..4).map(move |i| letter(part, i))).collect()
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// Texts that take the place of a number.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "7",
    "-0.0",
    "nan",
    "1e39",
    "255",
    "65536",
    "2147483648",
    "99999999999999999999",
    "[]",
    "{\"a\": null}",
];

/// Changes a byte, a number, or the place of a part.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let n = bytes.len();
    let at = random.below(n);
    let end = (at + 1 + random.below(16)).min(n);
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at..end].fill([0, 0xff, 0x7f, 0x80][random.below(4)]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let part = bytes[at..end].to_vec();
            let to = random.below(n);
            bytes.splice(to..to, part);
        }
        _ => {
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            let Some(first) = bytes[at..].iter().position(is_digit).map(|first| at + first) else { return };
            let length = bytes[first..].iter().take_while(|byte| is_digit(byte)).count();
            bytes.splice(first..first + length, NUMBERS[random.below(NUMBERS.len())].bytes());
        }
    }
}

/// Reads changed files; returns how many were a scene, and how many an error.
fn read_mutants(n: usize, seed: u64) -> [usize; 2] {
    let (files, mut random, mut counts) = (good_files(), Random(seed), [0; 2]);
    for i in 0..n {
        let (extension, mut bytes) = files[i % files.len()].clone();
        for _ in 0..=random.below(4) {
            if !bytes.is_empty() {
                mutate(&mut bytes, &mut random);
            }
        }
        match Scene::parse(extension, &bytes, Path::new("no folder")) {
            Ok(scene) => {
                let n_triangles = scene.triangles.len();
                assert!(scene.colors.len() == n_triangles && scene.texture_places.len() == n_triangles);
                counts[0] += 1;
            }
            Err(_) => counts[1] += 1,
        }
    }
    counts
}

#[test]
fn good_files_are_scenes() {
    for (extension, bytes) in good_files() {
        let scene = Scene::parse(extension, &bytes, Path::new("no folder")).unwrap();
        assert!(scene.triangles.len() >= 3, "{extension}: {scene:?}");
    }
}

#[test]
fn changed_files_are_scenes_or_errors() {
    let [n_scenes, n_errors] = read_mutants(20_000, 1);
    assert!(n_scenes > 2000 && n_errors > 2000, "{n_scenes} scenes, {n_errors} errors");
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn many_changed_files_are_scenes_or_errors() {
    for seed in 2..200 {
        read_mutants(100_000, seed);
    }
}
