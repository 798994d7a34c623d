//! Runs the app on generated pictures, and checks the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, LumaA, Rgb, Rgba};

/// An empty folder per test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn app(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nyala-image")).args(args).output().unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Filters a picture; must succeed.
fn filter(filter: &str, input: &Path, output: &Path, more: &[&str]) -> DynamicImage {
    let result = app(&[&[filter, path(input), "-o", path(output)], more].concat());
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    image::open(output).unwrap()
}

/// Runs the app; must fail. Returns the status and the message.
fn failure(args: &[&str]) -> (i32, String) {
    let result = app(args);
    (result.status.code().unwrap(), String::from_utf8_lossy(&result.stderr).into_owned())
}

/// Colours that differ from pixel to pixel, with an edge in the middle.
fn colours(width: u32, height: u32) -> ImageBuffer<Rgb<u8>, Vec<u8>> {
    ImageBuffer::from_fn(width, height, |x, y| {
        let edge = if x < width / 2 { 40 } else { 170 };
        Rgb([edge + (x * 7 % 32) as u8, (y * 5 % 200) as u8, ((x * 3 + y * 11) % 256) as u8])
    })
}

/// The mean of 3 x 3 pixels, with the boundary mode clamp.
fn mean(picture: &ImageBuffer<Rgb<u8>, Vec<u8>>, x: u32, y: u32, channel: usize) -> f64 {
    let (width, height) = (i64::from(picture.width()), i64::from(picture.height()));
    let mut sum = 0;
    for j in -1..=1 {
        for i in -1..=1 {
            let (x, y) = ((i64::from(x) + i).clamp(0, width - 1), (i64::from(y) + j).clamp(0, height - 1));
            sum += u32::from(picture.get_pixel(x as u32, y as u32)[channel]);
        }
    }
    f64::from(sum) / 9.0
}

#[test]
fn box_blur_is_the_mean_of_nine_pixels_for_all_sizes() {
    let folder = folder("box");
    for (width, height) in [(1, 1), (3, 7), (257, 31)] {
        let (input, output) = (folder.join("in.png"), folder.join("out.png"));
        let picture = colours(width, height);
        picture.save(&input).unwrap();
        let found = filter("box", &input, &output, &["--boundary", "clamp"]).into_rgb8();
        assert_eq!(found.dimensions(), (width, height));
        for (x, y, pixel) in found.enumerate_pixels() {
            for channel in 0..3 {
                let wanted = mean(&picture, x, y, channel);
                assert!(
                    (f64::from(pixel[channel]) - wanted).abs() < 0.51,
                    "{x}, {y}: {pixel:?}, not {wanted}"
                );
            }
        }
    }
}

#[test]
fn results_are_independent_of_schedules_and_threads() {
    let folder = folder("schedules");
    let input = folder.join("in.png");
    colours(100, 70).save(&input).unwrap();
    let plain = filter("gauss:sigma=1", &input, &folder.join("plain.png"), &["--schedule", "seq"]);
    for (n, schedule) in ["vec", "tile", "par", "par(2, 16, tile(32, 8, vec(8, op)))"].iter().enumerate() {
        let output = folder.join(format!("{n}.png"));
        assert_eq!(filter("gauss:sigma=1", &input, &output, &["--schedule", schedule]), plain, "{schedule}");
    }
    assert_eq!(filter("gauss:sigma=1", &input, &folder.join("one.png"), &["--threads", "1"]), plain);
    assert_eq!(filter("gauss:sigma=1", &input, &folder.join("all.png"), &[]), plain);
}

#[test]
fn all_filters_work_in_one_chain() {
    let folder = folder("all");
    let input = folder.join("in.png");
    colours(61, 45).save(&input).unwrap();
    let all =
        "box,gauss,unsharp,median,bilateral:radius=1,grid,equalize,local-laplacian:levels=3,jacobi:steps=3";
    let result = filter(all, &input, &folder.join("out.png"), &["--then", "jacobi:steps=2"]);
    assert_eq!(result.color(), image::ColorType::Rgb8);
    for edges in ["sobel", "laplace", "harris", "canny", "gray"] {
        let result = filter(edges, &input, &folder.join("edges.png"), &[]);
        assert_eq!(result.color(), image::ColorType::L8, "{edges}");
        let levels = result.into_luma8();
        let (least, most) = (levels.iter().min(), levels.iter().max());
        assert!(least < most, "{edges} shows nothing");
    }
}

