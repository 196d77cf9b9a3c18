package weir.probe.boot;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Marks of tasks, by identity: of those that must not be wrapped, as a queue compares or casts them, and of wrappers that wait. */
public final class Attached {
    private static final Map<Key, Mark> MARKS = new ConcurrentHashMap<>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();

    private Attached() {}

    /** Attaches the thread's mark, or takes a stale one off if the thread has none. */
    public static void attach(Object task) {
        Mark mark = Mark.capture();
        if (mark != null) {
            attach(task, mark);
        } else {
            take(task);
        }
    }

    /** Attaches a mark that is alive. */
    public static void attach(Object task, Mark mark) {
        MARKS.put(new Key(task), mark);
        Mark.moved();
    }

    /** The task's mark, which it keeps; or null. */
    public static Mark of(Object task) {
        return MARKS.isEmpty() ? null : MARKS.get(new Key(task));
    }

    /** The task's mark, which it loses; or null. */
    public static Mark take(Object task) {
        return MARKS.isEmpty() ? null : MARKS.remove(new Key(task));
    }

    static int size() {
        for (Object key; (key = GONE.poll()) != null; ) {
            MARKS.remove(key);
        }
        return MARKS.size();
    }

    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object task) {
            super(task, GONE);
            hash = System.identityHashCode(task);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            Object task = get();
            return this == other || task != null && other instanceof Key && ((Key) other).get() == task;
        }
    }
}
