//! Scenes: triangles with colors, read from files.
//!
//! Readers accept any bytes: what is not as the format says is an error with its place. Indices are checked here, so that kernels need not.

mod gltf;
mod obj;
mod ply;
mod polygons;
#[cfg(test)]
mod tests;
mod textures;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::files;
pub use textures::Textures;

/// The most triangles of a scene: blocks of eight in leaves have ten times as many numbers, which 32 bits count.
const MOST_TRIANGLES: usize = i32::MAX as usize / 64;
/// The most corners.
const MOST_CORNERS: usize = 3 * MOST_TRIANGLES;

/// A mesh, with a color, an emitted color, and a texture for each triangle.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub vertices: Vec<[f32; 3]>,
    pub triangles: Vec<[i32; 3]>,
    pub colors: Vec<[f32; 3]>,
    pub emissions: Vec<[f32; 3]>,
    /// The number of a texture, or -1.
    pub texture_numbers: Vec<i32>,
    /// The places of the corners in the texture, from its lower left corner.
    pub texture_places: Vec<[[f32; 2]; 3]>,
    pub textures: Textures,
    /// What was not read, and why; those of textures are there.
    pub warnings: Vec<String>,
}

/// How a surface looks: the part of light that it scatters, and the light that it emits.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    pub color: [f32; 3],
    pub emission: [f32; 3],
    /// The number of a texture, whose color is multiplied.
    pub texture: Option<i32>,
}

impl Default for Material {
    fn default() -> Material {
        Material { color: [0.7; 3], emission: [0.0; 3], texture: None }
    }
}

impl Scene {
    /// Reads a file; its name says the format.
    pub fn read(path: &Path) -> Result<Scene> {
        let failed = || format!("cannot read `{}`", path.display());
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("."));
        let extension = extension.to_ascii_lowercase();
        if !["obj", "ply", "gltf", "glb"].contains(&extension.as_str()) {
            bail!("`{}`: the name of a scene ends with .obj, .ply, .gltf or .glb", path.display());
        }
        Scene::parse(&extension, &files::read(path)?, folder).with_context(failed)
    }

    /// The scene that the bytes of a file are; `folder` has the files that it names.
    fn parse(extension: &str, bytes: &[u8], folder: &Path) -> Result<Scene> {
        let mut scene = match extension {
            "obj" => obj::read(bytes, folder),
            "ply" => ply::read(bytes),
            "gltf" => gltf::read_json(bytes, folder),
            _ => gltf::read_binary(bytes, folder),
        }?;
        scene.check()?;
        Ok(scene)
    }

    /// Ends reading before memory does: a few bytes of a file may stand for many corners.
    fn require_room(&self, n_corners: usize, n_triangles: usize) -> Result<()> {
        let has_room = |n: usize, more: usize, most: usize| n.saturating_add(more) <= most;
        ensure!(has_room(self.vertices.len(), n_corners, MOST_CORNERS), "there are too many corners");
        ensure!(has_room(self.triangles.len(), n_triangles, MOST_TRIANGLES), "there are too many triangles");
        Ok(())
    }

    /// Adds a triangle with these corners, and their places in its texture.
    fn push(&mut self, corners: [i32; 3], places: [[f32; 2]; 3], material: Material) {
        self.triangles.push(corners);
        // A surface scatters no more light than it receives.
        let within = |part: f32, most: f32| if part > 0.0 { part.min(most) } else { 0.0 };
        self.colors.push(material.color.map(|part| within(part, 1.0)));
        self.emissions.push(material.emission.map(|part| within(part, f32::MAX)));
        self.texture_numbers.push(material.texture.unwrap_or(-1));
        // Where a texture is repeated so often, its pixels cannot be seen.
        let is_near = |x: f32| x.abs() < 1e6;
        self.texture_places.push(places.map(|place| place.map(|x| if is_near(x) { x } else { 0.0 })));
    }

    /// Adds a polygon.
    fn push_polygon(&mut self, corners: &[(i32, [f32; 2])], material: Material) {
        // A corner that is not there is an error later.
        let point = |corner: i32| usize::try_from(corner).ok().and_then(|corner| self.vertices.get(corner));
        let points: Vec<_> =
            corners.iter().map(|corner| point(corner.0).copied().unwrap_or_default()).collect();
        for triangle in polygons::triangles_of(&points) {
            let [a, b, c] = triangle.map(|i| corners[i]);
            self.push([a.0, b.0, c.0], [a.1, b.1, c.1], material);
        }
    }

    /// Indices must be valid; what else may be unexpected is a warning.
    fn check(&mut self) -> Result<()> {
        self.require_room(0, 0)?;
        let n = self.vertices.len();
        for (i, corners) in self.triangles.iter().enumerate() {
            let is_valid =
                corners.iter().all(|&corner| usize::try_from(corner).is_ok_and(|corner| corner < n));
            ensure!(is_valid, "triangle {i} has the corners {corners:?}, and there are {n} corners");
        }
        let is_finite = |corner: i32| self.vertices[corner as usize].iter().all(|x| x.is_finite());
        let n_left_out =
            self.triangles.iter().filter(|corners| !corners.iter().all(|&c| is_finite(c))).count();
        if n_left_out > 0 {
            self.warnings.push(format!("triangles left out, since a corner is not finite: {n_left_out}"));
        }
        if n_left_out == self.triangles.len() {
            self.warnings.push("the scene has no triangles".to_owned());
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
