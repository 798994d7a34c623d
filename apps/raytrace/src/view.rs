//! Camera and light, from flags, a file, or the size of the scene.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cli::Args;

type Vector = [f32; 3];

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

/// Camera and light for a scene with these corners.
pub fn from_args(args: &Args, [low, high]: [Vector; 2]) -> Result<(Camera, Light)> {
    let is_empty = low[0] > high[0];
    let (center, diagonal) = match is_empty {
        true => ([0.0; 3], 1.0),
        false => (scaled(0.5, sum(low, high)), length(difference(high, low)).max(1e-6)),
    };
    let file = args.view.as_ref().map(|path| -> Result<Value> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))
    });
    let file = file.transpose()?.unwrap_or(Value::Null);
    let vector = |name: &str, given: Option<Vector>| match &file[name] {
        Value::Null => Ok(given),
        Value::Array(numbers) if numbers.len() == 3 && numbers.iter().all(Value::is_number) => {
            Ok(Some([0, 1, 2].map(|i| numbers[i].as_f64().unwrap_or(0.0) as f32)))
        }
        other => bail!("`{name}` must be three numbers, not {other}"),
    };
    let fov = match &file["fov"] {
        Value::Null => args.fov,
        other => match other.as_f64() {
            Some(fov) if fov > 0.1 && fov < 179.0 => fov as f32,
            _ => bail!("`fov` must be between 0.1 and 179, not {other}"),
        },
    };
    let look_at = vector("look_at", args.look_at)?.unwrap_or(center);
    let away = 0.55 * diagonal / (0.5 * fov.to_radians()).tan();
    let eye = vector("eye", args.eye)?.unwrap_or(sum(look_at, scaled(away, unit([0.4, 0.35, 1.0]))));
    let up = vector("up", Some(args.up))?.unwrap_or(args.up);
    let camera = Camera { eye, look_at, up, fov };
    if length(difference(look_at, eye)) == 0.0 || length(cross(difference(look_at, eye), up)) == 0.0 {
        bail!("the camera must look in a direction other than up");
    }
    let sun = vector("sun", Some(args.sun))?.unwrap_or(args.sun);
    let light = Light {
        distance: args.distance.unwrap_or(0.1 * diagonal),
        bounces: args.bounces,
        sun: unit(sun),
        sun_color: vector("sun_color", Some(args.sun_color))?.unwrap_or(args.sun_color),
        sky: vector("sky", Some(args.sky))?.unwrap_or(args.sky),
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
