package weir.probe.plugin.httpclient;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * Shadow calls by Apache HttpClient carry the mark, and leave only to allowed services. Two join points for the two
 * innermost executors, of {@code HttpClients.custom} and {@code createMinimal}: redirects and authentication repeat the
 * call of the innermost with their own target, and it has no connection yet.
 */
public final class HttpclientPlugin implements Plugin {
    private static final String EXECUTE = "#execute(Lorg/apache/http/conn/routing/HttpRoute;Lorg/apache/http/client/methods/"
            + "HttpRequestWrapper;Lorg/apache/http/client/protocol/HttpClientContext;Lorg/apache/http/client/methods/"
            + "HttpExecutionAware;)Lorg/apache/http/client/methods/CloseableHttpResponse;";

    @Override
    public String name() {
        return "httpclient";
    }

    @Override
    public String library() {
        return "Apache HttpClient 4.3 to 4.5";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Stream.of("Main", "Minimal").map(kind -> JoinPoint.enter(kind.toLowerCase(java.util.Locale.ROOT),
                "org.apache.http.impl.execchain." + kind + "ClientExec" + EXECUTE, "ShadowCall.execute").passing(0, 1))
                .collect(Collectors.toList());
    }

    @Override
    public List<String> expects() {
        return Arrays.asList("org.apache.http.message.AbstractHttpMessage.setHeader(Ljava/lang/String;Ljava/lang/String;)V",
                "org.apache.http.conn.routing.HttpRoute.getTargetHost()Lorg/apache/http/HttpHost;");
    }

    @Override
    public String check() {
        return "ShadowCall";
    }
}
