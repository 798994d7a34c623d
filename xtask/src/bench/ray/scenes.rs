//! Scenes and rays: three procedural scenes, and those of `meshes`.

use std::f32::consts::PI;

use super::meshes;

pub type Vector = [f32; 3];

/// Triangles, and a camera.
pub struct Scene {
    pub name: &'static str,
    pub vertices: Vec<Vector>,
    pub triangles: Vec<[u32; 3]>,
    pub eye: Vector,
    pub look_at: Vector,
    pub up: Vector,
}

/// The layout of a ray in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub org: Vector,
    pub tmin: f32,
    pub dir: Vector,
    pub tmax: f32,
}

/// What was hit, or `prim` below zero.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Hit {
    pub t: f32,
    pub prim: i32,
}

/// All scenes that are present, or those of `names`. Each is made when it is next.
pub fn all(quick: bool, names: Option<&str>) -> impl Iterator<Item = Scene> {
    // Fewer points along each side.
    let part = move |n: usize| if quick { n / 4 } else { n };
    let is_named = move |name: &&str| names.is_none_or(|names| names.split(',').any(|part| part == *name));
    let meshes = if quick { &[][..] } else { &meshes::NAMES };
    let all = ["hall", "sphere", "scatter"].iter().chain(meshes).copied().filter(is_named);
    all.filter_map(move |name| match name {
        "hall" => Some(hall(&part)),
        "sphere" => Some(sphere(&part)),
        "scatter" => Some(scatter(&part)),
        _ => meshes::read(name),
    })
}

impl Scene {
    pub fn new(name: &'static str, eye: Vector, look_at: Vector) -> Scene {
        Scene { name, vertices: vec![], triangles: vec![], eye, look_at, up: [0.0, 1.0, 0.0] }
    }

    /// A surface with `columns` times `rows` squares.
    fn add(&mut self, columns: usize, rows: usize, point: impl Fn(f32, f32) -> Vector) {
        let first = self.vertices.len() as u32;
        let side = columns as u32 + 1;
        for row in 0..=rows {
            for column in 0..=columns {
                self.vertices.push(point(column as f32 / columns as f32, row as f32 / rows as f32));
            }
        }
        for row in 0..rows as u32 {
            for column in 0..columns as u32 {
                let at = first + row * side + column;
                self.triangles.push([at, at + 1, at + side + 1]);
                self.triangles.push([at, at + side + 1, at + side]);
            }
        }
    }
}

/// A nave with two rows of fluted columns, arches between them, panelled walls, a vault and vases.
fn hall(part: &impl Fn(usize) -> usize) -> Scene {
    let mut scene = Scene::new("hall", [-20.0, 2.0, 0.5], [12.0, 3.5, -0.4]);
    let (length, width, height) = (48.0, 10.0, 9.0);
    scene.add(part(160), part(64), |u, v| {
        [length * (u - 0.5), 0.01 * (75.0 * u).sin() * (55.0 * v).cos(), width * (v - 0.5)]
    });
    scene.add(part(192), part(96), |u, v| {
        let ripple = 0.05 * (85.0 * u).sin() * (28.0 * v).cos();
        [length * (u - 0.5), height + 2.3 * (PI * v).sin() + ripple, -0.5 * width * (PI * v).cos()]
    });
    for side in [-1.0, 1.0] {
        scene.add(part(256), part(64), |u, v| {
            let depth = 0.25 * ((12.0 * PI * u).sin() * (3.0 * PI * v).sin()).abs().sqrt().sqrt();
            [length * (u - 0.5), height * v, side * (0.5 * width + depth)]
        });
        scene.add(part(48), part(48), |u, v| {
            [side * 0.5 * length, (height + 2.6) * v, 1.1 * width * (u - 0.5)]
        });
        let at = |i: usize| length * ((i as f32 + 0.5) / 14.0 - 0.5);
        for i in 0..14 {
            scene.add(part(64), part(36), |u, v| {
                let bulge = |d: f32| (-55.0 * d * d).exp();
                let radius =
                    0.42 - 0.08 * v + 0.2 * bulge(v) + 0.25 * bulge(1.0 - v) + 0.03 * (32.0 * PI * u).cos();
                let (sin, cos) = (2.0 * PI * u).sin_cos();
                [at(i) + radius * cos, 0.7 * height * v, 3.0 * side + radius * sin]
            });
        }
        for i in 0..13 {
            let half = 0.5 * (at(1) - at(0));
            scene.add(part(48), part(24), |u, v| {
                let ((sin, cos), (sin_v, cos_v)) = ((PI * u).sin_cos(), (2.0 * PI * v).sin_cos());
                let radius = half + 0.3 * cos_v;
                [at(i) + half - radius * cos, 0.7 * height + 0.9 * radius * sin, 3.0 * side + 0.3 * sin_v]
            });
        }
    }
    for i in 0..12 {
        let (x, z) = (length * ((i as f32 + 0.5) / 12.0 - 0.5), if i % 2 == 0 { -1.2 } else { 1.2 });
        scene.add(part(48), part(24), |u, v| {
            let radius = 0.25 + 0.15 * (5.0 * v).sin() + 0.02 * (40.0 * PI * u).cos();
            let (sin, cos) = (2.0 * PI * u).sin_cos();
            [x + radius * cos, 1.1 * v, z + radius * sin]
        });
    }
    scene
}

