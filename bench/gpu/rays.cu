// Diffuse rays: our traversal on the host and on CUDA, and a kernel after Aila and Laine, "Understanding the Efficiency of Ray Traversal on GPUs", and its
// addendum for Kepler: a binary hierarchy with the boxes of both children in a node, a loop over nodes that postpones one leaf, Woop's test of triangles, and warps
// that either stay and fetch rays from a counter, or have 32 rays each.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include "measure.cuh"

// The library of `rays.impala`.
extern "C" {
void build_for_host(int n, const float *vertices, const uint32_t *indices);
void trace_on_host(bool is_coherent, int n, const float *rays, float *hits);
int build_for_peer(int n, const float *vertices, const uint32_t *indices, const float **nodes, const float **triangles, int *n_triangles);
void build_for_device(int n, const float *vertices, const uint32_t *indices);
void rays_to_device(int n, const float *rays);
void hits_from_device(int n, float *hits);
void trace_on_device(int way, int n);
}

struct V { float x, y, z; };
static V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static V operator*(float s, V a) { return {s * a.x, s * a.y, s * a.z}; }
static float dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static V cross(V a, V b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static V unit(V a) { return (1 / sqrtf(dot(a, a))) * a; }

struct Ray { V org; float tmin; V dir; float tmax; };
struct Hit { float t; int prim; };

constexpr float PI = 3.14159265f;

struct Random {
    uint64_t state;
    float unit() {
        state += 0x9e3779b97f4a7c15;
        uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return float((z ^ (z >> 31)) >> 40) / 16777216.0f;
    }
};

static void basis(V n, V *x, V *y) {
    *x = unit(cross(n, fabsf(n.x) < 0.7f ? V{1, 0, 0} : V{0, 1, 0}));
    *y = cross(n, *x);
}

struct Scene {
    const char *name;
    V eye, look_at;
    std::vector<V> vertices;
    std::vector<uint32_t> indices;

    template <class Point> void add(int columns, int rows, Point point) {
        uint32_t first = vertices.size();
        for (int row = 0; row <= rows; ++row)
            for (int column = 0; column <= columns; ++column) vertices.push_back(point(column / float(columns), row / float(rows)));
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column) {
                uint32_t a = first + row * (columns + 1) + column, c = a + columns + 1;
                for (uint32_t corner : {a, a + 1, c + 1, a, c + 1, c}) indices.push_back(corner);
            }
    }
    int n() const { return indices.size() / 3; }
    const float *corners() const { return &vertices[0].x; }
};

// A ball with bumps above a plane.
static Scene sphere() {
    Scene scene{"sphere", {2.0f, 0.9f, 1.5f}, {0, 0, 0}, {}, {}};
    scene.add(1024, 512, [](float u, float v) {
        V n = {sinf(PI * v) * cosf(2 * PI * u), cosf(PI * v), sinf(PI * v) * sinf(2 * PI * u)};
        float radius = 1;
        for (int octave = 0; octave < 5; ++octave) {
            V p = 2 * powf(2.1f, octave) * n;
            radius += 0.12f * powf(0.5f, octave) * sinf(3 * p.x + 1.2f * p.y) * sinf(2.6f * p.y - 2 * p.z) * sinf(3.6f * p.z + 0.8f * p.x);
        }
        return radius * n;
    });
    scene.add(32, 32, [](float u, float v) { return V{8 * (u - 0.5f), -1.4f, 8 * (v - 0.5f)}; });
    return scene;
}

// Twisted rings above a rolling ground.
static Scene scatter() {
    Scene scene{"scatter", {-26, 7, -21}, {4, 0, 6}, {}, {}};
    scene.add(256, 256, [](float u, float v) {
        float x = 60 * (u - 0.5f), z = 60 * (v - 0.5f);
        return V{x, 0.8f * sinf(0.3f * x) * cosf(0.28f * z), z};
    });
    Random random{7};
    for (int ring = 0; ring < 2000; ++ring) {
        float a = random.unit(), b = random.unit(), c = random.unit(), d = random.unit();
        V center = {60 * (a - 0.5f), 0.4f + 5 * b * c, 60 * (d - 0.5f)};
        float e = random.unit(), f = random.unit(), g = random.unit();
        V axis = unit({e - 0.5f, f - 0.5f, g + 0.01f}), across, along;
        basis(axis, &across, &along);
        float size = 0.25f + 0.5f * random.unit();
        scene.add(40, 12, [&](float u, float v) {
            float twist = 2 * PI * (v + 3 * u), radius = 0.3f + 0.1f * cosf(3 * twist);
            return center + size * ((1 + radius * cosf(twist)) * (cosf(2 * PI * u) * axis + sinf(2 * PI * u) * across) + radius * sinf(twist) * along);
        });
    }
    return scene;
}

