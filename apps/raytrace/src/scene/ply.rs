//! PLY: corners and polygons, as text or binary; colors of corners become colors of triangles.

use anyhow::{Context, Result, bail, ensure};

use super::{Material, Scene, bytes_at};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Format {
    Text,
    Little,
    Big,
}

#[derive(Clone, Copy, Debug)]
enum Type {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Type {
    /// A part of a color, from 0 to 1; integers are relative to 255.
    fn part_of_color(self, value: f64) -> f32 {
        if matches!(self, Type::F32 | Type::F64) { value as f32 } else { value as f32 / 255.0 }
    }
}

struct Property {
    name: String,
    /// The type of the length, for lists.
    count: Option<Type>,
    ty: Type,
}

struct Element {
    name: String,
    n: usize,
    properties: Vec<Property>,
}

pub fn read(bytes: &[u8]) -> Result<Scene> {
    let (format, elements, at) = header(bytes)?;
    let mut data = Data { bytes, at, format };
    let mut scene = Scene::default();
    let mut colors = vec![];
    for element in &elements {
        // Without data, there may be any number of them.
        ensure!(element.n == 0 || !element.properties.is_empty(), "`{}` has no properties", element.name);
        for i in 0..element.n {
            let place = || format!("{} {i}", element.name);
            let (mut point, mut color) = ([0.0; 3], None);
            for property in &element.properties {
                let values = data.property(property).with_context(place)?;
                let value = values.first().copied().unwrap_or(0.0);
                match (element.name.as_str(), property.name.as_str()) {
                    ("vertex", "x") => point[0] = value as f32,
                    ("vertex", "y") => point[1] = value as f32,
                    ("vertex", "z") => point[2] = value as f32,
                    ("vertex", "red") => color.get_or_insert([0.0; 3])[0] = property.ty.part_of_color(value),
                    ("vertex", "green") => {
                        color.get_or_insert([0.0; 3])[1] = property.ty.part_of_color(value)
                    }
                    ("vertex", "blue") => color.get_or_insert([0.0; 3])[2] = property.ty.part_of_color(value),
                    ("face", "vertex_indices" | "vertex_index") => {
                        let corners: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                        let first = corners.first().and_then(|&corner| colors.get(corner as usize).copied());
                        let mut material = Material::default();
                        material.color = first.flatten().unwrap_or(material.color);
                        let corners: Vec<_> = corners.iter().map(|&corner| (corner, [0.0; 2])).collect();
                        scene.require_room(0, corners.len()).with_context(place)?;
                        scene.push_polygon(&corners, material);
                    }
                    _ => {}
                }
            }
            if element.name == "vertex" {
                scene.vertices.push(point);
                colors.push(color);
            }
        }
    }
    Ok(scene)
}

/// The format, the elements, and where the data begins.
fn header(bytes: &[u8]) -> Result<(Format, Vec<Element>, usize)> {
    ensure!(bytes.starts_with(b"ply"), "a PLY file begins with `ply`");
    let (mut at, mut format, mut elements) = (0, Format::Text, Vec::<Element>::new());
    loop {
        let length = bytes[at..].iter().position(|&byte| byte == b'\n').context("the header has no end")?;
        let line = String::from_utf8_lossy(&bytes[at..at + length]).into_owned();
        at += length + 1;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["end_header"] => return Ok((format, elements, at)),
            ["format", name, ..] => {
                format = match *name {
                    "ascii" => Format::Text,
                    "binary_little_endian" => Format::Little,
                    "binary_big_endian" => Format::Big,
                    _ => bail!("unknown format `{name}`"),
                }
            }
            ["element", name, n] => {
                let n = n.parse().with_context(|| format!("`{n}` is not a number of elements"))?;
                elements.push(Element { name: (*name).to_owned(), n, properties: vec![] });
            }
            ["property", rest @ ..] => {
                let (name, count, ty) = match rest {
                    ["list", count, ty, name] => (name, Some(type_of(count)?), type_of(ty)?),
                    [ty, name] => (name, None, type_of(ty)?),
                    _ => bail!("malformed property `{line}`"),
                };
                let element = elements.last_mut().context("a property without an element")?;
                element.properties.push(Property { name: (*name).to_owned(), count, ty });
            }
            _ => {}
        }
    }
}

fn type_of(name: &str) -> Result<Type> {
    Ok(match name {
        "char" | "int8" => Type::I8,
        "uchar" | "uint8" => Type::U8,
        "short" | "int16" => Type::I16,
        "ushort" | "uint16" => Type::U16,
        "int" | "int32" => Type::I32,
        "uint" | "uint32" => Type::U32,
        "float" | "float32" => Type::F32,
        "double" | "float64" => Type::F64,
        _ => bail!("unknown type `{name}`"),
    })
}

struct Data<'a> {
    bytes: &'a [u8],
    at: usize,
    format: Format,
}

impl Data<'_> {
    fn property(&mut self, property: &Property) -> Result<Vec<f64>> {
        let n = match property.count {
            Some(ty) => self.number(ty)?,
            None => 1.0,
        };
        ensure!((0.0..1e7).contains(&n), "a list of {n} elements");
        (0..n as usize).map(|_| self.number(property.ty)).collect()
    }

    fn number(&mut self, ty: Type) -> Result<f64> {
        if self.format == Format::Text {
            let word = self.word()?;
            return word.parse().with_context(|| format!("`{word}` is not a number"));
        }
        Ok(match ty {
            Type::I8 => f64::from(i8::from_le_bytes(self.take()?)),
            Type::U8 => f64::from(u8::from_le_bytes(self.take()?)),
            Type::I16 => f64::from(i16::from_le_bytes(self.take()?)),
            Type::U16 => f64::from(u16::from_le_bytes(self.take()?)),
            Type::I32 => f64::from(i32::from_le_bytes(self.take()?)),
            Type::U32 => f64::from(u32::from_le_bytes(self.take()?)),
            Type::F32 => f64::from(f32::from_le_bytes(self.take()?)),
            Type::F64 => f64::from_le_bytes(self.take()?),
        })
    }

    /// The bytes of a number, in the order of little-endian machines.
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = bytes_at(self.bytes, self.at)?;
        self.at += N;
        if self.format == Format::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn word(&mut self) -> Result<String> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let first =
            rest.iter().position(|byte| !byte.is_ascii_whitespace()).context("the data ends early")?;
        let length = rest[first..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - first);
        self.at += first + length;
        Ok(String::from_utf8_lossy(&rest[first..first + length]).into_owned())
    }
}
