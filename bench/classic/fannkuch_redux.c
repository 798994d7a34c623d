// The most flips over all permutations of 0..n, and their checksum.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 7;
    int *perm = malloc(n * sizeof(int)), *perm1 = malloc(n * sizeof(int)), *count = malloc(n * sizeof(int));
    int max = 0, checksum = 0, nth = 0, r = n;
    for (int i = 0; i < n; i++) perm1[i] = i;
    for (;;) {
        for (; r != 1; r--) count[r - 1] = r;
        for (int i = 0; i < n; i++) perm[i] = perm1[i];
        int flips = 0;
        for (int k = perm[0]; k != 0; k = perm[0]) {
            for (int i = 0; i < (k + 1) / 2; i++) {
                int t = perm[i];
                perm[i] = perm[k - i];
                perm[k - i] = t;
            }
            flips++;
        }
        if (flips > max) max = flips;
        checksum += nth % 2 == 0 ? flips : -flips;
        for (;; r++) {
            if (r == n) {
                printf("%d\nPfannkuchen(%d) = %d\n", checksum, n, max);
                return 0;
            }
            int first = perm1[0];
            for (int i = 0; i < r; i++) perm1[i] = perm1[i + 1];
            perm1[r] = first;
            if (--count[r] > 0) break;
        }
        nth++;
    }
}
