// The pipelines in C, as a good programmer writes them without intrinsics: separable filters in two passes over bands of rows that stay in
// a cache, loops that compilers vectorize, and OpenMP for bands. Compiled with -O3 -march=native -ffast-math.

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int at_most(int a, int b) { return a < b ? a : b; }
static int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static uint8_t byte_of(float v) { return (uint8_t)((v < 0 ? 0 : v > 255 ? 255 : v) + 0.5f); }

#define BAND 32

// A separable filter of FROM to TO: rows of sums of columns, with the edges repeated, and then sums along the row.
#define SEPARABLE(NAME, FROM, TO, CHANNELS, RADIUS, LOAD, FINISH)                                                                   \
    void NAME(const FROM *restrict a, TO *restrict b, int w, int h, const float *restrict k) {                                      \
        const int n = w * CHANNELS, pad = RADIUS * CHANNELS;                                                                        \
        _Pragma("omp parallel for schedule(dynamic)") for (int band = 0; band < (h + BAND - 1) / BAND; band++) {                    \
            float *restrict row = malloc(sizeof(float) * (n + 2 * pad));                                                            \
            for (int y = band * BAND; y < at_most((band + 1) * BAND, h); y++) {                                                     \
                const FROM *restrict from[2 * RADIUS + 1];                                                                          \
                for (int j = 0; j <= 2 * RADIUS; j++) from[j] = a + (size_t)clamped(y + j - RADIUS, h) * n;                         \
                for (int x = 0; x < n; x++) {                                                                                       \
                    float sum = 0;                                                                                                  \
                    for (int j = 0; j <= 2 * RADIUS; j++) sum += k[j] * LOAD(from[j][x]);                                           \
                    row[pad + x] = sum;                                                                                             \
                }                                                                                                                   \
                for (int i = 0; i < pad; i++) {                                                                                     \
                    row[i] = row[pad + i % CHANNELS];                                                                               \
                    row[pad + n + i] = row[pad + n - CHANNELS + i % CHANNELS];                                                      \
                }                                                                                                                   \
                TO *restrict to = b + (size_t)y * n;                                                                                \
                const FROM *restrict here = a + (size_t)y * n;                                                                      \
                for (int x = 0; x < n; x++) {                                                                                       \
                    float sum = 0;                                                                                                  \
                    for (int j = 0; j <= 2 * RADIUS; j++) sum += k[j] * row[x + j * CHANNELS];                                      \
                    to[x] = FINISH(sum, here[x]);                                                                                   \
                }                                                                                                                   \
            }                                                                                                                       \
            free(row);                                                                                                              \
        }                                                                                                                           \
    }

#define AS_FLOAT(v) ((float)(v))
#define PLAIN(s, v) (s)
#define BYTE(s, v) byte_of(s)
#define SHORT(s, v) ((uint16_t)((s) + 0.5f))
#define SHARP_BYTE(s, v) byte_of((v) + 1.5f * ((v) - (s)))
#define SHARP(s, v) ((v) + 1.5f * ((v) - (s)))
SEPARABLE(c_gauss3_f32, float, float, 1, 1, AS_FLOAT, PLAIN)
SEPARABLE(c_gauss5_f32, float, float, 1, 2, AS_FLOAT, PLAIN)
SEPARABLE(c_gauss15_f32, float, float, 1, 7, AS_FLOAT, PLAIN)
SEPARABLE(c_gauss31_f32, float, float, 1, 15, AS_FLOAT, PLAIN)
SEPARABLE(c_gauss63_f32, float, float, 1, 31, AS_FLOAT, PLAIN)
SEPARABLE(c_box15_f32, float, float, 1, 7, AS_FLOAT, PLAIN)
SEPARABLE(c_box3_u8, uint8_t, uint8_t, 1, 1, AS_FLOAT, BYTE)
SEPARABLE(c_gauss7_u8, uint8_t, uint8_t, 1, 3, AS_FLOAT, BYTE)
SEPARABLE(c_gauss5_u16, uint16_t, uint16_t, 1, 2, AS_FLOAT, SHORT)
SEPARABLE(c_gauss5_rgb, uint8_t, uint8_t, 3, 2, AS_FLOAT, BYTE)
SEPARABLE(c_sharpen_u8, uint8_t, uint8_t, 1, 2, AS_FLOAT, SHARP_BYTE)
SEPARABLE(c_unsharp7_f32, float, float, 1, 3, AS_FLOAT, SHARP)

