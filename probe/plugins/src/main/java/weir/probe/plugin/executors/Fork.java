package weir.probe.plugin.executors;

import java.util.List;
import java.util.concurrent.CompletableFuture.AsynchronousCompletionTask;
import java.util.concurrent.ForkJoinTask;
import weir.probe.boot.Attached;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Tasks of {@code ForkJoinPool}: their own objects are joined and cast, so marks are attached, never wrapped around. */
public final class Fork {
    private Fork() {}

    /** At all that forks or invokes; of several tasks the first is run in place and the others are forked. */
    public static boolean attach(Object task) {
        Object first = task instanceof Object[] ? ((Object[]) task).length == 0 ? null : ((Object[]) task)[0]
                : task instanceof List ? ((List<?>) task).isEmpty() ? null : ((List<?>) task).get(0) : task;
        if (first instanceof ForkJoinTask) {
            Attached.attach(first);
        }
        return false;
    }

    public static Runnable runnable(Runnable task) {
        if (task instanceof AsynchronousCompletionTask || task != null && task.getClass().getName().startsWith("java.lang.VirtualThread")) {
            return task; // carries its own mark; a virtual thread's continuation has it on the thread
        }
        if (task instanceof ForkJoinTask) {
            Attached.attach(task);
            return task;
        }
        return Carry.runnable(task);
    }

    /** Around {@code doExec}. A marked thread that joins may be given business work to help with: its mark is hidden. */
    public static Object enter(ForkJoinTask<?> task) {
        Mark mark = Attached.of(task);
        if (mark == null) {
            return Mark.marked() ? Mark.open(null) : null;
        }
        try {
            Mark.Scope scope = Mark.resume(mark);
            Attached.take(task);
            return scope;
        } catch (ShadowRefused e) {
            task.completeExceptionally(e);
            return null;
        }
    }

    public static void exit(Object token, Throwable thrown) {
        ((Mark.Scope) token).close();
    }
}
