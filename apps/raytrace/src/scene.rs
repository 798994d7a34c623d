//! Scenes: triangles with colors, read from files.
//!
//! Readers accept any bytes: what is not as the format says is an error with its place. Indices are checked here, so that kernels need not.

mod gltf;
mod obj;
mod ply;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A mesh, with a color and an emitted color for each triangle.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub vertices: Vec<[f32; 3]>,
    pub triangles: Vec<[i32; 3]>,
    pub colors: Vec<[f32; 3]>,
    pub emissions: Vec<[f32; 3]>,
}

/// How a surface looks: the part of light that it scatters, and the light that it emits.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    pub color: [f32; 3],
    pub emission: [f32; 3],
}

impl Default for Material {
    fn default() -> Material {
        Material { color: [0.7; 3], emission: [0.0; 3] }
    }
}

impl Scene {
    /// Reads a file; its name says the format.
    pub fn read(path: &Path) -> Result<Scene> {
        let failed = || format!("cannot read `{}`", path.display());
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("."));
        let bytes = fs::read(path).with_context(failed)?;
        let scene = match extension.to_ascii_lowercase().as_str() {
            "obj" => obj::read(&bytes, folder),
            "ply" => ply::read(&bytes),
            "gltf" => gltf::read_json(&bytes, folder),
            "glb" => gltf::read_binary(&bytes, folder),
            _ => bail!("`{}`: the name of a scene ends with .obj, .ply, .gltf or .glb", path.display()),
        };
        let scene = scene.with_context(failed)?;
        scene.check().with_context(failed)?;
        Ok(scene)
    }

    /// Adds a triangle with these corners.
    fn push(&mut self, corners: [i32; 3], material: Material) {
        self.triangles.push(corners);
        self.colors.push(material.color);
        self.emissions.push(material.emission);
    }

    /// Adds a polygon as a fan of triangles.
    fn push_polygon(&mut self, corners: &[i32], material: Material) {
        for pair in corners.get(1..).unwrap_or_default().windows(2) {
            self.push([corners[0], pair[0], pair[1]], material);
        }
    }

    fn check(&self) -> Result<()> {
        let n = self.vertices.len();
        ensure!(n <= i32::MAX as usize / 3, "there are too many corners");
        for (i, corners) in self.triangles.iter().enumerate() {
            let is_valid =
                corners.iter().all(|&corner| usize::try_from(corner).is_ok_and(|corner| corner < n));
            ensure!(is_valid, "triangle {i} has the corners {corners:?}, and there are {n} corners");
        }
        Ok(())
    }
}

/// `N` bytes at a position.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let end = at.checked_add(N).context("the position is too large")?;
    let part =
        bytes.get(at..end).with_context(|| format!("the data ends at byte {} of {end}", bytes.len()))?;
    Ok(part.try_into().expect("the part has this length"))
}
