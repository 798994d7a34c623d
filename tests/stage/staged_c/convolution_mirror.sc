// The convolution with mirror boundary, by loop peeling: the first elements, the inner ones and the last ones have a loop each, with
// the checks that they need. The inner loop has none.
// out: 3
// out: 7
// out: 8
// out: 8
// out: 7
// out: 3
// out: 3
// out: 7
// out: 8
// out: 8
// out: 7
// out: 3
void region(float* in, int from, int to, int size, int side, float* K, int range, float* out) {
  @in & from & to:
  for (int x = from; x < to; ++x) {
    float v = 0;
    @K & range & side:
    for (int j = -range; j <= range; ++j) {
      float kv = K[range + j];
      int i = x + j;
      if (side < 0) i = i < 0 ? -1 - i : i;
      if (side > 0) i = i >= size ? 2 * size - 1 - i : i;
      @* & in:
      v += in[i] * kv;
    }
    out[x] = v;
  }
}
void convolve(float* in, int size, float* K, int range, float* out) {
  @K & range:
  region(in, 0, range, size, -1, K, range, out);
  @K & range:
  region(in, range, size - range, size, 0, K, range, out);
  @K & range:
  region(in, size - range, size, size, 1, K, range, out);
}
void conv_mirror(float* in, int size, float* out) = convolve<in, size, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out>;
void show(float* out, int size) {
  for (int i = 0; i < size; ++i) print(out[i]);
}
int main() {
  float* in = alloc_float(6);
  float* out = alloc_float(6);
  for (int i = 0; i < 6; ++i) in[i] = (float) i;
  convolve(in, 6, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out);
  show(out, 6);
  conv_mirror(in, 6, out);
  show(out, 6);
  return 0;
}
