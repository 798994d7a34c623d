// Listing 9: a convolution, specialized to a kernel. The inner loop is unrolled, and the kernel is part of the code.
// out: 2
// out: 2
// out: 2
// out: 2
void convolve(float* in, int size, float* K, int range, float* out) {
  for (int x = 0; x < size; ++x) {
    float v = 0;
    @K & range:
    for (int j = -range; j <= range; ++j) {
      float kv = K[range + j];
      @* & in:
      v += in[x + j] * kv;
    }
    out[x] = v;
  }
}
void conv_spec(float* in, int size, float* out) = convolve<in, size, {-1.0, 0.0, 1.0}, 1, out>;
int main() {
  float* in = alloc_float(10);
  float* out = alloc_float(8);
  for (int i = 0; i < 10; ++i) in[i] = (float) i;
  convolve(in + 1, 8, {-1.0, 0.0, 1.0}, 1, out);
  print(out[0]);
  print(out[7]);
  conv_spec(in + 1, 8, out);
  print(out[0]);
  print(out[7]);
  return 0;
}
