// The filters of `images.impala` in CUDA C++, written for speed: `nvcc -O3 -use_fast_math -arch=native -o images images.cu`.
// Threads compute several pixels of a column, or four adjacent columns, and keep shared values in registers.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t error = (call);                                                             \
        if (error != cudaSuccess) {                                                             \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                      \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

constexpr int SIZE = 4096, PIXELS = SIZE * SIZE, PICTURES = 6;

__device__ int inside(int i) { return min(max(i, 0), SIZE - 1); }

// ---- The mean of 3 x 3 integers, first along rows

__global__ void blur_pixel(const int* __restrict__ from, int* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, sum = 0;
    for (int j = -1; j <= 1; ++j) {
        const int* row = from + inside(y + j) * SIZE;
        sum += (row[inside(x - 1)] + row[x] + row[inside(x + 1)]) / 3;
    }
    to[y * SIZE + x] = sum / 3;
}

template <int LINES> __global__ void blur_column(const int* __restrict__ from, int* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * LINES;
    int left = inside(x - 1), right = inside(x + 1), kept[LINES + 2];
    #pragma unroll
    for (int j = 0; j < LINES + 2; ++j) {
        const int* row = from + inside(y + j - 1) * SIZE;
        kept[j] = (row[left] + row[x] + row[right]) / 3;
    }
    #pragma unroll
    for (int j = 0; j < LINES; ++j) to[(y + j) * SIZE + x] = (kept[j] + kept[j + 1] + kept[j + 2]) / 3;
}

template <int LINES> __global__ void blur_wide(const int* __restrict__ from, int* __restrict__ to) {
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = (blockIdx.y * blockDim.y + threadIdx.y) * LINES;
    int kept[LINES + 2][4];
    #pragma unroll
    for (int j = 0; j < LINES + 2; ++j) {
        const int* row = from + inside(y + j - 1) * SIZE;
        int4 here = *reinterpret_cast<const int4*>(row + x);
        int before = row[max(x - 1, 0)], after = row[min(x + 4, SIZE - 1)];
        kept[j][0] = (before + here.x + here.y) / 3;
        kept[j][1] = (here.x + here.y + here.z) / 3;
        kept[j][2] = (here.y + here.z + here.w) / 3;
        kept[j][3] = (here.z + here.w + after) / 3;
    }
    #pragma unroll
    for (int j = 0; j < LINES; ++j) {
        int mean[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) mean[i] = (kept[j][i] + kept[j + 1][i] + kept[j + 2][i]) / 3;
        *reinterpret_cast<int4*>(to + (y + j) * SIZE + x) = make_int4(mean[0], mean[1], mean[2], mean[3]);
    }
}

// ---- Harris' corners: Sobel's gradient, its products summed over 3 x 3 pixels

struct Moments { float xx, xy, yy; };

__device__ Moments operator+(Moments a, Moments b) { return {a.xx + b.xx, a.xy + b.xy, a.yy + b.yy}; }

__device__ float corner(Moments m) {
    float trace = m.xx + m.yy;
    return m.xx * m.yy - m.xy * m.xy - 0.04f * trace * trace;
}

// The products of the gradient in the middle of three rows.
__device__ Moments moments(const float* above, const float* here, const float* below) {
    float gx = (above[2] - above[0]) + 2 * (here[2] - here[0]) + (below[2] - below[0]);
    float gy = (below[0] - above[0]) + 2 * (below[1] - above[1]) + (below[2] - above[2]);
    gx *= 1 / 12.0f;
    gy *= 1 / 12.0f;
    return {gx * gx, gx * gy, gy * gy};
}

// WIDTH columns of corners from rows of WIDTH + 4 pixels, which `load` reads, top to bottom; `store` writes each result.
template <int WIDTH, int LINES, class Load, class Store> __device__ void corners(Load load, Store store) {
    float rows[3][WIDTH + 4];
    Moments sums[3][WIDTH];
    load(-2, rows[0]);
    load(-1, rows[1]);
    #pragma unroll
    for (int k = 0; k < LINES + 2; ++k) {
        load(k, rows[(k + 2) % 3]);
        Moments products[WIDTH + 2];
        #pragma unroll
        for (int i = 0; i < WIDTH + 2; ++i) products[i] = moments(rows[k % 3] + i, rows[(k + 1) % 3] + i, rows[(k + 2) % 3] + i);
        #pragma unroll
        for (int i = 0; i < WIDTH; ++i) sums[k % 3][i] = products[i] + products[i + 1] + products[i + 2];
        if (k >= 2) {
            float results[WIDTH];
            #pragma unroll
            for (int i = 0; i < WIDTH; ++i) results[i] = corner(sums[0][i] + sums[1][i] + sums[2][i]);
            store(k - 2, results);
        }
    }
}

template <int LINES> __global__ void harris_column(const float* __restrict__ from, float* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * LINES;
    auto load = [&](int j, float* row) {
        #pragma unroll
        for (int i = 0; i < 5; ++i) row[i] = from[inside(y + j) * SIZE + inside(x + i - 2)];
    };
    corners<1, LINES>(load, [&](int j, const float* results) { to[(y + j) * SIZE + x] = results[0]; });
}

template <int LINES> __global__ void harris_wide(const float* __restrict__ from, float* __restrict__ to) {
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = (blockIdx.y * blockDim.y + threadIdx.y) * LINES;
    bool first = x == 0, last = x + 4 == SIZE;
    auto load = [&](int j, float* row) {
        const float* start = from + inside(y + j) * SIZE + x;
        float4 here = *reinterpret_cast<const float4*>(start);
        float2 before = first ? make_float2(here.x, here.x) : *reinterpret_cast<const float2*>(start - 2);
        float2 after = last ? make_float2(here.w, here.w) : *reinterpret_cast<const float2*>(start + 4);
        row[0] = before.x, row[1] = before.y, row[2] = here.x, row[3] = here.y;
        row[4] = here.z, row[5] = here.w, row[6] = after.x, row[7] = after.y;
    };
    corners<4, LINES>(load, [&](int j, const float* results) {
        *reinterpret_cast<float4*>(to + (y + j) * SIZE + x) = make_float4(results[0], results[1], results[2], results[3]);
    });
}

// ---- The measurement

template <class T, class Run> void measure(const char* name, T* to, Run run) {
    constexpr int LAUNCHES = 4 * PICTURES;
    double best = 1e30;
    for (int batch = 0; batch < 40; ++batch) {
        CHECK(cudaDeviceSynchronize());
        auto start = std::chrono::steady_clock::now();
        for (int k = 0; k < LAUNCHES; ++k) run(k % PICTURES);
        CHECK(cudaDeviceSynchronize());
        double time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / LAUNCHES;
        if (batch > 0 && time < best) best = time;
    }
    CHECK(cudaGetLastError());
    std::vector<T> host(PIXELS);
    CHECK(cudaMemcpy(host.data(), to, sizeof(T) * PIXELS, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < PIXELS; ++i) sum += std::abs(double(host[i])) * (i % 1021 + 1);
    printf("%s %f %d %f\n", name, best, 8 * PIXELS, sum);
}

template <class T> T* pictures(T (*pixel)(int)) {
    std::vector<T> host(PIXELS);
    for (int i = 0; i < PIXELS; ++i) host[i] = pixel(i);
    T* all;
    CHECK(cudaMalloc(&all, sizeof(T) * PIXELS * PICTURES));
    for (int k = 0; k < PICTURES; ++k) CHECK(cudaMemcpy(all + k * PIXELS, host.data(), sizeof(T) * PIXELS, cudaMemcpyHostToDevice));
    return all;
}

// Launches a kernel on picture `k`, with threads for `width` x `height` pixels each.
template <class T> void launch(void (*kernel)(const T*, T*), int k, const T* from, T* to, int width, int height, dim3 block) {
    dim3 grid(SIZE / width / block.x, SIZE / height / block.y);
    kernel<<<grid, block>>>(from + k * PIXELS, to + k * PIXELS);
}

int main() {
    int* ints = pictures<int>([](int i) { return int(unsigned(i) * 2654435761u >> 13 & 1023); });
    float* floats = pictures<float>([](int i) { return int(unsigned(i) * 2654435761u >> 13 & 1023) / 1023.0f; });
    int* means = pictures<int>([](int) { return 0; });
    float* measures = reinterpret_cast<float*>(means);
    auto copy = [&](int k) { CHECK(cudaMemcpyAsync(means + k * PIXELS, ints + k * PIXELS, 4 * PIXELS, cudaMemcpyDeviceToDevice)); };
    measure("copy/driver", means, copy);
    measure("blur/pixel", means, [&](int k) { launch(blur_pixel, k, ints, means, 1, 1, dim3(32, 8)); });
    measure("blur/column8", means, [&](int k) { launch(blur_column<8>, k, ints, means, 1, 8, dim3(128, 2)); });
    measure("blur/column16", means, [&](int k) { launch(blur_column<16>, k, ints, means, 1, 16, dim3(128, 2)); });
    measure("blur/wide4", means, [&](int k) { launch(blur_wide<4>, k, ints, means, 4, 4, dim3(32, 8)); });
    measure("blur/wide8", means, [&](int k) { launch(blur_wide<8>, k, ints, means, 4, 8, dim3(32, 8)); });
    measure("harris/column8", measures, [&](int k) { launch(harris_column<8>, k, floats, measures, 1, 8, dim3(128, 2)); });
    measure("harris/column16", measures, [&](int k) { launch(harris_column<16>, k, floats, measures, 1, 16, dim3(128, 2)); });
    measure("harris/wide4", measures, [&](int k) { launch(harris_wide<4>, k, floats, measures, 4, 4, dim3(32, 8)); });
    measure("harris/wide8", measures, [&](int k) { launch(harris_wide<8>, k, floats, measures, 4, 8, dim3(32, 4)); });
    measure("harris/wide16", measures, [&](int k) { launch(harris_wide<16>, k, floats, measures, 4, 16, dim3(32, 4)); });
    return 0;
}
