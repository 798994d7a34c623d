// Scores of global alignments in CUDA C++, by the scheme of the library `align`: a kernel per diagonal of tiles, a warp per tile, 16 rows per
// lane, differences of scores in registers, edges handed to the next lane by shuffles. Each line: name, microseconds, 0, score.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

constexpr int LANES = 32, ROWS = 16, HEIGHT = LANES * ROWS, WIDTH = 512;
constexpr int SAME = 2, DIFFERENT = -1;

struct Edges { int *top, *top_gaps, *left, *left_gaps; };

template <int OPEN, int EXTEND>
__global__ void diagonal(int n, int m, int number, int first_stripe, Edges edges, const unsigned char *query, const unsigned char *subject) {
    constexpr int FIRST = OPEN + EXTEND;
    constexpr bool HAS_GAPS = OPEN != 0;
    int stripe = first_stripe + blockIdx.x, lane = threadIdx.x;
    int i = stripe * HEIGHT, j = (number - stripe) * WIDTH;
    int rows = min(HEIGHT, n - i), columns = min(WIDTH, m - j);
    int left[ROWS], gap[ROWS], letter[ROWS];
    // Missing rows are the first ones.
    int missing = HEIGHT - rows, first_lane = missing / ROWS;
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        int row = lane * ROWS + k - missing;
        left[k] = row >= 0 ? edges.left[i + row] : 0;
        gap[k] = HAS_GAPS && row >= 0 ? edges.left_gaps[i + row] : 0;
        letter[k] = row >= 0 ? query[i + row] : 0;
    }
    int below = 0, below_gap = 0;
    auto step = [&](int t, bool is_whole) {
        int column = t - lane + first_lane;
        bool inside = is_whole || (column >= 0 && column < columns);
        int given = t < columns ? edges.top[j + t] : 0, given_gap = HAS_GAPS && t < columns ? edges.top_gaps[j + t] : 0;
        int top = __shfl_up_sync(0xffffffff, below, 1), top_gap = HAS_GAPS ? __shfl_up_sync(0xffffffff, below_gap, 1) : 0;
        if (lane == first_lane) top = given, top_gap = given_gap;
        int other = inside ? subject[j + column] : 0;
#pragma unroll
        for (int k = 0; k < ROWS; ++k) {
            int down = HAS_GAPS ? top_gap : top, right = HAS_GAPS ? gap[k] : left[k];
            int others = max((letter[k] == other ? SAME : DIFFERENT) + 2 * FIRST, right), score = max(others, down);
            bool is_there = is_whole || (inside && lane * ROWS + k >= missing);
            int next_top = score - left[k], next_left = score - top;
            int next_top_gap = max(others, down + OPEN) - left[k], next_gap = max(score, right + OPEN) - top;
            if (is_there) {
                left[k] = next_left;
                top = next_top;
                if (HAS_GAPS) top_gap = next_top_gap, gap[k] = next_gap;
            }
        }
        below = top;
        below_gap = top_gap;
        if (lane == LANES - 1 && column >= 0) {
            edges.top[j + column] = below;
            if (HAS_GAPS) edges.top_gaps[j + column] = below_gap;
        }
    };
    int end = columns + LANES - 1 - first_lane;
    bool has_whole = missing == 0 && columns > LANES;
    int whole = has_whole ? LANES - 1 : end, ramp = has_whole ? columns : end;
    for (int t = 0; t < whole; ++t) step(t, false);
    for (int t = whole; t < ramp; ++t) step(t, true);
    for (int t = ramp; t < end; ++t) step(t, false);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        int row = lane * ROWS + k - missing;
        if (row >= 0) {
            edges.left[i + row] = left[k];
            if (HAS_GAPS) edges.left_gaps[i + row] = gap[k];
        }
    }
}

template <class T>
T *on_device(const std::vector<T> &data) {
    T *copy;
    cudaMalloc(&copy, data.size() * sizeof(T) + 1);
    cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice);
    return copy;
}

template <int OPEN, int EXTEND>
int score(const std::vector<unsigned char> &query, const std::vector<unsigned char> &subject) {
    int n = (int)query.size(), m = (int)subject.size();
    auto start = [](int length) {
        std::vector<int> edge(length, OPEN);
        edge[0] = 0;
        return edge;
    };
    std::vector<int> left = start(n);
    Edges edges{on_device(start(m)), on_device(start(m)), on_device(left), on_device(left)};
    unsigned char *q = on_device(query), *s = on_device(subject);
    int n_stripes = (n + HEIGHT - 1) / HEIGHT, n_tiles = (m + WIDTH - 1) / WIDTH;
    for (int number = 0; number < n_stripes + n_tiles - 1; ++number) {
        int first = std::max(number - n_tiles + 1, 0), last = std::min(number, n_stripes - 1);
        diagonal<OPEN, EXTEND><<<last - first + 1, LANES>>>(n, m, number, first, edges, q, s);
    }
    cudaMemcpy(left.data(), edges.left, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (void *memory : {(void *)edges.top, (void *)edges.top_gaps, (void *)edges.left, (void *)edges.left_gaps, (void *)q, (void *)s}) cudaFree(memory);
    int sum = -(OPEN + m * EXTEND);
    for (int difference : left) sum += difference - (OPEN + EXTEND);
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
void measure(const char *name, int n) {
    auto query = letters(n, 1), subject = letters(n, 2);
    long long best = 1000000000000;
    int found = 0;
    for (int round = 0; round < 3; ++round) {
        auto start = std::chrono::steady_clock::now();
        found = score<OPEN, EXTEND>(query, subject);
        long long time = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
        best = std::min(best, time);
    }
    std::printf("%s %lld 0 %d\n", name, best, found);
}

int main() {
    measure<0, 1>("linear-100k", 100000);
    measure<2, 1>("affine-100k", 100000);
    measure<0, 1>("linear-400k", 400000);
    measure<2, 1>("affine-400k", 400000);
}
