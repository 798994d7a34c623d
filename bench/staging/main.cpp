// Table 1: our functions against C++, plain and with templates, and FFTW where its library is given.
//
// One loop calls all versions, which are compiled separately, in turn. The best of many short rounds counts, by processor time, so
// that other processes on the machine matter little. Each row is checked against a reference in double precision. Output:
// `case version milliseconds ok`, one per line.
// usage: main QUICK [FFTW_LIBRARY]

#include "kernels.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <time.h>
#include <vector>

typedef std::vector<float> Floats;
struct Version { const char* name; std::function<void()> call; };

// The processor time of this process, in milliseconds.
static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

// Measures all versions in turn, and prints the best times multiplied by `scale`. `prepare` runs before each measurement and is not
// timed; `is_right` checks after it.
static void measure(const char* name, int rounds, double scale, const std::vector<Version>& versions, std::function<void()> prepare, std::function<bool()> is_right) {
    std::vector<double> best(versions.size(), 1e30);
    std::vector<bool> ok(versions.size(), true);
    for (int round = 0; round < rounds; ++round)
        for (size_t v = 0; v < versions.size(); ++v) {
            prepare();
            double start = now();
            versions[v].call();
            best[v] = std::min(best[v], now() - start);
            ok[v] = ok[v] && is_right();
        }
    for (size_t v = 0; v < versions.size(); ++v) printf("%s %s %.6f %d\n", name, versions[v].name, best[v] * scale, (int)ok[v]);
    fflush(stdout);
}

static bool near(const Floats& found, const std::vector<double>& expected, double tolerance, size_t skip) {
    double error = 0, scale = 0;
    for (size_t i = skip; i + skip < expected.size(); ++i) {
        error = std::max(error, std::fabs(found[i] - expected[i]));
        scale = std::max(scale, std::fabs(expected[i]));
    }
    return error <= tolerance * scale;
}

// The calls of one round, and of the paper's table.
static const int POWER_CALLS = 500000, CONVOLUTION_CALLS = 1000;
static const double POWER_TABLE = 1e8, CONVOLUTION_TABLE = 1e6;

static void power(int rounds) {
    const int calls = POWER_CALLS;
    volatile float base = 1.0001f;
    volatile int exponent = 72;
    volatile float sink = 0;
    double expected = std::pow((double)1.0001f, 72);
    measure("power", rounds, POWER_TABLE / calls, {
        {"plain", [&] { for (int i = 0; i < calls; ++i) sink = cpp_power(base, exponent); }},
        {"template", [&] { for (int i = 0; i < calls; ++i) sink = cpp_power72(base); }},
        {"unstaged", [&] { for (int i = 0; i < calls; ++i) sink = power(base, exponent); }},
        {"staged", [&] { for (int i = 0; i < calls; ++i) sink = power72(base); }},
    }, [] {}, [&] { return std::fabs(sink - expected) < 1e-4 * expected; });
}

static int mirror(int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; }

static void convolution(int rounds) {
    const int n = 1024, calls = CONVOLUTION_CALLS;
    Floats in(n), out(n), kernel = {-1, -2, 0, 2, 1};
    for (int i = 0; i < n; ++i) in[i] = (float)((i * 7919) % 1000) / 1000;
    std::vector<double> expected(n);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 5; ++k) expected[i] += kernel[k] * in[mirror(i + k - 2, n)];
    volatile int size = n, range = 2;
    auto often = [&](std::function<void()> call) { return [=] { for (int i = 0; i < calls; ++i) call(); }; };
    auto clear = [&] { std::fill(out.begin(), out.end(), 0.f); };
    measure("convolution", rounds, CONVOLUTION_TABLE / calls, {
        {"plain", often([&] { cpp_convolve(in.data(), range, size - range, kernel.data(), range, out.data()); })},
        {"template", often([&] { cpp_conv(in.data(), 2, size - 2, out.data()); })},
        {"unstaged", often([&] { convolve(in.data(), range, size - range, kernel.data(), range, out.data()); })},
        {"staged", often([&] { conv_staged(in.data(), 2, size - 2, out.data()); })},
    }, clear, [&] { return near(out, expected, 1e-5, 2); });
    measure("convolution-mirror", rounds, CONVOLUTION_TABLE / calls, {
        {"plain", often([&] { cpp_convolve_mirror(in.data(), size, kernel.data(), range, out.data()); })},
        {"template", often([&] { cpp_conv_mirror(in.data(), size, out.data()); })},
        {"unstaged", often([&] { convolve_mirror(in.data(), size, kernel.data(), range, out.data()); })},
        {"staged", often([&] { conv_mirror_staged(in.data(), size, out.data()); })},
    }, clear, [&] { return near(out, expected, 1e-5, 0); });
}

