// The programs of Table 1 in C++: plain, and specialized by templates.

#include "kernels.h"
#include <math.h>

// ---- Power ----

float cpp_power(float base, int exp) {
    if (exp == 0) return 1;
    if (exp % 2 == 1) return cpp_power(base, exp - 1) * base;
    float part = cpp_power(base, exp / 2);
    return part * part;
}

template <int Exp> static inline float power_of(float base) {
    if constexpr (Exp == 0) return 1;
    else if constexpr (Exp % 2 == 1) return power_of<Exp - 1>(base) * base;
    else { float part = power_of<Exp / 2>(base); return part * part; }
}

float cpp_power72(float base) { return power_of<72>(base); }

// ---- Convolution ----

void cpp_convolve(const float* in, int from, int to, const float* kernel, int range, float* out) {
    for (int x = from; x < to; ++x) {
        float v = 0;
        for (int j = -range; j <= range; ++j) v += in[x + j] * kernel[range + j];
        out[x] = v;
    }
}

static int mirror(int i, int size) {
    i = i < 0 ? -1 - i : i;
    return i >= size ? 2 * size - 1 - i : i;
}

void cpp_convolve_mirror(const float* in, int size, const float* kernel, int range, float* out) {
    for (int x = 0; x < size; ++x) {
        float v = 0;
        for (int j = -range; j <= range; ++j) v += in[mirror(x + j, size)] * kernel[range + j];
        out[x] = v;
    }
}

template <int... Weights> struct Kernel {
    static constexpr int range = sizeof...(Weights) / 2;
    template <class At> static inline float apply(At at) {
        float v = 0;
        int j = -range;
        ((v += at(j++) * (float)Weights), ...);
        return v;
    }
};
typedef Kernel<-1, -2, 0, 2, 1> Static;

template <class Index> static inline void region(const float* in, int from, int to, float* out, Index index) {
    for (int x = from; x < to; ++x) out[x] = Static::apply([&](int j) { return in[index(x + j)]; });
}

void cpp_conv(const float* in, int from, int to, float* out) {
    region(in, from, to, out, [](int i) { return i; });
}

void cpp_conv_mirror(const float* in, int size, float* out) {
    region(in, 0, Static::range, out, [](int i) { return i < 0 ? -1 - i : i; });
    region(in, Static::range, size - Static::range, out, [](int i) { return i; });
    region(in, size - Static::range, size, out, [=](int i) { return i >= size ? 2 * size - 1 - i : i; });
}

// ---- Fast Fourier transform ----

static inline void combine(float* image, int sh, double wpr, double wpi) {
    double wr = 1, wi = 0;
    for (int i = 0; i < sh; i += 2) {
        float re = image[i + sh] * (float)wr - image[i + sh + 1] * (float)wi;
        float im = image[i + sh] * (float)wi + image[i + sh + 1] * (float)wr;
        image[i + sh] = image[i] - re;
        image[i + sh + 1] = image[i + 1] - im;
        image[i] += re;
        image[i + 1] += im;
        double old = wr;
        wr += wr * wpr - wi * wpi;
        wi += wi * wpr + old * wpi;
    }
}

void cpp_fft(float* image, int size) {
    if (size <= 2) return;
    int sh = size / 2;
    cpp_fft(image, sh);
    cpp_fft(image + sh, sh);
    double half = sin(M_PI / sh);
    combine(image, sh, -2 * half * half, -sin(2 * M_PI / sh));
}

// The sine at compile time, by its series.
static constexpr double sine(double x) {
    double term = x, sum = x;
    for (int k = 1; k < 14; ++k) { term *= -x * x / ((2 * k) * (2 * k + 1)); sum += term; }
    return sum;
}

template <int Size> static inline void fft_of(float* image) {
    if constexpr (Size > 2) {
        constexpr int sh = Size / 2;
        fft_of<sh>(image);
        fft_of<sh>(image + sh);
        constexpr double half = sine(M_PI / sh), wpi = -sine(2 * M_PI / sh);
        combine(image, sh, -2 * half * half, wpi);
    }
}

void cpp_fft24(float* image) { fft_of<(2 << 24)>(image); }
