//! Pictures: planes of intensities with a margin.
//!
//! An intensity is a `f32` between 0 and 1, a multiple of 1 / [`Picture::max_value`]. Channels are planes, one
//! after the other. Each plane has a margin of [`Margin`] pixels on all sides, so that filters may access
//! neighbours without checks; [`Picture::fill_margin`] sets its pixels. The first pixel of each row is at the start
//! of a cache line (`samples`).

use crate::ranges::MAX_MARGIN;
use crate::samples::{LINE, Samples};

/// What the pixels outside of a picture are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Boundary {
    /// The nearest pixel of the picture.
    #[default]
    Clamp,
    /// The picture, repeated.
    Wrap,
    /// The picture, mirrored at its edges.
    Mirror,
    /// There are none: an access is an error.
    Error,
}

impl Boundary {
    /// The index inside of a side of `size` pixels that stands for `index`.
    pub fn map(self, index: i32, size: i32) -> Option<i32> {
        if 0 <= index && index < size {
            return Some(index);
        }
        let (index, size) = (i64::from(index), i64::from(size));
        let mapped = match self {
            Boundary::Clamp => index.clamp(0, size - 1),
            Boundary::Wrap => index.rem_euclid(size),
            Boundary::Mirror => match index.rem_euclid(2 * size) {
                there if there < size => there,
                there => 2 * size - 1 - there,
            },
            Boundary::Error => return None,
        };
        Some(mapped as i32)
    }
}

/// The widths of a margin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Margin {
    /// Rows above and below.
    pub rows: usize,
    /// Columns to the left and to the right.
    pub cols: usize,
}

impl Margin {
    /// The samples of a row before its first pixel.
    pub(crate) fn before_row(self) -> usize {
        self.cols.next_multiple_of(LINE)
    }

    /// The distance between rows of this many pixels, in samples.
    pub(crate) fn stride(self, width: usize) -> usize {
        (self.before_row() + width + self.cols).next_multiple_of(LINE)
    }
}

/// A picture. See the module.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Columns; at least 1.
    pub width: usize,
    /// Rows; at least 1.
    pub height: usize,
    /// Channels: 1 gray, 2 gray and alpha, 3 colours, 4 colours and alpha.
    pub n_channels: usize,
    /// The largest integer intensity: 255 or 65535.
    pub max_value: u16,
    margin: Margin,
    samples: Samples,
}

/// The most samples of a picture, margins included, so that indices are of the type `i32`.
const MAX_SAMPLES: u64 = 1 << 30;

impl Picture {
    /// A black picture, if it is not too large.
    pub fn black(width: usize, height: usize, n_channels: usize, max_value: u16) -> Option<Picture> {
        let widest = 2 * MAX_MARGIN as u64 + LINE as u64;
        let size =
            (width as u64 + widest).checked_mul(height as u64 + widest)?.checked_mul(n_channels as u64)?;
        if size > MAX_SAMPLES || width == 0 || height == 0 || n_channels == 0 {
            return None;
        }
        Some(Picture::with_layout(width, height, n_channels, max_value, Margin::default()))
    }

    /// A black picture that is known to be small enough.
    fn with_layout(
        width: usize,
        height: usize,
        n_channels: usize,
        max_value: u16,
        margin: Margin,
    ) -> Picture {
        let mut picture =
            Picture { width, height, n_channels, max_value, margin, samples: Samples::default() };
        picture.samples = Samples::zero(picture.plane() * n_channels);
        picture
    }

    /// A picture from integer intensities, pixel by pixel.
    pub fn from_interleaved(
        width: usize,
        height: usize,
        n_channels: usize,
        max_value: u16,
        value: impl Fn(usize) -> u16,
    ) -> Option<Picture> {
        let mut picture = Picture::black(width, height, n_channels, max_value)?;
        let scale = picture.scale();
        for channel in 0..n_channels {
            for row in 0..height {
                for (col, sample) in picture.row_mut(row, channel).iter_mut().enumerate() {
                    let index = (row * width + col) * n_channels + channel;
                    *sample = f32::from(value(index)) * scale;
                }
            }
        }
        Some(picture)
    }

