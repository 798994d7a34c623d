"""Runs our image pipelines and their peers in one process, in turns, and prints a JSON object per figure.

usage: harness.py LIBRARY PEERS THREADS ROUNDS [NAME..]

LIBRARY holds our pipelines, PEERS those in C. Other peers are OpenCV and Halide, where they can be imported. All results for a
picture are compared with those of a reference, OpenCV or C, before anything is timed. One thread is measured in
processor time, several in elapsed time; the best of all rounds counts. All find the caches alike: each writes the same array, and runs
several times in a row; and memory that OpenCV allocates for its results is used again, so that it takes no page faults. With several
threads there are pauses, since the threads of OpenMP and OpenCV poll for some milliseconds when they have no work.
"""

import ctypes
import functools
import json
import os
import sys
import time

LIBRARY, PEERS, THREADS, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ONLY = sys.argv[5:]
os.environ["HL_NUM_THREADS"] = os.environ["NYALA_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)

import cv2  # noqa: E402
import numpy as np  # noqa: E402

from halide_peers import HALIDE  # noqa: E402

SIZES = ((4096, 4096), (1000, 1000), (640, 480))
EDGE = cv2.BORDER_REPLICATE
U8, U16, I32, F32, F64 = np.uint8, np.uint16, np.int32, np.float32, np.float64
ROOTS = (255 * np.sqrt(np.arange(256) / 255) + 0.5).astype(U8)
SHADES = np.arange(256) / 255
LINEAR = np.where(SHADES <= 0.04045, SHADES / 12.92, ((SHADES + 0.055) / 1.055) ** 2.4).astype(F32)
TURN = np.array([[0.9, 0.2, 3], [-0.2, 0.9, 40]], F32)


def bell(radius, sigma):
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / np.float32(sigma).astype(F64)) ** 2)
    return (weights / weights.sum()).astype(F32)


def window(n):
    """The kernel that is no product of two: a remainder has the sign of its dividend."""
    r = n // 2
    return np.array([[(1 + np.fmod(3 * i + 7 * j + i * j, 5)) / (3 * n * n) for i in range(-r, r + 1)] for j in range(-r, r + 1)], F32)


def near(radius, sigma):
    """The exponents of the distances of a bilateral filter."""
    at = np.arange(-radius, radius + 1, dtype=F32)
    return (-0.5 * (at[:, None] ** 2 + at[None, :] ** 2) / sigma**2).astype(F32)


def gauss(radius, sigma):
    weights, n = bell(radius, sigma), 2 * radius + 1
    plain = lambda a: cv2.sepFilter2D(a, -1, weights, weights, borderType=EDGE)
    return weights, (plain, lambda a: cv2.GaussianBlur(a, (n, n), sigma, borderType=EDGE))


def sharp(radius, sigma):
    weights = bell(radius, sigma)

    def run(a):
        v = a.astype(F32)
        s = cv2.addWeighted(v, 2.5, cv2.sepFilter2D(v, -1, weights, weights, borderType=EDGE), -1.5, 0)
        return s if a.dtype == F32 else cv2.convertScaleAbs(np.maximum(s, 0))

    return weights, (run,)


def sobel(a):
    across = cv2.Sobel(a, -1, 1, 0, scale=0.25, borderType=EDGE)
    return cv2.magnitude(across, cv2.Sobel(a, -1, 0, 1, scale=0.25, borderType=EDGE))


def box(n):
    return np.full(n, 1 / n, F32), (lambda a: cv2.blur(a, (n, n), borderType=EDGE),)