#[test]
fn edge_filter_finds_the_edge() {
    let folder = folder("edge");
    let input = folder.join("in.png");
    let step = ImageBuffer::from_fn(40, 30, |x, _| Luma([if x < 20 { 50u8 } else { 200 }]));
    step.save(&input).unwrap();
    let found = filter("canny", &input, &folder.join("out.png"), &[]).into_luma8();
    // The edge is between two columns; which of them has the line depends on the last digit.
    for y in 0..30 {
        let line: Vec<u32> = (0..40).filter(|x| found.get_pixel(*x, y)[0] == 255).collect();
        assert!(line == [19] || line == [20], "{y}: {line:?}");
    }
}

#[test]
fn median_removes_specks_and_keeps_colours() {
    let folder = folder("specks");
    let input = folder.join("in.png");
    let plain = Rgb([10u8, 120, 240]);
    let mut specks = ImageBuffer::from_pixel(33, 21, plain);
    specks.put_pixel(7, 5, Rgb([255, 0, 0]));
    specks.put_pixel(0, 0, Rgb([0, 0, 0]));
    specks.save(&input).unwrap();
    let found = filter("median", &input, &folder.join("out.png"), &["--boundary", "clamp"]).into_rgb8();
    assert!(found.enumerate_pixels().all(|(x, y, pixel)| *pixel == plain || (x, y) == (0, 0)));
}

/// Gray and colour, with and without transparency, 8 and 16 bits, in the file formats that support them.
#[test]
fn pictures_keep_their_format() {
    let folder = folder("kinds");
    let kinds: [DynamicImage; 8] = [
        ImageBuffer::from_fn(9, 5, |x, y| Luma([(x * 20 + y) as u8])).into(),
        ImageBuffer::from_fn(9, 5, |x, y| LumaA([(x * 20) as u8, (y * 50) as u8])).into(),
        colours(9, 5).into(),
        ImageBuffer::from_fn(9, 5, |x, y| Rgba([(x * 20) as u8, 0, 99, (y * 50) as u8])).into(),
        ImageBuffer::from_fn(9, 5, |x, y| Luma([(x * 6001 + y) as u16])).into(),
        ImageBuffer::from_fn(9, 5, |x, y| LumaA([(x * 6001) as u16, (y * 9999) as u16])).into(),
        ImageBuffer::from_fn(9, 5, |x, y| Rgb([(x * 6001) as u16, (y * 9999) as u16, 77])).into(),
        ImageBuffer::from_fn(9, 5, |x, y| Rgba([(x * 6001) as u16, 5, 77, (y * 9999) as u16])).into(),
    ];
    for picture in kinds {
        let color = picture.color();
        let input = folder.join("in.png");
        picture.save(&input).unwrap();
        // The filter changes nothing, so the picture is the same after all conversions.
        let found = filter("unsharp:amount=0", &input, &folder.join("out.png"), &[]);
        assert_eq!(found, picture, "{color:?}");
        if color.has_alpha() && !color.has_color() {
            continue;
        }
        let tiff = folder.join("in.tiff");
        picture.save(&tiff).unwrap();
        assert_eq!(filter("unsharp:amount=0", &tiff, &folder.join("out.tif"), &[]), picture, "{color:?}");
    }
}

#[test]
fn jpeg_is_read_and_written() {
    let folder = folder("jpeg");
    let (input, output) = (folder.join("in.jpg"), folder.join("out.jpeg"));
    ImageBuffer::from_pixel(50, 40, Rgb([200u8, 100, 50])).save(&input).unwrap();
    let found = filter("gauss", &input, &output, &[]).into_rgb8();
    assert!(
        found.pixels().all(|p| p[0].abs_diff(200) < 4 && p[1].abs_diff(100) < 4 && p[2].abs_diff(50) < 4)
    );
    assert_eq!(image::guess_format(&fs::read(output).unwrap()).unwrap(), ImageFormat::Jpeg);
}

