//! Ray traversal: the library `traversal` on one thread and on two, and Embree 3 and 4.
//!
//! All sides get the same scenes and rays, and write distances and triangles to memory. Both sides are measured
//! with all their modes and with hierarchies of both qualities, and the best processor time of each side counts.
//! Hits are compared with those of Embree 3, ray by ray; a few rays through edges may differ.

mod meshes;
mod peers;
mod scenes;

use std::time::Instant;

use anyhow::ensure;
use nyala_driver::embed::{Compiler, Function, Module};

use super::process::process_seconds;
use super::{Peer, Row};
use peers::Side;
use scenes::{Hit, Ray, Scene};

/// The loops, by name.
const LOOPS: [(&str, &str); 5] = [
    ("single rays", "cpu_traverse_single(T, rays, bvh, ANY, n, 0)"),
    ("hybrid packets", "cpu_traverse_hybrid(T, rays, bvh, ANY, n, 0)"),
    ("coherent packets", "cpu_traverse_packet(T, coherent_packets(), 32, rays, bvh, ANY, n, 0)"),
    ("streams", "cpu_traverse_stream(T, streams(), rays, bvh, ANY, n, 0)"),
    ("coherent streams", "cpu_traverse_stream(T, coherent_streams(), rays, bvh, ANY, n, 0)"),
];

/// The quality of hierarchies, and the function that builds them.
const QUALITIES: [(&str, &str); 2] = [("", "build_bvh"), (", fine", "build_fine_bvh")];

/// Children of a node, and triangles of a block.
const ARITY: u32 = 8;
const WIDTH: u32 = 8;

type Build = unsafe extern "C" fn(i32, *const f32, *const u32) -> i64;
type Trace = unsafe extern "C" fn(i32, i32, *const f32, *mut f32);
type Release = extern "C" fn(i32);

/// The environment variable RAY_SCENES names scenes, separated by commas; without it, all are measured.
pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let sides = peers::find()?;
    let mut rows = vec![];
    let program = Program::compile(1)?;
    let two = Program::compile(2)?;
    rows.push(row("compile time, all loops", "s", program.seconds, None, true));
    for (name, code) in LOOPS {
        rows.push(row(&format!("compile time, {name}, goal 1 s"), "s", compile_seconds(code)?, None, true));
    }
    let names = std::env::var("RAY_SCENES").ok();
    for scene in scenes::all(quick, names.as_deref()) {
        eprintln!("{}: {} triangles", scene.name, scene.triangles.len());
        rows.extend(measure(&scene, &program, &two, &sides, quick)?);
    }
    let ratios: Vec<f64> = rows.iter().filter(|row| row.unit == "Mrays/s").filter_map(Row::ratio).collect();
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        rows.push(row("geometric mean of ratios, goal 1.05x", "x", mean, None, true));
    }
    Ok(rows)
}

fn row(case: &str, unit: &'static str, ours: f64, peer: Option<Peer>, checked: bool) -> Row {
    Row { case: case.to_owned(), unit, ours, peer, checked }
}

/// All loops for both kinds of queries, and the builders.
struct Program {
    module: Module,
    builds: Vec<Function<Build>>,
    release: Function<Release>,
    /// The time to compile it.
    seconds: f64,
}

impl Program {
    fn compile(threads: u32) -> anyhow::Result<Program> {
        let start = process_seconds();
        let module = Compiler::new().text("bench.impala", text(threads)).compile()?;
        let seconds = process_seconds() - start;
        // SAFETY: the methods below pass valid arguments.
        let builds = unsafe { vec![module.function("build_0")?, module.function("build_1")?] };
        // SAFETY: hierarchies are released once.
        let release = unsafe { module.function("release_hierarchy")? };
        Ok(Program { module, builds, release, seconds })
    }

    /// Builds a scene in a quality; returns its memory in bytes.
    fn build(&self, quality: usize, scene: &Scene) -> i64 {
        // SAFETY: corners of triangles are indices of vertices.
        unsafe {
            (self.builds[quality])(
                scene.triangles.len() as i32,
                scene.vertices.as_ptr().cast(),
                scene.triangles.as_ptr().cast(),
            )
        }
    }

    fn loop_number(&self, i: usize, any: bool) -> anyhow::Result<Function<Trace>> {
        // SAFETY: the function reads as many rays as it writes hits.
        Ok(unsafe { self.module.function(&format!("trace_{i}_{any}")) }?)
    }
}

