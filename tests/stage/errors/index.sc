// error: E1014
int main() {
  float* p = alloc_float(3);
  p[3] = 1.0;
  return 0;
}
