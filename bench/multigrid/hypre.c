// The Poisson equation in the plane by hypre: its geometric multigrid for structured grids (PFMG), on one rank.
//
//     hypre N TOLERANCE RELAXATION
//
// prints the seconds of processor time of the fastest of three solves, the cycles, and the solution at two points.

#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int n = atoi(argv[1]), relaxation = atoi(argv[3]);
    double tolerance = atof(argv[2]), h = 1.0 / n;
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    int lower[2] = {1, 1}, upper[2] = {n - 1, n - 1};
    size_t side = n - 1;

    HYPRE_StructGrid grid;
    HYPRE_StructGridCreate(MPI_COMM_WORLD, 2, &grid);
    HYPRE_StructGridSetExtents(grid, lower, upper);
    HYPRE_StructGridAssemble(grid);
    int offsets[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}, entries[5] = {0, 1, 2, 3, 4};
    HYPRE_StructStencil stencil;
    HYPRE_StructStencilCreate(2, 5, &stencil);
    for (int i = 0; i < 5; ++i) HYPRE_StructStencilSetElement(stencil, i, offsets[i]);

    double *values = malloc(5 * side * side * sizeof(double));
    for (size_t i = 0; i < side * side; ++i) {
        size_t x = i % side, y = i / side;
        values[5 * i] = 4 / (h * h);
        values[5 * i + 1] = x > 0 ? -1 / (h * h) : 0;
        values[5 * i + 2] = x + 1 < side ? -1 / (h * h) : 0;
        values[5 * i + 3] = y > 0 ? -1 / (h * h) : 0;
        values[5 * i + 4] = y + 1 < side ? -1 / (h * h) : 0;
    }
    HYPRE_StructMatrix matrix;
    HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &matrix);
    HYPRE_StructMatrixInitialize(matrix);
    HYPRE_StructMatrixSetBoxValues(matrix, lower, upper, 5, entries, values);
    HYPRE_StructMatrixAssemble(matrix);

    HYPRE_StructVector rhs, solution;
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &rhs);
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &solution);
    HYPRE_StructVectorInitialize(rhs);
    HYPRE_StructVectorInitialize(solution);
    for (size_t i = 0; i < side * side; ++i) values[i] = (double)(((i % side + 1) * 7 + (i / side + 1) * 13) % 101) - 50;
    HYPRE_StructVectorSetBoxValues(rhs, lower, upper, values);
    HYPRE_StructVectorAssemble(rhs);

    HYPRE_StructSolver solver;
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_StructPFMGSetMaxIter(solver, 100);
    HYPRE_StructPFMGSetTol(solver, tolerance);
    HYPRE_StructPFMGSetRelaxType(solver, relaxation);
    HYPRE_StructPFMGSetRAPType(solver, 1);
    HYPRE_StructPFMGSetNumPreRelax(solver, 1);
    HYPRE_StructPFMGSetNumPostRelax(solver, 1);
    HYPRE_StructPFMGSetup(solver, matrix, rhs, solution);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
        HYPRE_StructVectorSetConstantValues(solution, 0.0);
        clock_t start = clock();
        HYPRE_StructPFMGSolve(solver, matrix, rhs, solution);
        double time = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (time < best) best = time;
    }
    int cycles, middle[2] = {n / 2, n / 2}, quarter[2] = {n / 4, n / 2};
    double residual, u, v;
    HYPRE_StructPFMGGetNumIterations(solver, &cycles);
    HYPRE_StructPFMGGetFinalRelativeResidualNorm(solver, &residual);
    HYPRE_StructVectorGetValues(solution, middle, &u);
    HYPRE_StructVectorGetValues(solution, quarter, &v);
    printf("%.6f %d %.17g %.17g\n", best, residual <= tolerance ? cycles : -1, u, v);
    free(values);
    HYPRE_Finalize();
    MPI_Finalize();
}
