//! glTF 2.0, as JSON or as GLB: the triangles of all nodes of the scene, with base colors, textures and emitted colors of their materials.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Material, Scene, bytes_at};
use crate::files;

/// Nodes below nodes, at most; deeper ones are a cycle.
const MAX_DEPTH: u32 = 64;

/// What an accessor has without a buffer view, at most.
const MOST_ZEROS: usize = 1 << 22;

/// Kinds of primitives.
const TRIANGLES: u64 = 4;
const STRIP: u64 = 5;
const FAN: u64 = 6;

/// A matrix with three rows and four columns.
type Matrix = [[f32; 4]; 3];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

pub fn read_binary(bytes: &[u8], folder: &Path) -> Result<Scene> {
    ensure!(bytes.starts_with(b"glTF"), "a GLB file begins with `glTF`");
    let (mut json, mut buffer, mut at) = (None, None, 12);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes_at(bytes, at)?) as usize;
        let kind: [u8; 4] = bytes_at(bytes, at + 4)?;
        let chunk = bytes.get(at + 8..at + 8 + length).context("a chunk ends behind the file")?;
        match &kind {
            b"JSON" => json = Some(chunk),
            b"BIN\0" => buffer = Some(chunk.to_vec()),
            _ => {}
        }
        at += 8 + length;
    }
    read(json.context("there is no JSON chunk")?, buffer, folder)
}

pub fn read_json(bytes: &[u8], folder: &Path) -> Result<Scene> {
    read(bytes, None, folder)
}

fn read(json: &[u8], own: Option<Vec<u8>>, folder: &Path) -> Result<Scene> {
    let json: Value = serde_json::from_slice(json).context("the description is not JSON")?;
    for extension in list(&json["extensionsRequired"]).iter().filter_map(Value::as_str) {
        ensure!(!extension.ends_with("_compression"), "the scene needs the extension {extension}");
    }
    let mut own = own;
    let buffers = list(&json["buffers"]).iter().map(|buffer| match buffer["uri"].as_str() {
        Some(uri) => load(uri, folder),
        None => own.take().context("a buffer without data"),
    });
    let n_nodes = list(&json["nodes"]).len();
    let mut reader = Reader {
        buffers: buffers.collect::<Result<_>>()?,
        json: &json,
        folder,
        scene: Scene::default(),
        is_visited: vec![false; n_nodes],
    };
    for node in roots(&json)? {
        reader.node(node, &IDENTITY, 0)?;
    }
    Ok(reader.scene)
}

/// The nodes of the scene; without scenes, all nodes that are not below others.
fn roots(json: &Value) -> Result<Vec<usize>> {
    let numbers = |values: &Value| -> Result<Vec<usize>> {
        list(values).iter().map(|node| index(node).context("a node is a number")).collect()
    };
    if !list(&json["scenes"]).is_empty() {
        let scene = index(&json["scene"]).unwrap_or(0);
        let scenes = list(&json["scenes"]);
        return numbers(&scenes.get(scene).with_context(|| format!("there is no scene {scene}"))?["nodes"]);
    }
    let nodes = list(&json["nodes"]);
    let children: Vec<Vec<usize>> =
        nodes.iter().map(|node| numbers(&node["children"])).collect::<Result<_>>()?;
    let below: HashSet<usize> = children.into_iter().flatten().collect();
    Ok((0..nodes.len()).filter(|node| !below.contains(node)).collect())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|index| usize::try_from(index).ok())
}

/// Bytes of a file, or in the text itself.
fn load(uri: &str, folder: &Path) -> Result<Vec<u8>> {
    match uri.split_once(";base64,") {
        Some((_, text)) => base64(text),
        None => files::read(&folder.join(decoded(uri))),
    }
}

/// The name of a file, where `%20` stands for a space.
fn decoded(uri: &str) -> String {
    let (mut name, mut rest) = (vec![], uri.as_bytes());
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                name.push(byte);
                rest = &tail[2..];
            }
            None => {
                name.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}

