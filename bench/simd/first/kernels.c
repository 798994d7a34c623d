// The same kernels in C, as loops that compilers vectorize. A name that ends in `_blocked` is a second version, blocked by hand;
// the faster one counts.
#include <math.h>
#include <stdint.h>
#include <string.h>

#define K(name, A, B, O) void name(int n, const A *restrict x, const B *restrict y, O *restrict out)

K(sum_f32, float, float, float) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    out[0] = sum;
}
K(sum_f64, double, double, double) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    out[0] = sum;
}
K(dot_f32, float, float, float) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    out[0] = sum;
}
K(max_f32, float, float, float) {
    float largest = x[0];
    for (int i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    out[0] = largest;
}
K(argmin_f32, float, float, int) {
    float value = x[0];
    int at = 0;
    for (int i = 1; i < n; ++i)
        if (x[i] < value) value = x[i], at = i;
    out[0] = at;
}
K(argmin_f32_blocked, float, float, int) {
    float value = x[0];
    for (int i = 1; i < n; ++i) value = x[i] < value ? x[i] : value;
    int at = 0;
    while (x[at] != value) ++at;
    out[0] = at;
}
K(sum_bytes, uint8_t, uint8_t, int) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    out[0] = sum;
}
K(count_lines, uint8_t, uint8_t, int) {
    int count = 0;
    for (int i = 0; i < n; ++i) count += x[i] == 10;
    out[0] = count;
}
K(softmax_f32, float, float, float) {
    float largest = x[0], sum = 0;
    for (int i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    for (int i = 0; i < n; ++i) sum += out[i] = expf(x[i] - largest);
    for (int i = 0; i < n; ++i) out[i] /= sum;
}
typedef struct { const int *bounds, *columns; const float *values; } Sparse;
K(sparse_rows, Sparse, float, float) {
    const int *restrict bounds = x->bounds, *restrict columns = x->columns;
    const float *restrict values = x->values;
    for (int row = 0; row < n; ++row) {
        float sum = 0;
        for (int k = bounds[row]; k < bounds[row + 1]; ++k) sum += values[k] * y[columns[k]];
        out[row] = sum;
    }
}
K(sparse_entries, Sparse, float, float) {
    const int *restrict bounds = x->bounds, *restrict columns = x->columns;
    const float *restrict values = x->values;
    for (int row = 0; row < n; ++row) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int k = bounds[row]; k < bounds[row + 1]; ++k) sum += values[k] * y[columns[k]];
        out[row] = sum;
    }
}
K(prefix_sum_i32, int, int, int) {
    int sum = 0;
    for (int i = 0; i < n; ++i) out[i] = sum += x[i];
}
K(prefix_sum_i32_blocked, int, int, int) {
    int sum = 0;
#pragma omp simd reduction(inscan, + : sum)
    for (int i = 0; i < n; ++i) {
        sum += x[i];
#pragma omp scan inclusive(sum)
        out[i] = sum;
    }
}
K(prefix_sum_f32, float, float, float) {
    float sum = 0;
    for (int i = 0; i < n; ++i) { out[i] = sum; sum += x[i]; }
}

