package weir.probe.plugin.servlet;

import org.apache.catalina.connector.Request;
import weir.probe.boot.Attached;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/** A marked request on its thread. If it is asynchronous, the connector's request keeps its mark, which stays alive there. */
final class Entered implements AutoCloseable {
    /** Attribute of the connector's request, which goes with it: what it has kept. */
    static final String ATTRIBUTE = "weir.probe.mark";

    private final Mark.Scope scope;
    private final Request request;

    Entered(Mark.Scope scope, Request request) {
        this.scope = scope;
        this.request = request;
    }

    @Override
    public void close() {
        try {
            if (request.isAsync()) {
                Object before = request.getCoyoteRequest().getAttribute(ATTRIBUTE); // of what is around this
                Attached.take(before == null ? this : before);
                request.getCoyoteRequest().setAttribute(ATTRIBUTE, new Held());
            }
        } finally {
            scope.close();
        }
    }
}
