package weir.probe.boot;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * The two clocks of the ledger: elapsed time, odd, and CPU time of the thread, even. Where a thread is preempted or waits, one
 * sample of elapsed time can outweigh a thousand others.
 */
public final class Clock {
    private static final Class<?> VIRTUAL = virtual();
    private static final long ELAPSED_COST = cost(Clock::elapsed);
    private static volatile ThreadMXBean threads;
    private static long cpuCost;
    private static volatile double testCost;

    private Clock() {}

    /**
     * Measures what a test of the mark costs, and makes CPU time available. That loads a module that a JVM need not have, and
     * takes tens of milliseconds.
     */
    public static void open() {
        if (testCost == 0) {
            testCost = testCost();
        }
        try {
            ThreadMXBean bean = ManagementFactory.getThreadMXBean();
            if (threads == null && bean.isCurrentThreadCpuTimeSupported() && bean.isThreadCpuTimeEnabled()) {
                cpuCost = cost(bean::getCurrentThreadCpuTime);
                threads = bean;
            }
        } catch (LinkageError | RuntimeException absent) {
            // elapsed time has to do
        }
    }

    /**
     * Nanoseconds of a test of the mark on a thread that has none, with the count of the call. It is too short to be timed where
     * it happens: what surrounds it there is the timer's.
     */
    public static double test() {
        return testCost;
    }

    private static double testCost() {
        long[] counters = new Cells().stripes;
        int batch = 20_000;
        double least = Double.MAX_VALUE;
        for (int round = 0; round < 50; round++) {
            long start = System.nanoTime();
            int marked = 0;
            for (int i = 0; i < batch; i++) {
                marked += Point.marked(counters) ? 1 : 0;
            }
            least = Math.min(least, (double) (System.nanoTime() - start + marked) / batch);
        }
        return least;
    }

    static long elapsed() {
        return System.nanoTime() | 1;
    }

    /** CPU time of this thread, or elapsed time if there is none, as of a virtual thread. */
    static long cpu() {
        ThreadMXBean bean = threads;
        if (bean == null || Thread.currentThread().getClass() == VIRTUAL) {
            return elapsed();
        }
        try {
            return bean.getCurrentThreadCpuTime() & ~1L;
        } catch (UnsupportedOperationException virtual) {
            return elapsed();
        }
    }

    static boolean isElapsed(long start) {
        return (start & 1) != 0;
    }

    /** Nanoseconds since {@code start} by the clock that it is of, less that clock's own cost. */
    static long since(long start) {
        return Math.max(0, isElapsed(start) ? System.nanoTime() - start - ELAPSED_COST
                : threads.getCurrentThreadCpuTime() - start - cpuCost);
    }

    private static long cost(java.util.function.LongSupplier clock) {
        long[] costs = new long[1001];
        for (int i = 0; i < costs.length; i++) {
            long start = clock.getAsLong();
            costs[i] = clock.getAsLong() - start;
        }
        Arrays.sort(costs);
        return costs[costs.length / 2];
    }

    private static Class<?> virtual() {
        try {
            return Class.forName("java.lang.VirtualThread", false, null);
        } catch (ClassNotFoundException before21) {
            return null;
        }
    }
}
