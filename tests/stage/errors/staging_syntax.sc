// error: E1004
int main() {
  @3: print(1);
  return 0;
}