/// The program: builders, and all loops for both kinds of queries.
fn text(threads: u32) -> String {
    let mut text = String::from(
        "// uses: traversal
use traversal::*;
struct Found { t: f32, prim: i32 }
static mut nodes: [&mut [f32] * 2];
static mut triangles: [&mut [f32] * 2];
fn @bvh(quality: i32) -> Bvh { make_bvh(ARITY, WIDTH, BvhData { nodes: nodes(quality), triangles: triangles(quality) }) }
fn @layout(ray_words: &[f32], hit_words: &mut [f32]) -> RayLayout {
    let (rays, hits) = (bitcast[&[Ray]](ray_words), bitcast[&mut [Found]](hit_words));
    make_stream_layout(@|i| rays(i), @|i, hit| { hits(i) = Found { t: hit.t, prim: hit.prim }; })
}
fn @keep(quality: i32, built: Built) -> i64 {
    nodes(quality) = built.nodes;
    triangles(quality) = built.triangles;
    bytes_of(built)
}
extern fn release_hierarchy(quality: i32) -> () {
    free(nodes(quality));
    free(triangles(quality))
}
",
    );
    for (quality, (_, build)) in QUALITIES.iter().enumerate() {
        text += &format!(
            "extern fn build_{quality}(n: i32, vertices: &[f32], indices: &[u32]) -> i64 {{
    let mesh = Mesh {{ n_triangles: n, vertices: vertices, indices: bitcast[&[i32]](indices) }};
    keep({quality}, {build}(ARITY, WIDTH, true, {threads}, mesh))
}}
"
        );
    }
    for (i, (_, code)) in LOOPS.iter().enumerate() {
        for any in [false, true] {
            let target = format!("on_threads({threads}, vectorize_avx512())");
            let code = code.replace("ANY", &any.to_string()).replace("(T,", &format!("({target},"));
            text += &format!(
                "extern fn trace_{i}_{any}(quality: i32, n: i32, all: &[f32], hits: &mut [f32]) -> () {{
    let (rays, bvh) = (layout(all, hits), bvh(quality));
    {code}
}}
"
            );
        }
    }
    text.replace("ARITY", &ARITY.to_string()).replace("WIDTH", &WIDTH.to_string())
}

/// The time to compile a loop for closest hits alone.
fn compile_seconds(code: &str) -> anyhow::Result<f64> {
    let code = code.replace("ANY", "false").replace("(T,", "(vectorize_avx512(),");
    let text = format!(
        "// uses: traversal
use traversal::*;
extern fn trace(nodes: &[f32], triangles: &[f32], all: &[Ray], hits: &mut [Hit], n: i32) -> () {{
    let (rays, bvh) = (make_ray1_layout(all, hits), make_bvh({ARITY}, {WIDTH}, BvhData {{ nodes: nodes, triangles: triangles }}));
    {code}
}}
"
    );
    let start = process_seconds();
    Compiler::new().text("bench.impala", text).compile()?;
    Ok(process_seconds() - start)
}

/// What is slower than the best one so far by this factor in a first round has no further ones.
const FAR_BEHIND: f64 = 1.3;

/// The best processor time, and the best wall time; `least` is the best processor time of others.
fn best_time(quick: bool, least: f64, mut run: impl FnMut()) -> (f64, f64) {
    let (mut processor, mut wall, start) = (f64::INFINITY, f64::INFINITY, Instant::now());
    for round in 0..if quick { 2 } else { 5 } {
        if round > 1 && start.elapsed().as_secs_f64() > 1.0 {
            break;
        }
        let (before, now) = (process_seconds(), Instant::now());
        run();
        processor = processor.min(process_seconds() - before);
        wall = wall.min(now.elapsed().as_secs_f64());
        if processor > FAR_BEHIND * least {
            break;
        }
    }
    (processor, wall)
}

/// How often a hierarchy is built.
const BUILDS: usize = 7;

/// The last of several hierarchies, and the median of their processor times; the others are released. Times vary: the
/// system clears new memory.
fn median_time<T>(mut build: impl FnMut() -> T, mut release: impl FnMut(T)) -> (T, f64) {
    let mut seconds = vec![];
    loop {
        let start = process_seconds();
        let built = build();
        seconds.push(process_seconds() - start);
        if seconds.len() == BUILDS {
            seconds.sort_by(f64::total_cmp);
            return (built, seconds[BUILDS / 2]);
        }
        release(built);
    }
}