// A filter of a window: rows with repeated edges are copied first, one for each row of the window.
#define WINDOW(NAME, FROM, TO, RADIUS, VALUE)                                                                                       \
    void NAME(const FROM *restrict a, TO *restrict b, int w, int h, const float *restrict k) {                                      \
        const int stride = w + 2 * RADIUS, n = 2 * RADIUS + 1;                                                                      \
        _Pragma("omp parallel for schedule(dynamic)") for (int band = 0; band < (h + BAND - 1) / BAND; band++) {                    \
            FROM *restrict rows = malloc(sizeof(FROM) * (size_t)stride * (BAND + 2 * RADIUS));                                      \
            for (int y = 0; y < BAND + 2 * RADIUS; y++) {                                                                           \
                const FROM *from = a + (size_t)clamped(band * BAND + y - RADIUS, h) * w;                                            \
                FROM *to = rows + (size_t)y * stride;                                                                               \
                for (int i = 0; i < RADIUS; i++) to[i] = from[0], to[RADIUS + w + i] = from[w - 1];                                 \
                memcpy(to + RADIUS, from, sizeof(FROM) * w);                                                                        \
            }                                                                                                                       \
            for (int y = band * BAND; y < at_most((band + 1) * BAND, h); y++) {                                                     \
                const FROM *restrict f = rows + (size_t)(y - band * BAND) * stride;                                                 \
                TO *restrict to = b + (size_t)y * w;                                                                                \
                for (int x = 0; x < w; x++) { VALUE; }                                                                              \
            }                                                                                                                       \
            free(rows);                                                                                                             \
        }                                                                                                                           \
    }

#define F(i, j) f[x + (i) + (j) * stride]
WINDOW(c_box3_i32, int32_t, int32_t, 1,
       to[x] = ((F(0, 0) + F(1, 0) + F(2, 0)) / 3 + (F(0, 1) + F(1, 1) + F(2, 1)) / 3 + (F(0, 2) + F(1, 2) + F(2, 2)) / 3) / 3)
WINDOW(c_laplace_f32, float, float, 1, to[x] = F(1, 0) + F(0, 1) + F(2, 1) + F(1, 2) - 4 * F(1, 1))
WINDOW(c_sobel_f32, float, float, 1,
       float gx = 0.25f * (F(2, 0) - F(0, 0) + F(2, 2) - F(0, 2)) + 0.5f * (F(2, 1) - F(0, 1));
       float gy = 0.25f * (F(0, 2) - F(0, 0) + F(2, 2) - F(2, 0)) + 0.5f * (F(1, 2) - F(1, 0)); to[x] = sqrtf(gx * gx + gy * gy))
WINDOW(c_angle_f32, float, float, 1,
       float gx = 0.25f * (F(2, 0) - F(0, 0) + F(2, 2) - F(0, 2)) + 0.5f * (F(2, 1) - F(0, 1));
       float gy = 0.25f * (F(0, 2) - F(0, 0) + F(2, 2) - F(2, 0)) + 0.5f * (F(1, 2) - F(1, 0)); to[x] = atan2f(gy, gx))
#define CONVOLVE float sum = 0; for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) sum += k[j * n + i] * F(i, j); to[x] = sum
WINDOW(c_conv5_f32, float, float, 2, CONVOLVE)
WINDOW(c_conv9_f32, float, float, 4, CONVOLVE)
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
WINDOW(c_erode3_u8, uint8_t, uint8_t, 1, uint8_t m = 255; for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) m = SMALLER(m, F(i, j)); to[x] = m)
WINDOW(c_erode5_u16, uint16_t, uint16_t, 2, uint16_t m = 65535; for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) m = SMALLER(m, F(i, j)); to[x] = m)
#define SORT(p, q) { uint8_t s = SMALLER(p, q), t = LARGER(p, q); p = s; q = t; }
WINDOW(c_median3_u8, uint8_t, uint8_t, 1,
       uint8_t p0 = F(0, 0); uint8_t p1 = F(1, 0); uint8_t p2 = F(2, 0); uint8_t p3 = F(0, 1); uint8_t p4 = F(1, 1); uint8_t p5 = F(2, 1);
       uint8_t p6 = F(0, 2); uint8_t p7 = F(1, 2); uint8_t p8 = F(2, 2);
       SORT(p1, p2) SORT(p4, p5) SORT(p7, p8) SORT(p0, p1) SORT(p3, p4) SORT(p6, p7) SORT(p1, p2) SORT(p4, p5) SORT(p7, p8)
       SORT(p0, p3) SORT(p5, p8) SORT(p4, p7) SORT(p3, p6) SORT(p1, p4) SORT(p2, p5) SORT(p4, p7) SORT(p4, p2) SORT(p6, p4) SORT(p4, p2)
       to[x] = p4)
