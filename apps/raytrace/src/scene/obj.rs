//! OBJ: corners, polygons, and materials with the colors `Kd` and `Ke` and the texture `map_Kd`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Material, Scene, Textures};
use crate::files;

pub fn read(bytes: &[u8], folder: &Path) -> Result<Scene> {
    let text = String::from_utf8_lossy(bytes);
    let mut scene = Scene::default();
    let mut materials = HashMap::new();
    let mut material = Material::default();
    let mut places = vec![];
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        let rest: Vec<&str> = match words.next() {
            Some("v" | "vt" | "f" | "usemtl" | "mtllib") => words.collect(),
            _ => continue,
        };
        let place = || format!("line {}: `{}`", i + 1, shortened(line));
        match line.split_ascii_whitespace().next() {
            Some("v") => scene.vertices.push(vector(&rest).with_context(place)?),
            Some("vt") => places.push(texture_place(&rest).with_context(place)?),
            Some("f") => {
                let n = scene.vertices.len();
                let corners = rest
                    .iter()
                    .map(|word| Ok((corner(word, n)?, place_of_corner(word, &places)?)))
                    .collect::<Result<Vec<_>>>();
                let corners = corners.with_context(place)?;
                ensure!(corners.len() >= 3, "{}: a face has at least three corners", place());
                scene.require_room(0, corners.len()).with_context(place)?;
                scene.push_polygon(&corners, material);
            }
            Some("usemtl") => {
                material = materials.get(&rest.join(" ")).copied().unwrap_or_default();
            }
            _ => {
                for name in names_of(folder, &rest) {
                    match files::read(&path_of(folder, &name)) {
                        Ok(bytes) => materials.extend(read_materials(&bytes, folder, &mut scene.textures)),
                        // Scenes come without their materials as well.
                        Err(error) => {
                            scene.warnings.push(format!("the materials `{name}` are not used: {error:#}"));
                        }
                    }
                }
            }
        }
    }
    Ok(scene)
}

/// A line for a message.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{} ..", &line[..end]),
        None => line.to_owned(),
    }
}

/// The path of a file that a scene names. Files of other systems have other separators.
fn path_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.replace('\\', "/"))
}

/// The files that some words name: one file whose name has spaces, or one for each word.
fn names_of(folder: &Path, words: &[&str]) -> Vec<String> {
    let whole = words.join(" ");
    if path_of(folder, &whole).is_file() {
        vec![whole]
    } else {
        words.iter().map(|&word| word.into()).collect()
    }
}

fn texture_place(words: &[&str]) -> Result<[f32; 2]> {
    let number = |i: usize| {
        words.get(i).map_or(Ok(0.0), |word| word.parse().with_context(|| format!("`{word}` is not a number")))
    };
    Ok([number(0)?, number(1)?])
}

/// The place in a texture of a corner such as `7/1/2`.
fn place_of_corner(word: &str, places: &[[f32; 2]]) -> Result<[f32; 2]> {
    let second = word.split('/').nth(1).filter(|number| !number.is_empty());
    let Some(number) = second else { return Ok([0.0; 2]) };
    let index = usize::try_from(index_of(number, word, places.len())?).ok();
    let place = index.and_then(|index| places.get(index));
    place.copied().with_context(|| format!("there is no place in a texture for `{word}`"))
}

fn vector(words: &[&str]) -> Result<[f32; 3]> {
    ensure!(words.len() >= 3, "expected three numbers");
    let number = |word: &str| word.parse::<f32>().with_context(|| format!("`{word}` is not a number"));
    Ok([number(words[0])?, number(words[1])?, number(words[2])?])
}

/// The index of a corner such as `7/1/2`; those below zero count from the last one.
fn corner(word: &str, n: usize) -> Result<i32> {
    index_of(word.split('/').next().unwrap_or_default(), word, n)
}

/// An index from zero; `n` is how many there are.
fn index_of(number: &str, word: &str, n: usize) -> Result<i32> {
    let number: i64 = number.parse().with_context(|| format!("`{word}` is not a corner"))?;
    let index = if number < 0 { n as i64 + number } else { number - 1 };
    i32::try_from(index).with_context(|| format!("there is no corner `{word}`"))
}

fn read_materials(bytes: &[u8], folder: &Path, textures: &mut Textures) -> HashMap<String, Material> {
    let mut all = HashMap::new();
    let mut name = String::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let color = || vector(&words[1..]).ok();
        match words.first() {
            Some(&"newmtl") => name = words[1..].join(" "),
            Some(&"Kd") => {
                if let Some(color) = color() {
                    all.entry(name.clone()).or_insert_with(Material::default).color = color;
                }
            }
            Some(&"Ke") => {
                if let Some(color) = color() {
                    all.entry(name.clone()).or_insert_with(Material::default).emission = color;
                }
            }
            // Options come first; the name may have spaces.
            Some(&"map_Kd") => {
                let names = (1..words.len()).map(|first| words[first..].join(" "));
                let last = words[1..].last().map(|&word| word.to_owned());
                let file = names.into_iter().find(|name| path_of(folder, name).is_file()).or(last);
                if let Some(texture) = file.and_then(|file| textures.of_file(folder, &file)) {
                    all.entry(name.clone()).or_insert_with(Material::default).texture = Some(texture);
                }
            }
            _ => {}
        }
    }
    all
}