fn base64(text: &str) -> Result<Vec<u8>> {
    let (mut bits, mut n_bits, mut bytes) = (0u32, 0, vec![]);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("`{}` is no letter of base 64", char::from(letter)),
        };
        bits = (bits << 6) | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
        }
    }
    Ok(bytes)
}

struct Reader<'a> {
    json: &'a Value,
    folder: &'a Path,
    buffers: Vec<Vec<u8>>,
    scene: Scene,
    /// A node has at most one place in a scene, so that there are no more places than nodes.
    is_visited: Vec<bool>,
}

impl Reader<'_> {
    fn node(&mut self, number: usize, above: &Matrix, depth: u32) -> Result<()> {
        ensure!(depth < MAX_DEPTH, "nodes are nested too deeply");
        let is_visited =
            self.is_visited.get_mut(number).with_context(|| format!("there is no node {number}"))?;
        ensure!(!std::mem::replace(is_visited, true), "node {number} is below two nodes, or below itself");
        let node = &self.json["nodes"][number];
        let matrix = product(above, &matrix_of(node));
        if let Some(mesh) = index(&node["mesh"]) {
            ensure!(mesh < list(&self.json["meshes"]).len(), "there is no mesh {mesh}");
            for primitive in list(&self.json["meshes"][mesh]["primitives"]) {
                self.primitive(primitive, &matrix).with_context(|| format!("mesh {mesh}"))?;
            }
        }
        for child in list(&node["children"]) {
            self.node(index(child).context("a child is a number")?, &matrix, depth + 1)?;
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: &Value, matrix: &Matrix) -> Result<()> {
        // Points and lines have no area.
        let mode = primitive["mode"].as_u64().unwrap_or(TRIANGLES);
        if !(TRIANGLES..=FAN).contains(&mode) {
            return Ok(());
        }
        let positions = index(&primitive["attributes"]["POSITION"]).context("a mesh without positions")?;
        // Primitives may share numbers, so that a short file has many corners.
        let n_corners = |accessor: usize| index(&self.json["accessors"][accessor]["count"]).unwrap_or(0);
        let indices = index(&primitive["indices"]);
        let n_indices = n_corners(indices.unwrap_or(positions));
        let n_triangles = if mode == TRIANGLES { n_indices / 3 } else { n_indices };
        self.scene.require_room(n_corners(positions), n_triangles)?;
        let points = self.numbers(positions, 3)?;
        let first = self.scene.vertices.len() as i32;
        for p in points.chunks_exact(3) {
            let row = |r: [f32; 4]| r[0] * p[0] as f32 + r[1] * p[1] as f32 + r[2] * p[2] as f32 + r[3];
            self.scene.vertices.push(matrix.map(row));
        }
        let corners: Vec<i32> = match indices {
            Some(indices) => self.numbers(indices, 1)?.iter().map(|&corner| corner as i32).collect(),
            None => (0..(points.len() / 3) as i32).collect(),
        };
        let material = self.material(&primitive["material"])?;
        let places = match index(&primitive["attributes"]["TEXCOORD_0"]) {
            Some(places) => self.numbers(places, 2)?.iter().map(|&x| x as f32).collect(),
            None => vec![],
        };
        // Rows of textures are counted from above here.
        let place = |corner: i32| {
            let place =
                usize::try_from(corner).ok().and_then(|corner| places.get(2 * corner..2 * corner + 2));
            place.map_or([0.0; 2], |place| [place[0], 1.0 - place[1]])
        };
        for corners in triangles(mode, &corners) {
            self.scene.push(
                corners.map(|corner| first.checked_add(corner).unwrap_or(-1)),
                corners.map(place),
                material,
            );
        }
        Ok(())
    }

    fn material(&mut self, number: &Value) -> Result<Material> {
        let Some(number) = index(number) else { return Ok(Material::default()) };
        let material = list(&self.json["materials"]).get(number);
        let material = material.with_context(|| format!("there is no material {number}"))?;
        let color = |value: &Value, default: [f32; 3]| match list(value) {
            [r, g, b, ..] => [r, g, b].map(|number| number.as_f64().unwrap_or(0.0) as f32),
            _ => default,
        };
        let pbr = &material["pbrMetallicRoughness"];
        Ok(Material {
            color: color(&pbr["baseColorFactor"], [1.0; 3]),
            emission: color(&material["emissiveFactor"], [0.0; 3]),
            texture: index(&pbr["baseColorTexture"]["index"]).and_then(|number| self.texture(number)),
        })
    }

    /// The number of a texture of the scene.
    fn texture(&mut self, number: usize) -> Option<i32> {
        let image = index(&self.json["textures"][number]["source"])?;
        let source = &self.json["images"][image];
        let (json, buffers, folder) = (self.json, &self.buffers, self.folder);
        let bytes = || match source["uri"].as_str() {
            Some(uri) => load(uri, folder),
            None => Ok(bytes_of_view(json, buffers, &source["bufferView"])?.to_vec()),
        };
        self.scene.textures.number(&format!("image {image}"), bytes)
    }

    /// All numbers of an accessor with `n` components.
    fn numbers(&self, accessor: usize, n: usize) -> Result<Vec<f64>> {
        let accessor = &self.json["accessors"][accessor];
        let count = index(&accessor["count"]).context("an accessor without a count")?;
        let kind = Kind::of(&accessor["componentType"])?;
        let mut numbers = match &accessor["bufferView"] {
            Value::Null => {
                ensure!(count <= MOST_ZEROS, "an accessor of {count} elements without a buffer view");
                vec![0.0; count * n]
            }
            _ => self.numbers_at(accessor, kind, count, n)?,
        };
        let sparse = &accessor["sparse"];
        if let Some(count) = index(&sparse["count"]) {
            let (indices, values) = (&sparse["indices"], &sparse["values"]);
            let indices = self.numbers_at(indices, Kind::of(&indices["componentType"])?, count, 1)?;
            let values = self.numbers_at(values, kind, count, n)?;
            for (&index, value) in indices.iter().zip(values.chunks_exact(n)) {
                let first = index as usize * n;
                let part = numbers.get_mut(first..first + n);
                part.context("a sparse accessor replaces an element behind its end")?.copy_from_slice(value);
            }
        }
        if accessor["normalized"] == true {
            numbers.iter_mut().for_each(|number| *number = (*number / kind.largest()).max(-1.0));
        }
        Ok(numbers)
    }

    /// `count` times `n` numbers of the buffer view that `place` names.
    fn numbers_at(&self, place: &Value, kind: Kind, count: usize, n: usize) -> Result<Vec<f64>> {
        let view = index(&place["bufferView"]).context("an accessor without a buffer view")?;
        let view = &self.json["bufferViews"][view];
        let buffer = index(&view["buffer"]).and_then(|buffer| self.buffers.get(buffer));
        let buffer = buffer.context("a buffer view without a buffer")?;
        let offset = |value: &Value| index(value).unwrap_or(0);
        let first = offset(&view["byteOffset"]).saturating_add(offset(&place["byteOffset"]));
        let size = kind.size();
        let stride = index(&view["byteStride"]).unwrap_or(n * size);
        ensure!(count.saturating_mul(size) <= buffer.len(), "an accessor is longer than its buffer");
        let at = |i: usize| first.saturating_add((i / n).saturating_mul(stride)).saturating_add(i % n * size);
        (0..count * n).map(|i| kind.number(buffer, at(i))).collect()
    }
}

