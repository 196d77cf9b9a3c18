package weir.probe.plugin.dubboserver;

import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * The edge of Dubbo: the mark of a call is its thread's while the provider serves it. A plugin beside that of the
 * consumer, because an edge and a middleware are switched differently. One join point: the first of the provider's own
 * filters, which every protocol runs; the application's filters and its service are behind it.
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
        return Collections.singletonList(JoinPoint.around("serve", "org.apache.dubbo.rpc.filter.ContextFilter"
                + "#invoke(Lorg/apache/dubbo/rpc/Invoker;Lorg/apache/dubbo/rpc/Invocation;)Lorg/apache/dubbo/rpc/Result;",
                "MarkedCall").passing(1));
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
