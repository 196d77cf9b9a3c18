package weir.probe.boot;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The mark of shadow traffic on a thread. A plain thread-local, not an inheritable one: a pool's worker started by a
 * marked thread would keep the mark for ever. Threads that should inherit are given it when they start.
 */
public final class Mark {
    private static final ThreadLocal<Mark> CURRENT = new ThreadLocal<>();
    private static final AtomicLong OPEN = new AtomicLong();
    private static final List<WeakReference<Thread>> INHERITED = new ArrayList<>();
    private static volatile boolean accepting;
    private static volatile boolean captured;

    private final String value;

    /** @param value the value of the baggage entry, as received */
    public Mark(String value) {
        this.value = value;
    }

    public String value() {
        return value;
    }

    public static boolean marked() {
        return CURRENT.get() != null;
    }

    /** The thread's mark, or null. */
    public static Mark current() {
        return CURRENT.get();
    }

    /** The thread's mark, about to be kept with a task; opens the gates that take it up again. Null if there is none. */
    public static Mark capture() {
        Mark mark = CURRENT.get();
        if (mark != null && !captured) {
            captured = true;
        }
        return mark;
    }

    /**
     * Sets the thread's mark until the scope is closed; null hides a mark, for business work on a marked thread.
     *
     * @throws ShadowRefused if shadow traffic is not accepted now
     */
    public static Scope open(Mark mark) {
        if (mark != null && !accepting) {
            throw new ShadowRefused("shadow traffic is refused: the probe is not armed");
        }
        return new Scope(mark);
    }

    /** Threads and scopes that carry a mark now; join points are folded away only at 0. */
    public static long live() {
        synchronized (INHERITED) {
            INHERITED.removeIf(thread -> {
                Thread t = thread.get();
                return t == null || t.getState() == Thread.State.TERMINATED;
            });
            return OPEN.get() + INHERITED.size();
        }
    }

    /** Notes a thread that has been given the mark for its whole life. */
    public static void inherited(Thread thread) {
        synchronized (INHERITED) {
            INHERITED.add(new WeakReference<>(thread));
        }
    }

    /** The thread-local in which {@link #inherited} threads find the mark; for the carrier of threads only. */
    public static ThreadLocal<?> holder() {
        return CURRENT;
    }

    public static boolean accepting() {
        return accepting;
    }

    static void accept(boolean on) {
        accepting = on;
    }

    static boolean captured() {
        return captured;
    }

    /** A mark's extent on one thread. Closing it twice, or on another thread, changes nothing. */
    public static final class Scope implements AutoCloseable {
        private final Mark previous = CURRENT.get();
        private final Thread owner = Thread.currentThread();
        private final boolean counted;
        private boolean closed;

        private Scope(Mark mark) {
            counted = mark != null;
            if (counted) {
                OPEN.incrementAndGet();
                CURRENT.set(mark);
            } else {
                CURRENT.remove();
            }
        }

        @Override
        public void close() {
            if (closed || Thread.currentThread() != owner) {
                return;
            }
            closed = true;
            if (previous == null) {
                CURRENT.remove();
            } else {
                CURRENT.set(previous);
            }
            if (counted) {
                OPEN.decrementAndGet();
            }
        }
    }
}
