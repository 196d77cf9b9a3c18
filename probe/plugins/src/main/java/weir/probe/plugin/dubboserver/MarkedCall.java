package weir.probe.plugin.dubboserver;

import org.apache.dubbo.rpc.Invocation;
import weir.probe.api.Log;
import weir.probe.api.Wire;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Marks the thread for a marked call. A call that is refused fails at its consumer with the reason. */
public final class MarkedCall {
    private MarkedCall() {}

    public static Object enter(Invocation invocation) {
        try {
            Mark mark = Wire.read(invocation::getAttachment);
            return mark == null ? null : Mark.open(mark);
        } catch (IllegalArgumentException | ShadowRefused e) {
            ShadowRefused refused = e instanceof ShadowRefused ? (ShadowRefused) e : new ShadowRefused("the call is refused: " + e.getMessage());
            Log.sometimes("dubboserver", refused.getMessage());
            throw refused;
        } catch (RuntimeException | LinkageError fault) {
            if (Wire.mayBeMarked(invocation::getAttachment)) {
                throw new ShadowRefused("shadow traffic is refused: the probe failed: " + fault);
            }
            throw fault;
        }
    }

    public static void exit(Object scope, Throwable thrown) {
        ((Mark.Scope) scope).close();
    }

    public static String check() {
        return Wire.check();
    }
}