static void reverse_bits(Floats& data) {
    size_t n = data.size() / 2;
    for (size_t i = 0, j = 0; i < n; ++i) {
        if (j > i) { std::swap(data[2 * i], data[2 * j]); std::swap(data[2 * i + 1], data[2 * j + 1]); }
        size_t m = n / 2;
        for (; m >= 1 && j >= m; m /= 2) j -= m;
        j += m;
    }
}

// The transform of bit-reversed data, in double precision with exact factors.
static std::vector<double> transform(const Floats& reversed) {
    std::vector<double> d(reversed.begin(), reversed.end());
    size_t n = d.size() / 2;
    for (size_t length = 2; length <= n; length *= 2)
        for (size_t k = 0; k < length / 2; ++k) {
            double c = std::cos(-2 * M_PI * k / length), s = std::sin(-2 * M_PI * k / length);
            for (size_t at = 0; at < n; at += length) {
                double *p = &d[2 * (at + k)], *q = p + length, re = q[0] * c - q[1] * s, im = q[0] * s + q[1] * c;
                q[0] = p[0] - re; q[1] = p[1] - im; p[0] += re; p[1] += im;
            }
        }
    return d;
}

static Floats noise(size_t n) {
    Floats data(2 * n);
    unsigned state = 1;
    for (float& value : data) { state = state * 1664525u + 1013904223u; value = (float)(state >> 8) / (1 << 24) - 0.5f; }
    return data;
}

static void fft(int rounds) {
    const int n = 1 << 24;
    Floats reversed = noise(n), data;
    std::vector<double> expected;
    reverse_bits(reversed);
    expected = transform(reversed);
    volatile int size = 2 * n;
    measure("fft-2^24", rounds, 1, {
        {"plain", [&] { cpp_fft(data.data(), size); }},
        {"template", [&] { cpp_fft24(data.data()); }},
        {"unstaged", [&] { fft_plain(data.data(), size); }},
        {"staged", [&] { fft_staged(data.data()); }},
    }, [&] { data = reversed; }, [&] { return near(data, expected, 1e-4, 0); });
}

// FFTW's interface, as far as it is needed.
struct Fftw {
    void* (*plan)(int, float*, float*, int, unsigned);
    void (*execute)(void*);
};

static bool load(const char* path, Fftw& fftw) {
    void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
    if (!library) return false;
    *(void**)&fftw.plan = dlsym(library, "fftwf_plan_dft_1d");
    *(void**)&fftw.execute = dlsym(library, "fftwf_execute");
    return fftw.plan && fftw.execute;
}

// Out of place, many calls on the same data. Ours takes and gives real and imaginary parts apart; FFTW has them interleaved.
static void fft_tables(const char* name, int log, int rounds, int calls, void (*ours)(float*, float*, float*, float*), const Fftw* fftw) {
    const int n = 1 << log;
    Floats in = noise(n), reversed = in, re(n), im(n), work(2 * n), out(2 * n), copy(2 * n);
    reverse_bits(reversed);
    std::vector<double> expected = transform(reversed);
    void* plan = fftw ? fftw->plan(n, copy.data(), out.data(), -1, 0) : nullptr; // FFTW_MEASURE
    copy = in;
    bool is_ours = false;
    Floats got_re(n), got_im(n);
    for (int i = 0; i < n; ++i) { re[i] = in[2 * i]; im[i] = in[2 * i + 1]; }
    std::vector<Version> versions = {{"staged", [&] {
        is_ours = true;
        for (int c = 0; c < calls; ++c) ours(re.data(), im.data(), work.data(), out.data());
    }}};
    if (plan) versions.push_back({"fftw", [&] { is_ours = false; for (int c = 0; c < calls; ++c) fftw->execute(plan); }});
    measure(name, rounds, 1.0 / calls, versions, [&] { std::fill(out.begin(), out.end(), 0.f); }, [&] {
        Floats found = out;
        if (is_ours) for (int i = 0; i < n; ++i) { found[2 * i] = out[i]; found[2 * i + 1] = out[n + i]; }
        return near(found, expected, 1e-5, 0);
    });
}

int main(int argc, char** argv) {
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    power(quick ? 10 : 100);
    convolution(quick ? 10 : 100);
    if (!quick) fft(5);
    Fftw fftw;
    bool has_fftw = load(argc > 2 ? argv[2] : nullptr, fftw);
    fft_tables("fft-2^10", 10, quick ? 20 : 200, 1000, fft_1k, has_fftw ? &fftw : nullptr);
    fft_tables("fft-2^16", 16, quick ? 10 : 100, 10, fft_64k, has_fftw ? &fftw : nullptr);
}
