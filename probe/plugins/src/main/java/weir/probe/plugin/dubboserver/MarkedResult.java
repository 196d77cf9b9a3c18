package weir.probe.plugin.dubboserver;

import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import weir.probe.api.Wire;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Marks the thread for what filters do with a marked call's result, behind the edge, which is one of them. It refuses nothing. */
public final class MarkedResult {
    private MarkedResult() {}

    public static Object enter(Invoker<?> invoker, Invocation invocation) {
        if (!Mark.accepting() || !"provider".equals(invoker.getUrl().getParameter("side"))) {
            return null;
        }
        try {
            Mark mark = Wire.read(invocation::getAttachment);
            return mark == null ? null : Mark.open(mark);
        } catch (IllegalArgumentException | ShadowRefused e) {
            return null; // the edge says so
        }
    }

    public static void exit(Object scope, Throwable thrown) {
        ((Mark.Scope) scope).close();
    }
}
