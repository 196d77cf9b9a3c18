package weir.probe.plugin.dubbo;

import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.RpcInvocation;
import weir.probe.api.Baggage;
import weir.probe.api.Wire;
import weir.probe.boot.Cut;

/** Writes the mark into a call that may leave; one within this JVM does not leave. */
public final class ShadowCall {
    private ShadowCall() {}

    /** Throws the refusal, or goes on. */
    public static Object enter(Invoker<?> invoker, Invocation invocation) {
        if (!"injvm".equals(invoker.getUrl().getProtocol())) {
            Wire.leave(invoker.getInterface().getName(), invoker.getUrl().getHost() + ':' + invoker.getUrl().getPort(),
                    invoker.getUrl().getHost());
        }
        RpcContext context = RpcContext.getContext();
        String ofContext = context.getAttachment(Baggage.HEADER);
        String baggage = Wire.write(ofContext == null ? invocation.getAttachment(Baggage.HEADER) : ofContext);
        ((RpcInvocation) invocation).setAttachment(Baggage.HEADER, baggage);
        if (ofContext != null) {
            context.setAttachment(Baggage.HEADER, baggage);
        }
        return ofContext;
    }

    /** Gives the context back what it held: 2.7 keeps its attachments for the thread's next call, of business perhaps. */
    public static void exit(Object ofContext, Throwable thrown) {
        RpcContext.getContext().setAttachment(Baggage.HEADER, (String) ofContext);
    }

    /** Handler: a failed call is not queued to be tried again. */
    public static boolean again() {
        return Cut.with(null);
    }

    public static String check() {
        String wire = Wire.check();
        return wire == null ? Mocked.check() : wire;
    }
}
