package weir.probe.core;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import weir.probe.api.Baggage;

/**
 * What configurations may look like. A key that is misspelt is refused: ignored, it could leave shadow traffic unrecognised
 * or a bound unwatched.
 */
public final class Shape {
    /**
     * By example: an object has some of these keys, a list any number of such elements; x stands for a text that is not empty, t for
     * a token, null for any value.
     */
    private static final JsonObject SHADOW = parse("{'mark': {'baggage': 't', 'accept': ['t']}, 'allow': [''], 'listen': [0], 'sockets': [''],"
            + " 'threads_unmarked': ['x'], 'jdkhttp': {'redirects': 'x'},"
            + " 'jdbc': [{'business': '', 'shadow': {'url': '', 'user': '', 'password': ''}, 'tables': {'suffix': 'x'}}],"
            + " 'logback': {'suffix': 'x', 'file': 'x', 'max_mb': 0}, 'redis': {'prefix': 'x', 'server': 'x'}, 'kafka': {'prefix': 't'},"
            + " 'mock': [{'class': '', 'interface': '', 'method': '', 'return': null}]}");
    private static final JsonObject DOCUMENT = parse("{'app': '', 'state': '', 'faults': 0, 'plugins': null, 'shadow': null, 'dir': '',"
            + " 'bind': '', 'port': 0, 'control': '', 'control_token': '', 'control_lost_s': 0, 'shadow_traffic': '', 'otlp': '', 'otlp_authorization': '', 'otlp_interval_s': 0,"
            + " 'bounds': {'cpu_percent': 0, 'latency_ms': 0, 'window_s': 0, 'then': ''}}");

    private Shape() {}

    /**
     * @param others sections of plugins that the configuration adds, which may have any form
     * @throws IllegalArgumentException that says what is wrong and where
     */
    public static void check(Map<String, ?> shadow, Set<String> others) {
        JsonObject known = new JsonObject(SHADOW);
        others.forEach(name -> known.putIfAbsent(name, null));
        check("shadow", shadow, known);
    }

    /** The whole document, but for its shadow configuration and plugins. */
    static void check(Map<String, ?> document) {
        JsonObject own = new JsonObject(document);
        own.remove("shadow");
        check("", own, DOCUMENT);
    }

    private static void check(String place, Object value, Object example) {
        if (example == null) {
            return;
        }
        String inside = place.isEmpty() ? "" : place + '.';
        if (example instanceof Map) {
            if (!(value instanceof Map)) {
                throw wrong(place, value, "an object");
            }
            Map<?, ?> known = (Map<?, ?>) example;
            ((Map<?, ?>) value).forEach((key, inner) -> {
                if (!known.containsKey(key)) {
                    throw new IllegalArgumentException(inside + key + ": there is no such key, only " + String.join(", ", names(known)));
                }
                check(inside + key, inner, known.get(key));
            });
        } else if (example instanceof List) {
            if (!(value instanceof List)) {
                throw wrong(place, value, "a list");
            }
            for (int i = 0; i < ((List<?>) value).size(); i++) {
                check(place + '[' + i + ']', ((List<?>) value).get(i), ((List<?>) example).get(0));
            }
        } else if (example instanceof Number ? !(value instanceof Number) || ((Number) value).doubleValue() < 0 : !(value instanceof String)) {
            throw wrong(place, value, example instanceof Number ? "a number from 0" : "a text");
        } else if ("x".equals(example) && value.toString().isEmpty()) {
            throw wrong(place, value, "a text that is not empty");
        } else if ("t".equals(example) && !Baggage.isToken(value.toString())) {
            throw wrong(place, value, "letters, digits and -._~");
        }
    }

    private static IllegalArgumentException wrong(String place, Object value, String expected) {
        String shown = value instanceof Map ? "an object" : value instanceof List ? "a list"
                : place.matches(".*(?:password|token|authorization|url|server)") ? "something else" : "`" + value + "`";
        return new IllegalArgumentException(place + " is " + shown + ": expected " + expected);
    }

    private static Set<String> names(Map<?, ?> known) {
        Set<String> names = new TreeSet<>();
        known.keySet().forEach(name -> names.add(name.toString()));
        return names;
    }

    private static JsonObject parse(String text) {
        try {
            return JsonParser.object().from(text.replace('\'', '"'));
        } catch (JsonParserException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
