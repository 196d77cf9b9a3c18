package weir.probe.plugin.dubboserver;

import java.util.function.BiConsumer;
import weir.probe.boot.Attached;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/** The mark of a call's result, of which filters are told behind the edge, which is one of them. */
public final class MarkedResult {
    private MarkedResult() {}

    /** Handler for marked threads: the result that the edge is about to return. */
    public static Object kept(Object result) {
        Attached.attach(result);
        return result;
    }

    /** Handler: the filters' callback has the mark that the result has kept. */
    public static BiConsumer<Object, Throwable> told(BiConsumer<Object, Throwable> callback, Object result) {
        Mark mark = Attached.of(result);
        if (mark == null || callback == null) {
            return callback;
        }
        Held held = new Held(mark);
        Attached.take(result);
        return (value, thrown) -> {
            try (Mark.Scope scope = held.open()) {
                callback.accept(value, thrown);
            }
        };
    }
}
