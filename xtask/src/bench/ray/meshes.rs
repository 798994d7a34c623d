//! Meshes of the test data, which are compressed by xz: a scan, a crown, an atrium, and a courtyard of instances.

use std::fs;
use std::process::Command;

use super::scenes::{Scene, Vector};
use crate::files;

pub const NAMES: [&str; 4] = ["dragon", "crown", "sponza", "san miguel"];

/// The mesh with a name, if its files are present.
pub fn read(name: &'static str) -> Option<Scene> {
    match name {
        "dragon" => ply("dragon", Scene::new(name, [0.1, 0.18, 0.25], [0.0, 0.12, 0.0])),
        "crown" => ply("crown", Scene::new(name, [0.0, 5.5, 24.0], [0.0, 11.0, -10.0])),
        "sponza" => obj("sponza", Scene::new(name, [-9.0, 4.0, 0.3], [4.0, 5.0, 0.0])),
        _ => {
            let mut scene = Scene::new(name, [22.8676, -12.9289, 1.94784], [22.2116, -12.1807, 2.04755]);
            scene.up = [0.0, 0.0, 1.0];
            placed(&ply("sanmiguel_meshes", scene)?, &unpacked("sanmiguel_instances.txt")?)
        }
    }
}

fn unpacked(file: &str) -> Option<Vec<u8>> {
    let path = files::repository().join("../shared/data/meshes").join(format!("{file}.xz"));
    fs::metadata(&path).ok()?;
    Some(Command::new("xz").arg("-dc").arg(&path).output().ok()?.stdout)
}

/// A binary PLY file with triangles.
fn ply(name: &str, mut scene: Scene) -> Option<Scene> {
    let bytes = unpacked(&format!("{name}.ply"))?;
    let end = bytes.windows(11).position(|part| part == b"end_header\n")? + 11;
    let header = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let count = |what: &str| -> Option<usize> {
        header.lines().find_map(|line| line.strip_prefix(what)?.trim().parse().ok())
    };
    let (n, m) = (count("element vertex")?, count("element face")?);
    let (vertices, faces) = bytes.get(end..end + 12 * n + 13 * m)?.split_at(12 * n);
    let word = |bytes: &[u8]| [bytes[0], bytes[1], bytes[2], bytes[3]];
    scene.vertices.extend(vertices.chunks(12).map(|p| [0, 4, 8].map(|i| f32::from_le_bytes(word(&p[i..])))));
    scene.triangles.extend(faces.chunks(13).map(|t| [1, 5, 9].map(|i| u32::from_le_bytes(word(&t[i..])))));
    Some(scene)
}

/// An OBJ file with convex polygons and positive indices.
fn obj(name: &str, mut scene: Scene) -> Option<Scene> {
    let bytes = unpacked(&format!("{name}.obj"))?;
    for line in String::from_utf8_lossy(&bytes).lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f32> = words.filter_map(|word| word.parse().ok()).collect();
                scene.vertices.push(numbers.try_into().ok()?);
            }
            Some("f") => {
                let corner = |word: &str| word.split('/').next()?.parse::<u32>().ok()?.checked_sub(1);
                let corners = words.map(corner).collect::<Option<Vec<u32>>>()?;
                let fan = corners.windows(2).skip(1);
                scene.triangles.extend(fan.map(|pair| [corners[0], pair[0], pair[1]]));
            }
            _ => {}
        }
    }
    Some(scene)
}

/// All instances as one mesh: each line has the first face, the number of faces, and a map from the mesh to the
/// world as three rows of four numbers.
fn placed(meshes: &Scene, instances: &[u8]) -> Option<Scene> {
    let mut scene = Scene { vertices: vec![], triangles: vec![], ..*meshes };
    for line in String::from_utf8_lossy(instances).lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (first, n): (usize, usize) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let map: Vec<f32> = words.filter_map(|word| word.parse().ok()).collect();
        let row = |p: Vector, k: usize| map[k] * p[0] + map[k + 1] * p[1] + map[k + 2] * p[2] + map[k + 3];
        let faces = meshes.triangles.get(first..first + n)?;
        // The corners of a mesh are neighbours.
        let low = *faces.iter().flatten().min()?;
        let high = *faces.iter().flatten().max()?;
        let start = scene.vertices.len() as u32;
        let corners = &meshes.vertices[low as usize..=high as usize];
        scene.vertices.extend(corners.iter().map(|&p| [0, 4, 8].map(|k| row(p, k))));
        scene.triangles.extend(faces.iter().map(|corners| corners.map(|corner| corner - low + start)));
    }
    Some(scene)
}