#define BILATERAL                                                                                                                   \
    float c = F(2, 2), sum = 0, weights = 0;                                                                                        \
    for (int j = 0; j < n; j++)                                                                                                     \
        for (int i = 0; i < n; i++) {                                                                                               \
            float d = F(i, j) - c, e = expf(k[j * n + i] - 12.5f * d * d);                                                          \
            sum += e * F(i, j), weights += e;                                                                                       \
        }                                                                                                                           \
    to[x] = sum / weights
WINDOW(c_bilateral5_f32, float, float, 2, BILATERAL)
WINDOW(c_quick5_f32, float, float, 2, BILATERAL)
WINDOW(c_harris_f32, float, float, 2,
       float xx = 0; float xy = 0; float yy = 0;
       for (int j = 1; j < 4; j++) for (int i = 1; i < 4; i++) {
           float p = (F(i + 1, j - 1) - F(i - 1, j - 1) + 2 * (F(i + 1, j) - F(i - 1, j)) + F(i + 1, j + 1) - F(i - 1, j + 1)) / 12;
           float q = (F(i - 1, j + 1) - F(i - 1, j - 1) + 2 * (F(i, j + 1) - F(i, j - 1)) + F(i + 1, j + 1) - F(i + 1, j - 1)) / 12;
           xx += p * p; xy += p * q; yy += q * q; }
       to[x] = xx * yy - xy * xy - 0.04f * (xx + yy) * (xx + yy))

void c_gray_rgb(const uint8_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *p = a + 3 * ((size_t)y * w + x);
            b[(size_t)y * w + x] = (uint8_t)((p[0] * 4899u + p[1] * 9617u + p[2] * 1868u + 8192u) >> 14);
        }
}

void c_half_u8(const uint8_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
#pragma omp parallel for
    for (int y = 0; y < h / 2; y++) {
        const uint8_t *p = a + (size_t)2 * y * w, *q = p + w;
        for (int x = 0; x < w / 2; x++) b[(size_t)y * (w / 2) + x] = (uint8_t)((p[2 * x] + p[2 * x + 1] + q[2 * x] + q[2 * x + 1] + 2) >> 2);
    }
}

void c_integral_u8(const uint8_t *restrict a, int32_t *restrict b, int w, int h, const float *k) {
    for (int y = 0; y < h; y++) {
        int32_t sum = 0, *to = b + (size_t)y * w;
        for (int x = 0; x < w; x++) {
            sum += a[(size_t)y * w + x];
            to[x] = sum + (y ? to[x - w] : 0);
        }
    }
}

void c_sum_f32(const float *restrict a, double *restrict b, int w, int h, const float *k) {
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int y = 0; y < h; y++) {
        double sum = 0;
        for (int x = 0; x < w; x++) sum += a[(size_t)y * w + x];
        total += sum;
    }
    b[0] = total;
}

void c_histogram_u8(const uint8_t *restrict a, int32_t *restrict b, int w, int h, const float *k) {
    memset(b, 0, 1024);
#pragma omp parallel
    {
        int32_t t[4][256] = {{0}};
#pragma omp for
        for (int y = 0; y < h; y++) {
            const uint8_t *p = a + (size_t)y * w;
            int x = 0;
            for (; x + 4 <= w; x += 4) t[0][p[x]]++, t[1][p[x + 1]]++, t[2][p[x + 2]]++, t[3][p[x + 3]]++;
            for (; x < w; x++) t[0][p[x]]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; i++) b[i] += t[0][i] + t[1][i] + t[2][i] + t[3][i];
    }
}

