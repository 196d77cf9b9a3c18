package weir.probe.plugin.dubboserver;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * The edge of Dubbo: the mark of a call is its thread's while the provider serves it. A plugin beside that of the
 * consumer, because an edge and a middleware are switched differently. The edge is the first of the provider's own filters, which
 * every protocol runs; the application's filters and its service are behind it. Two more for Dubbo 3, which tells filters of a
 * result after all of them have returned.
 *
 * <p>Not seen: the encoding of results, on threads of the protocol.
 */
public final class DubboserverPlugin implements Plugin {
    @Override
    public String name() {
        return "dubboserver";
    }

    @Override
    public String library() {
        return "Dubbo 2.7 and 3";
    }

    @Override
    public Role role() {
        return Role.EDGE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        String filter = "org.apache.dubbo.rpc.filter.ContextFilter"
                + "#invoke(Lorg/apache/dubbo/rpc/Invoker;Lorg/apache/dubbo/rpc/Invocation;)Lorg/apache/dubbo/rpc/Result;";
        return Arrays.asList(JoinPoint.result("result", filter, "MarkedResult.kept").gate(Gate.MARK), // before the edge's end
                JoinPoint.around("serve", filter, "MarkedCall").passing(1),
                JoinPoint.argument("told", "org.apache.dubbo.rpc.AsyncRpcResult#whenCompleteWithContext", 0, "MarkedResult.told")
                        .passing(JoinPoint.THIS).gate(Gate.CAPTURED));
    }

    @Override
    public List<String> expects() {
        return Collections.singletonList("org.apache.dubbo.rpc.Invocation.getAttachment(Ljava/lang/String;)Ljava/lang/String;");
    }

    @Override
    public String check() {
        return "MarkedCall";
    }
}
