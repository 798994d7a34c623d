// Listing 2: a dot product that can be specialized over the size, and over either vector.
// out: 32
// out: 32
// out: 32
float dot(float[] x, float[] y, int n) {
  @n: if (n > 0) {
    stage t = *;
    float rest = dot(x, y, n - 1);
    @t & x: float xn = x[n];
    @t & y: float yn = y[n];
    @xn & yn & rest: float result = rest + xn * yn;
    @t: return result;
  } else
    return 0.0;
}
float dot3(float* x, float* y) = dot<x, y, 3>;
float dot3_with_456(float* x) = dot<x, {0.0, 4.0, 5.0, 6.0}, 3>;
int main() {
  float* x = {0.0, 1.0, 2.0, 3.0};
  float* y = {0.0, 4.0, 5.0, 6.0};
  print(dot(x, y, 3));
  print(dot3(x, y));
  print(dot3_with_456(x));
  return 0;
}