def resized(numerator, denominator, how):
    return lambda a: cv2.resize(a, (a.shape[1] * numerator // denominator, a.shape[0] * numerator // denominator), interpolation=how)


def square(n):
    return np.ones((n, n), U8)


def parts(n):
    """Applies a function to the pictures above each other in one."""
    return lambda run: lambda a: run(*np.split(a, n))


def deviation(n, finish):
    def run(a):
        mean = cv2.blur(a, (n, n), borderType=EDGE)
        return finish(a, mean, np.sqrt(np.maximum(cv2.sqrBoxFilter(a, -1, (n, n), borderType=EDGE) - mean * mean, 0)))

    return run


def mask(a):
    return cv2.inRange(cv2.cvtColor(a, cv2.COLOR_RGB2HSV_FULL), (0, 64, 103), (38, 255, 255))


def edges(a):
    soft = cv2.sepFilter2D(a, cv2.CV_32F, bell(2, 1.1), bell(2, 1.1), borderType=EDGE)
    return cv2.compare(sobel(soft), 10, cv2.CMP_GT)


def steps(a):
    soft = cv2.sepFilter2D(cv2.medianBlur(a, 3), -1, bell(2, 1.1), bell(2, 1.1), borderType=EDGE)
    return cv2.erode(soft, square(3), borderType=EDGE)


def matched(a):
    return cv2.matchTemplate(cv2.copyMakeBorder(a, 0, 7, 0, 7, EDGE), a[16:24, 16:24], cv2.TM_SQDIFF)


def gamma_half(a):
    light = cv2.LUT(a, ((np.arange(256) / 255) ** 2.2).astype(F32))
    half = cv2.resize(light, (a.shape[1] // 2, a.shape[0] // 2), interpolation=cv2.INTER_AREA)
    return cv2.convertScaleAbs(cv2.pow(half, 1 / 2.2), alpha=255)


@functools.cache
def lens_maps(height, width):
    x, y = np.arange(width, dtype=F32) - np.float32(width / 2), np.arange(height, dtype=F32)[:, None] - np.float32(height / 2)
    scale = 1 - np.float32(0.2 / (width**2 / 4 + height**2 / 4)) * (x * x + y * y)
    return np.float32(width / 2) + x * scale, np.float32(height / 2) + y * scale


def lens(a):
    return cv2.remap(a, *lens_maps(*a.shape), cv2.INTER_LINEAR, borderMode=EDGE)


def blended(p, q, m, levels=3):
    mixed = lambda p, q, m: cv2.add(cv2.multiply(cv2.subtract(p, q), m), q)
    if levels == 1:
        return mixed(p, q, m)
    (p2, q2, m2), size = (cv2.pyrDown(v) for v in (p, q, m)), p.shape[::-1]
    up = lambda v: cv2.pyrUp(v, dstsize=size)
    return cv2.add(up(blended(p2, q2, m2, levels - 1)), mixed(cv2.subtract(p, up(p2)), cv2.subtract(q, up(q2)), m))


# The types of the source and the result, the channels of each, constants for C, functions of OpenCV, and the largest difference.
CASES = {
    "box3_i32": (I32, I32, 1, 1, None, (), 0),
    "box3_u8": (U8, U8, 1, 1, *box(3), 1),
    "box31_u8": (U8, U8, 1, 1, *box(31), 1),
    "box15_f32": (F32, F32, 1, 1, *box(15), 1e-4),
    "gauss3_f32": (F32, F32, 1, 1, *gauss(1, 0.8), 1e-4),
    "gauss5_f32": (F32, F32, 1, 1, *gauss(2, 1.1), 1e-4),
    "gauss15_f32": (F32, F32, 1, 1, *gauss(7, 2.6), 1e-4),
    "gauss31_f32": (F32, F32, 1, 1, *gauss(15, 5.0), 1e-4),
    "gauss63_f32": (F32, F32, 1, 1, *gauss(31, 10.0), 1e-4),
    "gauss7_u8": (U8, U8, 1, 1, *gauss(3, 1.4), 1),
    "gauss5_u16": (U16, U16, 1, 1, *gauss(2, 1.1), 1),
    "gauss5_rgb": (U8, U8, 3, 3, *gauss(2, 1.1), 1),
    "sharpen_u8": (U8, U8, 1, 1, *sharp(2, 1.1), 1),
    "unsharp7_f32": (F32, F32, 1, 1, *sharp(3, 1.4), 1e-4),
    "sobel_f32": (F32, F32, 1, 1, None, (sobel,), 1e-4),
    "laplace_f32": (F32, F32, 1, 1, None, (lambda a: cv2.Laplacian(a, -1, ksize=1, borderType=EDGE),), 1e-4),
    "harris_f32": (F32, F32, 1, 1, None, (), 1e-4),
    "conv5_f32": (F32, F32, 1, 1, window(5), (lambda a: cv2.filter2D(a, -1, window(5), borderType=EDGE),), 1e-4),
    "conv9_f32": (F32, F32, 1, 1, window(9), (lambda a: cv2.filter2D(a, -1, window(9), borderType=EDGE),), 1e-4),
    "median3_u8": (U8, U8, 1, 1, None, (lambda a: cv2.medianBlur(a, 3),), 0),
    "median5_u8": (U8, U8, 1, 1, None, (lambda a: cv2.medianBlur(a, 5),), 0),
    "erode3_u8": (U8, U8, 1, 1, None, (lambda a: cv2.erode(a, square(3), borderType=EDGE),), 0),
    "dilate15_u8": (U8, U8, 1, 1, None, (lambda a: cv2.dilate(a, square(15), borderType=EDGE),), 0),
    "erode5_u16": (U16, U16, 1, 1, None, (lambda a: cv2.erode(a, square(5), borderType=EDGE),), 0),
    "bilateral5_f32": (F32, F32, 1, 1, near(2, 1.5), (), 1e-4),
    "gray_rgb": (U8, U8, 3, 1, None, (lambda a: cv2.cvtColor(a, cv2.COLOR_RGB2GRAY),), 1),
    "camera_u16": (U16, U8, 1, 3, None, (), 1),
    "half_u8": (U8, U8, 1, 1, None, (resized(1, 2, cv2.INTER_AREA),), 1),
    "bilinear_u8": (U8, U8, 1, 1, None, (resized(7, 10, cv2.INTER_LINEAR),), 1),
    "bicubic_f32": (F32, F32, 1, 1, None, (resized(3, 2, cv2.INTER_CUBIC),), 1e-4),
    "warp_u8": (U8, U8, 1, 1, None, (lambda a: cv2.warpAffine(a, TURN, a.shape[1::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=EDGE),), 8),
    "integral_u8": (U8, I32, 1, 1, None, (lambda a: cv2.integral(a, sdepth=cv2.CV_32S)[1:, 1:],), 0),
    "sum_f32": (F32, F64, 1, 1, None, (lambda a: np.array([cv2.sumElems(a)[0]]),), 1),
    "histogram_u8": (U8, I32, 1, 1, None, (lambda a: cv2.calcHist([a], [0], None, [256], [0, 256]).ravel(),), 0),
    "tone_u8": (U8, U8, 1, 1, None, (lambda a: cv2.LUT(a, ROOTS),), 1),
    "pyramid_u8": (U8, U8, 1, 1, None, (cv2.pyrDown,), 1),
    "median3_rgb": (U8, U8, 3, 3, None, (lambda a: cv2.medianBlur(a, 3),), 0),
    "erode5_rgb": (U8, U8, 3, 3, None, (lambda a: cv2.erode(a, square(5), borderType=EDGE),), 0),
    "box15_rgb": (U8, U8, 3, 3, None, (lambda a: cv2.blur(a, (15, 15), borderType=EDGE),), 1),
    "angle_f32": (F32, F32, 1, 1, None, (), 1e-4),
    "luma_rgb": (F32, F32, 3, 3, None, (lambda a: cv2.cvtColor(a, cv2.COLOR_RGB2YCrCb),), 1e-3),
    "quick5_f32": (F32, F32, 1, 1, near(2, 1.5), (), 1e-4),
    "equalize_bytes": (U8, U8, 1, 1, None, (cv2.equalizeHist,), 1),
    "transpose_f32": (F32, F32, 1, 1, None, (cv2.transpose,), 0),
    "turn_u8": (U8, U8, 1, 1, None, (lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE),), 0),
    "turn_rgb": (U8, U8, 3, 3, None, (lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE),), 0),
    "flip_rgb": (U8, U8, 3, 3, None, (lambda a: cv2.flip(a, 1),), 0),
    "yuv420_rgb": (U8, U8, 1, 3, None, (lambda a: cv2.cvtColor(a, cv2.COLOR_YUV2RGB_I420),), 1),
    "motion21_f32": (F32, F32, 1, 1, None, (lambda a: cv2.blur(a, (21, 1), borderType=EDGE),), 1e-4),
    "motion21_u8": (U8, U8, 1, 1, None, (lambda a: cv2.blur(a, (21, 1), borderType=EDGE),), 1),
    "deviation9_f32": (F32, F32, 1, 1, None, (deviation(9, lambda v, mean, d: d),), 1e-3),
    "contrast15_f32": (F32, F32, 1, 1, None, (deviation(15, lambda v, mean, d: (v - mean) / (d + np.float32(0.1))),), 2e-3),
    "blend_rgba": (U8, U8, 4, 4, None, (), 0),
    "average4_u8": (U8, U8, 1, 1, None, (), 0),
    "hsv_mask": (U8, U8, 3, 1, None, (mask,), 0),
    "distance_f32": (F32, F32, 1, 1, None, (lambda a: cv2.absdiff(a, cv2.mean(a)[0]),), 1e-4),
    "sharpen_rgb": (U8, U8, 3, 3, *sharp(2, 1.1), 1),
    "edges_u8": (U8, U8, 1, 1, None, (edges,), 0),
    "steps_u16": (U16, U16, 1, 1, None, (steps,), 1),
    "gamma_half": (U8, U8, 1, 1, None, (gamma_half,), 1),
    "match8_u8": (U8, F32, 1, 1, None, (matched,), 1e-4),
    "blend_levels": (F32, F32, 1, 1, None, (parts(3)(blended),), 1e-4),
    "lens_u8": (U8, U8, 1, 1, None, (lens,), 8),
    "linear_u8": (U8, F32, 1, 1, None, (lambda a: cv2.LUT(a, LINEAR),), 1e-4),
    "patterns_u8": (U8, U8, 1, 1, None, (), 0),
    "key_rgb": (U8, U8, 3, 3, None, (), 0),
    "diffuse_f32": (F32, F32, 1, 1, None, (), 1e-4),
}
# Pictures that consist of several ones above each other.
ROWS = {"yuv420_rgb": (3, 2), "blend_rgba": (2, 1), "average4_u8": (4, 1), "blend_levels": (3, 1), "key_rgb": (2, 1)}
# How far from the edge results are compared where OpenCV applies other boundary modes, or one in each step.
FRAME = {"steps_u16": 4, "blend_levels": 16}
# Runs in a row, and seconds before them.
RUNS, PAUSE = (2, 0) if THREADS == 1 else (4, 0.008)
# OpenCV interpolates with 5 bits of a position; its bilinear results differ by more where neighbours do.


def clock():
    return time.process_time() if THREADS == 1 else time.perf_counter()


def empty(kind, width, height, channels):
    """A picture that is aligned to 64 bytes, and in memory."""
    shape = (height, width, channels) if channels > 1 else (height, width)
    raw = np.zeros(int(np.prod(shape)) * np.dtype(kind).itemsize + 64, U8)
    start = -raw.ctypes.data % 64
    return raw[start : start + len(raw) - 64].view(kind).reshape(shape)


@functools.cache
def shades(width, height):
    """Smooth shapes with some noise, between 0 and 1."""
    x, y = np.arange(width, dtype=F32), np.arange(height, dtype=F32)[:, None]
    v = 0.3 + 0.25 * np.sin(x * np.float32(0.05)) * np.cos(y * np.float32(0.03)) + 0.2 * ((x // 37 + y // 53) % 2)
    return v.astype(F32) + np.random.default_rng(7).random((height, width), dtype=F32) * np.float32(0.05)


@functools.cache
def picture(kind, width, height, channels):
    image, top = empty(kind, width, height, channels), {U8: 255, U16: 65535, I32: 65535}.get(kind, 1)
    for c in range(channels):
        (image if channels == 1 else image[:, :, c])[...] = (shades(width, height) * np.float32(top * (1 - 0.2 * c))).astype(kind)
    return image


def result(name, kind, channels, width, height):
    if name == "sum_f32":
        return np.zeros(1, kind)
    if name == "histogram_u8":
        return np.zeros(256, kind)
    if name.startswith(("turn", "transpose")):
        width, height = height, width
    numerator, denominator = {"gamma_half": (1, 2), "half_u8": (1, 2), "pyramid_u8": (1, 2), "bilinear_u8": (7, 10), "bicubic_f32": (3, 2)}.get(name, (1, 1))
    return empty(kind, width * numerator // denominator, height * numerator // denominator, channels)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def calls(name, library, peers, width, height, source):
    """Functions by peer; each returns its result."""
    from_kind, to_kind, n_from, n_to, constants, opencv, _ = CASES[name]
    out = result(name, to_kind, n_to, width, height)
    a, b = pointer(source), pointer(out)

    def ours():
        getattr(library, name)(a, b, width, height)
        return out

    runs = {"ours": ours}
    for i, function in enumerate(opencv):
        runs[f"OpenCV, {i}"] = lambda function=function: function(source)
    if hasattr(peers, "c_" + name):
        weights = np.ascontiguousarray(constants if constants is not None else np.zeros(1, F32))

        def in_c():
            getattr(peers, "c_" + name)(a, b, width, height, pointer(weights))
            return out

        runs["C"] = in_c
    if name in HALIDE:
        runs.update(HALIDE[name](source, out, constants))
    return runs


def differs(name, found, expected):
    limit, frame = CASES[name][6], FRAME.get(name, 0)
    found, expected = (v[frame:-frame, frame:-frame] if frame else v for v in (found, expected))
    distance = np.abs(found.astype(F64) - expected.astype(F64))
    if name in ("camera_u16", "angle_f32", "hsv_mask", "edges_u8"):
        # Rounding of roots, and at thresholds; angles of no gradient, and on both sides of half a turn.
        return (distance > limit).mean() > 0.001
    scale = max(1.0, np.abs(expected).max()) if found.dtype.kind == "f" else 1.0
    return distance.max() > limit * scale


def keep_freed_memory():
    libc = ctypes.CDLL(None)
    for option, value in ((-4, 0), (-1, 1 << 30)):  # M_MMAP_MAX, M_TRIM_THRESHOLD
        libc.mallopt(option, value)


def main():
    keep_freed_memory()
    library, peers = ctypes.CDLL(LIBRARY), ctypes.CDLL(PEERS)
    cv2.setNumThreads(THREADS)
    for name in ONLY or CASES:
        for width, height in SIZES:
            times, halves = ROWS.get(name, (1, 1))
            source = picture(CASES[name][0], width, height * times // halves, CASES[name][2])
            runs = calls(name, library, peers, width, height, source)
            if len(runs) == 1:
                sys.exit(f"{name} has no peer")
            reference = next(run for who, run in runs.items() if who != "ours")().copy()
            right = {who: not differs(name, np.asarray(run()).reshape(reference.shape), reference) for who, run in runs.items()}
            rounds = ROUNDS if width * height > 4e6 else 4 * ROUNDS
            best = dict.fromkeys(runs, float("inf"))
            for _ in range(rounds):
                for who, run in runs.items():
                    time.sleep(PAUSE)
                    for _ in range(RUNS):
                        start = clock()
                        run()
                        best[who] = min(best[who], clock() - start)
            for who, seconds in best.items():
                figure = {"case": name, "size": f"{width} x {height}", "who": who, "gpixels": width * height / seconds / 1e9, "right": bool(right[who])}
                print(json.dumps(figure), flush=True)


main()
