// Functions that the compiler puts into their callers.
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;

static inline __attribute__((always_inline)) int inner(int x) {
    return sink / x; // line 8: stops here
}

static inline __attribute__((always_inline)) int middle(int x) {
    return inner(x - 7) + 1; // line 12
}

__attribute__((noinline)) int host(int x) {
    return middle(x) * 2; // line 16
}

int main(int count, char **arguments) {
    (void)arguments;
    return host(count);
}
