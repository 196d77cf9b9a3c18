package weir.probe.plugin.servlet;

import org.apache.coyote.Request;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/**
 * Marks the thread for what comes back of a marked asynchronous request. If shadow traffic is not accepted any more, the
 * refusal ends the connection: the response may have been begun.
 */
public final class MarkedAsync {
    private MarkedAsync() {}

    public static Object enter(Request request) {
        Object mark = request.getAttribute(MarkedRequest.ATTRIBUTE);
        return mark instanceof Mark ? Mark.open((Mark) mark) : null;
    }

    /** Handler for marked threads: a task for Tomcat's pool. */
    public static Runnable start(Runnable task) {
        return task == null ? null : new Started(task);
    }

    private static final class Started extends Held implements Runnable {
        private final Runnable task;

        Started(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            try (Mark.Scope scope = open()) {
                task.run();
            }
        }
    }

    public static void exit(Object scope, Throwable thrown) {
        ((Mark.Scope) scope).close();
    }
}
