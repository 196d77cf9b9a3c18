package weir.probe.plugin.jdkhttp;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import weir.probe.api.Baggage;
import weir.probe.api.Settings;
import weir.probe.api.Wire;
import weir.probe.boot.ShadowRefused;

/** A request that may leave, with the mark in its baggage. */
public final class ShadowRequest extends HttpRequest {
    private final HttpRequest business;
    private final HttpHeaders headers;

    private ShadowRequest(HttpRequest business) {
        this.business = business;
        Map<String, List<String>> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        all.putAll(business.headers().map());
        List<String> lines = all.getOrDefault(Baggage.HEADER, new ArrayList<>());
        all.remove(Baggage.HEADER);
        all.put(Baggage.HEADER, List.of(Wire.write(String.join(",", lines))));
        headers = HttpHeaders.of(all, (name, value) -> true);
    }

    /**
     * Handler. The client follows redirects on threads of its own, to anywhere; so a client that does is refused,
     * unless {@code "jdkhttp": {"redirects": "follow"}} says that the allowed services redirect among themselves only.
     */
    public static Object of(HttpRequest request, HttpClient client) {
        if (request == null || request.uri() == null) {
            return request; // the client says what is wrong with it
        }
        URI uri = request.uri();
        Wire.leave(uri.getScheme(), String.valueOf(uri.getHost()), uri.getPort());
        if (client.followRedirects() != HttpClient.Redirect.NEVER && !Settings.text("jdkhttp", "redirects", "").equals("follow")) {
            throw new ShadowRefused("a shadow call to " + uri.getHost() + " is refused: its client follows redirects to any service");
        }
        return new ShadowRequest(request);
    }

    public static String check() {
        return Wire.check();
    }

    @Override
    public HttpHeaders headers() {
        return headers;
    }

    @Override
    public Optional<BodyPublisher> bodyPublisher() {
        return business.bodyPublisher();
    }

    @Override
    public String method() {
        return business.method();
    }

    @Override
    public Optional<Duration> timeout() {
        return business.timeout();
    }

    @Override
    public boolean expectContinue() {
        return business.expectContinue();
    }

    @Override
    public URI uri() {
        return business.uri();
    }

    @Override
    public Optional<HttpClient.Version> version() {
        return business.version();
    }
}
