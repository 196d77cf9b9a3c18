package weir.probe.control;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin.Role;
import weir.probe.api.Settings;
import weir.probe.boot.Point;
import weir.probe.core.Loaded;
import weir.probe.core.Probe;

/** What can be asked of the probe over HTTP; Weir's control hands the same paths on. */
final class Api implements Server.Handler {
    private static final long MAX_MASK_MS = 600_000;

    private interface Route {
        Answer answer(Server.Request request) throws Problem;
    }

    private final Probe probe;
    private final JsonObject identity;
    private final Ledger ledger;
    private final Map<String, Route> routes = new LinkedHashMap<>();
    final Mask mask;
    /** Revision of the shadow configuration in Weir's control that is in force, or 0. */
    private volatile long controlRevision;

    /** @param identity of this process: app, pid, version */
    Api(Probe probe, JsonObject identity) {
        this.probe = probe;
        this.identity = identity;
        ledger = new Ledger(probe);
        mask = new Mask(probe);
        routes.put("GET /v1/probe", request -> Answer.of(describe()));
        routes.put("POST /v1/arm", this::arm);
        routes.put("POST /v1/disarm", request -> {
            only(request, "why");
            return done(() -> probe.disarm(why(request)));
        });
        routes.put("POST /v1/silence", request -> turn(request, true));
        routes.put("POST /v1/wake", request -> turn(request, false));
        routes.put("POST /v1/mask", this::mask);
        routes.put("GET /v1/shadow", request -> shadow());
        routes.put("PUT /v1/shadow", this::replace);
        routes.put("GET /v1/cost", request -> Answer.of(cost()));
        routes.put("POST /v1/cost/reset", request -> done(ledger::reset));
    }

    @Override
    public Answer answer(Server.Request request) throws Problem {
        Route route = routes.get(request.method + ' ' + request.path);
        if (route != null) {
            return route.answer(request);
        }
        List<String> methods = routes.keySet().stream().filter(known -> known.endsWith(' ' + request.path))
                .map(known -> known.substring(0, known.indexOf(' '))).collect(Collectors.toList());
        if (!methods.isEmpty()) {
            throw new Problem(405, request.path + " takes " + String.join(", ", methods), null);
        }
        throw new Problem(404, "there is nothing at " + request.path, "there are: " + String.join(", ", routes.keySet()));
    }

    long controlRevision() {
        return controlRevision;
    }

    private JsonObject describe() {
        JsonObject body = new JsonObject();
        body.putAll(identity);
        body.put("state", lower(probe.state()));
        body.put("reason", probe.reason());
        body.put("ready", probe.ready());
        body.put("revision", Settings.revision());
        body.put("control_revision", controlRevision);
        JsonArray plugins = new JsonArray();
        probe.plugins().forEach(plugin -> plugins.add(describe(plugin)));
        body.put("plugins", plugins);
        body.put("check", check(probe.report()));
        return body;
    }

    private static JsonObject describe(Loaded loaded) {
        JsonObject plugin = new JsonObject();
        plugin.put("name", loaded.plugin.name());
        plugin.put("library", loaded.plugin.library());
        plugin.put("found_version", loaded.version());
        plugin.put("role", lower(loaded.plugin.role()));
        plugin.put("state", loaded.state() == Loaded.State.ON && !loaded.isWoven() ? "absent" : lower(loaded.state()));
        plugin.put("reason", loaded.reason());
        JsonArray points = new JsonArray();
        for (Map.Entry<Point, JoinPoint> entry : loaded.points.entrySet()) {
            JsonObject point = new JsonObject();
            point.put("id", entry.getKey().id);
            point.put("class", entry.getValue().type);
            point.put("method", entry.getValue().method);
            point.put("woven", loaded.woven.get(entry.getKey()).get());
            points.add(point);
        }
        plugin.put("join_points", points);
        return plugin;
    }

    private static JsonArray check(List<Probe.Check> report) {
        JsonArray checks = new JsonArray();
        for (Probe.Check one : report) {
            JsonObject check = new JsonObject();
            check.put("plugin", one.plugin);
            check.put("ok", one.ok);
            check.put("finding", one.finding);
            checks.add(check);
        }
        return checks;
    }

    private JsonObject cost() {
        JsonObject report = ledger.report();
        report.put("state", lower(probe.state()));
        report.put("masked", new JsonArray(mask.off()));
        return report;
    }

    private Answer arm(Server.Request request) throws Problem {
        only(request, "why");
        List<Probe.Check> report = probe.arm("by request");
        if (probe.state() != Probe.State.ARMED || report.stream().anyMatch(check -> !check.ok)) {
            List<String> findings = report.stream().filter(check -> !check.ok).map(Object::toString).collect(Collectors.toList());
            Problem problem = new Problem(409, "not armed: " + String.join("; ", findings),
                    "set the finding right, or switch the plugin off in the configuration if its library is not used");
            problem.more.put("check", check(report));
            throw problem;
        }
        return Answer.of(describe());
    }

    /** A key that is misspelt would switch the whole probe instead of a plugin. */
    private static void only(Server.Request request, String... keys) throws Problem {
        for (String key : request.body.keySet()) {
            if (!Arrays.asList(keys).contains(key)) {
                throw new Problem(400, "`" + key + "`: there is no such key here", keys.length == 0 ? null : "there are: " + String.join(", ", keys));
            }
        }
    }

