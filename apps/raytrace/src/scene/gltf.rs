//! glTF 2.0, as JSON or as GLB: the triangles of all nodes of the scene, with base colors, textures and emitted colors of their materials.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Material, Scene, bytes_at};

/// Nodes below nodes, at most; deeper ones are a cycle.
const MAX_DEPTH: u32 = 64;

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
    let mut own = own;
    let buffers = list(&json["buffers"]).iter().map(|buffer| match buffer["uri"].as_str() {
        Some(uri) => load(uri, folder),
        None => own.take().context("a buffer without data"),
    });
    let mut reader =
        Reader { buffers: buffers.collect::<Result<_>>()?, json: &json, folder, scene: Scene::default() };
    let scene = &json["scenes"][index(&json["scene"]).unwrap_or(0)];
    for node in list(&scene["nodes"]) {
        reader.node(index(node).context("a node is a number")?, &IDENTITY, 0)?;
    }
    Ok(reader.scene)
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
        None => fs::read(folder.join(uri)).with_context(|| format!("cannot read `{uri}`")),
    }
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
}

impl Reader<'_> {
    fn node(&mut self, number: usize, above: &Matrix, depth: u32) -> Result<()> {
        ensure!(depth < MAX_DEPTH, "nodes are nested too deeply");
        let node = &self.json["nodes"][number];
        let matrix = product(above, &matrix_of(node));
        if let Some(mesh) = index(&node["mesh"]) {
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
        // Only triangles; points and lines have no area.
        if primitive["mode"].as_u64().unwrap_or(4) != 4 {
            return Ok(());
        }
        let positions = index(&primitive["attributes"]["POSITION"]).context("a mesh without positions")?;
        let points = self.numbers(positions, 3)?;
        let first = self.scene.vertices.len() as i32;
        for p in points.chunks_exact(3) {
            let row = |r: [f32; 4]| r[0] * p[0] as f32 + r[1] * p[1] as f32 + r[2] * p[2] as f32 + r[3];
            self.scene.vertices.push(matrix.map(row));
        }
        let corners: Vec<i32> = match index(&primitive["indices"]) {
            Some(indices) => self.numbers(indices, 1)?.iter().map(|&corner| corner as i32).collect(),
            None => (0..(points.len() / 3) as i32).collect(),
        };
        let material = self.material(&primitive["material"]);
        let places = match index(&primitive["attributes"]["TEXCOORD_0"]) {
            Some(places) => self.texture_places(places)?,
            None => vec![],
        };
        // Rows of textures are counted from above here.
        let place = |corner: i32| {
            let place =
                usize::try_from(corner).ok().and_then(|corner| places.get(2 * corner..2 * corner + 2));
            place.map_or([0.0; 2], |place| [place[0], 1.0 - place[1]])
        };
        for corners in corners.chunks_exact(3) {
            let corner = |i: usize| first.checked_add(corners[i]).unwrap_or(-1);
            self.scene.push([0, 1, 2].map(corner), [0, 1, 2].map(|i| place(corners[i])), material);
        }
        Ok(())
    }

    fn material(&mut self, number: &Value) -> Material {
        let Some(number) = index(number) else { return Material::default() };
        let material = &self.json["materials"][number];
        let color = |value: &Value, default: [f32; 3]| match list(value) {
            [r, g, b, ..] => [r, g, b].map(|number| number.as_f64().unwrap_or(0.0) as f32),
            _ => default,
        };
        let pbr = &material["pbrMetallicRoughness"];
        Material {
            color: color(&pbr["baseColorFactor"], [1.0; 3]),
            emission: color(&material["emissiveFactor"], [0.0; 3]),
            texture: index(&pbr["baseColorTexture"]["index"]).and_then(|number| self.texture(number)),
        }
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

    /// Places in textures; whole numbers are parts of the largest one.
    fn texture_places(&self, accessor: usize) -> Result<Vec<f32>> {
        let scale = match self.json["accessors"][accessor]["componentType"].as_u64() {
            Some(5121) => 255.0,
            Some(5123) => 65535.0,
            _ => 1.0,
        };
        Ok(self.numbers(accessor, 2)?.iter().map(|x| (x / scale) as f32).collect())
    }

    /// All numbers of an accessor with `n` components.
    fn numbers(&self, accessor: usize, n: usize) -> Result<Vec<f64>> {
        let accessor = &self.json["accessors"][accessor];
        let count = index(&accessor["count"]).context("an accessor without a count")?;
        let view = index(&accessor["bufferView"]).context("an accessor without a buffer view")?;
        let view = &self.json["bufferViews"][view];
        let buffer = index(&view["buffer"]).and_then(|buffer| self.buffers.get(buffer));
        let buffer = buffer.context("a buffer view without a buffer")?;
        let ty = accessor["componentType"].as_u64().unwrap_or(0);
        let size = match ty {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            5125 | 5126 => 4,
            _ => bail!("unknown type {ty} of numbers"),
        };
        let offset = |value: &Value| index(value).unwrap_or(0);
        let first = offset(&view["byteOffset"]).saturating_add(offset(&accessor["byteOffset"]));
        let stride = index(&view["byteStride"]).unwrap_or(n * size);
        ensure!(count.saturating_mul(size) <= buffer.len(), "an accessor is longer than its buffer");
        let mut numbers = Vec::with_capacity(count * n);
        for i in 0..count * n {
            let at = first.saturating_add((i / n).saturating_mul(stride)).saturating_add(i % n * size);
            numbers.push(match ty {
                5120 => f64::from(i8::from_le_bytes(bytes_at(buffer, at)?)),
                5121 => f64::from(u8::from_le_bytes(bytes_at(buffer, at)?)),
                5122 => f64::from(i16::from_le_bytes(bytes_at(buffer, at)?)),
                5123 => f64::from(u16::from_le_bytes(bytes_at(buffer, at)?)),
                5125 => f64::from(u32::from_le_bytes(bytes_at(buffer, at)?)),
                _ => f64::from(f32::from_le_bytes(bytes_at(buffer, at)?)),
            });
        }
        Ok(numbers)
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