// Rays through the pixels of a square picture, in Morton order.
static std::vector<Ray> primary(const Scene &scene, uint32_t side) {
    V forward = unit(scene.look_at - scene.eye), right = unit(cross(forward, {0, 1, 0})), up = cross(right, forward);
    float half = tanf(PI / 6);
    std::vector<Ray> rays;
    for (uint32_t i = 0; i < side * side; ++i) {
        uint32_t at[2] = {0, 0};
        for (int bit = 0; bit < 32; ++bit) at[bit % 2] |= (i >> bit & 1) << bit / 2;
        float x = ((at[0] + 0.5f) / side * 2 - 1) * half, y = ((at[1] + 0.5f) / side * 2 - 1) * half;
        rays.push_back({scene.eye, 0, unit(forward + x * right - y * up), 1e30f});
    }
    return rays;
}

// A ray in a random direction around the normal for each hit.
static std::vector<Ray> diffuse(const Scene &scene, const std::vector<Ray> &rays, const std::vector<Hit> &hits) {
    Random random{12};
    std::vector<Ray> next;
    for (size_t i = 0; i < rays.size(); ++i)
        if (hits[i].prim >= 0) {
            const uint32_t *corners = &scene.indices[3 * hits[i].prim];
            V a = scene.vertices[corners[0]], b = scene.vertices[corners[1]], c = scene.vertices[corners[2]];
            V n = unit(cross(b - a, c - a)), x, y;
            if (dot(n, rays[i].dir) > 0) n = -1.0f * n;
            basis(n, &x, &y);
            float angle = 2 * PI * random.unit(), q = random.unit();
            V dir = unit(sqrtf(q) * (cosf(angle) * x + sinf(angle) * y) + sqrtf(fmaxf(1 - q, 1e-4f)) * n);
            next.push_back({rays[i].org + hits[i].t * rays[i].dir, 1e-4f * hits[i].t, dir, 1e30f});
        }
    return next;
}

// The binary hierarchy as the kernel reads it. A node: x and y of the first box, of the second one, z of both, and two children. A child below zero is the
// complement of the place of its first triangle; a word without a meaning as a number ends the triangles of a leaf.
struct Peer {
    std::vector<float4> nodes, triangles;
    std::vector<int> ids;
};

constexpr unsigned LAST = 0x80000000u;

static void add_triangle(Peer &peer, const float *words) {
    V corner = {words[0], words[1], words[2]}, e1 = {words[3], words[4], words[5]}, e2 = {words[6], words[7], words[8]};
    V n = cross(e1, e2);
    double size = double(n.x) * n.x + double(n.y) * n.y + double(n.z) * n.z;
    if (size == 0) return;
    // The rows of the inverse of the map from the unit triangle.
    auto row = [&](V p) {
        V r = {float(p.x / size), float(p.y / size), float(p.z / size)};
        return make_float4(r.x, r.y, r.z, float(-(p.x / size * corner.x + p.y / size * corner.y + p.z / size * corner.z)));
    };
    float4 w = row(n);
    w.w = -w.w;
    int id;
    memcpy(&id, &words[9], 4);
    for (float4 part : {w, row(cross(e2, n)), row(cross(n, e1))}) {
        peer.triangles.push_back(part);
        peer.ids.push_back(id);
    }
}

static Peer peer_of(const Scene &scene) {
    const float *nodes, *triangles;
    int n_triangles;
    int n = build_for_peer(scene.n(), scene.corners(), scene.indices.data(), &nodes, &triangles, &n_triangles);
    Peer peer;
    for (int node = 0; node < n; ++node) {
        const float *w = nodes + 16 * node;
        int child[2];
        memcpy(child, w + 12, 8);
        peer.nodes.push_back(make_float4(w[0], w[6], w[2], w[8]));
        peer.nodes.push_back(make_float4(w[1], w[7], w[3], w[9]));
        peer.nodes.push_back(make_float4(w[4], w[10], w[5], w[11]));
        for (int &c : child)
            if (c < 0) {
                int first = (-1 - c) >> 4, count = (-1 - c) & 15;
                c = ~int(peer.triangles.size());
                for (int k = 0; k < count; ++k) add_triangle(peer, triangles + 12 * (first + k));
                float last;
                memcpy(&last, &LAST, 4);
                peer.triangles.push_back(make_float4(last, 0, 0, 0));
                peer.ids.push_back(-1);
            }
        float words[2];
        memcpy(words, child, 8);
        peer.nodes.push_back(make_float4(words[0], words[1], 0, 0));
    }
    return peer;
}

