// Listing 10: the recursive Cooley-Tukey FFT on interleaved complex numbers. `size` counts floats. The recursion is
// specialized for each size; it and the loop are unrolled where the value of `sh` says so.
// args: 32
// out: 10
// out: -2
// out: 2
// out: 10
// out: -2
// out: 2
// out: 136
// out: -8
// out: 40.2187
float sqr(float x) { return x * x; }
void reindex(float* image, int size) {
  int j = 0;
  for (int i = 0; i < size; i += 2) {
    if (j > i) {
      float re = image[j];
      float im = image[j + 1];
      image[j] = image[i];
      image[j + 1] = image[i + 1];
      image[i] = re;
      image[i + 1] = im;
    }
    int m = size / 2;
    while (m >= 2 && j >= m) {
      j -= m;
      m = m / 2;
    }
    j += m;
  }
}
void sfft(float* image, int size) {
  @size:
  if (size <= 2) return;
  int sh = size / 2;
  stage unroll = sh <= 4 ? sh : image;
  void sffth(float* img) = sfft<img, sh>;
  @* & unroll:
  sffth(image);
  sffth(image + sh);
  @sh:
  float wtemp = sin(pi / sh);
  float wpr = -2.0 * sqr(wtemp);
  float wpi = -sin(2 * pi / sh);
  float wr = 1.0;
  float wi = 0.0;
  float tempr = 0.0;
  float tempi = 0.0;
  @* & unroll:
  for (int i = 0; i < sh; i += 2) {
    @* & image:
    tempr = image[i + sh] * wr - image[i + sh + 1] * wi;
    tempi = image[i + sh] * wi + image[i + sh + 1] * wr;
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
void fft(float* image, int size) {
  reindex(image, size);
  @size:
  sfft(image, size);
}
void fft4(float* image) = fft<image, 8>;
void fill(float* image, int size) {
  for (int i = 0; i < size; i += 2) {
    image[i] = (float) (i / 2 + 1);
    image[i + 1] = 0.0;
  }
}
void show(float* image, int size) {
  print(image[0]);
  print(image[size / 2]);
  print(image[3]);
}
int main() {
  int n = arg(0);
  float* image = alloc_float(n);
  fill(image, 8);
  fft(image, 8);
  show(image, 8);
  fill(image, 8);
  fft4(image);
  show(image, 8);
  void fft_n(float* image) = fft<image, n>;
  fill(image, n);
  fft_n(image);
  show(image, n);
  return 0;
}
