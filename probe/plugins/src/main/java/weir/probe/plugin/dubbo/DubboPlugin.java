package weir.probe.plugin.dubbo;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * Shadow calls of a Dubbo consumer carry the mark as an attachment, and leave only to allowed services. {@code
 * AbstractInvoker.invoke} is behind cluster, retries and filters and before any protocol. Around it, because Dubbo copies the context's attachments
 * over those of the call: the context has the mark for the call's duration. A second join point for mocks, because the result there
 * may be of any kind, and before the cluster it is the method's own. A third, because a failed call that the cluster {@code failback} tries
 * again later would leave on a timer's thread, without its mark.
 */
public final class DubboPlugin implements Plugin {
    @Override
    public String name() {
        return "dubbo";
    }

    @Override
    public String library() {
        return "Dubbo 2.7 and 3";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Arrays.asList(JoinPoint.enter("mock", "org.apache.dubbo.rpc.proxy.InvokerInvocationHandler"
                + "#invoke(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;", "Mocked.call").passing(0, 1),
                JoinPoint.around("invoke", "org.apache.dubbo.rpc.protocol.AbstractInvoker"
                + "#invoke(Lorg/apache/dubbo/rpc/Invocation;)Lorg/apache/dubbo/rpc/Result;", "ShadowCall")
                .passing(JoinPoint.THIS, 0),
                JoinPoint.enter("failback", "org.apache.dubbo.rpc.cluster.support.FailbackClusterInvoker#addFailed", "ShadowCall.again"));
    }

    @Override
    public List<String> expects() {
        return Arrays.asList(
                "org.apache.dubbo.rpc.RpcInvocation.setAttachment(Ljava/lang/String;Ljava/lang/String;)V",
                "org.apache.dubbo.rpc.RpcContext.getContext()Lorg/apache/dubbo/rpc/RpcContext;",
                "org.apache.dubbo.rpc.RpcContext.setAttachment(Ljava/lang/String;Ljava/lang/String;)Lorg/apache/dubbo/rpc/RpcContext;");
    }

    @Override
    public String check() {
        return "ShadowCall";
    }
}
