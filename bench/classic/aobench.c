// Three spheres on a plane, with ambient occlusion.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SUBSAMPLES 2
#define AO_SAMPLES 8

typedef struct { double x, y, z; } Vec;
typedef struct { Vec origin, dir; } Ray;
typedef struct { double t; Vec at, normal; int hit; } Hit;
typedef struct { Vec center; double radius; } Sphere;

static uint32_t seed = 1;

static double next_random(void) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * (1.0 / 16777216);
}

static double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static Vec add(Vec a, Vec b) { return (Vec) { a.x + b.x, a.y + b.y, a.z + b.z }; }
static Vec sub(Vec a, Vec b) { return (Vec) { a.x - b.x, a.y - b.y, a.z - b.z }; }
static Vec scale(Vec a, double by) { return (Vec) { a.x * by, a.y * by, a.z * by }; }
static Vec cross(Vec a, Vec b) {
    return (Vec) { a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}
static Vec normalize(Vec a) {
    double len = sqrt(dot(a, a));
    return len > 1e-17 ? scale(a, 1 / len) : a;
}

static const Sphere spheres[3] = {
    { { -2.0, 0.0, -3.5 }, 0.5 }, { { -0.5, 0.0, -3.0 }, 0.5 }, { { 1.0, 0.0, -2.2 }, 0.5 },
};

static void hit_sphere(const Sphere *sphere, const Ray *ray, Hit *hit) {
    Vec to = sub(ray->origin, sphere->center);
    double b = dot(to, ray->dir), c = dot(to, to) - sphere->radius * sphere->radius, d = b * b - c;
    if (d > 0) {
        double t = -b - sqrt(d);
        if (t > 0 && t < hit->t) {
            hit->t = t;
            hit->hit = 1;
            hit->at = add(ray->origin, scale(ray->dir, t));
            hit->normal = normalize(sub(hit->at, sphere->center));
        }
    }
}

static void hit_plane(const Ray *ray, Hit *hit) {
    Vec point = { 0, -0.5, 0 }, normal = { 0, 1, 0 };
    double v = dot(ray->dir, normal);
    if (fabs(v) < 1e-17) return;
    double t = -(dot(ray->origin, normal) - dot(point, normal)) / v;
    if (t > 0 && t < hit->t) {
        hit->t = t;
        hit->hit = 1;
        hit->at = add(ray->origin, scale(ray->dir, t));
        hit->normal = normal;
    }
}

static Hit trace(const Ray *ray) {
    Hit hit = { 1e17, { 0, 0, 0 }, { 0, 0, 0 }, 0 };
    for (int i = 0; i < 3; i++) hit_sphere(&spheres[i], ray, &hit);
    hit_plane(ray, &hit);
    return hit;
}

static double ambient_occlusion(const Hit *hit) {
    Vec n = hit->normal, up = { 0, 0, 0 };
    if (n.x < 0.6 && n.x > -0.6) up.x = 1;
    else if (n.y < 0.6 && n.y > -0.6) up.y = 1;
    else up.z = 1;
    Vec s = normalize(cross(up, n)), t = normalize(cross(n, s));
    Ray ray;
    ray.origin = add(hit->at, scale(n, 1e-4));
    int occluded = 0;
    for (int i = 0; i < AO_SAMPLES * AO_SAMPLES; i++) {
        double theta = sqrt(next_random()), phi = 6.283185307179586 * next_random();
        double x = cos(phi) * theta, y = sin(phi) * theta, z = sqrt(1 - theta * theta);
        ray.dir = add(add(scale(s, x), scale(t, y)), scale(n, z));
        occluded += trace(&ray).hit;
    }
    return (double)(AO_SAMPLES * AO_SAMPLES - occluded) / (AO_SAMPLES * AO_SAMPLES);
}

static uint8_t to_byte(double x) {
    int i = (int)(x * 255.5);
    return i < 0 ? 0 : i > 255 ? 255 : i;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 32;
    uint8_t *image = malloc((size_t)n * n);
    for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) {
            double light = 0;
            for (int v = 0; v < SUBSAMPLES; v++) {
                for (int u = 0; u < SUBSAMPLES; u++) {
                    double px = (x + u / (double)SUBSAMPLES - n / 2.0) / (n / 2.0);
                    double py = -(y + v / (double)SUBSAMPLES - n / 2.0) / (n / 2.0);
                    Ray ray = { { 0, 0, 0 }, normalize((Vec) { px, py, -1 }) };
                    Hit hit = trace(&ray);
                    if (hit.hit) light += ambient_occlusion(&hit);
                }
            }
            image[y * n + x] = to_byte(light / (SUBSAMPLES * SUBSAMPLES));
        }
    }
    printf("P5\n%d %d\n255\n", n, n);
    fwrite(image, n, n, stdout);
    return 0;
}
