/* A chain of filters, each ending in a call of the next: what -O2 turns into jumps. */
#include <stddef.h>
#define NOINLINE __attribute__((noinline))
volatile unsigned long sink; volatile int header_only;
NOINLINE static int write_out(const unsigned char *p, size_t n) { unsigned long s = sink; for (int r = 0; r < 40; r++) for (size_t i = 0; i < n; i++) s = s * 31 + p[i]; sink = s; return (int)s; }
NOINLINE static int postpone_filter(const unsigned char *p, size_t n) { if (header_only) return 0; return write_out(p, n); }
NOINLINE static int ssi_filter(const unsigned char *p, size_t n) { if (header_only) return 0; return postpone_filter(p, n); }
NOINLINE static int gunzip_filter(const unsigned char *p, size_t n) { if (header_only) return 0; return ssi_filter(p, n); }
NOINLINE static int output_filter(const unsigned char *p, size_t n) { int r = gunzip_filter(p, n); sink += (unsigned long)r; return r; }
NOINLINE static int parse(const unsigned char *p, size_t n) { unsigned long s = 0; for (int r = 0; r < 20; r++) for (size_t i = 0; i < n; i++) s += p[i] * 17; sink += s; return (int)s; }
int main(void) { static unsigned char b[4096]; for (int i = 0; i < 4096; i++) b[i] = (unsigned char)i; for (int r = 0; r < 3000; r++) { sink += (unsigned long)parse(b, sizeof b); sink += (unsigned long)output_filter(b, sizeof b); } return 0; }
