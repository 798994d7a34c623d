"""Four Jacobi sweeps for the Poisson equation in the plane by Devito, in C code that it generates.

    sweeps.py N RUNS

prints the seconds of processor time of the fastest run.
"""

import sys
import time

import numpy
from devito import Eq, Function, Grid, Operator, TimeFunction, configuration

configuration["log-level"] = "ERROR"
n, runs = int(sys.argv[1]), int(sys.argv[2])
grid = Grid(shape=(n + 1, n + 1), extent=(1.0, 1.0), dtype=numpy.float32)
u = TimeFunction(name="u", grid=grid, space_order=2)
f = Function(name="f", grid=grid, space_order=2)
x, y = grid.dimensions
scale = numpy.float32(n) * numpy.float32(n)
residual = f - scale * (4 * u - u.subs(x, x + x.spacing) - u.subs(x, x - x.spacing) - u.subs(y, y + y.spacing) - u.subs(y, y - y.spacing))
sweep = Operator(Eq(u.forward, u + numpy.float32(0.2) / scale * residual, subdomain=grid.interior))
f.data[:] = 1
sweep.apply(time_m=0, time_M=3)
best = 1e30
for _ in range(runs):
    start = time.process_time()
    sweep.apply(time_m=0, time_M=3)
    best = min(best, time.process_time() - start)
print(best)
