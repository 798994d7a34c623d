// The kernels of `plain` in CUDA C++, as they are written first: `nvcc -O3 -arch=native -o plain plain.cu`.

#include "measure.cuh"

__global__ void collatz(int n, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
    unsigned long long x = i + 1ull;
    while (x != 1) {
        x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        ++steps;
    }
    out[i] = steps;
}
__global__ void spmv(int n, const int* starts, const int* columns, const float* values, const float* x, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
__global__ void scan(int n, const float* x, float* y) {
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    sums[t] = x[i];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        float before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    y[i] = sums[t];
}
__global__ void monte_carlo(int n, int points, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    unsigned state = i * 2654435761u + 12345u;
    for (int k = 0; k < points; ++k) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float x = (state & 0xffff) / 65536.0f, y = (state >> 16) / 65536.0f;
        if (x * x + y * y < 1) ++inside;
    }
    out[i] = inside;
}
__global__ void particles(int n, float* p, float* v, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int d = 0; d < 3; ++d) {
        int at = d * n + i;
        float speed = v[at] - 9.81f * dt * d;
        float place = p[at] + speed * dt;
        if (place < 0) place = -place, speed = -speed;
        if (place > 1) place = 2 - place, speed = -speed;
        p[at] = place;
        v[at] = speed;
    }
}
__global__ void grey(int n, const unsigned char* pixels, unsigned char* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = pixels[4 * i], g = pixels[4 * i + 1], b = pixels[4 * i + 2];
    out[i] = (77 * r + 150 * g + 29 * b) >> 8;
}
__global__ void stencil7(int nx, int ny, int nz, const float* from, float* to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
        int i = (z * ny + y) * nx + x;
        to[i] = 0.4f * from[i] + 0.1f * (from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx] + from[i - nx * ny] + from[i + nx * ny]);
    }
}
__global__ void product(int n, const float* a, const float* b, float* c) {
    __shared__ float left[32][32], right[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    float sum = 0;
    for (int tile = 0; tile < n / 32; ++tile) {
        left[ty][tx] = a[y * n + tile * 32 + tx];
        right[ty][tx] = b[(tile * 32 + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
__global__ void softmax(int columns, const float* x, float* y) {
    __shared__ float parts[256];
    int row = blockIdx.x, t = threadIdx.x;
    float largest = -1e30f;
    for (int k = t; k < columns; k += 256) largest = fmaxf(largest, x[row * columns + k]);
    parts[t] = largest;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) parts[t] = fmaxf(parts[t], parts[t + half]);
    }
    __syncthreads();
    largest = parts[0];
    __syncthreads();
    float sum = 0;
    for (int k = t; k < columns; k += 256) sum += expf(x[row * columns + k] - largest);
    parts[t] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) parts[t] += parts[t + half];
    }
    __syncthreads();
    sum = parts[0];
    for (int k = t; k < columns; k += 256) y[row * columns + k] = expf(x[row * columns + k] - largest) / sum;
}
__global__ void sums(int n, const float* x, float* y) {
    __shared__ float parts[256];
    int t = threadIdx.x;
    parts[t] = x[blockIdx.x * blockDim.x + t];
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) parts[t] += parts[t + half];
    }
    if (t == 0) y[blockIdx.x] = parts[0];
}
__global__ void transposed(int n, const float* x, float* y) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 32;
    for (int k = 0; k < 32; k += 8) tile[ty + k][tx] = x[(by + ty + k) * n + bx + tx];
    __syncthreads();
    for (int k = 0; k < 32; k += 8) y[(bx + ty + k) * n + by + tx] = tile[tx][ty + k];
}
__global__ void histogram(int n, const unsigned char* bytes, int* counts) {
    __shared__ int bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[bytes[blockIdx.x * blockDim.x + t]], 1);
    __syncthreads();
    if (bins[t] > 0) atomicAdd(&counts[t], bins[t]);
}

__global__ void fill_rows(int n, int* starts, int* columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    starts[i] = 16 * i;
    for (int k = 0; k < 16; ++k) columns[16 * i + k] = (i + 37 * k) % n;
}

static int* ints(int n) {
    int* data;
    CHECK(cudaMalloc(&data, size_t(n) * 4));
    return data;
}

int main(int argc, char**) {
    int n = argc * 16777216, side = argc * 2048, rows = argc * 8192, area = side * side;
    float *x = floats(n), *y = floats(n);
    int* counts = ints(n);
    measure("collatz", SETS, 0, counts, 77, [&](int) { collatz<<<n / 256, 256>>>(n, counts); });
    int sparse = n / 16;
    int *starts = ints(sparse + 256), *columns = ints(n);
    fill_rows<<<sparse / 256 + 1, 256>>>(sparse, starts, columns);
    measure("spmv", SETS, 8.0 * n, y, 77, [&](int set) { spmv<<<sparse / 256, 128>>>(sparse / 2, starts, columns, x + size_t(set) * n, x, y); });
    measure("scan", SETS, 8.0 * n, y, 777, [&](int set) { scan<<<n / 256, 256>>>(n, x + size_t(set) * n, y + size_t(set) * n); });
    measure("monte-carlo", SETS, 0, counts, 77, [&](int) { monte_carlo<<<n / 4096, 256>>>(n / 16, 1000 * argc, counts); });
    measure("grey", SETS, 5.0 * n, counts, 77, [&](int set) {
        grey<<<n / 256, 256>>>(n, (const unsigned char*)(x + size_t(set) * n), (unsigned char*)counts);
    });
    measure("stencil7", SETS, 8.0 * n, y, 777777, [&](int set) {
        stencil7<<<dim3(256 * argc / 32, 64, 128), dim3(32, 4, 2)>>>(256 * argc, 256, 256, x + size_t(set) * n, y + size_t(set) * n);
    });
    measure("product", SETS, 0, y, 777 * side + 77, [&](int set) {
        product<<<dim3(side / 32, side / 32), dim3(32, 32)>>>(side, x + size_t(set) * area, x, y + size_t(set) * area);
    });
    measure("softmax", SETS, 8.0 * n, y, 777, [&](int set) { softmax<<<rows, 256>>>(n / rows, x + size_t(set) * n, y + size_t(set) * n); });
    measure("sums", SETS, 4.0 * n, y, 77, [&](int set) { sums<<<n / 256, 256>>>(n, x + size_t(set) * n, y); });
    int wide = 2 * side;
    measure("transposed", SETS, 8.0 * wide * wide, y, 777, [&](int set) {
        transposed<<<dim3(wide / 32, wide / 32), dim3(32, 8)>>>(wide, x + size_t(set) * wide * wide, y + size_t(set) * wide * wide);
    });
    CHECK(cudaMemset(counts, 0, 1024));
    measure("histogram", SETS, n, counts, 77, [&](int set) {
        cudaMemsetAsync(counts, 0, 1024);
        histogram<<<n / 256, 256>>>(n, (const unsigned char*)(x + size_t(set) * n), counts);
    });
    measure("particles", SETS, 16.0 * n, y, 77, [&](int set) {
        particles<<<n / 768, 256>>>(n / 768 * 256, x + size_t(set) * n, y + size_t(set) * n, 0.01f);
    });
    return 0;
}