/// A sphere with bumps of five sizes, above a plane.
fn sphere(part: &impl Fn(usize) -> usize) -> Scene {
    let mut scene = Scene::new("sphere", [2.0, 0.9, 1.5], [0.0; 3]);
    scene.add(part(1024), part(512), |u, v| {
        let ((sin, cos), (sin_v, cos_v)) = ((2.0 * PI * u).sin_cos(), (PI * v).sin_cos());
        let n = [sin_v * cos, cos_v, sin_v * sin];
        let bump = |octave: i32| {
            let [x, y, z] = n.map(|x| 2.0 * 2.1f32.powi(octave) * x);
            let waves = (3.0 * x + 1.2 * y).sin() * (2.6 * y - 2.0 * z).sin() * (3.6 * z + 0.8 * x).sin();
            0.12 * 0.5f32.powi(octave) * waves
        };
        let radius = 1.0 + (0..5).map(bump).sum::<f32>();
        n.map(|x| radius * x)
    });
    scene.add(part(32), part(32), |u, v| [8.0 * (u - 0.5), -1.4, 8.0 * (v - 0.5)]);
    scene
}

/// Twisted rings in random poses above a rolling ground.
fn scatter(part: &impl Fn(usize) -> usize) -> Scene {
    let mut scene = Scene::new("scatter", [-26.0, 7.0, -21.0], [4.0, 0.0, 6.0]);
    scene.add(part(256), part(256), |u, v| {
        let (x, z) = (60.0 * (u - 0.5), 60.0 * (v - 0.5));
        [x, 0.8 * (0.3 * x).sin() * (0.28 * z).cos(), z]
    });
    let mut random = Random(7);
    for _ in 0..2000 {
        let mut next = || random.unit();
        let (x, y, z) = (60.0 * (next() - 0.5), 0.4 + 5.0 * next() * next(), 60.0 * (next() - 0.5));
        let axis = unit([next() - 0.5, next() - 0.5, next() + 0.01]);
        let (across, along) = basis(axis);
        let size = 0.25 + 0.5 * next();
        scene.add(part(40), part(12), |u, v| {
            let (sin, cos) = (2.0 * PI * u).sin_cos();
            let twist = 2.0 * PI * (v + 3.0 * u);
            let radius = 0.3 + 0.1 * (3.0 * twist).cos();
            let (out, up) = (1.0 + radius * twist.cos(), radius * twist.sin());
            let at = |i: usize| size * (out * (cos * axis[i] + sin * across[i]) + up * along[i]);
            [x + at(0), y + at(1), z + at(2)]
        });
    }
    scene
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / 16_777_216.0
    }
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn difference(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn unit(a: Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// Two directions across another one.
fn basis(n: Vector) -> (Vector, Vector) {
    let side = if n[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let x = unit(cross(n, side));
    (x, cross(n, x))
}

/// Rays through the pixels of a square picture with a power of two as side, in Morton order.
pub fn primary(scene: &Scene, side: u32) -> Vec<Ray> {
    let forward = unit(difference(scene.look_at, scene.eye));
    let right = unit(cross(forward, scene.up));
    let up = cross(right, forward);
    let half = (PI / 6.0).tan();
    // Every second bit of a number.
    let bits = |i: u32| (0..16).map(|k| ((i >> (2 * k)) & 1) << k).sum::<u32>();
    (0..side * side)
        .map(|i| {
            let at = |pixel: u32| ((pixel as f32 + 0.5) / side as f32 * 2.0 - 1.0) * half;
            let (x, y) = (at(bits(i)), -at(bits(i >> 1)));
            let dir = unit([0, 1, 2].map(|k| forward[k] + x * right[k] + y * up[k]));
            Ray { org: scene.eye, tmin: 0.0, dir, tmax: 1e30 }
        })
        .collect()
}

/// A ray in a random direction around the normal, for each hit; `part` is the length relative to the diagonal of
/// the scene, if there is an end.
pub fn secondary(scene: &Scene, rays: &[Ray], hits: &[Hit], part: Option<f32>, seed: u64) -> Vec<Ray> {
    let corner = |f: fn(f32, f32) -> f32| {
        [0, 1, 2].map(|k| scene.vertices.iter().map(|p| p[k]).fold(scene.vertices[0][k], f))
    };
    let size = difference(corner(f32::max), corner(f32::min));
    let diagonal = dot(size, size).sqrt();
    let mut random = Random(seed);
    let found = rays.iter().zip(hits).filter(|(_, hit)| hit.prim >= 0);
    found
        .map(|(ray, hit)| {
            let [a, b, c] = scene.triangles[hit.prim as usize].map(|corner| scene.vertices[corner as usize]);
            let n = unit(cross(difference(b, a), difference(c, a)));
            let n = if dot(n, ray.dir) > 0.0 { n.map(|x| -x) } else { n };
            let (x, y) = basis(n);
            let ((sin, cos), q) = ((2.0 * PI * random.unit()).sin_cos(), random.unit());
            let (radius, height) = (q.sqrt(), (1.0 - q).max(1e-4).sqrt());
            let dir = unit([0, 1, 2].map(|k| radius * (cos * x[k] + sin * y[k]) + height * n[k]));
            let org = [0, 1, 2].map(|k| ray.org[k] + hit.t * ray.dir[k]);
            Ray { org, tmin: 1e-4 * diagonal, dir, tmax: part.map_or(1e30, |part| part * diagonal) }
        })
        .collect()
}
