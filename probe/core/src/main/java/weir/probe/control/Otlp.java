package weir.probe.control;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.io.IOException;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import weir.probe.api.Log;
import weir.probe.boot.Cells;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;
import weir.probe.core.Config;
import weir.probe.core.Probe;
import weir.probe.core.Service;

/** Metrics to an OpenTelemetry collector: OTLP over HTTP in JSON, cumulative since the start. */
public final class Otlp implements Service {
    private static final int CUMULATIVE = 2;

    private final String startNs = nanos();
    private Probe probe;
    private String url;
    private Map<String, String> headers = Collections.emptyMap();
    private boolean failing;
    private Thread thread;

    @Override
    public void start(Probe watched) throws IOException {
        Config config = watched.config();
        probe = watched;
        String endpoint = config.url("otlp", "WEIR_PROBE_OTLP");
        if (endpoint == null) {
            return;
        }
        url = endpoint.replaceFirst("/+$", "") + "/v1/metrics";
        String header = config.text("otlp_authorization", "WEIR_PROBE_OTLP_AUTHORIZATION", null);
        headers = header == null ? headers : Collections.singletonMap("Authorization", header);
        long everyMs = 1000L * config.number("otlp_interval_s", "WEIR_PROBE_OTLP_INTERVAL", 60);
        JsonArray resource = attributes("service.name", config.app, "host.name", Host.name(), "process.pid", Long.toString(Host.pid()));
        thread = Server.start("weir-probe-otlp", () -> export(resource, Math.max(1000, everyMs)));
    }

    private void export(JsonArray resource, long everyMs) {
        try {
            while (true) {
                Thread.sleep(everyMs);
                try {
                    Web.post(url, headers, document(resource));
                    failing = false;
                } catch (IOException | RuntimeException e) {
                    if (!failing) {
                        Log.line("metrics do not reach " + url + ": " + e);
                    }
                    failing = true;
                }
            }
        } catch (InterruptedException e) {
            // closed
        }
    }

    private JsonObject document(JsonArray resource) {
        JsonArray calls = new JsonArray();
        JsonArray time = new JsonArray();
        for (Point point : Probes.points()) {
            for (boolean shadow : new boolean[] {false, true}) {
                Cells cells = shadow ? point.shadow : point.business;
                if (cells.calls() > 0) {
                    JsonArray labels = attributes("weir.plugin", point.plugin, "weir.join_point", point.id, "weir.traffic",
                            shadow ? "shadow" : "business");
                    calls.add(point(labels, "asInt", Long.toString(cells.calls())));
                    time.add(point(labels, "asDouble", Ledger.total(point, cells) / 1e9));
                }
            }
        }
        JsonArray states = new JsonArray();
        for (Probe.State state : Probe.State.values()) {
            states.add(point(attributes("weir.state", state.name().toLowerCase(Locale.ROOT)), "asInt", probe.state() == state ? "1" : "0"));
        }
        JsonArray metrics = new JsonArray();
        metrics.add(sum("weir.probe.calls", "{call}", calls));
        metrics.add(sum("weir.probe.time", "s", time));
        metrics.add(sum("weir.probe.requests", "{request}", one(point(new JsonArray(), "asInt", Long.toString(Ledger.requests(probe))))));
        metrics.add(metric("weir.probe.state", "1", "gauge", object("dataPoints", states)));
        JsonObject scope = object("scope", object("name", "weir-probe", "version", Local.VERSION), "metrics", metrics);
        JsonObject whole = object("resource", object("attributes", resource), "scopeMetrics", one(scope));
        return object("resourceMetrics", one(whole));
    }

    private static JsonObject sum(String name, String unit, JsonArray points) {
        return metric(name, unit, "sum", object("aggregationTemporality", CUMULATIVE, "isMonotonic", true, "dataPoints", points));
    }

    private static JsonObject metric(String name, String unit, String kind, JsonObject data) {
        return object("name", name, "unit", unit, kind, data);
    }

    private JsonObject point(JsonArray labels, String kind, Object value) {
        return object("attributes", labels, "startTimeUnixNano", startNs, "timeUnixNano", nanos(), kind, value);
    }

    private static JsonArray attributes(String... pairs) {
        JsonArray attributes = new JsonArray();
        for (int i = 0; i < pairs.length; i += 2) {
            attributes.add(object("key", pairs[i], "value", object("stringValue", pairs[i + 1])));
        }
        return attributes;
    }

    private static JsonArray one(Object element) {
        return new JsonArray(Collections.singletonList(element));
    }

    private static JsonObject object(Object... pairs) {
        JsonObject object = new JsonObject();
        for (int i = 0; i < pairs.length; i += 2) {
            object.put((String) pairs[i], pairs[i + 1]);
        }
        return object;
    }

    private static String nanos() {
        return System.currentTimeMillis() + "000000";
    }

    @Override
    public void close() {
        if (thread != null) {
            thread.interrupt();
        }
    }
}
