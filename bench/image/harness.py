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
CELL, LEVEL = 8, 0.1  # the sides of a cell of the bilateral grid, in pixels and in value
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


# ---- Inputs and expected results


def source(dtype, from_zero_to_one):
    random = np.random.default_rng(7)
    image = aligned(dtype)
    if np.dtype(dtype).kind == "f":
        y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
        image[...] = np.sin(x * 0.05) * np.cos(y * 0.03) + (x // 37 + y // 53) % 2
        image += random.standard_normal((SIZE, SIZE), dtype=np.float32) * np.float32(0.05)
        if from_zero_to_one:
            image[...] = np.clip(image * np.float32(0.4) + np.float32(0.3), 0, 1)
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


def expected_grid(image):
    """Pixels are counted in cells, which are smoothed; each pixel asks the cells around it."""
    margin, depth, columns = 2, 16, (SIZE - 1) // CELL + 6
    p = np.pad(image, (margin + 1) * CELL, mode="edge").astype(np.float64)
    first = CELL // 2  # the first cell begins half a cell before the margin
    p = p[first : first + columns * CELL, first : first + columns * CELL]
    z = margin + (np.clip(p, 0, 1).astype(np.float32) * np.float32(1 / LEVEL) + np.float32(0.5)).astype(np.int64)
    place = np.arange(columns * CELL) // CELL
    cell = (place[:, None] * columns + place[None, :]) * depth + z
    taps = np.array([1.0, 4, 6, 4, 1])

    def smooth(grid, axis):
        n = grid.shape[axis]
        return sum(w * np.take(np.pad(grid, [(2, 2) if a == axis else (0, 0) for a in range(3)]), np.arange(i, i + n), axis) for i, w in enumerate(taps))

    def cells(weights):
        grid = np.bincount(cell.ravel(), weights, columns * columns * depth).reshape(columns, columns, depth)
        return smooth(smooth(smooth(grid, 0), 1), 2)

    value = np.clip(image, 0, 1) / np.float32(LEVEL)
    cz = value.astype(np.int64)
    at = np.arange(SIZE)
    parts = ((at % CELL / CELL)[:, None], (at % CELL / CELL)[None, :], value - cz)
    places = ((at // CELL)[:, None] + margin, (at // CELL)[None, :] + margin, cz + margin)

    def sliced(grid):
        total = 0.0
        for corner in range(8):
            steps = [corner >> k & 1 for k in range(3)]
            weight = np.prod([part if step else 1 - part for part, step in zip(np.broadcast_arrays(*parts), steps)], axis=0)
            total = total + weight * grid[tuple(place + step for place, step in zip(places, steps))]
        return total

    return sliced(cells(p.ravel())) / sliced(cells(None))


def is_right(case, result, expected):
    if case == "smooth_grid":  # a pixel whose value lies between two cells may be counted in either
        return np.abs(result - expected).max() <= 1e-3
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


def halide_grid():
    """As in Halide's repository."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    names = ("counted", "down", "left", "smooth", "out")
    counted, in_z, in_x, smooth, out = (hl.Func(name) for name in names)
    param, f = halide_input(hl.Float(32))
    r = hl.RDom([(0, CELL), (0, CELL)])
    value = hl.clamp(f[x * CELL + r.x - CELL // 2, y * CELL + r.y - CELL // 2], hl.f32(0), hl.f32(1))
    counted[x, y, z, c] = hl.f32(0)
    counted[x, y, hl.i32(value * hl.f32(1 / LEVEL) + hl.f32(0.5)), c] += hl.mux(c, [value, hl.f32(1)])

    def taps(at):
        return at(-2) + at(-1) * 4 + at(0) * 6 + at(1) * 4 + at(2)

    in_z[x, y, z, c] = taps(lambda i: counted[x, y, z + i, c])
    in_x[x, y, z, c] = taps(lambda i: in_z[x + i, y, z, c])
    smooth[x, y, z, c] = taps(lambda i: in_x[x, y + i, z, c])
    level = hl.clamp(f[x, y], hl.f32(0), hl.f32(1)) * hl.f32(1 / LEVEL)
    zi = hl.i32(level)
    xi, yi = x // CELL, y // CELL
    xf, yf, zf = hl.f32(x % CELL) / hl.f32(CELL), hl.f32(y % CELL) / hl.f32(CELL), level - hl.f32(zi)

    def sliced(c):
        def at(k, j):
            return hl.lerp(smooth[xi, yi + j, zi + k, c], smooth[xi + 1, yi + j, zi + k, c], xf)

        return hl.lerp(hl.lerp(at(0, 0), at(0, 1), yf), hl.lerp(at(1, 0), at(1, 1), yf), zf)

    out[x, y] = sliced(0) / sliced(1)
    return param, out, (counted, in_z, in_x, smooth, r, z, c), x, y


def grid_stages(lanes):
    """The repository's schedule: all stages for the whole picture, the histogram for rows of cells."""

    def schedule(out, stages, x, y):
        counted, in_z, in_x, smooth, r, z, c = stages
        in_z.compute_root().reorder(c, z, x, y).parallel(y).vectorize(x, lanes).unroll(c)
        counted.compute_at(in_z, y)
        counted.update().reorder(c, r.x, r.y, x, y).unroll(c)
        for stage in (in_x, smooth):
            stage.compute_root().reorder(c, x, y, z).parallel(z).vectorize(x, lanes).unroll(c)
        out.compute_root().parallel(y).vectorize(x, lanes)

    return schedule


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
GRIDS = {"stages, 8 lanes": grid_stages(8), "stages, 16 lanes": grid_stages(16)}
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
    "smooth_grid": (np.float32, expected_grid, "halide_grid", GRIDS),
}


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def ours(library, name, image, result):
    function = getattr(library, name if THREADS == 1 else name + "_parallel")
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
        image, result = source(dtype, case == "smooth_grid"), aligned(dtype)
        runs = {"ours": ours(library, case, image, result)}
        if hl is not None:
            runs.update(halide_runs(globals()[halide], schedules, image, result))
        if cv2 is not None:
            runs.update(opencv_runs(case, image, result))
        right = expected(image)
        checked = {}
        for run_name, run in runs.items():
            result[...] = 0
            run()
            checked[run_name] = bool(is_right(case, result, right))
        for copy in ("copy_cached", "copy_streamed") if np.dtype(dtype).itemsize == 4 else ():
            runs[copy] = ours(library, copy, image, result)
        for run_name, seconds in measure(runs).items():
            figure = {"case": case, "who": run_name, "gpixels": SIZE * SIZE / seconds / 1e9, "right": checked.get(run_name)}
            print(json.dumps(figure), flush=True)


main()
