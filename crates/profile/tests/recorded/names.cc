// Threads in chains of calls that recorded.rs writes out; the main thread spends its time in the kernel. A leaf sets up
// no frame, so a stack by frame pointers lacks its caller: `quiet`, and `fill`.
#include <cstdint>
#include <fcntl.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static volatile std::uint64_t sink;
namespace shop {
template <typename T> struct Cart {
  NOINLINE void add(T const &item, void (*then)(T)) { then(item); sink = sink + 1; }
};
struct Order { NOINLINE void operator()(int rounds) const; };
} // namespace shop
namespace {
NOINLINE void spin(int rounds) { for (std::uint64_t at = 0; at < 40000000ull * rounds; at++) sink = sink + at; }
NOINLINE void quiet(int rounds) { spin(rounds); sink = sink + 1; }
} // namespace
void shop::Order::operator()(int rounds) const { Cart<int> cart; cart.add(rounds, quiet); sink = sink + 1; }
extern "C" NOINLINE void run(char const *name) { pthread_setname_np(pthread_self(), name); shop::Order()(6); sink = sink + 1; }
NOINLINE static void fill() {
  static char zeros[1 << 24];
  int from = open("/dev/zero", O_RDONLY);
  for (int at = 0; at < 300; at++) sink = sink + static_cast<std::uint64_t>(read(from, zeros, sizeof zeros));
}
int main() {
  std::thread first(run, "pack worker 1"), second(run, "V8 Worker/2");
  first.join();
  second.join();
  fill();
}
