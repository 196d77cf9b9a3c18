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
        Held held = new Held();
        return task == null ? null : () -> {
            try (Mark.Scope scope = held.open()) {
                task.run();
            }
        };
    }

    public static void exit(Object scope, Throwable thrown) {
        ((Mark.Scope) scope).close();
    }
}
