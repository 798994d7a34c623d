"""The pipelines in Halide, with schedules that were found best by hand.

`HALIDE` maps a pipeline to a function of source, result and weights that returns functions by name.
"""

try:
    import halide as hl
except ImportError:
    hl = None


def source_of(kind, width, height):
    param = hl.ImageParam(kind, 2)
    for dim, extent, stride in ((0, width, 1), (1, height, width)):
        param.dim(dim).set_bounds(0, extent).set_stride(stride)
    return param, hl.BoundaryConditions.repeat_edge(param)


def tiles(out, stages, x, y):
    """The Halide paper: tiles of 256 x 32, the first stage for each tile."""
    xi, yi = hl.Var("xi"), hl.Var("yi")
    out.tile(x, y, xi, yi, 256, 32, hl.TailStrategy.GuardWithIf).vectorize(xi, 16, hl.TailStrategy.GuardWithIf).parallel(y)
    for stage in stages:
        stage.compute_at(out, x).vectorize(x, 16)


def unrolled(rows):
    """Blocks of rows of one vector; sums along rows are shared in registers."""

    def schedule(out, stages, x, y):
        yo, yi, xi = hl.Var("yo"), hl.Var("yi"), hl.Var("xi")
        out.split(y, yo, y, 64, hl.TailStrategy.ShiftInwards).parallel(yo)
        out.tile(x, y, xi, yi, 16, rows, hl.TailStrategy.ShiftInwards).vectorize(xi, 16).unroll(yi)
        for stage in stages:
            stage.compute_at(out, x).vectorize(x, 16).unroll(y)

    return schedule


def strips(rows):
    """The Halide repository: strips of rows, the first stages in line buffers."""

    def schedule(out, stages, x, y):
        yi = hl.Var("yi")
        out.split(y, y, yi, rows, hl.TailStrategy.ShiftInwards).parallel(y).vectorize(x, 16)
        for stage in stages:
            stage.store_at(out, y).compute_at(out, yi).vectorize(x, 16)

    return schedule


SCHEDULES = {"tiles": tiles, "unrolled": unrolled(4), "strips": strips(32)}


def pipeline(kind, make):
    """Functions for all schedules."""

    def runs(source, result, weights):
        if hl is None:
            return {}
        found = {}
        height, width = source.shape
        for name, schedule in SCHEDULES.items():
            param, f = source_of(kind, width, height)
            x, y = hl.Var("x"), hl.Var("y")
            out, stages = make(f, x, y, weights)
            for dim, extent, stride in ((0, width, 1), (1, height, width)):
                out.output_buffer().dim(dim).set_bounds(0, extent).set_stride(stride)
            schedule(out, stages, x, y)
            compiled = hl.Pipeline(out).compile_to_callable([param], hl.get_jit_target_from_environment())
            a, b = hl.Buffer(source), hl.Buffer(result)

            def run(compiled=compiled, a=a, b=b):
                compiled(a, b)
                return result

            found["Halide, " + name] = run
        return found

    return runs


def sum_of(weights, at):
    r = len(weights) // 2
    total = hl.f32(float(weights[r])) * at(0)
    for i in range(1, r + 1):
        total = total + hl.f32(float(weights[r + i])) * (at(-i) + at(i))
    return total


def separable(load, finish):
    def make(f, x, y, weights):
        down, out = hl.Func("down"), hl.Func("out")
        down[x, y] = sum_of(weights, lambda i: load(f[x, y + i]))
        out[x, y] = finish(sum_of(weights, lambda i: down[x + i, y]), load(f[x, y]))
        return out, (down,)

    return make


def single(value):
    def make(f, x, y, weights):
        out = hl.Func("out")
        out[x, y] = value(lambda i, j: f[x + i, y + j], weights)
        return out, ()

    return make


def box3(f, x, y, _weights):
    across, out = hl.Func("across"), hl.Func("out")
    across[x, y] = (f[x - 1, y] + f[x, y] + f[x + 1, y]) / 3
    out[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) / 3
    return out, (across,)


def harris(f, x, y, _weights):
    ix, iy, out = hl.Func("ix"), hl.Func("iy"), hl.Func("out")
    one, two = hl.f32(1 / 12), hl.f32(2 / 12)
    ix[x, y] = one * (f[x + 1, y - 1] - f[x - 1, y - 1] + f[x + 1, y + 1] - f[x - 1, y + 1]) + two * (f[x + 1, y] - f[x - 1, y])
    iy[x, y] = one * (f[x - 1, y + 1] - f[x - 1, y - 1] + f[x + 1, y + 1] - f[x + 1, y - 1]) + two * (f[x, y + 1] - f[x, y - 1])

    def box(of):
        return sum((of(x + i, y + j) for j in (-1, 0, 1) for i in (-1, 0, 1)), hl.f32(0))

    xx, yy = box(lambda x, y: ix[x, y] * ix[x, y]), box(lambda x, y: iy[x, y] * iy[x, y])
    xy = box(lambda x, y: ix[x, y] * iy[x, y])
    out[x, y] = xx * yy - xy * xy - hl.f32(0.04) * (xx + yy) * (xx + yy)
    return out, (ix, iy)


def sobel(at, _weights):
    across = hl.f32(0.25) * (at(1, -1) - at(-1, -1) + at(1, 1) - at(-1, 1)) + hl.f32(0.5) * (at(1, 0) - at(-1, 0))
    down = hl.f32(0.25) * (at(-1, 1) - at(-1, -1) + at(1, 1) - at(1, -1)) + hl.f32(0.5) * (at(0, 1) - at(0, -1))
    return hl.sqrt(across * across + down * down)


def convolution(at, weights):
    r = len(weights) // 2
    terms = [hl.f32(float(weights[j + r][i + r])) * at(i, j) for j in range(-r, r + 1) for i in range(-r, r + 1)]
    return sum(terms[1:], terms[0])


def smallest(at, _weights):
    def least(values):
        return values[0] if len(values) == 1 else hl.min(values[0], least(values[1:]))

    return least([at(i, j) for j in (-1, 0, 1) for i in (-1, 0, 1)])


def as_float(v):
    return hl.cast(hl.Float(32), v)


def plain(sum_, _v):
    return sum_


def byte(v):
    return hl.cast(hl.UInt(8), hl.clamp(v, hl.f32(0), hl.f32(255)) + hl.f32(0.5))


def sharpened(sum_, v):
    return v + hl.f32(1.5) * (v - sum_)


HALIDE = {}
if hl is not None:
    F32, U8 = hl.Float(32), hl.UInt(8)
    gauss = pipeline(F32, separable(lambda v: v, plain))
    HALIDE = {
        "box3_i32": pipeline(hl.Int(32), box3),
        "gauss3_f32": gauss,
        "gauss5_f32": gauss,
        "gauss15_f32": gauss,
        "gauss31_f32": gauss,
        "gauss7_u8": pipeline(U8, separable(as_float, lambda s, _v: byte(s))),
        "sharpen_u8": pipeline(U8, separable(as_float, lambda s, v: byte(sharpened(s, v)))),
        "unsharp7_f32": pipeline(F32, separable(lambda v: v, sharpened)),
        "sobel_f32": pipeline(F32, single(sobel)),
        "laplace_f32": pipeline(F32, single(lambda at, _w: at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - hl.f32(4) * at(0, 0))),
        "harris_f32": pipeline(F32, harris),
        "conv5_f32": pipeline(F32, single(convolution)),
        "conv9_f32": pipeline(F32, single(convolution)),
        "erode3_u8": pipeline(U8, single(smallest)),
    }
