package weir.probe.plugin.executors;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture.AsynchronousCompletionTask;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import weir.probe.boot.Attached;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/**
 * Tasks of {@code ThreadPoolExecutor}. A plain task in a queue that only hands on is wrapped. A future, a comparable task,
 * or a task in any other queue stays what it is, as others may cast or compare it; its mark is attached beside it.
 */
public final class Pool {
    private Pool() {}

    /** At {@code execute}, on a marked thread. */
    public static Runnable execute(Runnable task, ThreadPoolExecutor pool) {
        if (task == null || task instanceof Carried || task instanceof AsynchronousCompletionTask) {
            return task; // a stage of a CompletableFuture carries the mark of the thread that gave it
        }
        if (task instanceof FutureTask || task instanceof ForkJoinTask || task instanceof Comparable || !handsOn(pool.getQueue())) {
            Attached.attach(task);
            return task;
        }
        return new Carried(task, new Held());
    }

    /** At {@code execute}: a mark that an earlier, discarded run of the same object has left is taken off. */
    public static Runnable unmarked(Runnable task) {
        if (!Mark.marked() && task != null) {
            Attached.take(task);
        }
        return task;
    }

    /** Before a worker runs a task. */
    public static Runnable adopted(Runnable task) {
        Mark mark = task instanceof Carried ? null : Attached.of(task);
        if (mark == null) {
            // A worker whose thread has a mark for life, or one that a polling loop has left: this task is not of it.
            return task instanceof Carried || !Mark.marked() ? task : () -> {
                try (Mark.Scope hidden = Mark.open(null)) {
                    task.run();
                }
            };
        }
        Carried carried = new Carried(task, new Held(mark));
        Attached.take(task);
        return carried;
    }

    public static Runnable original(Runnable task) {
        return task instanceof Carried ? ((Carried) task).task : task;
    }

    /** A task that its pool gives back, to a handler of rejected tasks for one. It may be queued again. */
    public static Runnable returned(Runnable task) {
        if (task instanceof Carried) {
            Attached.attach(((Carried) task).task, ((Carried) task).held.mark);
        }
        return original(task);
    }

    public static List<Runnable> originals(List<Runnable> tasks) {
        List<Runnable> originals = new ArrayList<>(tasks.size());
        for (Runnable task : tasks) {
            originals.add(returned(task));
        }
        return originals;
    }

    /** A stand-in for a task to be removed, equal to the task wrapped or not. */
    public static Runnable removed(Runnable task) {
        return task == null || task instanceof FutureTask ? task : new Wanted(task);
    }

    private static boolean handsOn(BlockingQueue<?> queue) {
        return queue.getClass() == LinkedBlockingQueue.class || queue.getClass() == SynchronousQueue.class
                || queue.getClass() == ArrayBlockingQueue.class;
    }

    /** A task with its mark. */
    static class Carried implements Runnable {
        final Runnable task;
        final Held held;

        Carried(Runnable task, Held held) {
            this.task = task;
            this.held = held;
        }

        @Override
        public void run() {
            try (Mark.Scope scope = held.open()) {
                task.run();
            }
        }

        @Override
        public String toString() {
            return task.toString();
        }
    }

    private static final class Wanted implements Runnable {
        private final Runnable task;

        Wanted(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            throw new IllegalStateException("only sought, never queued");
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Runnable && task.equals(original((Runnable) other));
        }

        @Override
        public int hashCode() {
            return task.hashCode();
        }
    }
}