// The sensor's rows are red and green, green and blue.
void c_camera_u16(const uint16_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
#pragma omp parallel for
    for (int y = 0; y < h; y++) {
        const uint16_t *p = a + (size_t)(y ? y - 1 : 1) * w, *q = a + (size_t)y * w, *r = a + (size_t)(y + 1 < h ? y + 1 : h - 2) * w;
        for (int x = 0; x < w; x++) {
            const int l = x ? x - 1 : 1, m = x + 1 < w ? x + 1 : w - 2;
            float here = q[x], beside = 0.5f * (q[l] + q[m]), above = 0.5f * (p[x] + r[x]);
            float cross = 0.25f * (q[l] + q[m] + p[x] + r[x]), corners = 0.25f * (p[l] + p[m] + r[l] + r[m]);
            float red = y % 2 ? (x % 2 ? corners : above) : (x % 2 ? beside : here);
            float green = x % 2 == y % 2 ? cross : here;
            float blue = y % 2 ? (x % 2 ? here : beside) : (x % 2 ? above : corners);
            const float c[3] = {red * (2 / 65535.f), green * (1 / 65535.f), blue * (1.5f / 65535.f)};
            for (int i = 0; i < 3; i++) b[3 * ((size_t)y * w + x) + i] = byte_of(255 * sqrtf(c[i] > 1 ? 1 : c[i]));
        }
    }
}

// ---- Pictures at right angles, colours of video, and filters of several pictures or steps

#define TURN(NAME, TYPE, N, FROM_ROW)                                                                                               \
    void NAME(const TYPE *restrict a, TYPE *restrict b, int w, int h, const float *k) {                                             \
        _Pragma("omp parallel for") for (int band = 0; band < (w + BAND - 1) / BAND; band++)                                        \
            for (int tile = 0; tile < h; tile += BAND)                                                                              \
                for (int y = band * BAND; y < at_most((band + 1) * BAND, w); y++)                                                   \
                    for (int x = tile; x < at_most(tile + BAND, h); x++)                                                            \
                        for (int c = 0; c < N; c++) b[N * ((size_t)y * h + x) + c] = a[N * ((size_t)(FROM_ROW)*w + y) + c];         \
    }
TURN(c_transpose_f32, float, 1, x)
TURN(c_turn_u8, uint8_t, 1, h - 1 - x)
TURN(c_turn_rgb, uint8_t, 3, h - 1 - x)

void c_flip_rgb(const uint8_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) b[3 * ((size_t)y * w + x) + c] = a[3 * ((size_t)y * w + w - 1 - x) + c];
}

static uint8_t byte_of_sum(int v) { v >>= 20; return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }
void c_yuv420_rgb(const uint8_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
    const uint8_t *restrict u = a + (size_t)w * h, *restrict v = u + (size_t)(w / 2) * (h / 2);
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int l = a[(size_t)y * w + x] - 16, at = y / 2 * (w / 2) + x / 2, p = u[at] - 128, q = v[at] - 128;
            const int s = 1220542 * (l < 0 ? 0 : l) + (1 << 19);
            uint8_t *to = b + 3 * ((size_t)y * w + x);
            to[0] = byte_of_sum(s + 1673527 * q), to[1] = byte_of_sum(s - 852492 * q - 409993 * p), to[2] = byte_of_sum(s + 2116026 * p);
        }
}

// Sums along a row of which the edges are repeated.
#define MOTION(NAME, TYPE, SUM, FINISH)                                                                                             \
    void NAME(const TYPE *restrict a, TYPE *restrict b, int w, int h, const float *k) {                                             \
        _Pragma("omp parallel for") for (int y = 0; y < h; y++) {                                                                   \
            TYPE *restrict row = malloc(sizeof(TYPE) * (w + 20)), *restrict to = b + (size_t)y * w;                                 \
            const TYPE *from = a + (size_t)y * w;                                                                                   \
            for (int i = 0; i < 10; i++) row[i] = from[0], row[w + 10 + i] = from[w - 1];                                           \
            memcpy(row + 10, from, sizeof(TYPE) * w);                                                                               \
            for (int x = 0; x < w; x++) {                                                                                           \
                SUM sum = 0;                                                                                                        \
                for (int i = 0; i < 21; i++) sum += row[x + i];                                                                     \
                to[x] = FINISH;                                                                                                     \
            }                                                                                                                       \
            free(row);                                                                                                              \
        }                                                                                                                           \
    }
MOTION(c_motion21_f32, float, float, sum * (1 / 21.f))
MOTION(c_motion21_u8, uint8_t, uint16_t, (uint8_t)((sum + 10) / 21))

