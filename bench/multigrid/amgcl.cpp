// The Poisson equation in the plane by AMGCL: conjugate gradients, preconditioned by algebraic multigrid with smoothed aggregation, on one thread.
//
//     amgcl N TOLERANCE
//
// prints the seconds of processor time of the fastest of three solves, without the set-up, the iterations, and the solution at two points.

// AMGCL relies on others for this one.
#include <boost/range.hpp>

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using Backend = amgcl::backend::builtin<double>;
using Preconditioner = amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0>;
using Solver = amgcl::make_solver<Preconditioner, amgcl::solver::cg<Backend>>;

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int n = atoi(argv[1]);
    double h = 1.0 / n, off = -1 / (h * h);
    ptrdiff_t side = n - 1, size = side * side;
    std::vector<ptrdiff_t> starts{0}, columns;
    std::vector<double> values, rhs(size);
    columns.reserve(5 * size);
    values.reserve(5 * size);
    for (ptrdiff_t i = 0; i < size; ++i) {
        ptrdiff_t x = i % side, y = i / side;
        auto add = [&](bool exists, ptrdiff_t column, double value) {
            if (exists) {
                columns.push_back(column);
                values.push_back(value);
            }
        };
        add(y > 0, i - side, off);
        add(x > 0, i - 1, off);
        add(true, i, -4 * off);
        add(x + 1 < side, i + 1, off);
        add(y + 1 < side, i + side, off);
        starts.push_back(columns.size());
        rhs[i] = ((x + 1) * 7 + (y + 1) * 13) % 101 - 50;
    }
    Solver::params options;
    options.solver.tol = atof(argv[2]);
    Solver solve(boost::tie(size, starts, columns, values), options);
    std::vector<double> solution(size);
    double best = 1e30;
    size_t iterations = 0;
    for (int run = 0; run < 3; ++run) {
        solution.assign(size, 0);
        double start = seconds(), error;
        boost::tie(iterations, error) = solve(rhs, solution);
        double time = seconds() - start;
        if (time < best) best = time;
    }
    auto at = [&](int x, int y) { return solution[(y - 1) * side + x - 1]; };
    printf("%.9g %zu %.17g %.17g\n", best, iterations, at(n / 2, n / 2), at(n / 4, n / 2));
}
