package weir.probe.plugin.dubboserver;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * The edge of Dubbo: the mark of a call is its thread's while the provider serves it. A plugin beside that of the
 * consumer, because an edge and a middleware are switched differently. The edge is the first of the provider's own filters, which
 * every protocol runs; the application's filters and its service are behind it. A second join point for Dubbo 3, which tells filters
 * of results after all of them have returned.
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
        return Arrays.asList(JoinPoint.around("serve", "org.apache.dubbo.rpc.filter.ContextFilter"
                + "#invoke(Lorg/apache/dubbo/rpc/Invoker;Lorg/apache/dubbo/rpc/Invocation;)Lorg/apache/dubbo/rpc/Result;",
                "MarkedCall").passing(1),
                JoinPoint.around("result", "org.apache.dubbo.rpc.cluster.filter.FilterChainBuilder$CallbackRegistrationInvoker"
                        + "#invoke(Lorg/apache/dubbo/rpc/Invocation;)Lorg/apache/dubbo/rpc/Result;", "MarkedResult")
                        .passing(JoinPoint.THIS, 0));
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
