// A program that does what servers do, to be looked at from outside at each of its instructions.
#define _GNU_SOURCE
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

int library_sum(const int *numbers, int count, int (*each)(int));

static volatile int sink;
static char *volatile kept;
static jmp_buf back;

KEPT int leaf(int x) { return x * 3 + sink; }

static int compare(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }

KEPT int with_alloca(int size) {
    volatile char *bytes = alloca((size_t)size);
    memset((char *)bytes, size, (size_t)size);
    return bytes[size / 2] + leaf(size);
}

KEPT int aligned(int x) {
    // Makes the compiler align the stack anew.
    volatile double numbers[8] __attribute__((aligned(64)));
    numbers[x & 7] = leaf(x);
    return (int)numbers[x & 7] + with_alloca(x);
}

KEPT int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    return leaf(a + b + c + d + e + f + g + h + i) + i;
}

KEPT int variadic(const char *format, ...) {
    char text[128];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return length + leaf(length);
}

static void on_signal(int number) {
    (void)number;
    sink = leaf(sink) & 15;
}

KEPT void jumps(void) {
    if (setjmp(back) == 0) {
        longjmp(back, 1);
    }
    sink++;
}

KEPT int recursion(int depth) { return depth == 0 ? aligned(48) : recursion(depth - 1) + leaf(depth); }

KEPT int each(int x) { return leaf(x) & 7; }

static int (*generated)(int (*)(int), int);

// Code of no file, without frame pointer, that saves registers, calls, and returns.
static void generate(void) {
    static const unsigned char code[] = {
        0x53, 0x41, 0x54, 0x55,       // push rbx, r12, rbp
        0x48, 0x83, 0xec, 0x40,       // sub rsp, 64
        0x48, 0x89, 0xf8, 0x89, 0xf7, // mov rax, rdi; mov edi, esi
        0xbd, 1, 0, 0, 0,             // mov ebp, 1
        0xff, 0xd0,                   // call rax
        0x01, 0xe8,                   // add eax, ebp
        0x48, 0x83, 0xc4, 0x40,       // add rsp, 64
        0x5d, 0x41, 0x5c, 0x5b, 0xc3, // pop rbp, r12, rbx; ret
    };
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    generated = at;
}

KEPT int runs_generated(int x) { return generated(each, x) + 1; }

KEPT int chain(void) {
    int numbers[] = {5, 3, 8, 1, 9, 2};
    qsort(numbers, 6, sizeof *numbers, compare);
    int sum = library_sum(numbers, 6, each);
    sum += many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9) + variadic("%d %s %.3f", sum, "text", 2.5);
    sum += recursion(4) + runs_generated(sum);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    raise(SIGUSR1);
    jumps();
    kept = malloc(5000);
    memset(kept, sum | 1, 4999);
    kept[4999] = 0;
    sum += (int)strlen(kept);
    free(kept);
    return sum;
}

static void *thread(void *argument) {
    (void)argument;
    raise(SIGSTOP);
    sink = chain();
    raise(SIGSTOP);
    return NULL;
}

KEPT void last(void) {
    // The return address of a call that does not come back is in the next function.
    fflush(stdout);
    _exit(0);
}

int main(int count, char **arguments) {
    (void)arguments;
    signal(SIGUSR1, on_signal);
    generate();
    if (count > 1) {
        pthread_t id;
        pthread_create(&id, NULL, thread, NULL);
        pthread_join(id, NULL);
    }
    raise(SIGSTOP);
    sink = chain();
    last();
}