fn measure(
    scene: &Scene,
    program: &Program,
    two: &Program,
    sides: &[Side],
    quick: bool,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    let name = scene.name;
    let (bytes, build_seconds) = median_time(|| program.build(0, scene), |_| (program.release)(0));
    program.build(1, scene);
    let built: Vec<_> = sides.iter().map(|side| side.build(scene)).collect();
    for side in &built {
        let peer = |value| Some(Peer { name: side.name.to_owned(), value });
        rows.push(row(
            &format!("{name} build / {}, goal 0.5x", side.name),
            "s",
            build_seconds,
            peer(side.seconds),
            true,
        ));
        rows.push(row(
            &format!("{name} memory / {}", side.name),
            "MB",
            bytes as f64 / 1e6,
            peer(side.bytes as f64 / 1e6),
            true,
        ));
    }
    for quality in 0..QUALITIES.len() {
        two.build(quality, scene);
    }
    let primary = scenes::primary(scene, if quick { 256 } else { 1024 });
    let mut first = vec![Hit::default(); primary.len()];
    call(&program.loop_number(0, false)?, 0, &primary, &mut first);
    let occlusion = scenes::secondary(scene, &primary, &first, Some(0.05), 11);
    let diffuse = scenes::secondary(scene, &primary, &first, None, 12);
    for (kind, rays, any) in
        [("primary", &primary, false), ("occlusion", &occlusion, true), ("diffuse", &diffuse, false)]
    {
        rows.extend(measure_rays(&format!("{name} {kind}"), program, two, &built, rays, any, quick)?);
    }
    for quality in 0..QUALITIES.len() as i32 {
        (program.release)(quality);
        (two.release)(quality);
    }
    Ok(rows)
}

fn call(trace: &Function<Trace>, quality: usize, rays: &[Ray], hits: &mut [Hit]) {
    // SAFETY: there is a hit for each ray.
    unsafe { trace(quality as i32, rays.len() as i32, rays.as_ptr().cast(), hits.as_mut_ptr().cast()) };
}

fn measure_rays(
    case: &str,
    program: &Program,
    two: &Program,
    sides: &[peers::Built<'_>],
    rays: &[Ray],
    any: bool,
    quick: bool,
) -> anyhow::Result<Vec<Row>> {
    let mut hits = vec![Hit::default(); rays.len()];
    let speed = |seconds: f64| rays.len() as f64 / seconds / 1e6;
    let mut peers: Vec<(String, f64, Vec<Hit>)> = vec![];
    for side in sides {
        for (variant, seconds) in side.measure(rays, any, case.ends_with("primary"), &mut hits, quick) {
            peers.push((format!("{} ({variant})", side.name), seconds, hits.clone()));
        }
    }
    let mut best = (0, 0, f64::INFINITY);
    for (i, (name, _)) in LOOPS.iter().enumerate() {
        if name.starts_with("coherent") && !case.ends_with("primary") {
            continue;
        }
        let trace = program.loop_number(i, any)?;
        for quality in 0..QUALITIES.len() {
            let (seconds, _) = best_time(quick, best.2, || call(&trace, quality, rays, &mut hits));
            for (peer, _, expected) in &peers {
                let n = n_different(&hits, expected, any);
                ensure!(
                    n * 2000 <= rays.len(),
                    "{case}, {name}: {n} of {} rays differ from {peer}",
                    rays.len()
                );
            }
            if seconds < best.2 {
                best = (i, quality, seconds);
            }
        }
    }
    let (number, quality, seconds) = best;
    let peer = peers.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let peer = peer.map(|(name, seconds, _)| Peer { name: name.clone(), value: speed(*seconds) });
    let names = peer.as_ref().map_or(String::new(), |peer| format!(" / {}", peer.name));
    let mut rows = vec![row(
        &format!("{case}, {}{}{names}", LOOPS[number].0, QUALITIES[quality].0),
        "Mrays/s",
        speed(seconds),
        peer,
        !peers.is_empty(),
    )];
    let (one, both) = (program.loop_number(number, any)?, two.loop_number(number, any)?);
    let (_, one) = best_time(quick, f64::INFINITY, || call(&one, quality, rays, &mut hits));
    let (_, both) = best_time(quick, f64::INFINITY, || call(&both, quality, rays, &mut hits));
    rows.push(row(&format!("{case}, speedup of two threads, goal 1.9x"), "x", one / both, None, false));
    Ok(rows)
}

/// How many rays hit on one side only, or at another distance.
fn n_different(a: &[Hit], b: &[Hit], any: bool) -> usize {
    let differ = |a: &Hit, b: &Hit| match (a.prim >= 0, b.prim >= 0) {
        (true, true) => !any && (a.t - b.t).abs() > 1e-3 * b.t + 1e-4,
        (a, b) => a != b,
    };
    a.iter().zip(b).filter(|(a, b)| differ(a, b)).count()
}