/// The type of the numbers of an accessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Kind {
    fn of(value: &Value) -> Result<Kind> {
        Ok(match value.as_u64() {
            Some(5120) => Kind::I8,
            Some(5121) => Kind::U8,
            Some(5122) => Kind::I16,
            Some(5123) => Kind::U16,
            Some(5125) => Kind::U32,
            Some(5126) => Kind::F32,
            _ => bail!("unknown type {value} of numbers"),
        })
    }

    fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::U32 | Kind::F32 => 4,
        }
    }

    /// What normalized numbers are relative to.
    fn largest(self) -> f64 {
        match self {
            Kind::I8 => f64::from(i8::MAX),
            Kind::U8 => f64::from(u8::MAX),
            Kind::I16 => f64::from(i16::MAX),
            Kind::U16 => f64::from(u16::MAX),
            Kind::U32 => f64::from(u32::MAX),
            Kind::F32 => 1.0,
        }
    }

    fn number(self, bytes: &[u8], at: usize) -> Result<f64> {
        Ok(match self {
            Kind::I8 => f64::from(i8::from_le_bytes(bytes_at(bytes, at)?)),
            Kind::U8 => f64::from(u8::from_le_bytes(bytes_at(bytes, at)?)),
            Kind::I16 => f64::from(i16::from_le_bytes(bytes_at(bytes, at)?)),
            Kind::U16 => f64::from(u16::from_le_bytes(bytes_at(bytes, at)?)),
            Kind::U32 => f64::from(u32::from_le_bytes(bytes_at(bytes, at)?)),
            Kind::F32 => f64::from(f32::from_le_bytes(bytes_at(bytes, at)?)),
        })
    }
}