    private Answer turn(Server.Request request, boolean silence) throws Problem {
        only(request, "plugin", "why");
        String plugin = text(request.body, "plugin");
        if (plugin == null) {
            return done(() -> {
                if (silence) {
                    probe.silence(why(request));
                } else {
                    probe.wake(why(request));
                }
            });
        }
        if (silence && known(plugin).plugin.role() == Role.EDGE) {
            throw new Problem(409, plugin + " is an edge: without it shadow traffic is served as business traffic",
                    "silence the whole probe once no marked requests arrive, or mask the plugin for some seconds");
        }
        known(plugin);
        mask.forget(plugin);
        return done(() -> {
            if (silence) {
                probe.silence(plugin, why(request));
            } else {
                probe.wake(plugin, why(request));
            }
        });
    }

    private Answer mask(Server.Request request) throws Problem {
        only(request, "off", "for_ms", "edges");
        Object given = request.body.get("off");
        Object time = request.body.getOrDefault("for_ms", 0);
        List<String> off = new ArrayList<>();
        for (Object name : given instanceof List ? (List<?>) given : Collections.singletonList(given)) {
            Loaded loaded = known(name);
            if (loaded.plugin.role() == Role.EDGE && !request.body.getBoolean("edges", false)) {
                throw new Problem(409, name + " is an edge: without it shadow traffic is served as business traffic",
                        "\"edges\": true masks it all the same; do so only while no load test runs");
            }
            off.add(loaded.plugin.name());
        }
        long ms = time instanceof Number ? ((Number) time).longValue() : -1;
        if (ms < 0 || ms > MAX_MASK_MS || ms == 0 && !off.isEmpty()) {
            throw new Problem(400, "`for_ms` is not a number of milliseconds from 1 to " + MAX_MASK_MS, null);
        }
        mask.set(off, ms);
        JsonObject body = new JsonObject();
        body.put("masked", new JsonArray(mask.off()));
        return Answer.of(body);
    }

    private Answer shadow() {
        JsonObject body = new JsonObject();
        body.put("revision", Settings.revision());
        body.put("control_revision", controlRevision);
        body.put("shadow", new JsonObject(Settings.all()));
        return Answer.of(body, Settings.revision());
    }

    private Answer replace(Server.Request request) throws Problem {
        String wanted = request.headers.get("if-match");
        String revision = request.headers.getOrDefault("weir-revision", "0");
        if (!revision.matches("[0-9]{1,18}")) {
            throw new Problem(400, "Weir-Revision is not a number", null);
        }
        replace(request.body, Long.parseLong(revision), wanted);
        Answer answer = shadow();
        answer.body.put("state", lower(probe.state()));
        answer.body.put("check", check(probe.report()));
        return answer;
    }

    /**
     * Puts a shadow configuration in force. Shadow traffic is refused until the isolation has been checked with it.
     *
     * @param revision in Weir's control, or 0
     * @param match entity tag that must be current, or null
     */
    synchronized void replace(Map<String, Object> shadow, long revision, String match) throws Problem {
        if (match != null && !match.equals("*") && !match.equals("\"" + Settings.revision() + '"')) {
            throw new Problem(412, "the shadow configuration is at revision " + Settings.revision() + ", not " + match,
                    "read it again and send its ETag");
        }
        try {
            probe.config().check(shadow);
            Set<String> mocks = mocks(shadow);
            mocks.removeAll(mocks(probe.config().shadow()));
            if (!mocks.isEmpty()) {
                throw new IllegalArgumentException("shadow.mock: " + String.join(", ", mocks) + " was not configured when this JVM started");
            }
        } catch (IllegalArgumentException e) {
            throw new Problem(422, e.getMessage(), "the configuration that was in force stays so");
        }
        boolean armed = probe.state() == Probe.State.ARMED;
        long disarmed = -1;
        String why = "new shadow configuration" + (revision > 0 ? ", revision " + revision + " of control" : "");
        if (armed) {
            disarmed = probe.disarm(why);
        }
        Settings.replace(shadow);
        controlRevision = revision;
        if (armed) {
            probe.arm(why, disarmed);
        }
    }

    /** Methods that have a mock and are woven for it, which is done at start. */
    private static Set<String> mocks(Map<String, ?> shadow) {
        Set<String> mocks = new TreeSet<>();
        Object section = shadow.get("mock");
        for (Object entry : section instanceof List ? (List<?>) section : Collections.emptyList()) {
            Object type = ((Map<?, ?>) entry).get("class");
            if (type != null) {
                mocks.add(type + "#" + ((Map<?, ?>) entry).get("method"));
            }
        }
        return mocks;
    }

    private Loaded known(Object name) throws Problem {
        for (Loaded loaded : probe.plugins()) {
            if (loaded.plugin.name().equals(name)) {
                return loaded;
            }
        }
        String names = probe.plugins().stream().map(loaded -> loaded.plugin.name()).collect(Collectors.joining(", "));
        throw new Problem(404, "there is no plugin `" + name + '`', "there are: " + names);
    }

    private Answer done(Runnable change) {
        change.run();
        return Answer.of(describe());
    }

    private static String text(JsonObject body, String key) throws Problem {
        Object value = body.get(key);
        if (value != null && !(value instanceof String)) {
            throw new Problem(400, '`' + key + "` is not a text", null);
        }
        return (String) value;
    }

    private static String why(Server.Request request) {
        return request.body.getString("why", "by request");
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
