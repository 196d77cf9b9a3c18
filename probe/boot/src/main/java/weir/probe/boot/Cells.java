package weir.probe.boot;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Calls and times of one join point for one kind of traffic. Calls of business traffic are plain increments in stripes
 * chosen by the thread's number: an atomic one takes longer than all else that an unmarked call does. Two threads that
 * meet in one stripe can lose a call. Calls of shadow traffic are atomic. Times are sampled, less the timer's own cost.
 */
public final class Cells {
    /** Buckets of time: four for each power of two, so a quantile is exact to 19 %. */
    static final int BUCKETS = 4 * 44;

    private static final int PAD = 3; // 8 longs: one cache line a stripe
    private static final int MASK =
            Math.max(16, Integer.highestOneBit(Runtime.getRuntime().availableProcessors() * 4)) - 1;

    final long[] stripes = new long[(MASK + 2) << PAD];
    private final AtomicLong exact = new AtomicLong();
    private final AtomicLong sampled = new AtomicLong();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicLong cpuSampled = new AtomicLong();
    private final AtomicLong cpuNanos = new AtomicLong();
    private final AtomicLongArray buckets = new AtomicLongArray(BUCKETS);

    /** Cells of calls that are counted here too, or null. */
    private final Cells others;

    Cells() {
        this(null);
    }

    Cells(Cells others) {
        this.others = others;
    }

    /** Counts a call and returns how many its stripe has seen. */
    long count() {
        return count(stripes, Numbers.current());
    }

    static long count(long[] stripes, long thread) {
        return ++stripes[stripe(thread)];
    }

    private static int stripe(long thread) {
        return (((int) thread & MASK) + 1) << PAD;
    }

    /** What {@link #count} or {@link #countExactly} has returned last. */
    long last() {
        long counted = stripes[stripe(Numbers.current())];
        return counted == 0 ? exact.get() : counted;
    }

    long countExactly() {
        return exact.incrementAndGet();
    }

    /** @param start by one of {@link Clock}'s clocks */
    void time(long start) {
        if (!Clock.isElapsed(start)) {
            addCpu(start);
            cpuSampled.incrementAndGet();
            return;
        }
        long ns = Clock.since(start);
        sampled.incrementAndGet();
        nanos.addAndGet(ns);
        buckets.incrementAndGet(bucket(ns));
    }

    /** Adds the CPU time since {@code start} to that of the calls sampled before. */
    void addCpu(long start) {
        cpuNanos.addAndGet(Clock.since(start));
    }

    public long calls() {
        long sum = exact.get();
        for (long stripe : stripes) {
            sum += stripe;
        }
        return others == null ? sum : Math.max(0, sum - others.exact.get());
    }

    /** Calls whose elapsed time was taken. */
    public long sampled() {
        return sampled.get();
    }

    /** The mean of a call in nanoseconds: of CPU if that was taken, else of elapsed time. */
    public double mean() {
        long ofCpu = cpuSampled.get();
        return ofCpu > 0 ? (double) cpuNanos.get() / ofCpu : (double) nanos.get() / Math.max(1, sampled.get());
    }

    /** Nanoseconds below which the share {@code q} of the sampled calls lies: the upper end of its bucket. */
    public long quantile(double q) {
        long rank = (long) Math.ceil(q * sampled.get());
        for (int i = 0; i < BUCKETS && rank > 0; i++) {
            rank -= buckets.get(i);
            if (rank <= 0) {
                return upper(i);
            }
        }
        return 0;
    }

    /** Sampled calls that took longer, exact to a bucket. */
    public long above(long ns) {
        long sum = 0;
        for (int i = bucket(ns) + 1; i < BUCKETS; i++) {
            sum += buckets.get(i);
        }
        return sum;
    }

    void reset() {
        java.util.Arrays.fill(stripes, 0);
        exact.set(0);
        sampled.set(0);
        nanos.set(0);
        cpuSampled.set(0);
        cpuNanos.set(0);
        for (int i = 0; i < BUCKETS; i++) {
            buckets.set(i, 0);
        }
    }

    static int bucket(long ns) {
        if (ns < 4) {
            return (int) ns;
        }
        int log = 63 - Long.numberOfLeadingZeros(ns);
        return Math.min(BUCKETS - 1, 4 * (log - 1) + (int) (ns >>> log - 2 & 3));
    }

    static long upper(int bucket) {
        return bucket < 4 ? bucket : (4L + (bucket & 3) + 1 << (bucket >> 2) - 1) - 1;
    }
}
