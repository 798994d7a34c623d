//! Pictures as PNG.

use std::io::Cursor;
use std::path::Path;

use anyhow::Result;
use image::{ExtendedColorType, ImageFormat};

use crate::files;
use crate::kernel::Sums;

pub fn png(sums: &Sums) -> Result<Vec<u8>> {
    let mut bytes = Cursor::new(vec![]);
    image::write_buffer_with_format(
        &mut bytes,
        &sums.pixels(),
        sums.width,
        sums.height,
        ExtendedColorType::Rgb8,
        ImageFormat::Png,
    )?;
    Ok(bytes.into_inner())
}

pub fn write(path: &Path, sums: &Sums) -> Result<()> {
    files::replace(path, &png(sums)?)
}
