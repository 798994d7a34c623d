// A transform whose factors are static tables: Stockham's algorithm with radix 4, which needs no reordering. Real and imaginary
// parts are apart. The passes are specialized to their lengths.

static float* cosines(int n, int k) {
  float* table = alloc_float(n / 4);
  for (int p = 0; p < n / 4; ++p) table[p] = (float) cos(2 * pi * k * p / n);
  return table;
}

static float* sines(int n, int k) {
  float* table = alloc_float(n / 4);
  for (int p = 0; p < n / 4; ++p) table[p] = (float) -sin(2 * pi * k * p / n);
  return table;
}

// One pass: `m` blocks of `s` numbers, `n` numbers in all. The tables have the first three powers of the factors.
static void pass(float* xr, float* xi, float* yr, float* yi, float* c1, float* s1, float* c2, float* s2, float* c3, float* s3, int n, int m, int s) {
  int h = n / 4;
  @xr & yr:
  for (int p = 0; p < m; ++p) {
    float w1r = c1[p * s];
    float w1i = s1[p * s];
    float w2r = c2[p * s];
    float w2i = s2[p * s];
    float w3r = c3[p * s];
    float w3i = s3[p * s];
    for (int q = 0; q < s; ++q) {
      int i = q + s * p;
      int o = q + 4 * s * p;
      float ar = xr[i];
      float br = xr[i + h];
      float cr = xr[i + 2 * h];
      float dr = xr[i + 3 * h];
      float ai = xi[i];
      float bi = xi[i + h];
      float ci = xi[i + 2 * h];
      float di = xi[i + 3 * h];
      float t0r = ar + cr;
      float t0i = ai + ci;
      float t1r = ar - cr;
      float t1i = ai - ci;
      float t2r = br + dr;
      float t2i = bi + di;
      float t3r = bi - di;
      float t3i = dr - br;
      float u1r = t1r + t3r;
      float u1i = t1i + t3i;
      float u2r = t0r - t2r;
      float u2i = t0i - t2i;
      float u3r = t1r - t3r;
      float u3i = t1i - t3i;
      yr[o] = t0r + t2r;
      yi[o] = t0i + t2i;
      yr[o + s] = u1r * w1r - u1i * w1i;
      yi[o + s] = u1r * w1i + u1i * w1r;
      yr[o + 2 * s] = u2r * w2r - u2i * w2i;
      yi[o + 2 * s] = u2r * w2i + u2i * w2r;
      yr[o + 3 * s] = u3r * w3r - u3i * w3i;
      yi[o + 3 * s] = u3r * w3i + u3i * w3r;
    }
  }
}

// All passes from `a` to `b` and back.
static void passes(float* ar, float* ai, float* br, float* bi, float* c1, float* s1, float* c2, float* s2, float* c3, float* s3, int n, int m, int s) {
  @n & m & s:
  if (m > 0) {
    pass(ar, ai, br, bi, c1, s1, c2, s2, c3, s3, n, m, s);
    @n & m & s:
    passes(br, bi, ar, ai, c1, s1, c2, s2, c3, s3, n, m / 4, s * 4);
  }
}

// An odd number of passes ends in the first target, an even one in the second.
static void odd(float* re, float* im, float* work, float* out, float* c1, float* s1, float* c2, float* s2, float* c3, float* s3, int n) {
  @n: pass(re, im, out, out + n, c1, s1, c2, s2, c3, s3, n, n / 4, 1);
  @n: passes(out, out + n, work, work + n, c1, s1, c2, s2, c3, s3, n, n / 16, 4);
}

static void even(float* re, float* im, float* work, float* out, float* c1, float* s1, float* c2, float* s2, float* c3, float* s3, int n) {
  @n: pass(re, im, work, work + n, c1, s1, c2, s2, c3, s3, n, n / 4, 1);
  @n: passes(work, work + n, out, out + n, c1, s1, c2, s2, c3, s3, n, n / 16, 4);
}

float* c1_1k = cosines(1024, 1);
float* s1_1k = sines(1024, 1);
float* c2_1k = cosines(1024, 2);
float* s2_1k = sines(1024, 2);
float* c3_1k = cosines(1024, 3);
float* s3_1k = sines(1024, 3);

void fft_1k(float* re, float* im, float* work, float* out) = odd<re, im, work, out, c1_1k, s1_1k, c2_1k, s2_1k, c3_1k, s3_1k, 1024>;

float* c1_64k = cosines(65536, 1);
float* s1_64k = sines(65536, 1);
float* c2_64k = cosines(65536, 2);
float* s2_64k = sines(65536, 2);
float* c3_64k = cosines(65536, 3);
float* s3_64k = sines(65536, 3);

void fft_64k(float* re, float* im, float* work, float* out) = even<re, im, work, out, c1_64k, s1_64k, c2_64k, s2_64k, c3_64k, s3_64k, 65536>;
