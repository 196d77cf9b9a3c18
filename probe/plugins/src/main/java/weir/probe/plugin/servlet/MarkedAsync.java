package weir.probe.plugin.servlet;

import org.apache.catalina.connector.CoyoteAdapter;
import org.apache.coyote.Request;
import weir.probe.boot.Attached;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/**
 * Marks the thread for what comes back of a marked asynchronous request. If shadow traffic is not accepted any more, the
 * refusal ends the connection: the response may have been begun.
 */
public final class MarkedAsync {
    private MarkedAsync() {}

    public static Object enter(Request request) {
        Object held = request.getAttribute(Entered.ATTRIBUTE);
        if (!(held instanceof Held)) {
            return null;
        }
        Mark.Scope scope = Mark.open(((Held) held).mark); // if this throws, the request keeps its mark for what Tomcat does about that
        Attached.take(held);
        request.setAttribute(Entered.ATTRIBUTE, "");
        return new Entered(scope, (org.apache.catalina.connector.Request) request.getNote(CoyoteAdapter.ADAPTER_NOTES));
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

    public static void exit(Object entered, Throwable thrown) {
        ((Entered) entered).close();
    }
}
