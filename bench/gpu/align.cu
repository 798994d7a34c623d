// Scores of global alignments in CUDA C++, by the scheme of the library `align`: a kernel per diagonal of tiles, a warp per tile, two lanes of 4
// or 16 rows per thread in pairs of 16-bit numbers, differences of scores in registers, edges handed to the next lane by shuffles. Letters that are equal, and those that are
// not, have one score each. Each line: name, microseconds, 0, score.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

constexpr int LANES = 32;
constexpr int SAME = 2, DIFFERENT = -1;

struct Edges { int *top, *top_gaps, *left, *left_gaps; };

__device__ unsigned both(int low, int high) { return (unsigned)low | ((unsigned)high << 16); }

// A tile. Rows beyond the last one are computed, too; the score does not depend on them.
template <int OPEN, int EXTEND, int ROWS, int WIDTH>
__global__ void diagonal(int n, int m, int number, int first_stripe, Edges edges, const unsigned char *query, const unsigned char *subject) {
    constexpr int FIRST = OPEN + EXTEND, HEIGHT = 2 * LANES * ROWS;
    constexpr bool HAS_GAPS = OPEN != 0;
    constexpr unsigned LEAST = 0xffff - (SAME - DIFFERENT);
    constexpr unsigned CLAMP = LEAST * 0x10001u, OFFSET = ((DIFFERENT + 2 * FIRST - LEAST) & 0xffff) * 0x10001u, OPENS = OPEN * 0x10001u;
    int stripe = first_stripe + blockIdx.x, lane = threadIdx.x;
    int i = stripe * HEIGHT + 2 * lane * ROWS, j = (number - stripe) * WIDTH, columns = min(WIDTH, m - j);
    unsigned left[ROWS], gap[ROWS], letter[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        left[k] = both(edges.left[i + k], edges.left[i + ROWS + k]);
        gap[k] = HAS_GAPS ? both(edges.left_gaps[i + k], edges.left_gaps[i + ROWS + k]) : 0;
        letter[k] = both(query[i + k] << 8, query[i + ROWS + k] << 8);
    }
    unsigned below = 0, below_gap = 0, other = 0;
    // What enters in a step is loaded in the step before.
    int given = edges.top[j], given_gap = HAS_GAPS ? edges.top_gaps[j] : 0;
    unsigned given_letter = subject[j - 2 * lane] << 8;
    auto step = [&](int t, bool is_whole) {
        int column = t - 2 * lane, entering = min(t + 1, columns - 1);
        unsigned top = __shfl_up_sync(0xffffffff, below, 1) >> 16, top_gap = HAS_GAPS ? __shfl_up_sync(0xffffffff, below_gap, 1) >> 16 : 0;
        if (lane == 0) top = given, top_gap = given_gap;
        top |= below << 16;
        top_gap |= below_gap << 16;
        other = other << 16 | given_letter;
        given = edges.top[j + entering];
        given_gap = HAS_GAPS ? edges.top_gaps[j + entering] : 0;
        given_letter = subject[j + column + 1] << 8;
        unsigned inside = (column >= 0 && column < columns ? 0xffff : 0) | (column >= 1 && column <= columns ? 0xffff0000 : 0);
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {
            unsigned down = HAS_GAPS ? top_gap : top, right = HAS_GAPS ? gap[k] : left[k];
            unsigned others = __viaddmax_u16x2(__vmaxu2(~(letter[k] ^ other), CLAMP), OFFSET, right), score = __vmaxu2(others, down);
            unsigned next_top = score - left[k], next_left = score - top;
            unsigned next_top_gap = __viaddmax_u16x2(down, OPENS, others) - left[k], next_gap = __viaddmax_u16x2(right, OPENS, score) - top;
            left[k] = is_whole ? next_left : (next_left & inside) | (left[k] & ~inside);
            top = next_top;
            if (HAS_GAPS) top_gap = next_top_gap, gap[k] = is_whole ? next_gap : (next_gap & inside) | (gap[k] & ~inside);
        }
        below = top;
        below_gap = top_gap;
        int leaving = t - 2 * LANES + 1;
        if (lane == LANES - 1 && leaving >= 0) {
            edges.top[j + leaving] = below >> 16;
            if (HAS_GAPS) edges.top_gaps[j + leaving] = below_gap >> 16;
        }
    };
    int end = columns + 2 * LANES - 1, whole = columns >= 2 * LANES ? 2 * LANES - 1 : end, ramp = columns >= 2 * LANES ? columns : end;
    for (int t = 0; t < whole; ++t) step(t, false);
    for (int t = whole; t < ramp; ++t) step(t, true);
    for (int t = ramp; t < end; ++t) step(t, false);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        edges.left[i + k] = left[k] & 0xffff, edges.left[i + ROWS + k] = left[k] >> 16;
        if (HAS_GAPS) edges.left_gaps[i + k] = gap[k] & 0xffff, edges.left_gaps[i + ROWS + k] = gap[k] >> 16;
    }
}

