package weir.probe.plugin.jdkhttp;

import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * Shadow calls by {@code java.net.http.HttpClient} carry the mark, and leave only to allowed services. One join point:
 * the private method through which {@code send} and both forms of {@code sendAsync} go, on the caller's thread. A
 * request cannot be changed, so a shadow call's is replaced. The handlers are compiled for Java 11, which has the client.
 */
public final class JdkhttpPlugin implements Plugin {
    @Override
    public String name() {
        return "jdkhttp";
    }

    @Override
    public String library() {
        return "java.net.http of JDK 11 to 25";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Collections.singletonList(JoinPoint.argument("send", "jdk.internal.net.http.HttpClientImpl"
                + "#sendAsync(Ljava/net/http/HttpRequest;Ljava/net/http/HttpResponse$BodyHandler;"
                + "Ljava/net/http/HttpResponse$PushPromiseHandler;Ljava/util/concurrent/Executor;)"
                + "Ljava/util/concurrent/CompletableFuture;", 0, "ShadowRequest.of").passing(JoinPoint.THIS));
    }

    @Override
    public String check() {
        return "ShadowRequest";
    }
}
