// Embree as a peer: a shared library that `cargo xtask bench ray` loads. EMBREE is the major version. Version 3 has headers; the Python package of version 4
// has none, so the few types and functions that are used are declared here.
#include <cstddef>
#include <cstring>
#include <algorithm>
#include <memory>
#include <xmmintrin.h>
#if EMBREE == 3
#include <embree3/rtcore.h>
#define QUERY_FIRST(query) &query,
#define QUERY_LAST(query)
struct Query : RTCIntersectContext {
    explicit Query(bool coherent) {
        rtcInitIntersectContext(this);
        flags = coherent ? RTC_INTERSECT_CONTEXT_FLAG_COHERENT : RTC_INTERSECT_CONTEXT_FLAG_INCOHERENT;
    }
};
#else
extern "C" {
typedef void *RTCDevice, *RTCScene, *RTCGeometry;
enum { RTC_GEOMETRY_TYPE_TRIANGLE = 0, RTC_BUFFER_TYPE_INDEX = 0, RTC_BUFFER_TYPE_VERTEX = 1, RTC_FORMAT_UINT3 = 0x5003, RTC_FORMAT_FLOAT3 = 0x9003 };
enum { RTC_BUILD_QUALITY_MEDIUM = 1, RTC_BUILD_QUALITY_HIGH = 2 };
static const unsigned RTC_INVALID_GEOMETRY_ID = ~0u;
struct Query {
    int flags; unsigned features; void *context, *filter, *function; float width;
    explicit Query(bool coherent) : flags(coherent ? 1 << 16 : 0), features(~0u), context(nullptr), filter(nullptr), function(nullptr), width(0) {}
};
#define RAYS(NAME, N)                                                                                                            \
    struct alignas(N > 1 ? 4 * N : 16) RTCRay##NAME {                                                                            \
        float org_x N_OF(N), org_y N_OF(N), org_z N_OF(N), tnear N_OF(N), dir_x N_OF(N), dir_y N_OF(N), dir_z N_OF(N), time N_OF(N), tfar N_OF(N); \
        unsigned mask N_OF(N), id N_OF(N), flags N_OF(N);                                                                        \
    };                                                                                                                           \
    struct alignas(N > 1 ? 4 * N : 16) RTCHit##NAME {                                                                            \
        float Ng_x N_OF(N), Ng_y N_OF(N), Ng_z N_OF(N), u N_OF(N), v N_OF(N);                                                    \
        unsigned primID N_OF(N), geomID N_OF(N), instID[1] N_OF(N), instPrimID[1] N_OF(N);                                       \
    };                                                                                                                           \
    struct RTCRayHit##NAME { RTCRay##NAME ray; RTCHit##NAME hit; };
#define N_OF(N) [N]
RAYS(4, 4) RAYS(8, 8) RAYS(16, 16)
#undef N_OF
#define N_OF(N)
RAYS(, 1)
RTCDevice rtcNewDevice(const char *);
RTCScene rtcNewScene(RTCDevice);
void rtcSetSceneBuildQuality(RTCScene, int);
RTCGeometry rtcNewGeometry(RTCDevice, int);
void *rtcSetNewGeometryBuffer(RTCGeometry, int, unsigned, int, size_t, size_t);
void rtcCommitGeometry(RTCGeometry);
unsigned rtcAttachGeometry(RTCScene, RTCGeometry);
void rtcReleaseGeometry(RTCGeometry);
void rtcCommitScene(RTCScene);
void rtcReleaseScene(RTCScene);
void rtcSetDeviceMemoryMonitorFunction(RTCDevice, bool (*)(void *, ptrdiff_t, bool), void *);
void rtcIntersect1(RTCScene, RTCRayHit *, Query *);
void rtcIntersect4(const int *, RTCScene, RTCRayHit4 *, Query *);
void rtcIntersect8(const int *, RTCScene, RTCRayHit8 *, Query *);
void rtcIntersect16(const int *, RTCScene, RTCRayHit16 *, Query *);
void rtcOccluded1(RTCScene, RTCRay *, Query *);
void rtcOccluded4(const int *, RTCScene, RTCRay4 *, Query *);
void rtcOccluded8(const int *, RTCScene, RTCRay8 *, Query *);
void rtcOccluded16(const int *, RTCScene, RTCRay16 *, Query *);
}
#define QUERY_FIRST(query)
#define QUERY_LAST(query) , &query
#endif

struct Ray { float org[3], tmin, dir[3], tmax; };
struct Hit { float t; int prim; };

static RTCDevice device;
static long long bytes;

static bool count_bytes(void *, ptrdiff_t size, bool) {
    bytes += size;
    return true;
}

// Ray `r` as element `k` of a packet; `E` selects the element.
#define FILL(h, E, r)                                                                                                         \
    h.ray.org_x E = r.org[0], h.ray.org_y E = r.org[1], h.ray.org_z E = r.org[2], h.ray.tnear E = r.tmin;                     \
    h.ray.dir_x E = r.dir[0], h.ray.dir_y E = r.dir[1], h.ray.dir_z E = r.dir[2], h.ray.tfar E = r.tmax;                      \
    h.ray.time E = 0, h.ray.mask E = ~0u, h.ray.id E = 0, h.ray.flags E = 0;                                                  \
    h.hit.primID E = h.hit.geomID E = h.hit.instID[0] E = RTC_INVALID_GEOMETRY_ID;
