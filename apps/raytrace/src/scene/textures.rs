//! Textures: pictures that give the color of a surface.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::files;

/// The pixels of all textures, one behind the other: four bytes each, red first, from the upper left corner.
#[derive(Clone, Debug, Default)]
pub struct Textures {
    pub pixels: Vec<[u8; 4]>,
    /// For each texture the first pixel, the width and the height.
    pub places: Vec<[i32; 3]>,
    /// What was not read, and why.
    pub warnings: Vec<String>,
    by_name: HashMap<String, Option<i32>>,
}

impl Textures {
    /// The number of a texture; `bytes` are read when its name comes first. A picture that cannot be read is a warning.
    pub fn number(&mut self, name: &str, bytes: impl FnOnce() -> Result<Vec<u8>>) -> Option<i32> {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let number = bytes().and_then(|bytes| self.add(&bytes));
        if let Err(error) = &number {
            self.warnings.push(format!("the texture `{name}` is not used: {error:#}"));
        }
        let number = number.ok();
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// The number of a texture in a file.
    pub fn of_file(&mut self, folder: &Path, name: &str) -> Option<i32> {
        // Files of other systems have other separators.
        let path = folder.join(name.replace('\\', "/"));
        self.number(name, || files::read(&path))
    }

    fn add(&mut self, bytes: &[u8]) -> Result<i32> {
        let picture = image::load_from_memory(bytes).context("it cannot be read as PNG or JPEG")?.to_rgba8();
        let (width, height) = picture.dimensions();
        ensure!(width > 0 && height > 0, "the picture is empty");
        let first = i32::try_from(self.pixels.len()).context("textures are too large")?;
        self.pixels.extend(picture.pixels().map(|pixel| pixel.0));
        ensure!(self.pixels.len() < i32::MAX as usize / 4, "textures are too large");
        self.places.push([first, width as i32, height as i32]);
        Ok(self.places.len() as i32 - 1)
    }
}