#[test]
fn bits_option_sets_the_depth() {
    let folder = folder("bits");
    let input = folder.join("in.png");
    ImageBuffer::from_fn(5, 4, |x, _| Luma([(x * 50) as u8])).save(&input).unwrap();
    let wide = filter("unsharp:amount=0", &input, &folder.join("wide.png"), &["--bits", "16"]);
    assert_eq!(wide.color(), image::ColorType::L16);
    assert_eq!(wide.into_luma16().get_pixel(2, 0)[0], 100 * 257);
    let narrow =
        filter("unsharp:amount=0", &folder.join("wide.png"), &folder.join("narrow.jpg"), &["--bits", "8"]);
    assert_eq!(narrow.color(), image::ColorType::L8);
}

/// Kernels compute the results of the CPU, up to rounding.
#[test]
fn devices_agree_with_the_cpu() {
    let folder = folder("devices");
    let input = folder.join("in.png");
    colours(45, 37).save(&input).unwrap();
    let chain = "gauss:sigma=1,median,equalize,grid:space=4,local-laplacian:levels=3,jacobi:steps=3";
    let plain = filter(chain, &input, &folder.join("plain.png"), &[]).into_rgb8();
    let output = folder.join("device.png");
    let result = app(&[chain, path(&input), "-o", path(&output), "--device", "opencl"]);
    let text = String::from_utf8_lossy(&result.stderr);
    if text.contains("there is no driver") || text.contains("there is no device") {
        eprintln!("skipped: the app on OpenCL, as there is no device");
        assert!(!result.status.success() && !output.exists());
        return;
    }
    assert!(result.status.success(), "{text}");
    let found = image::open(&output).unwrap().into_rgb8();
    assert!(found.iter().zip(plain.iter()).all(|(found, plain)| found.abs_diff(*plain) <= 1));
    let edges = |more: &[&str]| filter("canny", &input, &folder.join("edges.png"), more).into_luma8();
    assert_eq!(edges(&["--device", "opencl"]), edges(&[]));
    // Devices reject schedules of the CPU.
    let output = folder.join("no.png");
    let schedule = ["--device", "opencl", "--schedule", "vec"];
    let (status, text) = failure(&[&["sobel", path(&input), "-o", path(&output)], &schedule[..]].concat());
    assert!(status == 2 && text.contains("there are `pixel`, `column`"), "{text}");
}

#[test]
fn boundary_modes_differ() {
    let folder = folder("boundaries");
    let input = folder.join("in.png");
    // Three columns: the mean of three is different for each boundary.
    ImageBuffer::from_fn(3, 1, |x, _| Luma([[0u8, 90, 240][x as usize]])).save(&input).unwrap();
    let first = |boundary: &[&str]| {
        let found = filter("box", &input, &folder.join("out.png"), boundary).into_luma8();
        found.get_pixel(0, 0)[0]
    };
    assert_eq!(first(&["--boundary", "clamp"]), 30);
    assert_eq!(first(&["--boundary", "wrap"]), 110);
    assert_eq!(first(&["--boundary", "constant", "--outside", "1"]), 208);
    ImageBuffer::from_fn(5, 1, |x, _| Luma([[10u8, 50, 90, 130, 240][x as usize]])).save(&input).unwrap();
    let found =
        filter("box:radius=2", &input, &folder.join("out.png"), &["--boundary", "mirror"]).into_luma8();
    assert_eq!(found.get_pixel(0, 0)[0], (50 + 10 + 10 + 50 + 90) / 5);
}

#[test]
fn folder_is_filtered_and_failures_are_reported() {
    let folder = folder("many");
    let (input, output) = (folder.join("in"), folder.join("made/out"));
    fs::create_dir(&input).unwrap();
    colours(20, 10).save(input.join("a.png")).unwrap();
    colours(11, 30).save(input.join("b.tiff")).unwrap();
    colours(8, 8).save(input.join("C.JPG")).unwrap();
    fs::write(input.join("notes.txt"), "no picture").unwrap();
    let result = app(&["gauss", path(&input), "-o", path(&output)]);
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    assert_eq!(names(&output), ["C.JPG", "a.png", "b.tiff"]);

    fs::write(input.join("broken.png"), "no picture").unwrap();
    fs::remove_dir_all(&output).unwrap();
    let (status, text) = failure(&["gauss", path(&input), "-o", path(&output)]);
    assert_eq!(status, 1);
    assert!(
        text.contains("broken.png` is not a picture") && text.contains("1 of 4 pictures were not filtered"),
        "{text}"
    );
    assert_eq!(names(&output), ["C.JPG", "a.png", "b.tiff"]);

    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let (status, text) = failure(&["gauss", path(&empty), "-o", path(&output)]);
    assert!(status == 1 && text.contains("there is no picture in"), "{text}");
}

