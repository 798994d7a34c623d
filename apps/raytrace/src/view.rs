//! Camera and light, from flags, a file, or the size of the scene.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cli::Args;

type Vector = [f32; 3];

/// The most bytes of a file of `--view`.
const MOST_BYTES: u64 = 1 << 20;

/// Where a picture is taken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Camera {
    pub eye: Vector,
    pub look_at: Vector,
    pub up: Vector,
    /// Along the shorter side, in degrees.
    pub fov: f32,
}

/// The light of a scene.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Light {
    /// How far ambient occlusion looks.
    pub distance: f32,
    pub bounces: u32,
    /// The direction to the sun, of length 1.
    pub sun: Vector,
    pub sun_color: Vector,
    pub sky: Vector,
}

fn sum(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|i| a[i] + b[i])
}

fn difference(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|i| a[i] - b[i])
}

fn scaled(s: f32, a: Vector) -> Vector {
    a.map(|x| s * x)
}

fn length(a: Vector) -> f32 {
    a.iter().map(|x| x * x).sum::<f32>().sqrt()
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: Vector) -> Vector {
    scaled(1.0 / length(a).max(f32::MIN_POSITIVE), a)
}

/// Replaces flags by what the file of `--view` says.
pub fn read_file(args: &mut Args) -> Result<()> {
    let Some(path) = args.view.clone() else { return Ok(()) };
    let failed = || format!("cannot read `{}`", path.display());
    let mut text = String::new();
    File::open(&path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .with_context(failed)?;
    let file = serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))?;
    let Value::Object(entries) = file else { bail!("`{}` is not an object", path.display()) };
    for (name, value) in &entries {
        match name.as_str() {
            "eye" => args.eye = Some(vector(name, value)?),
            "look_at" => args.look_at = Some(vector(name, value)?),
            "up" => args.up = vector(name, value)?,
            "fov" => args.fov = number(name, value, 0.1..=179.0)? as f32,
            "sun" => args.sun = vector(name, value)?,
            "sun_color" => args.sun_color = vector(name, value)?,
            "sky" => args.sky = vector(name, value)?,
            "distance" => args.distance = Some(number(name, value, 0.0..=f64::from(f32::MAX))? as f32),
            "samples" => args.samples = number(name, value, 1.0..=1e6)? as u32,
            "bounces" => args.bounces = number(name, value, 1.0..=64.0)? as u32,
            _ => bail!("`{}` has the unknown name `{name}`", path.display()),
        }
    }
    Ok(())
}

fn vector(name: &str, value: &Value) -> Result<Vector> {
    let numbers: Option<Vec<f32>> =
        value.as_array().and_then(|all| all.iter().map(|x| x.as_f64().map(|x| x as f32)).collect());
    let vector = numbers.and_then(|numbers| numbers.try_into().ok());
    let vector = vector.filter(|vector: &Vector| vector.iter().all(|x| x.is_finite()));
    vector.with_context(|| format!("`{name}` must be three numbers, not {value}"))
}

fn number(name: &str, value: &Value, range: RangeInclusive<f64>) -> Result<f64> {
    let number = value.as_f64().filter(|number| range.contains(number));
    let (low, high) = (range.start(), range.end());
    number.with_context(|| format!("`{name}` must be between {low} and {high}, not {value}"))
}

/// Camera and light for a scene with these corners.
pub fn from_args(args: &Args, [low, high]: [Vector; 2]) -> Result<(Camera, Light)> {
    let is_empty = low[0] > high[0];
    let (center, diagonal) = match is_empty {
        true => ([0.0; 3], 1.0),
        false => (scaled(0.5, sum(low, high)), length(difference(high, low)).max(1e-6)),
    };
    let look_at = args.look_at.unwrap_or(center);
    let away = 0.55 * diagonal / (0.5 * args.fov.to_radians()).tan();
    let eye = args.eye.unwrap_or(sum(look_at, scaled(away, unit([0.4, 0.35, 1.0]))));
    let camera = Camera { eye, look_at, up: args.up, fov: args.fov };
    let forward = difference(look_at, eye);
    if length(forward) == 0.0 || length(cross(forward, args.up)) == 0.0 {
        bail!("the camera must look in a direction other than up");
    }
    if !eye.iter().chain(&forward).all(|x| x.is_finite()) {
        bail!("the scene or the camera is too far away: its place is not a finite number");
    }
    let light = Light {
        distance: args.distance.unwrap_or(0.1 * diagonal),
        bounces: args.bounces,
        sun: unit(args.sun),
        sun_color: args.sun_color,
        sky: args.sky,
    };
    Ok((camera, light))
}

impl Camera {
    /// Eye, direction, and half the picture to the right and up.
    pub fn numbers(&self, width: u32, height: u32) -> [Vector; 4] {
        let forward = unit(difference(self.look_at, self.eye));
        let right = unit(cross(forward, self.up));
        let up = cross(right, forward);
        let half = (0.5 * self.fov.to_radians()).tan();
        let shorter = width.min(height) as f32;
        let (x, y) = (half * width as f32 / shorter, half * height as f32 / shorter);
        [self.eye, forward, scaled(x, right), scaled(y, up)]
    }

    /// The camera after turns around the point that it looks at, in degrees, and with another distance.
    pub fn turned(&self, yaw: f32, pitch: f32, zoom: f32) -> Camera {
        let up = unit(self.up);
        let arm = difference(self.eye, self.look_at);
        let arm = rotated(arm, up, -yaw);
        let side = unit(cross(up, arm));
        // Not over the poles.
        let height = arm.iter().zip(up).map(|(a, b)| a * b).sum::<f32>() / length(arm).max(f32::MIN_POSITIVE);
        let elevation = height.clamp(-1.0, 1.0).asin().to_degrees();
        let pitch = (elevation + pitch).clamp(-89.0, 89.0) - elevation;
        let arm = scaled(zoom, rotated(arm, side, -pitch));
        Camera { eye: sum(self.look_at, arm), ..*self }
    }
}

/// A vector turned around an axis of length 1.
fn rotated(v: Vector, axis: Vector, degrees: f32) -> Vector {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let along: f32 = v.iter().zip(axis).map(|(a, b)| a * b).sum();
    let turned = sum(scaled(cos, v), scaled(sin, cross(axis, v)));
    sum(turned, scaled((1.0 - cos) * along, axis))
}

impl Light {
    pub fn numbers(&self) -> [f32; 11] {
        let [sun, color, sky] = [self.sun, self.sun_color, self.sky];
        [
            self.distance,
            self.bounces as f32,
            sun[0],
            sun[1],
            sun[2],
            color[0],
            color[1],
            color[2],
            sky[0],
            sky[1],
            sky[2],
        ]
    }
}
