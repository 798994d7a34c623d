// The power function of Listing 6 in Staged-C: specialized to an exponent, only multiplications are left.
// out: 955.596
// out: 1024
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
int main() {
  print(power72(1.1));
  print(power(2.0, 10));
  return 0;
}