// Occluded rays get a distance below zero.
#define RESULT(h, E, any) Hit { h.ray.tfar E, any ? (h.ray.tfar E < 0 ? 0 : -1) : (int)h.hit.primID E }

static void single(RTCScene scene, Query &query, bool any, int n, const Ray *rays, Hit *hits) {
    for (int i = 0; i < n; ++i) {
        RTCRayHit h;
        FILL(h, , rays[i])
        if (any) rtcOccluded1(scene, QUERY_FIRST(query) &h.ray QUERY_LAST(query));
        else rtcIntersect1(scene, QUERY_FIRST(query) &h QUERY_LAST(query));
        hits[i] = RESULT(h, , any);
    }
}

template <int N, class Rays, class Intersect, class Occluded>
static void packet(Intersect intersect, Occluded occluded, RTCScene scene, Query &query, bool any, int n, const Ray *rays, Hit *hits) {
    alignas(64) int valid[N];
    for (int i = 0; i < n; i += N) {
        Rays h;
        int used = std::min(N, n - i);
        for (int k = 0; k < N; ++k) {
            valid[k] = k < used ? -1 : 0;
            const Ray &ray = rays[i + (k < used ? k : 0)];
            FILL(h, [k], ray)
        }
        if (any) occluded(valid, scene, QUERY_FIRST(query) &h.ray QUERY_LAST(query));
        else intersect(valid, scene, QUERY_FIRST(query) &h QUERY_LAST(query));
        for (int k = 0; k < used; ++k) hits[i + k] = RESULT(h, [k], any);
    }
}

#if EMBREE == 3
static void stream(RTCScene scene, Query &query, bool any, int n, const Ray *rays, Hit *hits) {
    const int most = 1024;
    static std::unique_ptr<RTCRayHit[]> room(new RTCRayHit[most]);
    for (int i = 0; i < n; i += most) {
        int used = std::min(most, n - i);
        for (int k = 0; k < used; ++k) { FILL(room[k], , rays[i + k]) }
        if (any) rtcOccluded1M(scene, &query, &room[0].ray, used, sizeof(RTCRayHit));
        else rtcIntersect1M(scene, &query, room.get(), used, sizeof(RTCRayHit));
        for (int k = 0; k < used; ++k) hits[i + k] = RESULT(room[k], , any);
    }
}
#endif

extern "C" {
// The name of a variant; null after the last one.
const char *variant(int index) {
    static const char *names[] = {"single", "packets of 4", "packets of 8", "packets of 16",
#if EMBREE == 3
                                  "streams",
#endif
                                  nullptr};
    return names[index];
}

// A scene on one thread, with its memory in bytes.
void *make(const float *vertices, long long n_vertices, const unsigned *triangles, long long n_triangles, int is_high, long long *n_bytes) {
    if (!device) {
        device = rtcNewDevice("threads=1");
        rtcSetDeviceMemoryMonitorFunction(device, count_bytes, nullptr);
    }
    bytes = 0;
    RTCScene scene = rtcNewScene(device);
    rtcSetSceneBuildQuality(scene, is_high ? RTC_BUILD_QUALITY_HIGH : RTC_BUILD_QUALITY_MEDIUM);
    RTCGeometry mesh = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    memcpy(rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, n_vertices), vertices, 12 * n_vertices);
    memcpy(rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, n_triangles), triangles, 12 * n_triangles);
    rtcCommitGeometry(mesh);
    rtcAttachGeometry(scene, mesh);
    rtcReleaseGeometry(mesh);
    // The copy of the mesh is not part of the hierarchy.
    long long before = bytes;
    rtcCommitScene(scene);
    *n_bytes = bytes - before;
    return scene;
}

void drop(void *scene) { rtcReleaseScene((RTCScene)scene); }

void trace(void *scene, int index, int is_coherent, int any, int n, const Ray *rays, Hit *hits) {
    unsigned mode = _mm_getcsr();
    // Numbers near zero are zero, as Embree recommends.
    _mm_setcsr(mode | 0x8040);
    Query query(is_coherent);
    RTCScene s = (RTCScene)scene;
    if (index == 0) single(s, query, any, n, rays, hits);
    if (index == 1) packet<4, RTCRayHit4>(rtcIntersect4, rtcOccluded4, s, query, any, n, rays, hits);
    if (index == 2) packet<8, RTCRayHit8>(rtcIntersect8, rtcOccluded8, s, query, any, n, rays, hits);
    if (index == 3) packet<16, RTCRayHit16>(rtcIntersect16, rtcOccluded16, s, query, any, n, rays, hits);
#if EMBREE == 3
    if (index == 4) stream(s, query, any, n, rays, hits);
#endif
    _mm_setcsr(mode);
}
}
