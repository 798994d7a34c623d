// A transform of `n` complex numbers, a power of 4, whose factors are a static table. Real and imaginary parts are apart.
//
// Each pass replaces one digit of the index, the highest that is left, by a digit of the result. To use SIMD registers, a pass needs 16
// numbers in a row that are treated alike, also at the end: the lowest digits of the result are those of the first two passes. So the
// next two passes move these digits to the end:
//
//   n4 n3 n2 n1 n0  ->  k0 n3 n2 n1 n0  ->  k0 k1 n2 n1 n0  ->  k2 k0 n1 n0 k1  ->  k3 k2 n0 k1 k0  ->  k4 k3 k2 k1 k0

// The factors of a pass for `entries` indices; `repeat` indices in a row have the same ones.
static int fill(float* table, int at, int entries, int repeat) {
  for (int k = 1; k < 4; ++k) {
    for (int i = 0; i < entries; ++i) {
      double angle = 2 * pi * k * (i / repeat) / (4 * entries / repeat);
      table[at + i] = (float) cos(angle);
      table[at + entries + i] = (float) -sin(angle);
    }
    at += 2 * entries;
  }
  return at;
}

// The factors of all passes, one after the other.
static float* factors(int n) {
  float* table = alloc_float(2 * n + 6 * n / 64);
  int at = fill(table, 0, n / 4, 1);
  at = fill(table, at, n / 16, 1);
  at = fill(table, at, n / 64, 1);
  at = fill(table, at, n / 64, 4);
  for (int rest = n / 1024; rest > 0; rest = rest / 4) at = fill(table, at, rest, 1);
  return table;
}

// Transforms the numbers at `i`, `i + h`, .. and puts them to `o`, `o + d`, ..
static void butterfly(float* xr, float* xi, int i, int h, float* yr, float* yi, int o, int d, float* w, int m, int p) {
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
  float w1r = w[p];
  float w1i = w[m + p];
  float w2r = w[2 * m + p];
  float w2i = w[3 * m + p];
  float w3r = w[4 * m + p];
  float w3i = w[5 * m + p];
  yr[o] = t0r + t2r;
  yi[o] = t0i + t2i;
  yr[o + d] = u1r * w1r - u1i * w1i;
  yi[o + d] = u1r * w1i + u1i * w1r;
  yr[o + 2 * d] = u2r * w2r - u2i * w2i;
  yi[o + 2 * d] = u2r * w2i + u2i * w2r;
  yr[o + 3 * d] = u3r * w3r - u3i * w3i;
  yi[o + 3 * d] = u3r * w3i + u3i * w3r;
}

// The new digit takes the place of the old one.
static void keep(float* xr, float* xi, float* yr, float* yi, float* w, int n, int planes) {
  int h = n / planes / 4;
  @xr & yr:
  for (int plane = 0; plane < planes; ++plane) {
    for (int i = 0; i < h; ++i) {
      @n & planes:
      butterfly(xr + 4 * h * plane, xi + 4 * h * plane, i, h, yr + 4 * h * plane, yi + 4 * h * plane, i, h, w, h, i);
    }
  }
}

// The new digit becomes the first one, and the second one the last.
static void move(float* xr, float* xi, float* yr, float* yi, float* w, int n) {
  int h = n / 64;
  @xr & yr:
  for (int first = 0; first < 4; ++first) {
    for (int i = 0; i < h; ++i) {
      @n:
      for (int second = 0; second < 4; ++second)
        butterfly(xr + 16 * h * first, xi + 16 * h * first, i + 4 * h * second, h, yr + 4 * h * first, yi + 4 * h * first, 4 * i + second, n / 4, w, h, i);
    }
  }
}

// The new digit becomes the first one; 16 numbers in a row have the same factors.
static void rows(float* xr, float* xi, float* yr, float* yi, float* w, int n, int planes) {
  int h = n / planes / 4;
  @xr & yr:
  for (int plane = 0; plane < planes; ++plane) {
    for (int p = 0; p < h / 16; ++p) {
      for (int q = 0; q < 16; ++q) {
        @n & planes:
        butterfly(xr + 4 * h * plane + 16 * p, xi + 4 * h * plane + 16 * p, q, h, yr + h * plane + 16 * p, yi + h * plane + 16 * p, q, n / 4, w, h / 16, p);
      }
    }
  }
}

// The passes after the first four, from `x` to `y` and back.
static void last(float* xr, float* xi, float* yr, float* yi, float* w, int n, int planes) {
  @n & planes:
  if (64 * planes <= n) {
    rows(xr, xi, yr, yi, w, n, planes);
    @n & planes:
    last(yr, yi, xr, xi, w + 6 * (n / planes / 64), n, planes * 4);
  }
}

// The result is in `a` if the number of passes is odd, and else in `b`.
static void fft(float* re, float* im, float* a, float* b, float* w, int n) {
  @n: keep(re, im, a, a + n, w, n, 1);
  @n: keep(a, a + n, b, b + n, w + 6 * (n / 4), n, 4);
  @n: move(b, b + n, a, a + n, w + 6 * (n / 4 + n / 16), n);
  @n: move(a, a + n, b, b + n, w + 6 * (n / 4 + n / 16 + n / 64), n);
  @n: last(b, b + n, a, a + n, w + 6 * (n / 4 + n / 16 + n / 32), n, 16);
}

float* w_1k = factors(1024);
void fft_1k(float* re, float* im, float* work, float* out) = fft<re, im, out, work, w_1k, 1024>;

float* w_64k = factors(65536);
void fft_64k(float* re, float* im, float* work, float* out) = fft<re, im, work, out, w_64k, 65536>;
