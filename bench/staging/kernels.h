// The functions that `main.cpp` compares: ours, from `kernels.sc` and `fft.sc`, and those of `peers.cpp`.

#pragma once

extern "C" {
float power(float base, int exp);
float power72(float base);
void convolve(const float* in, int from, int to, const float* kernel, int range, float* out);
void conv_staged(const float* in, int from, int to, float* out);
void convolve_mirror(const float* in, int size, const float* kernel, int range, float* out);
void conv_mirror_staged(const float* in, int size, float* out);
void fft_plain(float* image, int size);
void fft_staged(float* image);
void fft_1k(float* re, float* im, float* work, float* out);
void fft_64k(float* re, float* im, float* work, float* out);

float cpp_power(float base, int exp);
float cpp_power72(float base);
void cpp_convolve(const float* in, int from, int to, const float* kernel, int range, float* out);
void cpp_conv(const float* in, int from, int to, float* out);
void cpp_convolve_mirror(const float* in, int size, const float* kernel, int range, float* out);
void cpp_conv_mirror(const float* in, int size, float* out);
void cpp_fft(float* image, int size);
void cpp_fft24(float* image);
}