__device__ int next_ray;

constexpr int END = 0x76543210;

__device__ void trace(int i, const float4 *rays, const float4 *__restrict__ nodes, const float4 *__restrict__ triangles, const int *__restrict__ ids, Hit *hits) {
    int stack[64];
    stack[0] = END;
    int *top = stack;
    float4 o = rays[2 * i], d = rays[2 * i + 1];
    float least = 1e-18f;
    float ix = 1 / (fabsf(d.x) > least ? d.x : copysignf(least, d.x)), iy = 1 / (fabsf(d.y) > least ? d.y : copysignf(least, d.y)),
          iz = 1 / (fabsf(d.z) > least ? d.z : copysignf(least, d.z));
    float ox = o.x * ix, oy = o.y * iy, oz = o.z * iz;
    float tmin = o.w, t = d.w;
    int prim = -1, node = 0, leaf = 0;
    while (node != END) {
        while (unsigned(node) < unsigned(END)) {
            float4 a = nodes[4 * node], b = nodes[4 * node + 1], c = nodes[4 * node + 2], children = nodes[4 * node + 3];
            float x0 = a.x * ix - ox, x1 = a.y * ix - ox, y0 = a.z * iy - oy, y1 = a.w * iy - oy, z0 = c.x * iz - oz, z1 = c.y * iz - oz;
            float near0 = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), tmin));
            float far0 = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), t));
            x0 = b.x * ix - ox, x1 = b.y * ix - ox, y0 = b.z * iy - oy, y1 = b.w * iy - oy, z0 = c.z * iz - oz, z1 = c.w * iz - oz;
            float near1 = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), tmin));
            float far1 = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), t));
            bool is_in0 = near0 <= far0, is_in1 = near1 <= far1;
            int first = __float_as_int(children.x), second = __float_as_int(children.y);
            if (!is_in0 && !is_in1) {
                node = *top--;
            } else {
                node = is_in0 ? first : second;
                if (is_in0 && is_in1) {
                    if (near1 < near0) {
                        node = second;
                        second = first;
                    }
                    *++top = second;
                }
            }
            if (node < 0 && leaf >= 0) {
                leaf = node;
                node = *top--;
            }
            if (!__any_sync(__activemask(), leaf >= 0)) break;
        }
        while (leaf < 0) {
            for (int k = ~leaf;; k += 3) {
                float4 w = triangles[k];
                if (__float_as_uint(w.x) == LAST) break;
                float distance = (w.w - o.x * w.x - o.y * w.y - o.z * w.z) / (d.x * w.x + d.y * w.y + d.z * w.z);
                if (distance >= tmin && distance < t) {
                    float4 p = triangles[k + 1];
                    float u = p.w + o.x * p.x + o.y * p.y + o.z * p.z + distance * (d.x * p.x + d.y * p.y + d.z * p.z);
                    if (u >= 0) {
                        float4 q = triangles[k + 2];
                        float v = q.w + o.x * q.x + o.y * q.y + o.z * q.z + distance * (d.x * q.x + d.y * q.y + d.z * q.z);
                        if (v >= 0 && u + v <= 1) {
                            t = distance;
                            prim = ids[k];
                        }
                    }
                }
            }
            leaf = node;
            if (node < 0) node = *top--;
        }
    }
    hits[i] = {t, prim};
}

__global__ void __launch_bounds__(128) trace_all(int n, const float4 *rays, const float4 *nodes, const float4 *triangles, const int *ids, Hit *hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) trace(i, rays, nodes, triangles, ids, hits);
}

__global__ void __launch_bounds__(128) trace_persistently(int n, const float4 *rays, const float4 *nodes, const float4 *triangles, const int *ids, Hit *hits) {
    for (;;) {
        int first = 0;
        if (threadIdx.x % 32 == 0) first = atomicAdd(&next_ray, 32);
        first = __shfl_sync(~0u, first, 0);
        if (first >= n) return;
        int i = first + threadIdx.x % 32;
        if (i < n) trace(i, rays, nodes, triangles, ids, hits);
        __syncwarp();
    }
}

