// The programs of Table 1, generic and specialized. A library: all functions are exported.

// ---- Power ----

float power(float base, int exp) {
  @exp: if (exp == 0) return 1.0;
  if (exp % 2 == 1) {
    stage t = *;
    float part = power(base, exp - 1);
    float result = part * base;
    @t: return result;
  } else {
    stage t = *;
    float part = power(base, exp / 2);
    float result = part * part;
    @t: return result;
  }
}

float power72(float base) = power<base, 72>;

// ---- Convolution ----

void convolve(float* in, int from, int to, float* K, int range, float* out) {
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

void conv_staged(float* in, int from, int to, float* out) = convolve<in, from, to, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out>;

// With mirror boundary. `side` says which check a region of the data needs: that for its start, its end, or none.
static void region(float* in, int from, int to, int size, int side, float* K, int range, float* out) {
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

// Loop peeling: each region has its own loop, with the checks that it needs.
static void peeled(float* in, int size, float* K, int range, float* out) {
  @K & range:
  region(in, 0, range, size, -1, K, range, out);
  @K & range:
  region(in, range, size - range, size, 0, K, range, out);
  @K & range:
  region(in, size - range, size, size, 1, K, range, out);
}

void conv_mirror_staged(float* in, int size, float* out) = peeled<in, size, {-1.0, -2.0, 0.0, 2.0, 1.0}, 2, out>;

// Without staging: both checks for all data.
void convolve_mirror(float* in, int size, float* K, int range, float* out) {
  for (int x = 0; x < size; ++x) {
    float v = 0;
    for (int j = -range; j <= range; ++j) {
      int i = x + j;
      i = i < 0 ? -1 - i : i;
      i = i >= size ? 2 * size - 1 - i : i;
      v += in[i] * K[range + j];
    }
    out[x] = v;
  }
}

// ---- Fast Fourier transform: `size` floats, interleaved, in bit-reversed order ----

static void sfft(float* image, int size) {
  @size:
  if (size <= 2) return;
  int sh = size / 2;
  stage unroll = sh <= 4 ? sh : image;
  void sffth(float* img) = sfft<img, sh>;
  @* & unroll:
  sffth(image);
  sffth(image + sh);
  @sh:
  double wtemp = sin(pi / sh);
  double wpr = -2.0 * wtemp * wtemp;
  double wpi = -sin(2 * pi / sh);
  double wr = 1.0;
  double wi = 0.0;
  @* & unroll:
  for (int i = 0; i < sh; i += 2) {
    @* & image:
    float tempr = image[i + sh] * (float) wr - image[i + sh + 1] * (float) wi;
    float tempi = image[i + sh] * (float) wi + image[i + sh + 1] * (float) wr;
    image[i + sh] = image[i] - tempr;
    image[i + sh + 1] = image[i + 1] - tempi;
    image[i] += tempr;
    image[i + 1] += tempi;
    @i:
    wtemp = wr;
    wr += wr * wpr - wi * wpi;
    wi += wi * wpr + wtemp * wpi;
  }
}

void fft_plain(float* image, int size) {
  if (size > 2) {
    int sh = size / 2;
    fft_plain(image, sh);
    fft_plain(image + sh, sh);
    double wtemp = sin(pi / sh);
    double wpr = -2.0 * wtemp * wtemp;
    double wpi = -sin(2 * pi / sh);
    double wr = 1.0;
    double wi = 0.0;
    for (int i = 0; i < sh; i += 2) {
      float tempr = image[i + sh] * (float) wr - image[i + sh + 1] * (float) wi;
      float tempi = image[i + sh] * (float) wi + image[i + sh + 1] * (float) wr;
      image[i + sh] = image[i] - tempr;
      image[i + sh + 1] = image[i + 1] - tempi;
      image[i] += tempr;
      image[i + 1] += tempi;
      wtemp = wr;
      wr += wr * wpr - wi * wpi;
      wi += wi * wpr + wtemp * wpi;
    }
  }
}

void fft_staged(float* image) = sfft<image, 33554432>;
