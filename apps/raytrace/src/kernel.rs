//! The program of the app, compiled when it runs: the scene as a hierarchy, and passes that add a sample to each pixel.

use anyhow::{Context, Result};
use nyala_driver::embed::{Compiler, Function, Module};

use crate::cli::{Device, Mode};
use crate::scene::Scene;
use crate::view::{Camera, Light};

type Build = unsafe extern "C" fn(i32, *const f32, *const i32, *const f32, *const f32, *mut f32) -> i64;
type SetTextures = unsafe extern "C" fn(*const i32, *const f32, *const i32, *const u8);
type Render = unsafe extern "C" fn(i32, i32, i32, *const f32, *const f32, *mut f32, *mut f32);
type Release = extern "C" fn();

/// The program, as text.
pub fn program(threads: u32, device: Option<&Device>) -> String {
    let place = match device {
        None => include_str!("on_host.impala").to_owned(),
        Some(Device { platform, number }) => {
            let gpu = format!("\nfn @gpu() -> Gpu {{ {platform}_gpu({number}) }}\n");
            include_str!("on_device.impala").to_owned() + &gpu
        }
    };
    format!("{}\n{place}\nfn @n_threads() -> i32 {{ {threads} }}\n", include_str!("render.impala"))
}

/// A scene on the side of compiled code. The program refers to the scene's memory.
pub struct Kernel<'a> {
    render: Function<Render>,
    release: Function<Release>,
    _scene: &'a Scene,
    /// The corners of the box around the scene.
    pub bounds: [[f32; 3]; 2],
    /// The memory of the hierarchy.
    pub bytes: i64,
}

/// The sums of samples of a picture, and the memory of a pass.
pub struct Sums {
    pub width: u32,
    pub height: u32,
    pub n_samples: u32,
    sums: Vec<f32>,
    memory: Vec<f32>,
}

/// Numbers in memory for each pixel: a ray, or a path, which has two rays and two colors.
const fn numbers_of_pixel(mode: Mode) -> usize {
    match mode {
        Mode::Primary => 0,
        Mode::Ao => 8,
        Mode::Path => 22,
    }
}

impl Sums {
    pub fn new(mode: Mode, (width, height): (u32, u32)) -> Result<Sums> {
        let (w, h) = (width as usize, height as usize);
        // Pixels have numbers along squares of 8 times 8.
        let n_numbers = w.div_ceil(8) * h.div_ceil(8) * 64;
        let zeros = |n: usize| -> Result<Vec<f32>> {
            let mut numbers = vec![];
            numbers.try_reserve_exact(n).with_context(|| {
                format!("there is not enough memory for a picture of {width} times {height} pixels")
            })?;
            numbers.resize(n, 0.0);
            Ok(numbers)
        };
        let memory = zeros(numbers_of_pixel(mode) * n_numbers)?;
        Ok(Sums { width, height, n_samples: 0, sums: zeros(3 * w * h)?, memory })
    }

    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.n_samples = 0;
    }

    /// The averages as bytes of red, green and blue, with the gamma of screens.
    pub fn pixels(&self) -> Vec<u8> {
        let scale = 1.0 / self.n_samples.max(1) as f32;
        self.sums
            .iter()
            .map(|sum| ((sum * scale).clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0 + 0.5) as u8)
            .collect()
    }
}

impl<'a> Kernel<'a> {
    pub fn compile(
        scene: &'a Scene,
        mode: Mode,
        threads: u32,
        device: Option<&Device>,
    ) -> Result<Kernel<'a>> {
        let module: Module =
            Compiler::new().cached().text("render.impala", program(threads, device)).compile()?;
        let name = match mode {
            Mode::Primary => "render_primary",
            Mode::Ao => "render_occlusion",
            Mode::Path => "render_paths",
        };
        let mut bounds = [[0.0f32; 3]; 2];
        // SAFETY: the scene outlives the kernel, and has a color, an emission and a texture for each triangle. `render` below passes valid arguments.
        unsafe {
            let build: Function<Build> = module.function("build")?;
            let bytes = build(
                scene.triangles.len() as i32,
                scene.vertices.as_ptr().cast(),
                scene.triangles.as_ptr().cast(),
                scene.colors.as_ptr().cast(),
                scene.emissions.as_ptr().cast(),
                bounds.as_mut_ptr().cast(),
            );
            let set_textures: Function<SetTextures> = module.function("set_textures")?;
            set_textures(
                scene.texture_numbers.as_ptr(),
                scene.texture_places.as_ptr().cast(),
                scene.textures.places.as_ptr().cast(),
                scene.textures.pixels.as_ptr().cast(),
            );
            let (render, release) = (module.function(name)?, module.function("release_scene")?);
            Ok(Kernel { render, release, _scene: scene, bounds, bytes })
        }
    }

    /// Adds a sample to each pixel.
    pub fn render(&self, camera: &Camera, light: &Light, sums: &mut Sums) {
        let (camera, light) = (camera.numbers(sums.width, sums.height), light.numbers());
        // SAFETY: there are three sums for each pixel, and memory for a path for each number of a pixel.
        unsafe {
            (self.render)(
                sums.width as i32,
                sums.height as i32,
                sums.n_samples as i32,
                camera.as_ptr().cast(),
                light.as_ptr(),
                sums.sums.as_mut_ptr(),
                sums.memory.as_mut_ptr(),
            );
        }
        sums.n_samples += 1;
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        (self.release)();
    }
}