/// A schedule with tiles of a fixed size needs pictures of at least that size; other schedules accept all.
#[test]
fn pictures_smaller_than_a_tile_are_reported_and_others_filtered() {
    let folder = folder("tiles");
    let (input, output) = (folder.join("in"), folder.join("out"));
    fs::create_dir(&input).unwrap();
    colours(20, 10).save(input.join("small.png")).unwrap();
    colours(64, 32).save(input.join("large.png")).unwrap();
    let small = input.join("small.png");
    let tiles = ["--schedule", "par(threads, 8, tile(64, 32, vec(8, op)))"];
    for filter in ["sobel", "gauss"] {
        let (status, text) = failure(&[&[filter, path(&input), "-o", path(&output)], &tiles[..]].concat());
        let wanted = "small.png`: a tile of 64 x 32 is larger than the picture of 20 x 10";
        assert!(status == 1 && text.contains(wanted), "{text}");
        assert!(text.contains("1 of 2 pictures were not filtered"), "{text}");
        assert_eq!(names(&output), ["large.png"]);
        let plain = folder.join("plain.png");
        let large = image::open(output.join("large.png")).unwrap();
        assert_eq!(large, self::filter(filter, &input.join("large.png"), &plain, &["--schedule", "seq"]));
        fs::remove_dir_all(&output).unwrap();
        for (width, height) in [(1, 1), (3, 7)] {
            colours(width, height).save(&small).unwrap();
            let wanted = self::filter(filter, &small, &plain, &["--schedule", "seq"]);
            for schedule in ["tile", "tile_at_most(64, 32, vec(8, op))"] {
                let found =
                    self::filter(filter, &small, &folder.join("tiled.png"), &["--schedule", schedule]);
                assert_eq!(found, wanted, "{filter} {width} x {height} {schedule}");
            }
        }
        colours(20, 10).save(&small).unwrap();
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn errors_are_reported_and_leave_no_file() {
    let folder = folder("mistakes");
    let (input, output) = (folder.join("in.png"), folder.join("out.png"));
    colours(64, 64).save(&input).unwrap();
    let (input, output) = (path(&input), path(&output));
    let broken = folder.join("broken.png");
    let bytes = fs::read(input).unwrap();
    fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    let check = |args: &[&str], wanted_status: i32, wanted: &str| {
        let (status, text) = failure(args);
        assert_eq!(status, wanted_status, "{text}");
        assert!(text.contains(wanted), "{wanted:?} is not in {text}");
        assert!(!text.contains("panic"), "{text}");
        let before = ["broken.png", "in.png"];
        assert_eq!(names(&folder), before, "{args:?}");
    };
    // Usage.
    check(&["gaus", input, "-o", output], 2, "there is no filter `gaus`; did you mean `gauss`?");
    check(&["gauss:sigma=99", input, "-o", output], 2, "between 0.2 and 10");
    check(&["gauss", input], 2, "--output");
    check(&["gauss", input, "-o", "out.gif"], 2, "must end in .png, .jpg, .tiff or .webp");
    check(&["gauss", input, "-o", output, "--schedule", "fast"], 2, "there is no schedule `fast`");
    check(&["gauss", input, "-o", output, "--boundary", "wall"], 2, "invalid value 'wall'");
    check(&["box", input, "-o", output, "--boundary", "constant", "--outside", "7"], 2, "between 0 and 1");
    // Files.
    check(&["gauss", "missing.png", "-o", output], 1, "`missing.png`: No such file");
    check(&["gauss", path(&broken), "-o", output], 1, "broken.png`");
    check(&["gauss", input, "-o", "missing/out.png"], 1, "cannot write `missing/out.png`");
    // The compiler reports errors of a schedule in Impala.
    check(&["sobel", input, "-o", output, "--schedule", "tile(9, op)"], 1, "chain.impala:6");
}

#[test]
fn unsupported_formats_are_reported_before_the_computation() {
    let folder = folder("cannot");
    let input = folder.join("in.png");
    ImageBuffer::from_pixel(4, 4, Rgba([1u8, 2, 3, 4])).save(&input).unwrap();
    let (status, text) = failure(&["gauss", path(&input), "-o", path(&folder.join("out.jpg"))]);
    assert!(status == 1 && text.contains("JPEG does not support transparency"), "{text}");
    ImageBuffer::from_pixel(4, 4, Luma([1u16])).save(&input).unwrap();
    let (status, text) = failure(&["gauss", path(&input), "-o", path(&folder.join("out.jpg"))]);
    assert!(status == 1 && text.contains("use `--bits 8`"), "{text}");
    assert_eq!(names(&folder), ["in.png"]);
}

#[test]
fn bench_list_and_show_program_print_text() {
    let folder = folder("shown");
    let input = folder.join("in.png");
    colours(64, 64).save(&input).unwrap();
    let text = |args: &[&str]| {
        let result = app(args);
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        String::from_utf8(result.stdout).unwrap()
    };
    assert!(text(&["sobel", path(&input), "--bench"]).contains("Mpixel/s"));
    let list = text(&["--list"]);
    assert!(list.contains("local-laplacian") && list.contains("sigma=1.5"), "{list}");
    assert!(text(&["sobel", path(&input), "--show-program"]).contains("gradient_size()"));
}

/// An Impala file with two filters and a helper.
const OWN: &str = "// uses: stencil
// Darker by a factor,
// and by a number of levels.
fn @darker(factor: f32, levels: i32) -> Stencil[f32, f32] {
    stencil(@|f| { let scaled: Field[f32] = @|x, y| f(x, y) * factor - shift(levels); scaled })
}
fn @shift(levels: i32) -> f32 { levels as f32 / 255f }
// The pixel to the right.
fn @moved() -> Stencil[f32, f32] { stencil(@|f| { let moved: Field[f32] = @|x, y| f(x + 1, y); moved }) }
";

#[test]
fn filters_of_the_user_come_from_files_and_packages() {
    let folder = folder("own");
    let (source, own, out) = (folder.join("in.png"), folder.join("own.impala"), folder.join("out.png"));
    let picture = colours(40, 30);
    picture.save(&source).unwrap();
    fs::write(&own, OWN).unwrap();
    let check = |filters: &str, place: &Path| {
        let result = filter(filters, &source, &out, &["--filters", path(place)]).into_rgb8();
        for (x, y, found) in result.enumerate_pixels() {
            let before = picture.get_pixel((x + 1).min(39), y);
            for c in 0..3 {
                let wanted = (f32::from(before[c]) * 0.5 - 10.0).max(0.0);
                assert!((f32::from(found[c]) - wanted).abs() <= 1.0, "{x} {y}: {found:?}, not {wanted}");
            }
        }
    };
    check("moved,darker:levels=10:factor=0.5", &own);
    let package = folder.join("package");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(
        package.join("nyala.toml"),
        "[package]\nname = \"mine\" # and mine alone\nversion = \"0.1.0\"\n\n[dependencies]\nstencil = \"*\"\n",
    )
    .unwrap();
    fs::write(
        package.join("src/lib.impala"),
        format!("use stencil::*;\n{}", OWN.replace("fn @", "pub fn @")),
    )
    .unwrap();
    check("moved,darker:levels=10:factor=0.5", &package);
    let list = app(&["--list", "--filters", path(&own)]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.starts_with("darker           Darker by a factor, and by a number of levels.\n    factor=a number\n    levels=an integer\n"), "{list}");
    let run = |filters| failure(&[filters, path(&source), "-o", path(&out), "--filters", path(&own)]);
    assert_eq!(
        run("darker:factor=1"),
        (2, "error: `darker` needs a value of `levels`: write `darker:levels=..`\n".to_owned())
    );
    assert!(run("move").1.contains("did you mean `moved`?"));
    fs::write(&own, OWN.replace("factor -", "factr -")).unwrap();
    let (status, message) = run("moved");
    assert_eq!(status, 1);
    assert!(message.contains("own.impala:5:") && message.contains("`factr`"), "{message}");
    fs::write(package.join("nyala.toml"), "[package]\nname = 3\n").unwrap();
    let args = ["moved", path(&source), "-o", path(&out), "--filters", path(&package)];
    assert!(failure(&args).1.contains("nyala.toml`: "), "{}", failure(&args).1);
    fs::write(&own, "fn f() -> () {}").unwrap();
    assert!(run("f").1.contains("has no filter: a function with the result `Stencil[f32, f32]`"));
}

#[test]
fn several_pictures_go_to_a_folder() {
    let folder = folder("several");
    let paths = ["a.png", "b.webp", "c.tiff", "d.jpg"].map(|name| folder.join(name));
    for (i, path) in paths.iter().enumerate() {
        colours(20 + i as u32, 10).save(path).unwrap();
    }
    let out = folder.join("out");
    let mut args = vec!["gauss"];
    args.extend(paths.iter().map(|file| path(file)));
    let result = app(&[&args[..], &["-o", path(&out), "--time"]].concat());
    let times = String::from_utf8(result.stderr).unwrap();
    assert!(result.status.success(), "{times}");
    assert_eq!(names(&out), ["a.png", "b.webp", "c.tiff", "d.jpg"]);
    for (i, path) in paths.iter().enumerate() {
        assert_eq!(image::open(out.join(path.file_name().unwrap())).unwrap().width(), 20 + i as u32);
        let line = times.lines().find(|line| line.starts_with(path.to_str().unwrap())).unwrap();
        assert!(["read", "compile", "filter", "write"].iter().all(|part| line.contains(part)), "{line}");
    }
    let (status, message) = failure(&["gauss", path(&paths[0]), path(&paths[0]), "-o", path(&out)]);
    assert_eq!(status, 1);
    assert!(message.contains("have the same name for the result"), "{message}");
}

#[test]
fn webp_keeps_every_pixel_and_has_eight_bits() {
    let folder = folder("webp");
    let (source, out) = (folder.join("in.png"), folder.join("out.webp"));
    let picture = ImageBuffer::from_fn(33, 17, |x, y| image::Rgba([x as u8, y as u8, 7, 100 + x as u8]));
    picture.save(&source).unwrap();
    filter("median", &source, &out, &[]);
    filter("median", &source, &folder.join("out.png"), &[]);
    let read = |name: &str| image::open(folder.join(name)).unwrap().into_rgba8();
    assert_eq!(read("out.webp"), read("out.png"));
    let (status, message) = failure(&["gauss", path(&source), "-o", path(&out), "--bits", "16"]);
    assert_eq!(status, 1);
    assert!(message.contains("WebP has 8 bits per channel"), "{message}");
}

#[test]
fn compiled_programs_are_kept_on_disk() {
    let folder = folder("cache");
    let (source, out, cache) = (folder.join("in.png"), folder.join("out.png"), folder.join("cache"));
    colours(20, 20).save(&source).unwrap();
    let run = |filter: &str, cache: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nyala-image"));
        let output =
            command.args([filter, path(&source), "-o", path(&out)]).env("NYALA_CACHE", cache).output();
        assert!(output.unwrap().status.success());
        fs::read(&out).unwrap()
    };
    let first = run("gauss", &cache);
    assert_eq!(names(&cache).len(), 1);
    assert_eq!(run("gauss", &cache), first);
    assert_eq!(names(&cache).len(), 1);
    // Damaged entries are not used.
    let entry = cache.join(&names(&cache)[0]);
    let half = fs::read(&entry).unwrap();
    fs::write(&entry, &half[..half.len() / 2]).unwrap();
    assert_eq!(run("gauss", &cache), first);
    run("box", &cache);
    assert_eq!(names(&cache).len(), 2);
    assert_eq!(run("gauss", Path::new("off")), first);
}

/// With any amount of memory, a filter succeeds or reports that memory is exhausted.
#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_is_reported() {
    let folder = folder("scarce");
    let (input, output) = (folder.join("in.png"), folder.join("out.png"));
    colours(40, 30).save(&input).unwrap();
    for megabytes in [60, 100, 150, 200, 300] {
        let limit = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1000);
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &limit,
            env!("CARGO_BIN_EXE_nyala-image"),
            "box",
            path(&input),
            "-o",
            path(&output),
        ]);
        let result = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&result.stderr);
        let shown = format!("{megabytes} MB: {:?}: {stderr}", result.status);
        match result.status.code() {
            Some(0) => assert!(output.is_file(), "{shown}"),
            Some(1) => assert!(stderr.contains("out of memory") && !output.exists(), "{shown}"),
            // Not even the loader has memory for the app.
            Some(127) => assert!(stderr.contains("nyala-image"), "{shown}"),
            _ => panic!("{shown}"),
        }
    }
}
