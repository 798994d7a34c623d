// Digits of pi, four at a time, by the spigot of Rabinowitz and Wagon.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100;
    int len = n / 4 * 14;
    int64_t *terms = malloc((len + 1) * sizeof(int64_t));
    for (int i = 0; i <= len; i++) terms[i] = 2000;
    int64_t held = 0;
    for (int left = len; left > 0; left -= 14) {
        int64_t sum = 0;
        for (int i = left; i > 0; i--) {
            sum = sum * i + 10000 * terms[i];
            terms[i] = sum % (2 * i - 1);
            sum = sum / (2 * i - 1);
        }
        printf("%04d", (int)(held + sum / 10000));
        held = sum % 10000;
    }
    printf("\n");
    return 0;
}
