// error: E1012
// The recursive call does not wait for `n`, and the end of the recursion does.
float power(float base, int n) {
  @n: if (n == 0) return 1.0;
  @power: float part = power(base, n - 1);
  @always: float more = power(base, n - 2);
  return part * base + more;
}
int main() {
  print(power(2.0, 3));
  return 0;
}
