// Reads DNA sequences and writes the reverse complement of each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char complement[256];

static void reverse(char *from, char *to) {
    while (from < to) {
        if (*from == '\n') from++;
        else if (*to == '\n') to--;
        else {
            char c = complement[(unsigned char)*from];
            *from++ = complement[(unsigned char)*to];
            *to-- = c;
        }
    }
    if (from == to && *from != '\n') *from = complement[(unsigned char)*from];
}

int main(void) {
    static const char pairs[] = "ATCGGCTAUAMKRYWWSSYRKMVBHDDHBVNN";
    for (int i = 0; i < 256; i++) complement[i] = i;
    for (int i = 0; pairs[i]; i += 2) {
        complement[(unsigned char)pairs[i]] = pairs[i + 1];
        complement[pairs[i] | 32] = pairs[i + 1];
    }
    size_t room = 1 << 16, size = 0;
    char *text = malloc(room);
    for (ssize_t n; (n = read(0, text + size, room - size)) > 0;) {
        size += n;
        if (size == room) {
            char *more = malloc(room * 2);
            memcpy(more, text, size);
            free(text);
            text = more;
            room *= 2;
        }
    }
    for (size_t at = 0; at < size;) {
        while (at < size && text[at] != '\n') at++;
        size_t end = at + 1;
        while (end < size && text[end] != '>') end++;
        reverse(text + at + 1, text + end - 1);
        at = end;
    }
    for (size_t done = 0; done < size;) {
        ssize_t n = write(1, text + done, size - done);
        if (n <= 0) return 1;
        done += n;
    }
    return 0;
}