    /// The integer intensities, pixel by pixel.
    pub fn interleaved(&self) -> impl Iterator<Item = u16> + '_ {
        let pixels = (0..self.height).flat_map(move |row| (0..self.width).map(move |col| (row, col)));
        let max = f32::from(self.max_value);
        pixels.flat_map(move |(row, col)| {
            (0..self.n_channels).map(move |channel| (self.at(row, col, channel) * max + 0.5) as u16)
        })
    }

    /// The step between integer intensities.
    pub fn scale(&self) -> f32 {
        1.0 / f32::from(self.max_value)
    }

    /// The distance between rows, in samples.
    pub fn stride(&self) -> usize {
        self.margin.stride(self.width)
    }

    /// The distance between channels, in samples.
    pub fn plane(&self) -> usize {
        self.stride() * (self.height + 2 * self.margin.rows)
    }

    /// The margin.
    pub fn margin(&self) -> Margin {
        self.margin
    }

    fn index(&self, row: usize, col: usize, channel: usize) -> usize {
        channel * self.plane() + (row + self.margin.rows) * self.stride() + col + self.margin.before_row()
    }

    /// An intensity.
    pub fn at(&self, row: usize, col: usize, channel: usize) -> f32 {
        self.samples[self.index(row, col, channel)]
    }

    /// Sets an intensity: the nearest one that an integer stands for. NaN is black.
    pub fn set(&mut self, row: usize, col: usize, channel: usize, value: f32) {
        let max = f32::from(self.max_value);
        // As compiled filters do; see `render`.
        #[allow(clippy::manual_clamp)]
        let level = (value.max(0.0).min(1.0) * max + 0.5).floor();
        let index = self.index(row, col, channel);
        self.samples[index] = level * self.scale();
    }

    /// A row of a channel.
    fn row_mut(&mut self, row: usize, channel: usize) -> &mut [f32] {
        let (start, width) = (self.index(row, 0, channel), self.width);
        &mut self.samples[start..][..width]
    }

    /// The address of the first pixel of the first channel. Filters also access the margin before it.
    pub fn first_pixel(&mut self) -> *mut f32 {
        let start = self.index(0, 0, 0);
        self.samples.as_mut_ptr().wrapping_add(start)
    }

    /// All intensities, with the margin.
    pub(crate) fn samples_mut(&mut self) -> &mut [f32] {
        &mut self.samples
    }

    /// The same picture with a margin of at least this width. The pixels of the margin are not set.
    pub fn with_margin(self, margin: Margin) -> Picture {
        if self.margin.rows >= margin.rows && self.margin.cols >= margin.cols {
            return self;
        }
        let Picture { width, height, n_channels, max_value, .. } = self;
        let mut wide = Picture::with_layout(width, height, n_channels, max_value, margin);
        for channel in 0..self.n_channels {
            for row in 0..self.height {
                let start = self.index(row, 0, channel);
                wide.row_mut(row, channel).copy_from_slice(&self.samples[start..][..self.width]);
            }
        }
        wide
    }

    /// Sets the pixels of the margin.
    pub fn fill_margin(&mut self, boundary: Boundary) {
        if self.margin == Margin::default() || boundary == Boundary::Error {
            return;
        }
        // The index of a pixel and that of the first one, in samples.
        let map = |at: usize, first: usize, size: usize| {
            let mapped = boundary.map(at as i32 - first as i32, size as i32);
            mapped.expect("only `Error` has no pixel outside") as usize + first
        };
        let Margin { rows: above, cols } = self.margin;
        let (stride, rows, first) = (self.stride(), self.height + 2 * above, self.margin.before_row());
        let end = first + self.width;
        let outside: Vec<(usize, usize)> = (first - cols..first)
            .chain(end..end + cols)
            .map(|col| (col, map(col, first, self.width)))
            .collect();
        for plane in self.samples.chunks_exact_mut(stride * rows) {
            for row in plane.chunks_exact_mut(stride).skip(above).take(self.height) {
                outside.iter().for_each(|&(to, from)| row[to] = row[from]);
            }
            for row in (0..above).chain(above + self.height..rows) {
                let from = map(row, above, self.height) * stride;
                plane.copy_within(from..from + stride, row * stride);
            }
        }
    }

    /// The picture with another number of channels, for a filter that writes `n_channels`: gray is copied to all
    /// colours.
    #[must_use]
    pub fn widened(self, n_channels: usize) -> Picture {
        if self.n_channels >= 3 || n_channels < 3 {
            return self;
        }
        let has_alpha = self.n_channels == 2;
        let n_channels = if has_alpha { 4 } else { 3 };
        let mut samples = Samples::zero(self.plane() * n_channels);
        for (channel, plane) in samples.chunks_exact_mut(self.plane()).enumerate() {
            let from = if channel == 3 { 1 } else { 0 };
            plane.copy_from_slice(&self.samples[from * self.plane()..][..self.plane()]);
        }
        Picture { n_channels, samples, ..self }
    }

    /// The picture with the alpha channel of another one of the same size, if that has one and this has none.
    #[must_use]
    pub fn with_alpha_of(self, other: &Picture) -> Picture {
        let has_alpha = |picture: &Picture| picture.n_channels.is_multiple_of(2);
        if has_alpha(&self) || !has_alpha(other) {
            return self;
        }
        let mut samples = Samples::zero(self.plane() * (self.n_channels + 1));
        samples[..self.samples.len()].copy_from_slice(&self.samples);
        let mut wide = Picture { n_channels: self.n_channels + 1, samples, ..self };
        for row in 0..wide.height {
            let start = other.index(row, 0, other.n_channels - 1);
            let alpha = &other.samples[start..][..other.width];
            wide.row_mut(row, wide.n_channels - 1).copy_from_slice(alpha);
        }
        wide
    }
}
