//! Pictures as PNG. A file is replaced as a whole, so that viewers never see a part of it.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result};
use image::{ExtendedColorType, ImageFormat};

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
    let part = path.with_extension("png.part");
    let failed = || format!("cannot write `{}`", path.display());
    fs::write(&part, png(sums)?).with_context(failed)?;
    fs::rename(&part, path).with_context(failed)
}
