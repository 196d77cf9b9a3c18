package weir.probe.boot;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Marks of tasks that must not be wrapped, by identity: fork-join tasks, and those that a queue compares or casts. */
public final class Attached {
    private static final Map<Key, Mark> MARKS = new ConcurrentHashMap<>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();

    private Attached() {}

    /** Attaches the thread's mark, or takes a stale one off if the thread has none. */
    public static void attach(Object task) {
        Mark mark = Mark.capture();
        if (mark != null) {
            MARKS.put(new Key(task), mark);
        } else {
            take(task);
        }
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