// Sums of a pixel and of its square in a square: of columns, which each row continues, and then running along the row.
#define MOMENTS(NAME, RADIUS, VALUE)                                                                                                \
    void NAME(const float *restrict a, float *restrict b, int w, int h, const float *k) {                                           \
        const float scale = 1.f / ((2 * RADIUS + 1) * (2 * RADIUS + 1));                                                            \
        _Pragma("omp parallel for schedule(dynamic)") for (int band = 0; band < (h + BAND - 1) / BAND; band++) {                    \
            float *restrict p = calloc(2 * (w + 2 * RADIUS), sizeof(float)), *restrict q = p + w + 2 * RADIUS;                      \
            const int top = band * BAND;                                                                                            \
            for (int j = -RADIUS - 1; j < RADIUS; j++)                                                                              \
                for (int x = 0; x < w; x++) {                                                                                       \
                    float v = a[(size_t)clamped(top + j, h) * w + x];                                                               \
                    p[RADIUS + x] += v, q[RADIUS + x] += v * v;                                                                     \
                }                                                                                                                   \
            for (int y = top; y < at_most(top + BAND, h); y++) {                                                                    \
                const float *restrict more = a + (size_t)clamped(y + RADIUS, h) * w, *restrict less = a + (size_t)clamped(y - RADIUS - 1, h) * w; \
                const float *restrict here = a + (size_t)y * w;                                                                     \
                for (int x = 0; x < w; x++)                                                                                         \
                    p[RADIUS + x] += more[x] - less[x], q[RADIUS + x] += more[x] * more[x] - less[x] * less[x];                     \
                for (int i = 0; i < RADIUS; i++)                                                                                    \
                    p[i] = p[RADIUS], q[i] = q[RADIUS], p[RADIUS + w + i] = p[RADIUS + w - 1], q[RADIUS + w + i] = q[RADIUS + w - 1]; \
                for (int x = 0; x < w; x++) {                                                                                       \
                    float s = 0, t = 0;                                                                                             \
                    for (int i = 0; i <= 2 * RADIUS; i++) s += p[x + i], t += q[x + i];                                             \
                    const float mean = s * scale, square = t * scale - mean * mean, deviation = sqrtf(square < 0 ? 0 : square), v = here[x]; \
                    b[(size_t)y * w + x] = VALUE;                                                                                   \
                }                                                                                                                   \
            }                                                                                                                       \
            free(p);                                                                                                                \
        }                                                                                                                           \
    }
MOMENTS(c_deviation9_f32, 4, deviation)
MOMENTS(c_contrast15_f32, 7, (v - mean) / (deviation + 0.1f))

#define PIXELS(NAME, FROM, TO, BODY)                                                                                                \
    void NAME(const FROM *restrict a, TO *restrict b, int w, int h, const float *k) {                                               \
        const size_t size = (size_t)w * h;                                                                                          \
        _Pragma("omp parallel for") for (int y = 0; y < h; y++) for (size_t i = (size_t)y * w; i < (size_t)(y + 1) * w; i++) { BODY; } \
    }
PIXELS(c_blend_rgba, uint8_t, uint8_t,
       const uint8_t *p = a + 4 * i; const uint8_t *q = p + 4 * size; const unsigned alpha = p[3];
       for (int c = 0; c < 4; c++) {
           uint16_t s = (uint16_t)((c == 3 ? 255 : p[c]) * alpha + q[c] * (255 - alpha) + 128);
           b[4 * i + c] = (uint8_t)((s + (s >> 8)) >> 8); })
PIXELS(c_average4_u8, uint8_t, uint8_t, b[i] = (uint8_t)((a[i] + a[i + size] + a[i + 2 * size] + a[i + 3 * size] + 2) / 4))
PIXELS(c_hsv_mask, uint8_t, uint8_t,
       const float r = a[3 * i]; const float g = a[3 * i + 1]; const float l = a[3 * i + 2];
       const float value = LARGER(r, LARGER(g, l)); const float range = value - SMALLER(r, SMALLER(g, l));
       const float scale = range > 0 ? 1 / (6 * range) : 0;
       float hue = value == r ? (g - l) * scale : value == g ? (l - r) * scale + 1 / 3.f : (r - g) * scale + 2 / 3.f;
       hue = hue < 0 ? hue + 1 : hue; b[i] = hue < 0.15f && range > 0.25f * value && value > 102 ? 255 : 0)

void c_distance_f32(const float *restrict a, float *restrict b, int w, int h, const float *k) {
    double sum;
    c_sum_f32(a, &sum, w, h, k);
    const float mean = (float)(sum / ((double)w * h));
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) b[(size_t)y * w + x] = fabsf(a[(size_t)y * w + x] - mean);
}

