//! Reference filters: plain loops over pixels, in `f64`.
//!
//! A picture has values everywhere, by its [`Boundary`] mode; so a filter of a filter reads values
//! outside of the picture too.

/// The boundary mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boundary {
    Clamp,
    Mirror,
    Wrap,
    Constant,
}

pub const BOUNDARIES: [Boundary; 4] = [Boundary::Clamp, Boundary::Mirror, Boundary::Wrap, Boundary::Constant];

/// The value outside of a picture with [`Boundary::Constant`].
pub const OUTSIDE: f64 = 0.25;

impl Boundary {
    /// The index in a row of `n` pixels for the coordinate `i`.
    fn place(self, mut i: i64, n: i64) -> Option<i64> {
        while !(0..n).contains(&i) {
            i = match self {
                Boundary::Clamp => i.clamp(0, n - 1),
                Boundary::Mirror if i < 0 => -1 - i,
                Boundary::Mirror => 2 * n - 1 - i,
                Boundary::Wrap if i < 0 => i + n,
                Boundary::Wrap => i - n,
                Boundary::Constant => return None,
            }
        }
        Some(i)
    }
}

/// A picture with values outside of its memory.
#[derive(Clone, Debug)]
pub struct Picture {
    pub width: i64,
    pub height: i64,
    pub boundary: Boundary,
    pub data: Vec<f64>,
}

impl Picture {
    pub fn at(&self, x: i64, y: i64) -> f64 {
        match (self.boundary.place(x, self.width), self.boundary.place(y, self.height)) {
            (Some(x), Some(y)) => self.data[(y * self.width + x) as usize],
            _ => OUTSIDE,
        }
    }

    /// A picture of another size with this value at each position.
    fn sized(&self, width: i64, height: i64, value: impl Fn(i64, i64) -> f64) -> Picture {
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Picture { width, height, data: places.map(|(x, y)| value(x, y)).collect(), ..*self }
    }

    /// A picture with this value at each position.
    pub fn map(&self, value: impl Fn(i64, i64) -> f64) -> Picture {
        self.sized(self.width, self.height, value)
    }
}

/// A convolution with a square of weights.
fn convolved(picture: &Picture, x: i64, y: i64, radius: i64, weight: impl Fn(i64) -> f64) -> f64 {
    let square = (-radius..=radius).flat_map(|j| (-radius..=radius).map(move |i| (i, j)));
    square.map(|(i, j)| weight(i) * weight(j) * picture.at(x + i, y + j)).sum()
}

pub fn box_blur(picture: &Picture, radius: i64) -> Picture {
    let weight = 1.0 / (2 * radius + 1) as f64;
    picture.map(|x, y| convolved(picture, x, y, radius, |_| weight))
}

pub fn gaussian(picture: &Picture, radius: i64, sigma: f64) -> Picture {
    let bell = |i: i64| (-0.5 * (i * i) as f64 / (sigma * sigma)).exp();
    let sum: f64 = (-radius..=radius).map(bell).sum();
    picture.map(|x, y| convolved(picture, x, y, radius, |i| bell(i) / sum))
}

/// The gradient, with the weights 1, 2, 1 times `scale`.
fn gradient_at(picture: &Picture, x: i64, y: i64, scale: f64) -> (f64, f64) {
    let at = |i, j| picture.at(x + i, y + j);
    let across = |j| at(1, j) - at(-1, j);
    let down = |i| at(i, 1) - at(i, -1);
    let smooth = |a: f64, b: f64, c: f64| scale * (a + 2.0 * b + c);
    (smooth(across(-1), across(0), across(1)), smooth(down(-1), down(0), down(1)))
}

pub fn sobel_x(picture: &Picture) -> Picture {
    picture.map(|x, y| gradient_at(picture, x, y, 0.25).0)
}

pub fn sobel_y(picture: &Picture) -> Picture {
    picture.map(|x, y| gradient_at(picture, x, y, 0.25).1)
}

/// The size of the gradient.
fn gradient_size_at(picture: &Picture, x: i64, y: i64) -> f64 {
    let (a, b) = gradient_at(picture, x, y, 0.25);
    (a * a + b * b).sqrt()
}

pub fn gradient_size(picture: &Picture) -> Picture {
    picture.map(|x, y| gradient_size_at(picture, x, y))
}

pub fn laplace(picture: &Picture) -> Picture {
    let neighbours = [(-1, 0), (1, 0), (0, -1), (0, 1)];
    picture.map(|x, y| {
        let sum: f64 = neighbours.iter().map(|(i, j)| picture.at(x + i, y + j)).sum();
        sum - 4.0 * picture.at(x, y)
    })
}

pub fn harris(picture: &Picture, k: f64) -> Picture {
    picture.map(|x, y| {
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for j in -1..=1 {
            for i in -1..=1 {
                let (a, b) = gradient_at(picture, x + i, y + j, 1.0 / 12.0);
                (xx, xy, yy) = (xx + a * a, xy + a * b, yy + b * b);
            }
        }
        xx * yy - xy * xy - k * (xx + yy) * (xx + yy)
    })
}