template <class T> static T *on_device(const std::vector<T> &data) {
    T *copy;
    CHECK(cudaMalloc(&copy, data.size() * sizeof(T)));
    CHECK(cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return copy;
}

// The least wall time of some rounds, in seconds.
template <class Body> static double seconds(int rounds, Body body) {
    double best = 1e9;
    for (int round = -2; round < rounds; ++round) {
        auto start = std::chrono::steady_clock::now();
        body();
        std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        if (round >= 0) best = std::min(best, time.count());
    }
    return best;
}

// What the peer finds, in memory that both processes see.
struct Result { double seconds[2]; Hit hits[1]; };

static void run_peer(const Peer &peer, const std::vector<Ray> &rays, Result *result) {
    int n = rays.size();
    auto *device_rays = (const float4 *)on_device(rays);
    auto *nodes = on_device(peer.nodes), *triangles = on_device(peer.triangles);
    auto *ids = on_device(peer.ids);
    Hit *hits;
    CHECK(cudaMalloc(&hits, n * sizeof(Hit)));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    int per_processor;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, trace_persistently, 128, 0));
    result->seconds[0] = seconds(15, [&] {
        trace_all<<<(n + 127) / 128, 128>>>(n, device_rays, nodes, triangles, ids, hits);
        CHECK(cudaDeviceSynchronize());
    });
    result->seconds[1] = seconds(15, [&] {
        int zero = 0;
        CHECK(cudaMemcpyToSymbolAsync(next_ray, &zero, 4));
        trace_persistently<<<properties.multiProcessorCount * per_processor, 128>>>(n, device_rays, nodes, triangles, ids, hits);
        CHECK(cudaDeviceSynchronize());
    });
    CHECK(cudaMemcpy(result->hits, hits, n * sizeof(Hit), cudaMemcpyDeviceToHost));
}

static int n_different(const Hit *a, const Hit *b, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; ++i)
        count += (a[i].prim >= 0) != (b[i].prim >= 0) || (a[i].prim >= 0 && fabsf(a[i].t - b[i].t) > 1e-3f * b[i].t + 1e-4f);
    return count;
}

static bool measure(const Scene &scene, bool has_device) {
    const uint32_t *indices = scene.indices.data();
    build_for_host(scene.n(), scene.corners(), indices);
    std::vector<Ray> first = primary(scene, 2048);
    std::vector<Hit> found(first.size());
    trace_on_host(true, first.size(), &first[0].org.x, &found[0].t);
    std::vector<Ray> rays = diffuse(scene, first, found);
    int n = rays.size();
    std::vector<Hit> expected(n), hits(n);
    double host = seconds(8, [&] { trace_on_host(false, n, &rays[0].org.x, &expected[0].t); });
    printf("%s: %d triangles, %d diffuse rays\n", scene.name, scene.n(), n);
    auto line = [&](const char *name, double time, int wrong) {
        printf("  %-44s %9.1f Mrays/s, %6.2f of the host, %d rays differ\n", name, n / time / 1e6, host / time, wrong);
        fflush(stdout);
    };
    line("ours, host, streams", host, 0);
    if (!has_device) return true;
    Peer peer = peer_of(scene);
    // Each process has a context of its own.
    size_t size = sizeof(Result) + n * sizeof(Hit);
    auto *result = (Result *)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pid_t child = fork()) {
        int status;
        waitpid(child, &status, 0);
        if (status != 0) return false;
    } else {
        run_peer(peer, rays, result);
        _exit(0);
    }
    int wrong = n_different(result->hits, expected.data(), n);
    bool is_good = wrong * 2000ll <= n;
    line("CUDA, after Aila and Laine, warps of 32 rays", result->seconds[0], wrong);
    line("CUDA, after Aila and Laine, persistent warps", result->seconds[1], wrong);
    build_for_device(scene.n(), scene.corners(), indices);
    rays_to_device(n, &rays[0].org.x);
    const char *names[] = {"2 children, blocks of 1", "2 children, blocks of 4", "4 children, blocks of 1", "4 children, blocks of 4", "4 children, blocks of 1, persistent"};
    double best = 1e9;
    for (int way = 0; way < 5; ++way) {
        double time = seconds(15, [&] { trace_on_device(way, n); });
        hits_from_device(n, &hits[0].t);
        wrong = n_different(hits.data(), expected.data(), n);
        is_good = is_good && wrong * 2000ll <= n;
        best = std::min(best, time);
        line((std::string("ours, CUDA, ") + names[way]).c_str(), time, wrong);
    }
    double theirs = std::min(result->seconds[0], result->seconds[1]);
    printf("  ours on CUDA: %.2f of CUDA after Aila and Laine, goal 0.9; %.1f of the host, goal 5\n", theirs / best, host / best);
    fflush(stdout);
    munmap(result, size);
    return is_good;
}

// Each scene has a process of its own, since processes with a context cannot be copied.
int main(int argc, char **) {
    bool is_good = true;
    for (auto make : {sphere, scatter}) {
        int status = 0;
        if (pid_t child = fork()) waitpid(child, &status, 0);
        else _exit(measure(make(), argc == 1) ? 0 : 1);
        is_good = is_good && status == 0;
    }
    return is_good ? 0 : 1;
}
