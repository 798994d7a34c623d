//! Pictures as the bytes of files: PNG in and out, and animations as animated PNG or GIF (`gif`).

use std::borrow::Borrow;
use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};

use crate::picture::Picture;

/// The most memory that the decoder of a file may use.
const MAX_BYTES: usize = 1 << 30;

/// Reads a PNG file.
pub fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MAX_BYTES });
    // Palettes and less than 8 bits become 8 bits.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let too_large = || "the picture is too large".to_owned();
    let size = reader.output_buffer_size().filter(|&size| size <= MAX_BYTES).ok_or_else(too_large)?;
    let mut data = vec![0; size];
    let info = reader.next_frame(&mut data).map_err(|error| error.to_string())?;
    let (width, height) = (info.width as usize, info.height as usize);
    let n_channels = info.color_type.samples();
    let picture = match info.bit_depth {
        BitDepth::Sixteen => Picture::from_interleaved(width, height, n_channels, u16::MAX, |index| {
            u16::from_be_bytes([data[2 * index], data[2 * index + 1]])
        }),
        _ => Picture::from_interleaved(width, height, n_channels, 255, |index| data[index].into()),
    };
    picture.ok_or_else(too_large)
}

/// A PNG file.
pub fn encode(picture: &Picture) -> Result<Vec<u8>, String> {
    encoded(std::iter::once(picture), None)
}

/// An animated PNG file of this number of frames, each encoded as it comes. All have one size and format; each is
/// shown for `delay` milliseconds.
pub fn animation(
    n_frames: u32,
    frames: impl Iterator<Item = Picture>,
    delay: u16,
) -> Result<Vec<u8>, String> {
    encoded(frames, Some((n_frames, delay)))
}

fn encoded(
    frames: impl Iterator<Item = impl Borrow<Picture>>,
    animated: Option<(u32, u16)>,
) -> Result<Vec<u8>, String> {
    let mut frames = frames.peekable();
    let first = frames.peek().ok_or("an animation has at least one frame")?.borrow();
    let mut bytes = vec![];
    let mut encoder = Encoder::new(&mut bytes, first.width as u32, first.height as u32);
    encoder.set_color(match first.n_channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    let is_wide = first.max_value == u16::MAX;
    encoder.set_depth(if is_wide { BitDepth::Sixteen } else { BitDepth::Eight });
    let result = (|| {
        if let Some((n_frames, delay)) = animated {
            encoder.set_animated(n_frames, 0)?;
            encoder.set_frame_delay(delay, 1000)?;
        }
        let mut writer = encoder.write_header()?;
        for frame in frames {
            let values = frame.borrow().interleaved();
            let data: Vec<u8> = match is_wide {
                true => values.flat_map(u16::to_be_bytes).collect(),
                false => values.map(|value| value as u8).collect(),
            };
            writer.write_image_data(&data)?;
        }
        writer.finish()
    })();
    result.map_err(|error: png::EncodingError| error.to_string())?;
    Ok(bytes)
}