template <class T>
T *on_device(const std::vector<T> &data) {
    T *copy;
    cudaMalloc(&copy, data.size() * sizeof(T) + 1);
    cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice);
    return copy;
}

template <int OPEN, int EXTEND, int ROWS, int WIDTH>
int score(const std::vector<unsigned char> &query, const std::vector<unsigned char> &subject) {
    int n = (int)query.size(), m = (int)subject.size();
    auto start = [](int length) {
        std::vector<int> edge(length, OPEN);
        edge[0] = 0;
        return edge;
    };
    constexpr int HEIGHT = 2 * LANES * ROWS;
    int n_stripes = (n + HEIGHT - 1) / HEIGHT, n_tiles = (m + WIDTH - 1) / WIDTH;
    std::vector<int> left = start(n_stripes * HEIGHT);
    Edges edges{on_device(start(m)), on_device(start(m)), on_device(left), on_device(left)};
    // Threads read letters before the first column and after the last one.
    constexpr int AROUND = 2 * LANES;
    std::vector<unsigned char> rows(query), columns(AROUND);
    rows.resize(n_stripes * HEIGHT);
    columns.insert(columns.end(), subject.begin(), subject.end());
    columns.resize(m + 2 * AROUND);
    unsigned char *q = on_device(rows), *s = on_device(columns);
    for (int number = 0; number < n_stripes + n_tiles - 1; ++number) {
        int first = std::max(number - n_tiles + 1, 0), last = std::min(number, n_stripes - 1);
        diagonal<OPEN, EXTEND, ROWS, WIDTH><<<last - first + 1, LANES>>>(n, m, number, first, edges, q, s + AROUND);
    }
    cudaMemcpy(left.data(), edges.left, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (void *memory : {(void *)edges.top, (void *)edges.top_gaps, (void *)edges.left, (void *)edges.left_gaps, (void *)q, (void *)s}) cudaFree(memory);
    int sum = -(OPEN + m * EXTEND);
    for (int i = 0; i < n; ++i) sum += left[i] - (OPEN + EXTEND);
    return sum;
}

static std::vector<unsigned char> letters(int n, unsigned seed) {
    std::vector<unsigned char> all(n);
    for (auto &letter : all) {
        seed = seed * 1664525u + 1013904223u;
        letter = seed >> 30;
    }
    return all;
}

template <int OPEN, int EXTEND>
void measure(const char *name, int n, int n_rounds) {
    auto query = letters(n, 1), subject = letters(n, 2);
    long long best = 1000000000000;
    int found = 0;
    for (int round = 0; round < n_rounds; ++round) {
        auto start = std::chrono::steady_clock::now();
        found = n < 1000000 ? score<OPEN, EXTEND, 4, 256>(query, subject) : score<OPEN, EXTEND, 16, 512>(query, subject);
        long long time = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
        best = std::min(best, time);
    }
    std::printf("%s %lld 0 %d\n", name, best, found);
    std::fflush(stdout);
}

int main() {
    measure<0, 1>("linear-100k", 100000, 3);
    measure<2, 1>("affine-100k", 100000, 3);
    measure<0, 1>("linear-400k", 400000, 3);
    measure<2, 1>("affine-400k", 400000, 3);
    measure<0, 1>("linear-2M", 2000000, 1);
    measure<2, 1>("affine-2M", 2000000, 1);
    measure<2, 1>("affine-5M", 5000000, 1);
}
