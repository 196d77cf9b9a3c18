// A library that calls back.
__attribute__((noinline)) static int inner(int x, int (*each)(int)) { return each(x) + 1; }

int library_sum(const int *numbers, int count, int (*each)(int)) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += inner(numbers[i], each);
    }
    return sum;
}