K(saxpy, float, float, float) {
    for (int i = 0; i < n; ++i) out[i] = 2.5f * x[i] + y[i];
}
K(stencil_1d, float, float, float) {
    for (int i = 1; i < n - 1; ++i) out[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}
K(stencil_2d, float, float, float) {
    const int width = 64;
    for (int row = 1; row < n / width - 1; ++row)
        for (int column = 1; column < width - 1; ++column) {
            int at = row * width + column;
            out[at] = 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - width] + x[at + width]);
        }
}
static inline int weighted(const uint8_t *x) { return x[-1] + 2 * x[0] + x[1]; }
K(blur_bytes, uint8_t, uint8_t, uint8_t) {
    const int width = 128;
    for (int row = 1; row < n / width - 1; ++row)
        for (int column = 1; column < width - 1; ++column) {
            const uint8_t *at = x + row * width + column;
            out[row * width + column] = (weighted(at - width) + 2 * weighted(at) + weighted(at + width) + 8) / 16;
        }
}
K(mix_audio, int16_t, int16_t, int16_t) {
    for (int i = 0; i < n; ++i) {
        int sum = x[i] + y[i];
        out[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
}
K(brighten, uint8_t, uint8_t, uint8_t) {
    for (int i = 0; i < n; ++i) {
        int sum = x[i] + y[i];
        out[i] = sum > 255 ? 255 : sum;
    }
}
K(blend_pixels, uint8_t, uint8_t, uint8_t) {
    for (int i = 0; i < n; ++i) out[i] = (x[i] * 77 + y[i] * 178 + 127) / 255;
}
typedef struct { uint8_t red, green, blue; } Pixel;
K(gray, Pixel, Pixel, uint8_t) {
    for (int i = 0; i < n; ++i) out[i] = (77 * x[i].red + 150 * x[i].green + 29 * x[i].blue) >> 8;
}
typedef struct { float re, im; } Complex;
K(multiply_complex, Complex, Complex, Complex) {
    for (int i = 0; i < n; ++i) {
        out[i].re = x[i].re * y[i].re - x[i].im * y[i].im;
        out[i].im = x[i].re * y[i].im + x[i].im * y[i].re;
    }
}
K(random_numbers, uint32_t, uint32_t, float) {
    for (int i = 0; i < n; ++i) {
        uint32_t seed = x[i];
        float sum = 0;
        for (int k = 0; k < 8; ++k) {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            sum += (float)(seed >> 8) * (1.0f / 16777216.0f);
        }
        out[i] = sum;
    }
}
K(collatz, uint32_t, uint32_t, int) {
    for (int i = 0; i < n; ++i) {
        uint32_t value = x[i];
        int steps = 0;
        while (value > 1) {
            value = value & 1 ? 3 * value + 1 : value >> 1;
            ++steps;
        }
        out[i] = steps;
    }
}
K(polynomial, double, double, double) {
    for (int i = 0; i < n; ++i) {
        double v = x[i];
        out[i] = ((((0.1 * v + 0.2) * v + 0.3) * v + 0.4) * v + 0.5) * v + 0.6;
    }
}

K(exp_f32, float, float, float) { for (int i = 0; i < n; ++i) out[i] = expf(x[i]); }
K(sin_f32, float, float, float) { for (int i = 0; i < n; ++i) out[i] = sinf(x[i]); }
K(pow_f32, float, float, float) { for (int i = 0; i < n; ++i) out[i] = powf(x[i], y[i]); }
K(exp_f64, double, double, double) { for (int i = 0; i < n; ++i) out[i] = exp(x[i]); }
K(log_f64, double, double, double) { for (int i = 0; i < n; ++i) out[i] = log(x[i]); }
K(sin_f64, double, double, double) { for (int i = 0; i < n; ++i) out[i] = sin(x[i]); }
K(pow_f64, double, double, double) { for (int i = 0; i < n; ++i) out[i] = pow(x[i], y[i]); }

K(histogram, uint8_t, uint8_t, int) {
    for (int k = 0; k < 256; ++k) out[k] = 0;
    for (int i = 0; i < n; ++i) ++out[x[i]];
}
K(histogram_blocked, uint8_t, uint8_t, int) {
    int tables[4][256];
    memset(tables, 0, sizeof tables);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; ++k) ++tables[k][x[i + k]];
    for (; i < n; ++i) ++tables[0][x[i]];
    for (int k = 0; k < 256; ++k) out[k] = tables[0][k] + tables[1][k] + tables[2][k] + tables[3][k];
}
K(find_byte, uint8_t, uint8_t, int) {
    int i = 0;
    while (i < n && x[i] != 255) ++i;
    out[0] = i;
}
K(find_byte_blocked, uint8_t, uint8_t, int) {
    int i = 0;
    for (; i + 64 <= n; i += 64) {
        int any = 0;
        for (int k = 0; k < 64; ++k) any |= x[i + k] == 255;
        if (any) break;
    }
    while (i < n && x[i] != 255) ++i;
    out[0] = i;
}
static inline int first_pair(int n, const uint8_t *x, int i) {
    for (; i < n - 1; ++i)
        if (x[i] == 255 && x[i + 1] == 1) return i;
    return n;
}
K(find_pair, uint8_t, uint8_t, int) { out[0] = first_pair(n, x, 0); }
K(find_pair_blocked, uint8_t, uint8_t, int) {
    int i = 0;
    for (; i + 65 <= n; i += 64) {
        int any = 0;
        for (int k = 0; k < 64; ++k) any |= (x[i + k] == 255) & (x[i + k + 1] == 1);
        if (any) break;
    }
    out[0] = first_pair(n, x, i);
}
K(upper_case, uint8_t, uint8_t, uint8_t) {
    for (int i = 0; i < n; ++i) out[i] = x[i] >= 97 && x[i] <= 122 ? x[i] - 32 : x[i];
}
K(keep_positive, float, float, float) {
    int count = 0;
    for (int i = 0; i < n; ++i)
        if (x[i] > 0) out[count++] = x[i];
}
K(keep_positive_blocked, float, float, float) {
    int count = 0;
    for (int i = 0; i < n; ++i) {
        out[count] = x[i];
        count += x[i] > 0;
    }
}
// The packed order of the numbers from the back differs between versions; each group of 16 keeps its order.
K(partition, int, int, int) {
    int low = 0, high = n;
    for (int first = 0; first < n; first += 16) {
        int end = first + 16 < n ? first + 16 : n, n_high = 0;
        for (int i = first; i < end; ++i) n_high += x[i] >= 0;
        int at = high - n_high;
        high = at;
        for (int i = first; i < end; ++i) {
            if (x[i] < 0) out[low++] = x[i]; else out[at++] = x[i];
        }
    }
}
K(partition_blocked, int, int, int) {
    int low = 0, high = n;
    for (int first = 0; first < n; first += 16) {
        int end = first + 16 < n ? first + 16 : n, n_high = 0;
        for (int i = first; i < end; ++i) n_high += x[i] >= 0;
        int at = high - n_high;
        high = at;
        for (int i = first; i < end; ++i) {
            int is_low = x[i] < 0;
            out[is_low ? low : at] = x[i];
            low += is_low;
            at += !is_low;
        }
    }
}
K(binary_search, int, int, int) {
    for (int i = 0; i < n; ++i) {
        int low = 0, high = 1024;
        while (low < high) {
            int middle = (low + high) / 2;
            if (y[middle] < x[i]) low = middle + 1; else high = middle;
        }
        out[i] = low;
    }
}
K(binary_search_blocked, int, int, int) {
    for (int i = 0; i < n; ++i) {
        int low = 0;
        for (int step = 512; step > 0; step /= 2) low = y[low + step - 1] < x[i] ? low + step : low;
        out[i] = low + (y[low] < x[i]);
    }
}
static inline float hits(float x0, float y0, float z0, float x1, float y1, float z1) {
    float ox = 0.1f, oy = 0.2f, oz = -3.0f, dx = 2.0f, dy = -3.0f, dz = 1.0f;
    float ax = (x0 - ox) * dx, bx = (x1 - ox) * dx, ay = (y0 - oy) * dy, by = (y1 - oy) * dy;
    float az = (z0 - oz) * dz, bz = (z1 - oz) * dz;
    float near = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fminf(az, bz));
    float far = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fmaxf(az, bz));
    return near <= far ? near : 1e30f;
}
typedef struct { float x_min, y_min, z_min, x_max, y_max, z_max; } Box;
K(boxes_of_structs, Box, float, float) {
    for (int i = 0; i < n; ++i) out[i] = hits(x[i].x_min, x[i].y_min, x[i].z_min, x[i].x_max, x[i].y_max, x[i].z_max);
}
K(boxes_of_arrays, float, float, float) {
    for (int i = 0; i < n; ++i) out[i] = hits(x[i], x[i + n], x[i + 2 * n], x[i + 3 * n], x[i + 4 * n], x[i + 5 * n]);
}
K(small_matrices, float, float, float) {
    for (int m = 0; m < n; ++m)
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column) {
                float sum = 0;
                for (int k = 0; k < 4; ++k) sum += x[16 * m + 4 * row + k] * y[16 * m + 4 * k + column];
                out[16 * m + 4 * row + column] = sum;
            }
}
K(small_matrices_blocked, float, float, float) {
    for (int m = 0; m < n; ++m, x += 16, y += 16, out += 16)
        for (int row = 0; row < 4; ++row)
#pragma omp simd
            for (int column = 0; column < 4; ++column)
                out[4 * row + column] = x[4 * row] * y[column] + x[4 * row + 1] * y[4 + column]
                    + x[4 * row + 2] * y[8 + column] + x[4 * row + 3] * y[12 + column];
}
K(matrix_product, float, float, float) {
    for (int row = 0; row < n; ++row)
        for (int column = 0; column < n; ++column) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + column];
            out[row * n + column] = sum;
        }
}
K(matrix_product_blocked, float, float, float) {
    memset(out, 0, sizeof(float) * n * n);
    for (int row = 0; row < n; ++row)
        for (int k = 0; k < n; ++k) {
            float value = x[row * n + k];
            for (int column = 0; column < n; ++column) out[row * n + column] += value * y[k * n + column];
        }
}
K(blocked_product, float, float, float) {
    memset(out, 0, sizeof(float) * n * n);
    for (int row = 0; row + 4 <= n; row += 4)
        for (int k = 0; k < n; ++k) {
            const float *value = x + row * n + k;
            float a = value[0], b = value[n], c = value[2 * n], d = value[3 * n];
            float *restrict to = out + row * n;
            const float *restrict from = y + k * n;
#pragma omp simd
            for (int column = 0; column < n; ++column) {
                to[column] += a * from[column];
                to[column + n] += b * from[column];
                to[column + 2 * n] += c * from[column];
                to[column + 3 * n] += d * from[column];
            }
        }
}
// Registers hold the sums of 4 rows and 32 columns.
K(blocked_product_blocked, float, float, float) {
    int column = 0;
    for (; column + 32 <= n; column += 32)
        for (int row = 0; row + 4 <= n; row += 4) {
            float sums[4][32];
            memset(sums, 0, sizeof sums);
            for (int k = 0; k < n; ++k)
                for (int r = 0; r < 4; ++r)
#pragma omp simd
                    for (int c = 0; c < 32; ++c) sums[r][c] += x[(row + r) * n + k] * y[k * n + column + c];
            for (int r = 0; r < 4; ++r) memcpy(out + (row + r) * n + column, sums[r], sizeof sums[r]);
        }
    for (; column < n; ++column)
        for (int row = 0; row < n / 4 * 4; ++row) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + column];
            out[row * n + column] = sum;
        }
}
#define S(a, b) { float low = fminf(v[a], v[b]), high = fmaxf(v[a], v[b]); v[a] = low; v[b] = high; }
K(sort_columns, float, float, float) {
#pragma omp simd
    for (int i = 0; i < n; ++i) {
        float v[8];
        for (int k = 0; k < 8; ++k) v[k] = x[k * n + i];
        S(0, 1) S(2, 3) S(4, 5) S(6, 7)
        S(0, 2) S(1, 3) S(4, 6) S(5, 7)
        S(1, 2) S(5, 6) S(0, 4) S(3, 7)
        S(1, 5) S(2, 6)
        S(1, 4) S(3, 6)
        S(2, 4) S(3, 5)
        S(3, 4)
        for (int k = 0; k < 8; ++k) out[k * n + i] = v[k];
    }
}