/// The triangles of a list, a strip or a fan of corners. In a strip, every second triangle has the other orientation.
fn triangles(mode: u64, corners: &[i32]) -> Vec<[i32; 3]> {
    let n = corners.len();
    match mode {
        TRIANGLES => corners.chunks_exact(3).map(|part| [part[0], part[1], part[2]]).collect(),
        STRIP => (2..n).map(|i| [corners[i - 2], corners[i - 1 + i % 2], corners[i - i % 2]]).collect(),
        _ => (2..n).map(|i| [corners[0], corners[i - 1], corners[i]]).collect(),
    }
}

fn bytes_of_view<'a>(json: &Value, buffers: &'a [Vec<u8>], view: &Value) -> Result<&'a [u8]> {
    let view = &json["bufferViews"][index(view).context("an image without data")?];
    let buffer = index(&view["buffer"]).and_then(|buffer| buffers.get(buffer));
    let first = index(&view["byteOffset"]).unwrap_or(0);
    let end = first.saturating_add(index(&view["byteLength"]).unwrap_or(0));
    buffer.and_then(|buffer| buffer.get(first..end)).context("an image ends behind its buffer")
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut all = IDENTITY;
    for (row, of_a) in all.iter_mut().zip(a) {
        for (column, number) in row.iter_mut().enumerate() {
            let last = if column == 3 { of_a[3] } else { 0.0 };
            *number = (0..3).map(|k| of_a[k] * b[k][column]).sum::<f32>() + last;
        }
    }
    all
}

/// The matrix of a node, or its scale, rotation and translation.
fn matrix_of(node: &Value) -> Matrix {
    let numbers = |value: &Value, default: &[f32]| -> Vec<f32> {
        let given: Vec<f32> = list(value).iter().map(|x| x.as_f64().unwrap_or(0.0) as f32).collect();
        if given.len() == default.len() { given } else { default.to_vec() }
    };
    if list(&node["matrix"]).len() == 16 {
        let m = numbers(&node["matrix"], &[0.0; 16]);
        return [0, 1, 2].map(|row| [m[row], m[4 + row], m[8 + row], m[12 + row]]);
    }
    let t = numbers(&node["translation"], &[0.0; 3]);
    let s = numbers(&node["scale"], &[1.0; 3]);
    let q = numbers(&node["rotation"], &[0.0, 0.0, 0.0, 1.0]);
    let (x, y, z, w) = (q[0], q[1], q[2], q[3]);
    let turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    [0, 1, 2].map(|i| [turn[i][0] * s[0], turn[i][1] * s[1], turn[i][2] * s[2], t[i]])
}
