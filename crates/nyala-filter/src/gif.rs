//! Animations as GIF files. Each frame has a palette of its own: 256 colours, by cutting boxes of colours at their
//! median.

use weezl::BitOrder;
use weezl::encode::Encoder;

use crate::picture::Picture;

/// Colours of a palette.
const COLOURS: usize = 256;

/// Colours are counted with this many bits of each channel.
const BITS: u32 = 5;

/// A GIF file of frames, each encoded as it comes. All have one size; each is shown for `delay` milliseconds. Alpha
/// is ignored.
pub fn animation(frames: impl Iterator<Item = Picture>, delay: u16) -> Result<Vec<u8>, String> {
    let mut frames = frames.peekable();
    let first = frames.peek().ok_or("an animation has at least one frame")?;
    let side = |size: usize| u16::try_from(size).map_err(|_| "a GIF file has at most 65535 rows and columns");
    let (width, height) = (side(first.width)?, side(first.height)?);
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
    // No common palette, no background, square pixels.
    bytes.extend([0x70, 0, 0]);
    // Repeat forever.
    bytes.extend(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00");
    for frame in frames {
        // GIF counts hundredths of a second.
        bytes.extend([0x21, 0xf9, 4, 0]);
        bytes.extend((delay / 10).max(2).to_le_bytes());
        bytes.extend([0, 0, 0x2c, 0, 0, 0, 0]);
        bytes.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
        let pixels = pixels(&frame);
        let (palette, nearest) = palette(&pixels);
        // A palette of its own with 2^8 colours; codes start with 8 bits.
        bytes.push(0x87);
        bytes.extend(palette.as_flattened());
        bytes.push(8);
        let indices: Vec<u8> = pixels.iter().map(|&pixel| nearest[bin(pixel)]).collect();
        let data = Encoder::new(BitOrder::Lsb, 8).encode(&indices).map_err(|error| error.to_string())?;
        for chunk in data.chunks(255) {
            bytes.push(chunk.len() as u8);
            bytes.extend(chunk);
        }
        bytes.push(0);
    }
    bytes.push(0x3b);
    Ok(bytes)
}

/// The colours of a frame, with 8 bits per channel.
fn pixels(frame: &Picture) -> Vec<[u8; 3]> {
    let shift = if frame.max_value == u16::MAX { 8 } else { 0 };
    let values: Vec<u8> = frame.interleaved().map(|value| (value >> shift) as u8).collect();
    let colour = |pixel: &[u8]| match *pixel {
        [red, green, blue, ..] => [red, green, blue],
        [gray, ..] => [gray; 3],
        [] => [0; 3],
    };
    values.chunks_exact(frame.n_channels).map(colour).collect()
}

fn bin([red, green, blue]: [u8; 3]) -> usize {
    let part = |value: u8| usize::from(value >> (8 - BITS));
    part(red) << (2 * BITS) | part(green) << BITS | part(blue)
}

/// The pixels of a bin: how many there are, and the sums of their channels.
#[derive(Clone, Copy, Default)]
struct Bin {
    index: usize,
    count: u64,
    sums: [u64; 3],
}

impl Bin {
    /// The mean of a channel.
    fn mean(&self, channel: usize) -> u64 {
        self.sums[channel] / self.count
    }
}

/// The colours of a palette, and for each bin the number of its colour.
fn palette(pixels: &[[u8; 3]]) -> ([[u8; 3]; COLOURS], Vec<u8>) {
    let mut bins = vec![Bin::default(); 1 << (3 * BITS)];
    for &pixel in pixels {
        let bin = &mut bins[bin(pixel)];
        bin.count += 1;
        bin.sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u64::from(value));
    }
    bins.iter_mut().enumerate().for_each(|(index, bin)| bin.index = index);
    bins.retain(|bin| bin.count > 0);
    let mut boxes = vec![bins];
    while boxes.len() < COLOURS
        && let Some((at, channel)) = widest(&boxes)
    {
        let mut whole = boxes.swap_remove(at);
        whole.sort_by_key(|bin| bin.mean(channel));
        let other = whole.split_off(median(&whole));
        boxes.extend([whole, other]);
    }
    let mut colours = [[0; 3]; COLOURS];
    let mut nearest = vec![0; 1 << (3 * BITS)];
    for (number, bins) in boxes.iter().enumerate() {
        let count: u64 = bins.iter().map(|bin| bin.count).sum();
        for (channel, value) in colours[number].iter_mut().enumerate() {
            let sum: u64 = bins.iter().map(|bin| bin.sums[channel]).sum();
            *value = (sum / count.max(1)) as u8;
        }
        bins.iter().for_each(|bin| nearest[bin.index] = number as u8);
    }
    (colours, nearest)
}

/// The box with the largest extent, weighted by its pixels, and the channel of this extent.
fn widest(boxes: &[Vec<Bin>]) -> Option<(usize, usize)> {
    let extent = |bins: &[Bin], channel: usize| {
        let means = bins.iter().map(|bin| bin.mean(channel));
        let count: u64 = bins.iter().map(|bin| bin.count).sum();
        (means.clone().max().unwrap_or(0) - means.min().unwrap_or(0)) * count.isqrt()
    };
    let splittable = boxes.iter().enumerate().filter(|(_, bins)| bins.len() > 1);
    let candidates =
        splittable.flat_map(|(at, bins)| (0..3).map(move |channel| (extent(bins, channel), at, channel)));
    candidates.max().map(|(_, at, channel)| (at, channel))
}

/// Where to cut sorted bins, so that both parts have bins and about half of the pixels.
fn median(bins: &[Bin]) -> usize {
    let half = bins.iter().map(|bin| bin.count).sum::<u64>() / 2;
    let mut before = 0;
    let cut = bins.iter().position(|bin| {
        before += bin.count;
        before > half
    });
    cut.unwrap_or(0).clamp(1, bins.len() - 1)
}
