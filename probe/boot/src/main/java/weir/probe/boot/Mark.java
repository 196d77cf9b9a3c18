package weir.probe.boot;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The mark of shadow traffic on a thread. A plain thread-local, not an inheritable one: a pool's worker started by a
 * marked thread would keep the mark for ever. Threads that should inherit are given it when they start.
 */
public final class Mark {
    private static final ThreadLocal<Scope> CURRENT = new ThreadLocal<>();
    private static final int SLOTS = 1 << 10;
    /**
     * How many marks the threads of a slot hold. 0 says that a thread has none in a fraction of a thread-local's time, which
     * is most of what a business call pays. Read without synchronization: the thread that asks has added its own mark
     * itself, and before its own close no write of others takes the number below 1.
     */
    private static final int[] HELD = new int[SLOTS];
    private static final AtomicLong OPEN = new AtomicLong();
    private static final AtomicLong MOVED = new AtomicLong();
    private static final List<Heir> INHERITED = new ArrayList<>();
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
        return marked(Numbers.current());
    }

    /** @param thread the current thread's number */
    static boolean marked(long thread) {
        return HELD[slot(thread)] != 0 && current() != null;
    }

    private static int slot(long thread) {
        return (int) thread & SLOTS - 1;
    }

    private static void held(long thread, int more) {
        synchronized (HELD) {
            HELD[slot(thread)] += more;
        }
    }

    /** The thread's mark, or null. */
    public static Mark current() {
        Scope scope = open(CURRENT.get());
        return scope == null ? null : scope.mark;
    }

    /** The scope, or the first around it that has not been revoked. */
    private static Scope open(Scope scope) {
        while (scope != null && scope.closed) {
            scope = scope.previous;
        }
        return scope;
    }

    /** The thread's mark, about to be kept with a task; opens the gates that take it up again. Null if there is none. */
    public static Mark capture() {
        Mark mark = current();
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
        return new Scope(mark, false);
    }

    /**
     * Sets the mark of a task that was {@link Attached} until now, accepted or not: a task that is not run would leave others
     * waiting for it. Middleware refuses it if it is not isolated, as long as any mark is alive.
     *
     * @throws ShadowRefused if the probe has left
     */
    public static Scope resume(Mark mark) {
        return new Scope(mark, Probes.isAttached());
    }

    /** Threads, scopes and attached tasks that carry a mark now; join points are folded away only at 0. */
    public static long live() {
        long moved = MOVED.get();
        long attached = Attached.size(); // before OPEN: a mark goes from here to there uncounted
        synchronized (INHERITED) {
            INHERITED.removeIf(Heir::gone);
            long live = attached + INHERITED.size() + OPEN.get();
            return live == 0 && moved != MOVED.get() ? 1 : live;
        }
    }

    /** A mark has gone from its thread to a task or another thread: who counts them may have missed it on both. */
    static void moved() {
        MOVED.incrementAndGet();
    }

    /** Gives the current mark to a thread that has not started, for its whole life. */
    public static void give(Thread child) throws ReflectiveOperationException {
        Mark mark = capture();
        if (mark == null) {
            return;
        }
        synchronized (INHERITED) {
            INHERITED.add(new Heir(child));
        }
        moved();
        Starting.CREATE_MAP.invoke(CURRENT, child, new Scope(mark, child));
    }

    /** A thread that has its mark for its whole life. */
    private static final class Heir extends WeakReference<Thread> {
        private final long number;

        Heir(Thread thread) {
            super(thread);
            number = Numbers.of(thread);
            held(number, 1);
        }

        boolean gone() {
            Thread thread = get();
            boolean gone = thread == null || thread.getState() == Thread.State.TERMINATED;
            if (gone) {
                held(number, -1);
            }
            return gone;
        }
    }

    /** What a thread that has not started will run: its target's class, else its own. */
    public static Class<?> task(Thread child) throws ReflectiveOperationException {
        Object holder = Starting.HOLDER == null ? child : Starting.HOLDER.get(child);
        Object task = holder == null ? null : Starting.TASK.get(holder);
        return task == null ? child.getClass() : task.getClass();
    }

    /** Threads' innards; {@code java.lang} is opened to this package by the agent. */
    private static final class Starting {
        static final Method CREATE_MAP;
        static final Field HOLDER;
        static final Field TASK;

        static {
            try {
                CREATE_MAP = ThreadLocal.class.getDeclaredMethod("createMap", Thread.class, Object.class);
                CREATE_MAP.setAccessible(true);
                Field holder = null;
                Field task;
                try {
                    task = Thread.class.getDeclaredField("target");
                } catch (NoSuchFieldException since19) {
                    holder = Thread.class.getDeclaredField("holder");
                    holder.setAccessible(true);
                    task = holder.getType().getDeclaredField("task");
                }
                task.setAccessible(true);
                HOLDER = holder;
                TASK = task;
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
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
        private final Mark mark;
        private final Scope previous;
        private final Thread owner;
        private volatile boolean closed;

        private Scope(Mark mark, boolean resumed) {
            this.mark = mark;
            previous = open(CURRENT.get());
            owner = Thread.currentThread();
            if (mark != null) {
                OPEN.incrementAndGet(); // before the test: silence sees the scope, or the scope sees silence
                if (!accepting && !resumed) {
                    OPEN.decrementAndGet();
                    throw new ShadowRefused("shadow traffic is refused: the probe is not armed");
                }
                held(Numbers.of(owner), 1);
            }
            CURRENT.set(this);
        }

        /** For the whole life of a thread that has not started, whose {@link Heir} is counted. */
        private Scope(Mark mark, Thread owner) {
            this.mark = mark;
            this.owner = owner;
            previous = null;
        }

        @Override
        public void close() {
            if (Thread.currentThread() == owner && end()) {
                leave();
            }
        }

        /** Closes it from any thread, and where other scopes have been opened in it: they stay open. */
        public void revoke() {
            if (end() && Thread.currentThread() == owner && CURRENT.get() == this) {
                leave();
            }
        }

        private synchronized boolean end() {
            if (closed) {
                return false;
            }
            closed = true;
            if (mark != null) {
                held(Numbers.of(owner), -1);
                OPEN.decrementAndGet();
            }
            return true;
        }

        private void leave() {
            Scope around = open(previous);
            if (around == null) {
                CURRENT.remove();
            } else {
                CURRENT.set(around);
            }
        }
    }
}
