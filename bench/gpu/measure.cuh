// What the measured programs in CUDA C++ share; `measure.impala` is the same for ours.

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

__global__ void fill(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = (i % 1024) / 1024.0f;
}

// As in `measure.impala`.
constexpr int SETS = 3, ROUNDS = 15;

static float* floats(int n) {
    float* data;
    if (cudaMalloc(&data, size_t(SETS) * n * 4) != cudaSuccess) exit(1);
    fill<<<SETS * n / 256, 256>>>(data, SETS * n);
    return data;
}

template <typename Body>
static void measure(const char* name, int launches, double bytes, const void* result, int at, Body body) {
    std::vector<float> times;
    for (int round = -2; round < ROUNDS; ++round) {
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        CHECK(cudaEventRecord(start));
        for (int k = 0; k < launches; ++k) body(k % SETS);
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float time;
        CHECK(cudaEventElapsedTime(&time, start, stop));
        if (round >= 0) times.push_back(time * 1000 / launches);
        CHECK(cudaEventDestroy(start));
        CHECK(cudaEventDestroy(stop));
    }
    std::sort(times.begin(), times.end());
    float value;
    CHECK(cudaMemcpy(&value, (const float*)result + at, 4, cudaMemcpyDeviceToHost));
    printf("%s %g %g %g\n", name, times[ROUNDS / 2], bytes, value);
    fflush(stdout);
}
