"""Runs our image pipelines and their peers in one process, in turns, and prints a JSON object per figure.

usage: harness.py LIBRARY THREADS ROUNDS

LIBRARY holds our pipelines, compiled. Peers are Halide and OpenCV, where they can be imported. Every
result is compared with a plain one in numpy before anything is timed. One thread is measured in processor
time, several in elapsed time; the best of all rounds counts.
"""

import ctypes
import json
import os
import sys
import time

LIBRARY, THREADS, ROUNDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ["HL_NUM_THREADS"] = os.environ["NYALA_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402

try:
    import halide as hl
except ImportError:
    hl = None
try:
    import cv2
except ImportError:
    cv2 = None

SIZE = 4096
WEIGHTS = np.exp(-0.5 * (np.arange(-2, 3) / 1.1) ** 2)
WEIGHTS = (WEIGHTS / WEIGHTS.sum()).astype(np.float32)


def clock():
    return time.process_time() if THREADS == 1 else time.perf_counter()


def aligned(dtype):
    """An image whose memory begins at a multiple of 64 bytes, and is there."""
    dtype = np.dtype(dtype)
    raw = np.zeros(SIZE * SIZE * dtype.itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + SIZE * SIZE * dtype.itemsize].view(dtype).reshape(SIZE, SIZE)


# ---- Inputs and what is expected


def source(dtype):
    random = np.random.default_rng(7)
    image = aligned(dtype)
    if np.dtype(dtype).kind == "f":
        y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
        image[...] = np.sin(x * 0.05) * np.cos(y * 0.03) + (x // 37 + y // 53) % 2
        image += random.standard_normal((SIZE, SIZE), dtype=np.float32) * np.float32(0.05)
    else:
        image[...] = random.integers(0, 256 if dtype == np.uint8 else 65536, (SIZE, SIZE))
    return image


def around(image, reach, kind):
    """The image with `reach` more pixels on each side, repeating the edge."""
    return np.pad(image, reach, mode="edge").astype(kind)


def expected_blur(image):
    p = around(image, 1, np.int64)
    across = (p[:, :-2] + p[:, 1:-1] + p[:, 2:]) // 3
    return (across[:-2] + across[1:-1] + across[2:]) // 3


def expected_gauss(image):
    p = around(image, 2, np.float64)
    across = sum(float(w) * p[:, i : i + SIZE] for i, w in enumerate(WEIGHTS))
    return sum(float(w) * across[i : i + SIZE] for i, w in enumerate(WEIGHTS))


def expected_sharpen(image):
    sharp = image + 1.5 * (image - expected_gauss(image)) + 0.5
    return np.floor(np.clip(sharp, 0, 255))


def expected_harris(image):
    p = around(image, 2, np.float64)
    n = SIZE + 2

    def at(dx, dy):
        return p[1 + dy : 1 + dy + n, 1 + dx : 1 + dx + n]

    ix = (at(1, -1) - at(-1, -1) + 2 * (at(1, 0) - at(-1, 0)) + at(1, 1) - at(-1, 1)) / 12
    iy = (at(-1, 1) - at(-1, -1) + 2 * (at(0, 1) - at(0, -1)) + at(1, 1) - at(1, -1)) / 12

    def box(f):
        return sum(f[j : j + SIZE, i : i + SIZE] for j in range(3) for i in range(3))

    xx, xy, yy = box(ix * ix), box(ix * iy), box(iy * iy)
    return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2


def is_right(result, expected):
    if result.dtype == np.uint8:  # rounding may differ where a value lies on the border
        return np.abs(result.astype(np.int32) - expected).max() <= 1
    if result.dtype.kind == "i":
        return np.array_equal(result, expected)
    return np.abs(result - expected).max() <= 2e-5 * max(1.0, np.abs(expected).max())


# ---- Halide: each pipeline, and the schedules that were found best or that were published


def halide_input(kind):
    param = hl.ImageParam(kind, 2)
    for dim, stride in ((0, 1), (1, SIZE)):
        param.dim(dim).set_bounds(0, SIZE).set_stride(stride)
    param.set_host_alignment(64)
    return param, hl.BoundaryConditions.repeat_edge(param)


def halide_blur():
    x, y, across, out = hl.Var("x"), hl.Var("y"), hl.Func("across"), hl.Func("out")
    param, f = halide_input(hl.Int(32))
    across[x, y] = (f[x - 1, y] + f[x, y] + f[x + 1, y]) // 3
    out[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) // 3
    return param, out, (across,), x, y


def weighted(at):
    w = [hl.f32(float(w)) for w in WEIGHTS]
    return w[0] * (at(-2) + at(2)) + w[1] * (at(-1) + at(1)) + w[2] * at(0)


def halide_gauss():
    x, y, across, out = hl.Var("x"), hl.Var("y"), hl.Func("across"), hl.Func("out")
    param, f = halide_input(hl.Float(32))
    across[x, y] = weighted(lambda i: f[x + i, y])
    out[x, y] = weighted(lambda i: across[x, y + i])
    return param, out, (across,), x, y


def halide_sharpen():
    x, y, across, out = hl.Var("x"), hl.Var("y"), hl.Func("across"), hl.Func("out")
    param, f = halide_input(hl.UInt(8))
    across[x, y] = weighted(lambda i: hl.cast(hl.Float(32), f[x + i, y]))
    value = hl.cast(hl.Float(32), f[x, y])
    sharp = value + hl.f32(1.5) * (value - weighted(lambda i: across[x, y + i])) + hl.f32(0.5)
    out[x, y] = hl.cast(hl.UInt(8), hl.clamp(sharp, hl.f32(0), hl.f32(255)))
    return param, out, (across,), x, y


def halide_harris():
    x, y = hl.Var("x"), hl.Var("y")
    ix, iy, out = hl.Func("ix"), hl.Func("iy"), hl.Func("out")
    param, f = halide_input(hl.Float(32))
    one, two = hl.f32(1 / 12), hl.f32(2 / 12)
    ix[x, y] = one * (f[x + 1, y - 1] - f[x - 1, y - 1] + f[x + 1, y + 1] - f[x - 1, y + 1]) + two * (f[x + 1, y] - f[x - 1, y])
    iy[x, y] = one * (f[x - 1, y + 1] - f[x - 1, y - 1] + f[x + 1, y + 1] - f[x + 1, y - 1]) + two * (f[x, y + 1] - f[x, y - 1])

    def box(of):
        return sum((of(x + i, y + j) for j in (-1, 0, 1) for i in (-1, 0, 1)), hl.f32(0))

    xx = box(lambda x, y: ix[x, y] * ix[x, y])
    yy = box(lambda x, y: iy[x, y] * iy[x, y])
    xy = box(lambda x, y: ix[x, y] * iy[x, y])
    out[x, y] = xx * yy - xy * xy - hl.f32(0.04) * (xx + yy) * (xx + yy)
    return param, out, (ix, iy), x, y


def tiles(out, stages, x, y):
    """The Halide paper: tiles of 256 x 32, the first stage for each tile."""
    xi, yi = hl.Var("xi"), hl.Var("yi")
    out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)
    for stage in stages:
        stage.compute_at(out, x).vectorize(x, 8)


def unrolled(rows, lanes):
    """Blocks of rows of one vector; sums along rows are shared in registers."""

    def schedule(out, stages, x, y):
        yo, yi, xi = hl.Var("yo"), hl.Var("yi"), hl.Var("xi")
        out.split(y, yo, y, 64).parallel(yo)
        out.tile(x, y, xi, yi, lanes, rows).vectorize(xi, lanes).unroll(yi)
        for stage in stages:
            stage.compute_at(out, x).vectorize(x, lanes).unroll(y)

    return schedule


def strips(rows, lanes):
    """The Halide repository: strips of rows, the first stages in line buffers."""

    def schedule(out, stages, x, y):
        yi = hl.Var("yi")
        out.split(y, y, yi, rows).parallel(y).vectorize(x, lanes)
        for stage in stages:
            stage.store_at(out, y).compute_at(out, yi).vectorize(x, lanes)
        if len(stages) == 2:
            stages[0].compute_with(stages[1], x)

    return schedule


BLOCKS = {"tiles": tiles, "unrolled 8 x 16": unrolled(8, 16), "unrolled 8 x 32": unrolled(8, 32), "strips of 128": strips(128, 16)}
STRIPS = {"strips of 32": strips(32, 16), "strips of 32, 8 lanes": strips(32, 8), "strips of 128": strips(128, 16), "tiles": tiles}


def halide_runs(make, schedules, image, result):
    for name, schedule in schedules.items():
        param, out, stages, x, y = make()
        for dim, stride in ((0, 1), (1, SIZE)):
            out.output_buffer().dim(dim).set_bounds(0, SIZE).set_stride(stride)
        out.output_buffer().set_host_alignment(64)
        schedule(out, stages, x, y)
        target = hl.get_jit_target_from_environment()
        compiled = hl.Pipeline(out).compile_to_callable([param], target)
        source_buffer, result_buffer = hl.Buffer(image), hl.Buffer(result)
        yield "Halide, " + name, lambda run=compiled, a=source_buffer, b=result_buffer: run(a, b)


# ---- OpenCV


def opencv_runs(case, image, result):
    cv2.setNumThreads(THREADS)
    if case == "gauss":
        yield "OpenCV", lambda: cv2.sepFilter2D(image, -1, WEIGHTS, WEIGHTS, dst=result, borderType=cv2.BORDER_REPLICATE)
        yield "OpenCV, GaussianBlur", lambda: cv2.GaussianBlur(image, (5, 5), 1.1, dst=result, borderType=cv2.BORDER_REPLICATE)


# ---- The measurement

CASES = {
    "blur": (np.int32, expected_blur, "halide_blur", BLOCKS),
    "gauss": (np.float32, expected_gauss, "halide_gauss", BLOCKS),
    "harris_corners": (np.float32, expected_harris, "halide_harris", STRIPS),
    "sharpen": (np.uint8, expected_sharpen, "halide_sharpen", BLOCKS),
}


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def ours(library, name, image, result):
    function = getattr(library, name)
    function.restype = None
    a, b = pointer(image), pointer(result)
    return lambda: function(a, b, SIZE, SIZE)


def measure(runs):
    """The best time of each, in turns."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def main():
    library = ctypes.CDLL(LIBRARY)
    for case, (dtype, expected, halide, schedules) in CASES.items():
        image, result = source(dtype), aligned(dtype)
        name = case if THREADS == 1 else case + "_parallel"
        runs = {"ours": ours(library, name, image, result)}
        if hl is not None:
            runs.update(halide_runs(globals()[halide], schedules, image, result))
        if cv2 is not None:
            runs.update(opencv_runs(case, image, result))
        right = expected(image)
        checked = {}
        for run_name, run in runs.items():
            result[...] = 0
            run()
            checked[run_name] = bool(is_right(result, right))
        if THREADS == 1 and np.dtype(dtype).itemsize == 4:
            for copy in ("copy_cached", "copy_streamed"):
                runs[copy] = ours(library, copy, image, result)
        for run_name, seconds in measure(runs).items():
            figure = {"case": case, "who": run_name, "gpixels": SIZE * SIZE / seconds / 1e9, "right": checked.get(run_name)}
            print(json.dumps(figure), flush=True)


main()