// The sum of squared differences from a part of the picture; pixels on the right and below are repeated.
void c_match8_u8(const uint8_t *restrict a, float *restrict b, int w, int h, const float *k) {
    int t[64];
    for (int i = 0; i < 64; i++) t[i] = a[(i / 8 + 16) * w + i % 8 + 16];
#pragma omp parallel for schedule(dynamic)
    for (int y = 0; y < h; y++) {
        uint8_t *restrict rows = malloc(8 * (size_t)(w + 7));
        float *restrict to = b + (size_t)y * w;
        for (int j = 0; j < 8; j++) {
            const uint8_t *from = a + (size_t)clamped(y + j, h) * w;
            memcpy(rows + j * (w + 7), from, w);
            memset(rows + j * (w + 7) + w, from[w - 1], 7);
        }
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int j = 0; j < 8; j++)
                for (int i = 0; i < 8; i++) {
                    int d = rows[j * (w + 7) + x + i] - t[8 * j + i];
                    sum += d * d;
                }
            to[x] = (float)sum;
        }
        free(rows);
    }
}

// Patterns of the eight pixels around, and steps of diffusion: rows with pointers to those above and below, and single
// pixels at the sides.
#define AROUND(NAME, TYPE, VALUE)                                                                                                   \
    static void NAME(const TYPE *restrict a, TYPE *restrict b, int w, int h) {                                                      \
        _Pragma("omp parallel for") for (int y = 0; y < h; y++) {                                                                   \
            const TYPE *p = a + (size_t)clamped(y - 1, h) * w, *q = a + (size_t)y * w, *r = a + (size_t)clamped(y + 1, h) * w;      \
            TYPE *restrict to = b + (size_t)y * w;                                                                                  \
            to[0] = VALUE(p, q, r, 0, 0, at_most(1, w - 1));                                                                        \
            for (int x = 1; x < w - 1; x++) to[x] = VALUE(p, q, r, x - 1, x, x + 1);                                                \
            to[w - 1] = VALUE(p, q, r, clamped(w - 2, w), w - 1, w - 1);                                                            \
        }                                                                                                                           \
    }
#define PATTERN(p, q, r, i, x, k)                                                                                                   \
    ((p[i] >= q[x]) | (p[x] >= q[x]) << 1 | (p[k] >= q[x]) << 2 | (q[k] >= q[x]) << 3 | (r[k] >= q[x]) << 4 | (r[x] >= q[x]) << 5   \
     | (r[i] >= q[x]) << 6 | (q[i] >= q[x]) << 7)
static inline float flow(float d) { return d / (1 + d * d * 100); }
#define DIFFUSED(p, q, r, i, x, k) (q[x] + 0.2f * (flow(q[i] - q[x]) + flow(q[k] - q[x]) + flow(p[x] - q[x]) + flow(r[x] - q[x])))
AROUND(patterns, uint8_t, PATTERN)
AROUND(diffused, float, DIFFUSED)

void c_patterns_u8(const uint8_t *a, uint8_t *b, int w, int h, const float *k) { patterns(a, b, w, h); }

void c_diffuse_f32(const float *a, float *b, int w, int h, const float *k) {
    float *soft = malloc(sizeof(float) * w * h);
    diffused(a, soft, w, h);
    diffused(soft, b, w, h);
    diffused(b, soft, w, h);
    diffused(soft, b, w, h);
    free(soft);
}

void c_linear_u8(const uint8_t *restrict a, float *restrict b, int w, int h, const float *k) {
    float table[256];
    for (int i = 0; i < 256; i++) {
        float c = i / 255.0f;
        table[i] = c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
    }
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) b[(size_t)y * w + x] = table[a[(size_t)y * w + x]];
}

void c_key_rgb(const uint8_t *restrict a, uint8_t *restrict b, int w, int h, const float *k) {
    const uint8_t *restrict back = a + (size_t)3 * w * h;
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = 3 * ((size_t)y * w + x);
            const int green = 4 * (a[i + 1] - (a[i] > a[i + 2] ? a[i] : a[i + 2])) - 64, t = green < 0 ? 0 : at_most(green, 255);
            for (int c = 0; c < 3; c++) b[i + c] = (a[i + c] * (255 - t) + back[i + c] * t + 127) / 255;
        }
}
