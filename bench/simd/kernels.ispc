// The same kernels for ISPC: a program instance for each pixel, option or body.

export void mandelbrot(uniform int begin, uniform int end, uniform int width, uniform int height, uniform int limit,
                       uniform int out[]) {
    uniform float dx = 3.0f / width, dy = 2.0f / height;
    for (uniform int y = begin; y < end; ++y) {
        foreach (x = 0 ... width) {
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

struct Vec { float x, y, z; };
struct Hit { float t; Vec at, normal; bool is_hit; };

static inline Vec vec(float x, float y, float z) { Vec v; v.x = x; v.y = y; v.z = z; return v; }
static inline Vec add(Vec a, Vec b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline Vec sub(Vec a, Vec b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline Vec scale(Vec a, float by) { return vec(a.x * by, a.y * by, a.z * by); }
static inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline Vec cross(Vec a, Vec b) {
    return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline Vec normalize(Vec a) { return scale(a, rsqrt(dot(a, a))); }

static inline void hit_sphere(Hit &hit, Vec origin, Vec dir, uniform float cx, uniform float cz) {
    Vec center = vec(cx, 0.0f, cz), to = sub(origin, center);
    float b = dot(to, dir), d = b * b - (dot(to, to) - 0.25f);
    if (d > 0.0f) {
        float t = -b - sqrt(d);
        if (t > 0.0f && t < hit.t) {
            hit.t = t;
            hit.is_hit = true;
            hit.at = add(origin, scale(dir, t));
            hit.normal = normalize(sub(hit.at, center));
        }
    }
}

static inline void hit_plane(Hit &hit, Vec origin, Vec dir, uniform float height) {
    if (abs(dir.y) >= 1.0e-9f) {
        float t = (height - origin.y) / dir.y;
        if (t > 0.0f && t < hit.t) {
            hit.t = t;
            hit.is_hit = true;
            hit.at = add(origin, scale(dir, t));
            hit.normal = vec(0.0f, 1.0f, 0.0f);
        }
    }
}

static inline Hit trace(Vec origin, Vec dir) {
    Hit hit;
    hit.t = 1.0e17f;
    hit.is_hit = false;
    hit.at = vec(0.0f, 0.0f, 0.0f);
    hit.normal = vec(0.0f, 0.0f, 0.0f);
    hit_sphere(hit, origin, dir, -2.0f, -3.5f);
    hit_sphere(hit, origin, dir, -0.5f, -3.0f);
    hit_sphere(hit, origin, dir, 1.0f, -2.2f);
    hit_plane(hit, origin, dir, -0.5f);
    return hit;
}

static inline float next_random(unsigned int32 &seed) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (float)(int)(seed >> 8) * (1.0f / 16777216.0f);
}

static inline float unoccluded(Hit hit, uniform int n, unsigned int32 &seed) {
    Vec normal = hit.normal, origin = add(hit.at, scale(normal, 1.0e-4f));
    bool is_flat = abs(normal.x) < 0.6f;
    Vec other = vec(is_flat ? 1.0f : 0.0f, is_flat ? 0.0f : 1.0f, 0.0f);
    Vec s = normalize(cross(other, normal)), t = cross(normal, s);
    int n_free = 0;
    for (uniform int i = 0; i < n; ++i) {
        float r = sqrt(next_random(seed)), phi = 6.2831853f * next_random(seed);
        float sine, cosine;
        sincos(phi, &sine, &cosine);
        Vec dir = add(scale(s, cosine * r), add(scale(t, sine * r), scale(normal, sqrt(1.0f - r * r))));
        Hit blocked = trace(origin, dir);
        if (!blocked.is_hit) ++n_free;
    }
    return n_free / (uniform float)n;
}

export void aobench(uniform int begin, uniform int end, uniform int width, uniform int height, uniform int n_sub,
                    uniform int n_ao, uniform float out[]) {
    uniform float half_width = width * 0.5f, half_height = height * 0.5f;
    foreach_tiled (y = begin ... end, x = 0 ... width) {
        unsigned int32 seed = (unsigned int32)(y * width + x) * 2654435761u + 12345u;
        float light = 0.0f;
        for (uniform int v = 0; v < n_sub; ++v) {
            for (uniform int u = 0; u < n_sub; ++u) {
                float px = (x + u / (uniform float)n_sub - half_width) / half_width;
                float py = -(y + v / (uniform float)n_sub - half_height) / half_height;
                Hit hit = trace(vec(0.0f, 0.0f, 0.0f), normalize(vec(px, py, -1.0f)));
                if (hit.is_hit) light += unoccluded(hit, n_ao * n_ao, seed);
            }
        }
        out[y * width + x] = light / (n_sub * n_sub);
    }
}

static inline float mix(float a, float b, float w) { return a + w * (b - a); }

static inline float sample(const uniform float density[], uniform int n, Vec p) {
    Vec low = vec(floor(p.x), floor(p.y), floor(p.z)), w = sub(p, low);
    int at = ((int)low.z * n + (int)low.y) * n + (int)low.x;
    float near = mix(mix(density[at], density[at + 1], w.x), mix(density[at + n], density[at + n + 1], w.x), w.y);
    at += n * n;
    float far = mix(mix(density[at], density[at + 1], w.x), mix(density[at + n], density[at + n + 1], w.x), w.y);
    return mix(near, far, w.z);
}

static inline void narrow(uniform float origin, float dir, uniform float limit, float &near, float &far) {
    float inverse = 1.0f / dir, a = -origin * inverse, b = (limit - origin) * inverse;
    near = max(near, min(a, b));
    far = min(far, max(a, b));
}

export void volume(uniform int begin, uniform int end, uniform int width, uniform int height, uniform int n,
                   const uniform float density[], uniform float out[]) {
    uniform float limit = n - 1.001f;
    uniform float eye_x = 0.5f * n, eye_y = 0.62f * n, eye_z = -1.1f * n;
    foreach_tiled (y = begin ... end, x = 0 ... width) {
        Vec dir = normalize(vec((x + 0.5f) / width - 0.5f, 0.4f - (y + 0.5f) / height, 1.0f));
        float near = 0.0f, far = 1.0e30f, light = 0.0f, transmitted = 1.0f;
        narrow(eye_x, dir.x, limit, near, far);
        narrow(eye_y, dir.y, limit, near, far);
        narrow(eye_z, dir.z, limit, near, far);
        for (float t = near + 0.25f; t < far; t += 0.5f) {
            Vec p = vec(clamp(eye_x + t * dir.x, 0.0f, limit), clamp(eye_y + t * dir.y, 0.0f, limit),
                        clamp(eye_z + t * dir.z, 0.0f, limit));
            float kept = exp(-0.5f * 0.15f * sample(density, n, p));
            light += transmitted * (1.0f - kept) * (0.3f + 0.7f * p.y / n);
            transmitted *= kept;
            if (transmitted < 0.005f) break;
        }
        out[y * width + x] = light;
    }
}

static inline float normal_up_to(float x) {
    float l = abs(x), k = 1.0f / (1.0f + 0.2316419f * l);
    float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float w = sum * 0.39894228040f * exp(-0.5f * l * l);
    return x > 0.0f ? 1.0f - w : w;
}

export void blackscholes(uniform int begin, uniform int end, const uniform float price[], const uniform float strike[],
                         const uniform float time[], const uniform float rate[], const uniform float volatility[],
                         uniform float out[]) {
    foreach (i = begin ... end) {
        float v = volatility[i], t = time[i], spread = v * sqrt(t);
        float d1 = (log(price[i] / strike[i]) + (rate[i] + 0.5f * v * v) * t) / spread, d2 = d1 - spread;
        out[i] = price[i] * normal_up_to(d1) - strike[i] * exp(-rate[i] * t) * normal_up_to(d2);
    }
}

export void binomial(uniform int begin, uniform int end, uniform int n_steps, const uniform float price[],
                     const uniform float strike[], const uniform float time[], const uniform float rate[],
                     const uniform float volatility[], uniform float out[]) {
    foreach (i = begin ... end) {
        float values[129];
        float dt = time[i] / n_steps, exponent = volatility[i] * sqrt(dt);
        float up = exp(exponent), growth = exp(rate[i] * dt), p_up = (growth - 1.0f / up) / (up - 1.0f / up);
        float at_end = price[i] * exp(-exponent * n_steps);
        for (uniform int k = 0; k <= n_steps; ++k) {
            values[k] = max(0.0f, at_end - strike[i]);
            at_end *= up * up;
        }
        float down_weight = (1.0f - p_up) / growth, up_weight = p_up / growth;
        for (uniform int step = 0; step < n_steps; ++step) {
            for (uniform int k = 0; k < n_steps - step; ++k) {
                values[k] = down_weight * values[k] + up_weight * values[k + 1];
            }
        }
        out[i] = values[0];
    }
}

export void nbody(uniform int begin, uniform int end, uniform int n, const uniform float x[], const uniform float y[],
                  const uniform float z[], const uniform float mass[], uniform float ax[], uniform float ay[],
                  uniform float az[]) {
    foreach (i = begin ... end) {
        float own_x = x[i], own_y = y[i], own_z = z[i], sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (uniform int j = 0; j < n; ++j) {
            float dx = x[j] - own_x, dy = y[j] - own_y, dz = z[j] - own_z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 1.0e-4f);
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

export void neighbours(uniform int begin, uniform int end, uniform int n, const uniform float x[], const uniform float y[],
                       const uniform float z[], uniform float out[]) {
    foreach (i = begin ... end) {
        float own_x = x[i], own_y = y[i], own_z = z[i], nearest[8];
        for (uniform int k = 0; k < 8; ++k) nearest[k] = 1.0e30f;
        for (uniform int j = 0; j < n; ++j) {
            float dx = x[j] - own_x, dy = y[j] - own_y, dz = z[j] - own_z, d = dx * dx + dy * dy + dz * dz;
            if (d < nearest[7]) {
                for (uniform int k = 0; k < 8; ++k) {
                    float near = nearest[k];
                    nearest[k] = min(near, d);
                    d = max(near, d);
                }
            }
        }
        out[i] = nearest[7];
    }
}
