// The Mandelbrot set as a bitmap.
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>

static int stays(double cx, double cy) {
    double x = 0, y = 0, x2 = 0, y2 = 0;
    for (int i = 0; i < 50; i++) {
        y = 2 * x * y + cy;
        x = x2 - y2 + cx;
        x2 = x * x;
        y2 = y * y;
        if (x2 + y2 > 4) return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200;
    int row = (n + 7) / 8;
    uint8_t *image = malloc((size_t)row * n);
    for (int y = 0; y < n; y++) {
        double cy = 2.0 * y / n - 1;
        for (int byte = 0; byte < row; byte++) {
            unsigned bits = 0;
            for (int bit = 0; bit < 8; bit++) {
                double cx = 2.0 * (byte * 8 + bit) / n - 1.5;
                bits = bits << 1 | stays(cx, cy);
            }
            image[y * row + byte] = bits;
        }
    }
    printf("P4\n%d %d\n", n, n);
    fwrite(image, row, n, stdout);
    return 0;
}
