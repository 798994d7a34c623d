//! Pictures in files: PNG, JPEG, TIFF and WebP.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail};
use image::{ColorType, DynamicImage, ExtendedColorType, ImageFormat};

use crate::program::Format;

/// A picture in memory: rows from top to bottom, the channels of each pixel next to each other.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub samples: Samples,
    colours: usize,
    has_alpha: bool,
}

pub enum Samples {
    Bytes(Vec<u8>),
    Words(Vec<u16>),
}

impl Picture {
    pub fn black(width: u32, height: u32, format: Format) -> Picture {
        let n = width as usize * height as usize * format.channels();
        let samples = if format.is_wide { Samples::Words(vec![0; n]) } else { Samples::Bytes(vec![0; n]) };
        Picture { width, height, samples, colours: format.colours, has_alpha: format.has_alpha }
    }

    pub fn format(&self) -> Format {
        let is_wide = matches!(self.samples, Samples::Words(_));
        Format { colours: self.colours, has_alpha: self.has_alpha, is_wide }
    }

    /// Reads a file; the content determines its format, not its name.
    pub fn read(path: &Path) -> Result<Picture> {
        let name = path.display();
        let contents = fs::read(path).with_context(|| format!("`{name}`"))?;
        let kind = image::guess_format(&contents)
            .ok()
            .filter(|kind| KINDS.iter().any(|known| known.format == *kind));
        let Some(kind) = kind else {
            bail!("`{name}` is not a picture: the formats are PNG, JPEG, TIFF and WebP")
        };
        match image::load_from_memory_with_format(&contents, kind) {
            Ok(decoded) => Picture::of(decoded).with_context(|| format!("`{name}`")),
            // The error contains its cause.
            Err(error) => bail!("`{name}`: {error}"),
        }
    }

    fn of(decoded: DynamicImage) -> Result<Picture> {
        let (width, height, color) = (decoded.width(), decoded.height(), decoded.color());
        let (colours, has_alpha) = (if color.has_color() { 3 } else { 1 }, color.has_alpha());
        let samples = match decoded {
            DynamicImage::ImageLuma8(pixels) => Samples::Bytes(pixels.into_raw()),
            DynamicImage::ImageLumaA8(pixels) => Samples::Bytes(pixels.into_raw()),
            DynamicImage::ImageRgb8(pixels) => Samples::Bytes(pixels.into_raw()),
            DynamicImage::ImageRgba8(pixels) => Samples::Bytes(pixels.into_raw()),
            DynamicImage::ImageLuma16(pixels) => Samples::Words(pixels.into_raw()),
            DynamicImage::ImageLumaA16(pixels) => Samples::Words(pixels.into_raw()),
            DynamicImage::ImageRgb16(pixels) => Samples::Words(pixels.into_raw()),
            DynamicImage::ImageRgba16(pixels) => Samples::Words(pixels.into_raw()),
            _ => bail!("unsupported pixel format ({color:?}): only 8 and 16 bits are supported"),
        };
        Ok(Picture { width, height, samples, colours, has_alpha })
    }

    /// Writes a file in the format of its extension. The file appears when it is complete.
    pub fn write(&self, path: &Path) -> Result<()> {
        let kind = Kind::of(path)?;
        kind.accepts(self.format()).with_context(|| format!("`{}`", path.display()))?;
        let contents = self.encoded(kind).with_context(|| format!("`{}`", path.display()))?;
        let part = part_of(path);
        let written = fs::write(&part, contents).and_then(|()| fs::rename(&part, path));
        if written.is_err() {
            // The temporary file may not exist.
            let _ = fs::remove_file(&part);
        }
        written.with_context(|| format!("cannot write `{}`", path.display()))
    }

    fn encoded(&self, kind: &Kind) -> Result<Vec<u8>> {
        let mut contents = Cursor::new(vec![]);
        let color = ExtendedColorType::from(self.color());
        let (width, height) = (self.width, self.height);
        let words;
        let bytes: &[u8] = match &self.samples {
            Samples::Bytes(bytes) => bytes,
            Samples::Words(samples) => {
                words = samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect::<Vec<u8>>();
                &words
            }
        };
        if kind.format == ImageFormat::Jpeg {
            let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut contents, 92);
            encoder.encode(bytes, width, height, color)?;
        } else {
            image::write_buffer_with_format(&mut contents, bytes, width, height, color, kind.format)?;
        }
        Ok(contents.into_inner())
    }

    fn color(&self) -> ColorType {
        match (self.colours, self.has_alpha, &self.samples) {
            (1, false, Samples::Bytes(_)) => ColorType::L8,
            (1, true, Samples::Bytes(_)) => ColorType::La8,
            (_, false, Samples::Bytes(_)) => ColorType::Rgb8,
            (_, true, Samples::Bytes(_)) => ColorType::Rgba8,
            (1, false, Samples::Words(_)) => ColorType::L16,
            (1, true, Samples::Words(_)) => ColorType::La16,
            (_, false, Samples::Words(_)) => ColorType::Rgb16,
            (_, true, Samples::Words(_)) => ColorType::Rgba16,
        }
    }
}

/// A file format.
pub struct Kind {
    format: ImageFormat,
    endings: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind { format: ImageFormat::Png, endings: &["png"] },
    Kind { format: ImageFormat::Jpeg, endings: &["jpg", "jpeg"] },
    Kind { format: ImageFormat::Tiff, endings: &["tif", "tiff"] },
    // Without loss.
    Kind { format: ImageFormat::WebP, endings: &["webp"] },
];

impl Kind {
    /// The format of files with this extension.
    pub fn of(path: &Path) -> Result<&'static Kind> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let found =
            KINDS.iter().find(|kind| ending.as_deref().is_some_and(|ending| kind.endings.contains(&ending)));
        let Some(kind) = found else {
            bail!("`{}` must end in .png, .jpg, .tiff or .webp", path.display());
        };
        Ok(kind)
    }

    /// Whether this file format supports such pictures.
    pub fn accepts(&self, format: Format) -> Result<()> {
        match self.format {
            ImageFormat::Jpeg if format.has_alpha => {
                bail!("JPEG does not support transparency; PNG, TIFF and WebP do")
            }
            ImageFormat::Jpeg if format.is_wide => {
                bail!("JPEG has 8 bits per channel: use `--bits 8`, or write PNG or TIFF")
            }
            ImageFormat::WebP if format.is_wide => {
                bail!("WebP has 8 bits per channel: use `--bits 8`, or write PNG or TIFF")
            }
            ImageFormat::Tiff if format.has_alpha && format.colours == 1 => {
                bail!("TIFF does not support gray with transparency here; PNG and WebP do")
            }
            _ => Ok(()),
        }
    }
}

/// Whether the file has the extension of a picture.
pub fn is_picture(path: &Path) -> bool {
    Kind::of(path).is_ok()
}

/// A file beside `path`, to be renamed when it is complete.
fn part_of(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.part", process::id()))
}
