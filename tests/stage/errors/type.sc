// error: E1005
int main() {
  float* p = 1;
  return p;
}
