// A driver of CUDA for tests: `libcuda.so.1` without a GPU. Memory of the device is the host's, kernels
// do nothing. Each call of interest is written to the file that FAKE_LOG names.
//
//   FAKE_VERSION=N      the version of the driver
//   FAKE_FAULT=1        the first kernel makes an illegal access
//   FAKE_BAD_PTX=1      kernels cannot be compiled
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1, INVALID_IMAGE = 200, INVALID_PTX = 218, ILLEGAL_ADDRESS = 700 };
typedef unsigned long long Address;

static int is_faulty;
static char* log_buffer;

static int say(const char* format, ...) {
    FILE* log = fopen(getenv("FAKE_LOG"), "a");
    va_list args;
    va_start(args, format);
    vfprintf(log, format, args);
    va_end(args);
    fclose(log);
    return 0;
}
// Programs rely on the alignment of what drivers give.
static void* allocate(size_t size) {
    void* block = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    return block ? memset(block, 0, size) : NULL;
}
static int sticky(void) { return is_faulty ? ILLEGAL_ADDRESS : 0; }

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) {
    *version = getenv("FAKE_VERSION") ? atoi(getenv("FAKE_VERSION")) : 12040;
    return 0;
}
int cuGetErrorName(int error, const char** name) {
    *name = error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
        : error == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : error == OUT_OF_MEMORY ? "out of memory"
        : error == INVALID_PTX ? "a PTX JIT compilation failed" : "invalid argument";
    return 0;
}
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char* name, int size, int device) { snprintf(name, size, "Fake GPU"); return 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = 1 << 30; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 132;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &is_faulty; return 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuCtxSynchronize(void) { return sticky(); }

int cuMemAlloc_v2(Address* address, size_t size) {
    if (size > 1 << 30) return OUT_OF_MEMORY;
    *address = (Address)(size_t)allocate(size);
    return say("alloc\n");
}
int cuMemAllocManaged(Address* address, size_t size, unsigned flags) { return cuMemAlloc_v2(address, size); }
int cuMemHostAlloc(void** block, size_t size, unsigned flags) { *block = allocate(size); return say("alloc\n"); }
int cuMemFree_v2(Address address) { free((void*)(size_t)address); say("free\n"); return sticky(); }
int cuMemFreeHost(void* block) { free(block); say("free\n"); return sticky(); }
int cuMemHostGetDevicePointer_v2(Address* address, void* block, unsigned flags) { *address = (Address)(size_t)block; return 0; }
int cuMemcpy(Address to, Address from, size_t size) { memcpy((void*)(size_t)to, (void*)(size_t)from, size); return sticky(); }
int cuMemcpyHtoD_v2(Address to, const void* from, size_t size) { memcpy((void*)(size_t)to, from, size); return sticky(); }
int cuMemcpyDtoH_v2(void* to, Address from, size_t size) { memcpy(to, (void*)(size_t)from, size); return sticky(); }
int cuMemcpyPeer(Address to, void* a, Address from, void* b, size_t size) { return INVALID_VALUE; }

// A binary is a word and a zero.
int cuModuleLoadData(void** module, const void* image) {
    if (strcmp(image, "binary") != 0) return INVALID_IMAGE;
    *module = &is_faulty;
    return say("load\n");
}
int cuModuleGetFunction(void** function, void* module, const char* name) { *function = strdup(name); return 0; }
int cuLinkCreate_v2(unsigned count, int* options, void** values, void** state) {
    log_buffer = values[0];
    *state = &is_faulty;
    return 0;
}
int cuLinkAddData_v2(void* state, int type, void* data, size_t size, const char* name, unsigned count, int* options, void** values) {
    if (!getenv("FAKE_BAD_PTX")) return say("compile\n");
    strcpy(log_buffer, "ptxas: line 7: no such instruction");
    return INVALID_PTX;
}
int cuLinkComplete(void* state, const void** start, size_t* size) { *start = "binary"; *size = 7; return 0; }
int cuLinkDestroy(void* state) { return 0; }

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void* stream, void** params, void** extra) {
    if ((size_t)bx * by * bz > 1024) return INVALID_VALUE;
    say("launch %s %u %u %u, %u %u %u\n", (char*)function, x, y, z, bx, by, bz);
    is_faulty |= getenv("FAKE_FAULT") != 0;
    return 0;
}
int cuEventCreate(void** event, unsigned flags) { *event = malloc(1); return say("event\n"); }
int cuEventRecord(void* event, void* stream) { return sticky(); }
int cuEventQuery(void* event) { return sticky(); }
int cuEventSynchronize(void* event) { return sticky(); }
int cuEventElapsedTime(float* time, void* start, void* stop) { *time = 0.25f; return sticky(); }
int cuEventDestroy_v2(void* event) { free(event); return say("no event\n"); }
