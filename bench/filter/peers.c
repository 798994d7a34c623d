// The three filters of the paper, written by hand: what the partial evaluator finds out is written down. Pictures are planes
// of floats with a margin, as ours are; `stride` is the distance of rows, `plane` that of channels.

#include <math.h>
#include <stddef.h>

static inline float level(float value) {
    value = fminf(fmaxf(value, 0.0f), 1.0f);
    return floorf(value * 255.0f + 0.5f) * (1.0f / 255.0f);
}

void gradient(const float *restrict src, float *restrict dst, int width, int height, ptrdiff_t stride, ptrdiff_t plane, int iter) {
    for (int channel = 0; channel < 3; channel++) {
        for (int row = 0; row < height; row++) {
            const float *at = src + channel * plane + row * stride;
            float *to = dst + channel * plane + row * stride;
            for (int col = 0; col < width; col++) {
                float above = at[col - stride + 1] - at[col - stride - 1];
                float here = at[col + 1] - at[col - 1];
                float below = at[col + stride + 1] - at[col + stride - 1];
                to[col] = level(above + 2.0f * here + below);
            }
        }
    }
}

void temperature(const float *restrict src, float *restrict dst, int width, int height, ptrdiff_t stride, ptrdiff_t plane, int iter) {
    float center_row = height / 10 + iter * (height / 150.0f) + (height / 4) * sinf(iter / 10.0f);
    float center_col = width / 2 + (width / 4) * cosf(iter / 30.0f);
    for (int row = 0; row < height; row++) {
        float down = row - center_row;
        for (int channel = 0; channel < 3; channel++) {
            const float *at = src + channel * plane + row * stride;
            const float *up1 = at - stride, *up2 = up1 - stride, *down1 = at + stride, *down2 = down1 + stride;
            float *to = dst + channel * plane + row * stride;
            for (int col = 0; col < width; col++) {
                float right = col - center_col;
                float sum = up2[col - 1] + 3.0f * up2[col] + up2[col + 1]
                    + (up1[col - 2] + 2.0f * up1[col - 1] + 4.0f * up1[col] + 2.0f * up1[col + 1] + up1[col + 2])
                    + (3.0f * at[col - 2] + 4.0f * at[col - 1] + 6.0f * at[col] + 4.0f * at[col + 1] + 3.0f * at[col + 2])
                    + (down1[col - 2] + 2.0f * down1[col - 1] + 4.0f * down1[col] + 2.0f * down1[col + 1] + down1[col + 2])
                    + (down2[col - 1] + 3.0f * down2[col] + down2[col + 1]);
                to[col] = right * right + down * down <= 400.0f ? 0.0f : level(sum * (1.0f / 50.0f));
            }
        }
    }
}

void wave(const float *restrict src, float *restrict dst, int width, int height, ptrdiff_t stride, ptrdiff_t plane, int iter) {
    for (int row = 0; row < height; row++) {
        int from = row + (int)floorf(20 * sinf((iter + row) * 3.14f / 30));
        from = from <= 0 ? 0 : from >= height ? height - 1 : from;
        for (int channel = 0; channel < 3; channel++) {
            const float *at = src + channel * plane + from * stride;
            float *to = dst + channel * plane + row * stride;
            for (int col = 0; col < width; col++) {
                to[col] = level(at[col]);
            }
        }
    }
}
