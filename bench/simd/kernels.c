// The same kernels in C, one pixel, option or body after the other.
#include <math.h>
#include <stdint.h>

void mandelbrot(int begin, int end, int width, int height, int limit, int *restrict out) {
    float dx = 3.0f / width, dy = 2.0f / height;
    for (int y = begin; y < end; ++y) {
        for (int x = 0; x < width; ++x) {
            float c_re = x * dx - 2.0f, c_im = y * dy - 1.0f;
            float re = c_re, im = c_im;
            int k = 0;
            while (k < limit) {
                float re2 = re * re, im2 = im * im;
                if (re2 + im2 > 4.0f) break;
                im = 2.0f * re * im + c_im;
                re = re2 - im2 + c_re;
                ++k;
            }
            out[y * width + x] = k;
        }
    }
}

typedef struct { float x, y, z; } Vec;
typedef struct { float t; Vec at, normal; int is_hit; } Hit;

static inline Vec vec(float x, float y, float z) { return (Vec){x, y, z}; }
static inline Vec add(Vec a, Vec b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline Vec sub(Vec a, Vec b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline Vec scale(Vec a, float by) { return vec(a.x * by, a.y * by, a.z * by); }
static inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline Vec cross(Vec a, Vec b) {
    return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline Vec normalize(Vec a) { return scale(a, 1.0f / sqrtf(dot(a, a))); }

static inline void hit_sphere(Hit *hit, Vec origin, Vec dir, Vec center, float radius) {
    Vec to = sub(origin, center);
    float b = dot(to, dir), d = b * b - (dot(to, to) - radius * radius);
    if (d > 0.0f) {
        float t = -b - sqrtf(d);
        if (t > 0.0f && t < hit->t) {
            hit->t = t;
            hit->is_hit = 1;
            hit->at = add(origin, scale(dir, t));
            hit->normal = normalize(sub(hit->at, center));
        }
    }
}

static inline void hit_plane(Hit *hit, Vec origin, Vec dir, float height) {
    if (fabsf(dir.y) >= 1.0e-9f) {
        float t = (height - origin.y) / dir.y;
        if (t > 0.0f && t < hit->t) {
            hit->t = t;
            hit->is_hit = 1;
            hit->at = add(origin, scale(dir, t));
            hit->normal = vec(0.0f, 1.0f, 0.0f);
        }
    }
}

static inline Hit trace(Vec origin, Vec dir) {
    Hit hit = {1.0e17f, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, 0};
    hit_sphere(&hit, origin, dir, vec(-2.0f, 0.0f, -3.5f), 0.5f);
    hit_sphere(&hit, origin, dir, vec(-0.5f, 0.0f, -3.0f), 0.5f);
    hit_sphere(&hit, origin, dir, vec(1.0f, 0.0f, -2.2f), 0.5f);
    hit_plane(&hit, origin, dir, -0.5f);
    return hit;
}

static inline float next_random(uint32_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return (float)(*seed >> 8) * (1.0f / 16777216.0f);
}

static inline float unoccluded(Hit hit, int n, uint32_t *seed) {
    Vec normal = hit.normal, origin = add(hit.at, scale(normal, 1.0e-4f));
    Vec other = fabsf(normal.x) < 0.6f ? vec(1.0f, 0.0f, 0.0f) : vec(0.0f, 1.0f, 0.0f);
    Vec s = normalize(cross(other, normal)), t = cross(normal, s);
    int n_free = 0;
    for (int i = 0; i < n; ++i) {
        float r = sqrtf(next_random(seed)), phi = 6.2831853f * next_random(seed);
        float x = cosf(phi) * r, y = sinf(phi) * r, z = sqrtf(1.0f - r * r);
        Vec dir = add(scale(s, x), add(scale(t, y), scale(normal, z)));
        n_free += !trace(origin, dir).is_hit;
    }
    return (float)n_free / (float)n;
}

void aobench(int begin, int end, int width, int height, int n_sub, int n_ao, float *restrict out) {
    float half_width = width * 0.5f, half_height = height * 0.5f;
    for (int y = begin; y < end; ++y) {
        for (int x = 0; x < width; ++x) {
            uint32_t seed = (uint32_t)(y * width + x) * 2654435761u + 12345u;
            float light = 0.0f;
            for (int v = 0; v < n_sub; ++v) {
                for (int u = 0; u < n_sub; ++u) {
                    float px = (x + u / (float)n_sub - half_width) / half_width;
                    float py = -(y + v / (float)n_sub - half_height) / half_height;
                    Hit hit = trace(vec(0.0f, 0.0f, 0.0f), normalize(vec(px, py, -1.0f)));
                    if (hit.is_hit) light += unoccluded(hit, n_ao * n_ao, &seed);
                }
            }
            out[y * width + x] = light / (n_sub * n_sub);
        }
    }
}

static inline float mix(float a, float b, float w) { return a + w * (b - a); }

static inline float sample(const float *restrict density, int n, Vec p) {
    Vec low = vec(floorf(p.x), floorf(p.y), floorf(p.z)), w = sub(p, low);
    const float *at = density + ((int)low.z * n + (int)low.y) * n + (int)low.x;
    float near = mix(mix(at[0], at[1], w.x), mix(at[n], at[n + 1], w.x), w.y);
    at += n * n;
    float far = mix(mix(at[0], at[1], w.x), mix(at[n], at[n + 1], w.x), w.y);
    return mix(near, far, w.z);
}

static inline float clamp(float x, float limit) { return fminf(fmaxf(x, 0.0f), limit); }

// Clips the interval in which a ray is between 0 and `limit` in one direction.
static inline void narrow(float origin, float dir, float limit, float *near, float *far) {
    float inverse = 1.0f / dir, a = -origin * inverse, b = (limit - origin) * inverse;
    *near = fmaxf(*near, fminf(a, b));
    *far = fminf(*far, fmaxf(a, b));
}

void volume(int begin, int end, int width, int height, int n, const float *restrict density, float *restrict out) {
    float limit = n - 1.001f;
    Vec eye = vec(0.5f * n, 0.62f * n, -1.1f * n);
    for (int y = begin; y < end; ++y) {
        for (int x = 0; x < width; ++x) {
            Vec dir = normalize(vec((x + 0.5f) / width - 0.5f, 0.4f - (y + 0.5f) / height, 1.0f));
            float near = 0.0f, far = 1.0e30f, light = 0.0f, transmitted = 1.0f;
            narrow(eye.x, dir.x, limit, &near, &far);
            narrow(eye.y, dir.y, limit, &near, &far);
            narrow(eye.z, dir.z, limit, &near, &far);
            for (float t = near + 0.25f; t < far; t += 0.5f) {
                Vec p = add(eye, scale(dir, t));
                p = vec(clamp(p.x, limit), clamp(p.y, limit), clamp(p.z, limit));
                float kept = expf(-0.5f * 0.15f * sample(density, n, p));
                light += transmitted * (1.0f - kept) * (0.3f + 0.7f * p.y / n);
                transmitted *= kept;
                if (transmitted < 0.005f) break;
            }
            out[y * width + x] = light;
        }
    }
}

static inline float normal_up_to(float x) {
    float l = fabsf(x), k = 1.0f / (1.0f + 0.2316419f * l);
    float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float w = sum * 0.39894228040f * expf(-0.5f * l * l);
    return x > 0.0f ? 1.0f - w : w;
}

void blackscholes(int begin, int end, const float *restrict price, const float *restrict strike,
                  const float *restrict time, const float *restrict rate, const float *restrict volatility,
                  float *restrict out) {
    for (int i = begin; i < end; ++i) {
        float v = volatility[i], t = time[i], spread = v * sqrtf(t);
        float d1 = (logf(price[i] / strike[i]) + (rate[i] + 0.5f * v * v) * t) / spread, d2 = d1 - spread;
        out[i] = price[i] * normal_up_to(d1) - strike[i] * expf(-rate[i] * t) * normal_up_to(d2);
    }
}

void binomial(int begin, int end, int n_steps, const float *restrict price, const float *restrict strike,
              const float *restrict time, const float *restrict rate, const float *restrict volatility,
              float *restrict out) {
    for (int i = begin; i < end; ++i) {
        float values[129];
        float dt = time[i] / n_steps, exponent = volatility[i] * sqrtf(dt);
        float up = expf(exponent), growth = expf(rate[i] * dt), p_up = (growth - 1.0f / up) / (up - 1.0f / up);
        float at_end = price[i] * expf(-exponent * n_steps);
        for (int k = 0; k <= n_steps; ++k) {
            values[k] = fmaxf(0.0f, at_end - strike[i]);
            at_end *= up * up;
        }
        float down_weight = (1.0f - p_up) / growth, up_weight = p_up / growth;
        for (int step = 0; step < n_steps; ++step) {
            for (int k = 0; k < n_steps - step; ++k) {
                values[k] = down_weight * values[k] + up_weight * values[k + 1];
            }
        }
        out[i] = values[0];
    }
}

void nbody(int begin, int end, int n, const float *restrict x, const float *restrict y, const float *restrict z,
           const float *restrict mass, float *restrict ax, float *restrict ay, float *restrict az) {
    for (int i = begin; i < end; ++i) {
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (int j = 0; j < n; ++j) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1.0e-4f);
            float weight = mass[j] * inverse * inverse * inverse;
            sx += weight * dx;
            sy += weight * dy;
            sz += weight * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

void neighbours(int begin, int end, int n, const float *restrict x, const float *restrict y, const float *restrict z,
                float *restrict out) {
    for (int i = begin; i < end; ++i) {
        float nearest[8];
        for (int k = 0; k < 8; ++k) nearest[k] = 1.0e30f;
        for (int j = 0; j < n; ++j) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], d = dx * dx + dy * dy + dz * dz;
            if (d < nearest[7]) {
                for (int k = 0; k < 8; ++k) {
                    float near = nearest[k];
                    nearest[k] = fminf(near, d);
                    d = fmaxf(near, d);
                }
            }
        }
        out[i] = nearest[7];
    }
}
