package weir.probe.plugin.servlet;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * The edge of HTTP: the mark of a request is its thread's while the application serves it. Woven into Tomcat rather than
 * into servlets or Spring's dispatcher: filters run marked too, {@code javax} and {@code jakarta} are alike there, and
 * Spring MVC on Tomcat needs no more. Three join points: what an asynchronous request has left behind (a dispatch, a
 * timeout, listeners of reads and writes) is called through another method than the request itself, and tasks of
 * {@code AsyncContext.start} run in Tomcat's own pool.
 *
 * <p>Not seen: {@code ReadListener.onAllDataRead} and {@code AsyncListener.onError} where Tomcat calls them straight after the
 * request, without a dispatch.
 */
public final class ServletPlugin implements Plugin {
    @Override
    public String name() {
        return "servlet";
    }

    @Override
    public String library() {
        return "Tomcat 8.5 to 11";
    }

    @Override
    public Role role() {
        return Role.EDGE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Arrays.asList(
                JoinPoint.around("request", "org.apache.catalina.core.StandardHostValve"
                        + "#invoke(Lorg/apache/catalina/connector/Request;Lorg/apache/catalina/connector/Response;)V",
                        "MarkedRequest").passing(0, 1),
                JoinPoint.around("async", "org.apache.catalina.connector.CoyoteAdapter#asyncDispatch(Lorg/apache/coyote/Request;"
                        + "Lorg/apache/coyote/Response;Lorg/apache/tomcat/util/net/SocketEvent;)Z", "MarkedAsync").passing(0).gate(Gate.CAPTURED),
                JoinPoint.argument("start", "org.apache.catalina.core.AsyncContextImpl#start(Ljava/lang/Runnable;)V", 0,
                        "MarkedAsync.start").gate(Gate.MARK));
    }

    @Override
    public List<String> expects() {
        return Arrays.asList(
                "org.apache.catalina.connector.Request.getHeaders(Ljava/lang/String;)Ljava/util/Enumeration;",
                "org.apache.catalina.connector.Request.getCoyoteRequest()Lorg/apache/coyote/Request;",
                "org.apache.catalina.connector.Response.getWriter()Ljava/io/PrintWriter;",
                "org.apache.catalina.connector.Request.isAsync()Z",
                "org.apache.coyote.Request.getNote(I)Ljava/lang/Object;",
                "org.apache.coyote.Request.setAttribute(Ljava/lang/String;Ljava/lang/Object;)V",
                "org.apache.coyote.Request.getAttribute(Ljava/lang/String;)Ljava/lang/Object;");
    }

    @Override
    public String check() {
        return "MarkedRequest";
    }
}