pub fn unsharp(picture: &Picture, amount: f64, radius: i64, sigma: f64) -> Picture {
    let soft = gaussian(picture, radius, sigma);
    picture.map(|x, y| picture.at(x, y) + amount * (picture.at(x, y) - soft.at(x, y)))
}

pub fn bilateral(picture: &Picture, radius: i64, sigma_s: f64, sigma_r: f64) -> Picture {
    picture.map(|x, y| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for j in -radius..=radius {
            for i in -radius..=radius {
                let v = picture.at(x + i, y + j);
                let (far, unlike) = ((i * i + j * j) as f64, (v - picture.at(x, y)).powi(2));
                let weight = (-0.5 * (far / (sigma_s * sigma_s) + unlike / (sigma_r * sigma_r))).exp();
                sum += weight * v;
                weights += weight;
            }
        }
        sum / weights
    })
}

pub fn median(picture: &Picture, radius: i64) -> Picture {
    picture.map(|x, y| {
        let square = (-radius..=radius).flat_map(|j| (-radius..=radius).map(move |i| (i, j)));
        let mut values: Vec<f64> = square.map(|(i, j)| picture.at(x + i, y + j)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// A step of Jacobi's iteration; the right-hand side is the picture upside down.
pub fn jacobi(picture: &Picture, h: f64) -> Picture {
    picture.map(|x, y| {
        let neighbours =
            picture.at(x - 1, y) + picture.at(x + 1, y) + picture.at(x, y - 1) + picture.at(x, y + 1);
        0.25 * (neighbours - h * h * picture.at(x, picture.height - 1 - y))
    })
}

/// The size of the gradient where it is a maximum across an edge. Values that are exact in `f32` are exact in `f64`, so
/// even equal values compare as in `f32`.
pub fn ridges(picture: &Picture) -> Picture {
    const LIMIT: f32 = 0.414_213_57;
    let size = |x, y| gradient_size_at(picture, x, y) as f32;
    picture.map(|x, y| {
        let (a, b) = gradient_at(picture, x, y, 0.25);
        let (flat_a, flat_b) = ((a as f32).abs(), (b as f32).abs());
        let (i, j) = match () {
            () if flat_b < LIMIT * flat_a => (1, 0),
            () if flat_a < LIMIT * flat_b => (0, 1),
            () if a * b > 0.0 => (1, 1),
            () => (-1, 1),
        };
        let here = size(x, y);
        if here >= size(x - i, y - j) && here > size(x + i, y + j) { here.into() } else { 0.0 }
    })
}

/// 1 for values above `high` and those connected with them by values above `low`; found by repeated sweeps.
pub fn connected(picture: &Picture, low: f64, high: f64) -> Picture {
    let inside = |x, y| (0..picture.width).contains(&x) && (0..picture.height).contains(&y);
    let mut found = picture.map(|x, y| f64::from(u8::from(picture.at(x, y) > high)));
    loop {
        let next = found.map(|x, y| {
            let mut around = (-1..=1).flat_map(|j| (-1..=1).map(move |i| (x + i, y + j)));
            let touches = around.any(|(x, y)| inside(x, y) && found.at(x, y) == 1.0);
            f64::from(u8::from(found.at(x, y) == 1.0 || touches && picture.at(x, y) > low))
        });
        if next.data == found.data {
            return found;
        }
        found = next;
    }
}

pub fn canny(picture: &Picture, low: f64, high: f64) -> Picture {
    connected(&ridges(&gaussian(picture, 2, 1.4)), low, high)
}

pub fn equalize(picture: &Picture) -> Picture {
    let level = |v: f64| (v * 255.0 + 0.5).floor();
    let below = |limit: f64| picture.data.iter().filter(|v| level(**v) <= limit).count() as f64;
    let mut shares: Vec<f64> = (0..256).map(|limit| below(limit.into())).collect();
    let first = *shares.iter().find(|share| **share > 0.0).expect("there is a pixel");
    let scale = 1.0 / (picture.data.len() as f64 - first).max(1.0);
    shares.iter_mut().for_each(|share| *share = (*share - first) * scale);
    picture.map(|x, y| shares[level(picture.at(x, y)) as usize])
}

/// The bilateral grid, cell by cell.
pub fn bilateral_grid(picture: &Picture, side: i64, sigma_r: f64) -> Picture {
    let depth = (1.0 / sigma_r + 0.5) as i64 + 1;
    let cells_x = -2..=picture.width / side + 3;
    let cells_y = -2..=picture.height / side + 3;
    let index = |cx: i64, cy: i64, cz: i64| {
        let row = cells_x.end() + 3;
        (((cy + 2) * row + cx + 2) * (depth + 5) + cz + 2) as usize
    };
    let size = index(*cells_x.end(), *cells_y.end(), depth + 2) + 1;
    let mut counted = vec![(0.0, 0.0); size];
    for cy in cells_y.clone() {
        for cx in cells_x.clone() {
            for j in 0..side {
                for i in 0..side {
                    let v = picture.at(cx * side - side / 2 + i, cy * side - side / 2 + j);
                    // As in the filter, because a value in the middle of two cells must go to the same one.
                    let cz = (v as f32 / sigma_r as f32 + 0.5) as i64;
                    let cell = &mut counted[index(cx, cy, cz)];
                    *cell = (cell.0 + v, cell.1 + 1.0);
                }
            }
        }
    }
    let taps = [1.0, 4.0, 6.0, 4.0, 1.0];
    let smooth = |cx: i64, cy: i64, cz: i64| {
        let mut sum = (0.0, 0.0);
        for (dx, wx) in (-2..).zip(taps) {
            for (dy, wy) in (-2..).zip(taps) {
                for (dz, wz) in (-2..).zip(taps) {
                    let z = cz + dz;
                    let cell = if z < -2 || z > depth + 2 {
                        (0.0, 0.0)
                    } else {
                        counted[index(cx + dx, cy + dy, z)]
                    };
                    sum = (sum.0 + wx * wy * wz * cell.0, sum.1 + wx * wy * wz * cell.1);
                }
            }
        }
        sum
    };
    let mut smoothed = vec![(0.0, 0.0); size];
    for cy in 0..=(picture.height - 1) / side + 1 {
        for cx in 0..=(picture.width - 1) / side + 1 {
            (0..=depth).for_each(|cz| smoothed[index(cx, cy, cz)] = smooth(cx, cy, cz));
        }
    }
    picture.map(|x, y| {
        let z = picture.at(x, y) / sigma_r;
        let parts = [(x % side) as f64 / side as f64, (y % side) as f64 / side as f64, z.fract()];
        let (mut sum, mut weights) = (0.0, 0.0);
        for corner in 0..8 {
            let step = |axis: usize| (corner >> axis) & 1;
            let near = |axis: usize| if step(axis) == 1 { parts[axis] } else { 1.0 - parts[axis] };
            let cell = smoothed[index(x / side + step(0), y / side + step(1), z as i64 + step(2))];
            let weight = near(0) * near(1) * near(2);
            sum += weight * cell.0;
            weights += weight * cell.1;
        }
        sum / weights
    })
}

/// The parameters of a local Laplacian filter.
pub struct Remap {
    pub sigma: f64,
    pub detail: f64,
    pub edge: f64,
}

/// The local Laplacian filter, with a whole pyramid per tone.
pub fn local_laplacian(picture: &Picture, levels: usize, tones: usize, remap: &Remap) -> Picture {
    let plain = pyramid(picture.clone(), levels);
    let last = (tones - 1) as f64;
    let toned: Vec<Vec<Picture>> = (0..tones)
        .map(|tone| {
            let value = tone as f64 / last;
            let remapped = picture.map(|x, y| {
                let d = picture.at(x, y) - value;
                value + remap.edge * d + remap.detail * d * (-0.5 * (d / remap.sigma).powi(2)).exp()
            });
            let pyramid = pyramid(remapped, levels);
            let band = |j: usize| match pyramid.get(j + 1) {
                Some(smaller) => pyramid[j].map(|x, y| pyramid[j].at(x, y) - grown(smaller, x, y)),
                None => pyramid[j].clone(),
            };
            (0..levels).map(band).collect()
        })
        .collect();
    let mut result: Option<Picture> = None;
    for j in (0..levels).rev() {
        result = Some(plain[j].map(|x, y| {
            let tone = plain[j].at(x, y).clamp(0.0, 1.0) * last;
            let below = (tone as usize).min(tones - 2);
            let part = tone - below as f64;
            let band = (1.0 - part) * toned[below][j].at(x, y) + part * toned[below + 1][j].at(x, y);
            band + result.as_ref().map_or(0.0, |smaller| grown(smaller, x, y))
        }));
    }
    result.expect("there is at least one level")
}

fn pyramid(picture: Picture, levels: usize) -> Vec<Picture> {
    let mut pyramid = vec![picture];
    while pyramid.len() < levels {
        let larger = &pyramid[pyramid.len() - 1];
        let weights = [0.125, 0.375, 0.375, 0.125];
        let next = larger.sized((larger.width + 1) / 2, (larger.height + 1) / 2, |x, y| {
            let row = |j: i64| -> f64 {
                (-1..).zip(weights).map(|(i, weight)| weight * larger.at(2 * x + i, 2 * y + j)).sum()
            };
            (-1..).zip(weights).map(|(j, weight)| weight * row(j)).sum()
        });
        pyramid.push(next);
    }
    pyramid
}

/// The value at a position of the picture of twice the size.
fn grown(smaller: &Picture, x: i64, y: i64) -> f64 {
    let along = |i: i64| [(i / 2, 0.75), (i / 2 + if i % 2 == 0 { -1 } else { 1 }, 0.25)];
    let pairs = along(y).into_iter().flat_map(|down| along(x).into_iter().map(move |across| (across, down)));
    pairs.map(|((i, across), (j, down))| across * down * smaller.at(i, j)).sum()
}
