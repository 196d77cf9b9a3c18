package weir.probe.plugin.httpclient;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.http.Header;
import org.apache.http.HttpHost;
import org.apache.http.client.methods.HttpRequestWrapper;
import org.apache.http.conn.routing.HttpRoute;
import weir.probe.api.Baggage;
import weir.probe.api.Wire;

/** Writes the mark into a request that may leave. */
public final class ShadowCall {
    private ShadowCall() {}

    /** Handler: goes on, or throws the refusal. */
    public static boolean execute(HttpRoute route, HttpRequestWrapper request) {
        HttpHost target = route.getTargetHost();
        Wire.leave(target.getSchemeName(), target.getHostName(), target.getPort());
        String baggage = Arrays.stream(request.getHeaders(Baggage.HEADER)).map(Header::getValue).collect(Collectors.joining(","));
        request.removeHeaders(Baggage.HEADER);
        request.setHeader(Baggage.HEADER, Wire.write(baggage));
        return false;
    }

    public static String check() {
        return Wire.check();
    }
}
