// The convolution with mirror boundary, by loop peeling: the first and the last elements have a loop of their own, and the inner
// loop has no checks.
// out: 3
// out: 8
// out: 8
// out: 3
// out: 3
// out: 8
// out: 8
// out: 3
int mirror(int i, int size) {
  if (i < 0) return -i - 1;
  if (i >= size) return 2 * size - i - 1;
  return i;
}
void border(float* in, int from, int to, int size, float* K, int range, float* out) {
  for (int x = from; x < to; ++x) {
    float v = 0;
    @K & range:
    for (int j = -range; j <= range; ++j) {
      float kv = K[range + j];
      @* & in & x:
      v += in[mirror(x + j, size)] * kv;
    }
    out[x] = v;
  }
}
void inner(float* in, int from, int to, float* K, int range, float* out) {
  for (int x = from; x < to; ++x) {
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
void convolve(float* in, int size, float* K, int range, float* out) {
  border(in, 0, range, size, K, range, out);
  inner(in, range, size - range, K, range, out);
  border(in, size - range, size, size, K, range, out);
}
void conv_mirror(float* in, int size, float* out) = convolve<in, size, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out>;
int main() {
  float* in = alloc_float(8);
  float* out = alloc_float(8);
  for (int i = 0; i < 8; ++i) in[i] = (float) i;
  convolve(in, 8, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out);
  print(out[0]);
  print(out[2]);
  print(out[5]);
  print(out[7]);
  conv_mirror(in, 8, out);
  print(out[0]);
  print(out[2]);
  print(out[5]);
  print(out[7]);
  return 0;
}
