package weir.probe.core;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Configuration: the JSON file that {@code WEIR_PROBE_CONFIG} names, then {@code WEIR_PROBE_APP} and
 * {@code WEIR_PROBE_STATE}, then the agent's arguments {@code config=…,app=…,state=…}; the later wins.
 */
public final class Config {
    private static final List<String> ARGUMENTS = Arrays.asList("config", "app", "state");

    public final String app;
    /** State at start. */
    public final Probe.State state;
    /** Faults after which a plugin is switched off. */
    public final int faults;
    /** Whether the JVM may take shadow traffic at all. */
    final boolean shadowTraffic;
    /** The whole document. */
    public final JsonObject document;

    private Config(JsonObject document, String app, String state) {
        this.document = document;
        this.app = app;
        this.state = Probe.State.valueOf(state.toUpperCase(Locale.ROOT));
        faults = document.getInt("faults", 5);
        shadowTraffic = !document.getString("shadow_traffic", "allowed").equals("never");
    }

    /** Defaults. */
    static Config none() {
        return new Config(new JsonObject(), System.getenv().getOrDefault("WEIR_PROBE_APP", "java"), "disarmed");
    }

    /** @throws IllegalArgumentException that says what is wrong and where */
    public static Config read(String arguments, Map<String, String> environment) {
        JsonObject given = new JsonObject();
        for (String pair : arguments == null || arguments.isEmpty() ? new String[0] : arguments.split(",")) {
            int equals = pair.indexOf('=');
            if (equals < 0) {
                throw new IllegalArgumentException("agent argument `" + pair + "`: expected key=value");
            }
            String key = pair.substring(0, equals);
            if (!ARGUMENTS.contains(key)) {
                throw new IllegalArgumentException("agent argument `" + pair + "`: there is no such key, only " + String.join(", ", ARGUMENTS));
            }
            given.put(key, pair.substring(equals + 1));
        }
        String file = given.getString("config", environment.get("WEIR_PROBE_CONFIG"));
        JsonObject document = file == null ? new JsonObject() : parse(file);
        Shape.check(document);
        oneOf("shadow_traffic", document.getString("shadow_traffic", "allowed"), "allowed", "never");
        String app = given.getString("app", environment.getOrDefault("WEIR_PROBE_APP", document.getString("app", "java")));
        String state = given.getString("state", environment.getOrDefault("WEIR_PROBE_STATE", document.getString("state", "disarmed")));
        if (!(document.getOrDefault("plugins", new JsonObject()) instanceof JsonObject)) {
            throw new IllegalArgumentException("plugins: expected an object, such as {\"logback\": false}");
        }
        document.getObject("plugins", new JsonObject()).forEach((name, value) -> {
            if (!(value instanceof Boolean) && !(value instanceof String)) {
                throw new IllegalArgumentException("plugins." + name + " is `" + value + "`: expected true, false or the path of a jar");
            }
        });
        if (!(document.getOrDefault("shadow", new JsonObject()) instanceof JsonObject)) {
            throw new IllegalArgumentException("shadow: expected an object");
        }
        try {
            return new Config(document, app, state);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("state `" + state + "`: expected silent, disarmed or armed");
        }
    }

    /** Whether the configuration leaves a plugin on: {@code "plugins": {"logback": false}} does not. */
    public boolean on(String plugin) {
        return !Boolean.FALSE.equals(plugins().get(plugin));
    }

    /** Plugins that the configuration names, each {@code true}, {@code false} or the path of a jar that has it. */
    public Map<String, Object> plugins() {
        return document.getObject("plugins", new JsonObject());
    }

    /** The shadow configuration of the document. */
    public Map<String, Object> shadow() {
        return document.getObject("shadow", new JsonObject());
    }

    /** @throws IllegalArgumentException that says what is wrong in a shadow configuration and where */
    public void check(Map<String, ?> shadow) {
        Set<String> added = new HashSet<>();
        plugins().forEach((name, value) -> {
            if (value instanceof String) {
                added.add(name);
            }
        });
        Shape.check(shadow, added);
        for (String key : new String[] {"allow", "sockets"}) {
            Object services = shadow.get(key);
            for (int i = 0; services instanceof List && i < ((List<?>) services).size(); i++) {
                String service = ((List<?>) services).get(i).toString();
                Matcher port = Pattern.compile(".*[^:]:([0-9]+)").matcher(service);
                if (service.isEmpty() || service.matches(".*[\\s/].*")
                        || port.matches() && (port.group(1).length() > 5 || Integer.parseInt(port.group(1)) > 65535)) {
                    throw new IllegalArgumentException("shadow." + key + '[' + i + "] is `" + service + "`: expected HOST, HOST:PORT"
                            + (key.equals("allow") ? " or a Dubbo interface" : ""));
                }
            }
        }
        Object sources = shadow.get("jdbc");
        for (int i = 0; sources instanceof List && i < ((List<?>) sources).size(); i++) {
            Map<?, ?> source = (Map<?, ?>) ((List<?>) sources).get(i);
            if (source.containsKey("shadow") == source.containsKey("tables")
                    || source.containsKey("shadow") && !((Map<?, ?>) source.get("shadow")).containsKey("url")) {
                throw new IllegalArgumentException("shadow.jdbc[" + i + "]: expected `shadow` with a `url`, or `tables`");
            }
        }
        Object mocks = shadow.get("mock");
        for (int i = 0; mocks instanceof List && i < ((List<?>) mocks).size(); i++) {
            Map<?, ?> mock = (Map<?, ?>) ((List<?>) mocks).get(i);
            if (mock.containsKey("class") == mock.containsKey("interface") || !mock.containsKey("method")) {
                throw new IllegalArgumentException("shadow.mock[" + i + "]: expected `class` or `interface`, and `method`");
            }
        }
    }

    /** A text at the top of the document, which an environment variable overrides. */
    public String text(String key, String variable, String otherwise) {
        String given = System.getenv(variable);
        return given == null ? document.getString(key, otherwise) : given;
    }

    /** As {@link #text}, of a whole number. */
    public int number(String key, String variable, int otherwise) {
        String given = System.getenv(variable);
        try {
            return given == null ? document.getInt(key, otherwise) : Integer.parseInt(given);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(variable + " is `" + given + "`: expected a whole number");
        }
    }

    /** The URL of a service, or null. */
    public String url(String key, String variable) {
        String url = text(key, variable, null);
        if (url != null && !url.matches("https?://[^/\\s]+.*")) {
            throw new IllegalArgumentException(key + " is `" + url + "`: expected a URL that begins with http:// or https://");
        }
        return url;
    }

    /** A number at the top of the document. */
    public double number(String key, double otherwise) {
        return document.getDouble(key, otherwise);
    }

    /** A number in a section of the document. */
    public double number(String section, String key, double otherwise) {
        Object value = document.getObject(section, new JsonObject()).getOrDefault(key, otherwise);
        if (!(value instanceof Number) || ((Number) value).doubleValue() < 0) {
            throw new IllegalArgumentException(section + '.' + key + " is `" + value + "`: expected a number from 0");
        }
        return ((Number) value).doubleValue();
    }

    /** One of some words in a section of the document; the first if there is none. */
    public String word(String section, String key, String... words) {
        return oneOf(section + '.' + key, document.getObject(section, new JsonObject()).getString(key, words[0]), words);
    }

    private static String oneOf(String place, String value, String... words) {
        if (!Arrays.asList(words).contains(value)) {
            throw new IllegalArgumentException(place + " is `" + value + "`: expected " + String.join(" or ", words));
        }
        return value;
    }

    private static JsonObject parse(String file) {
        try {
            return JsonParser.object().from(new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalArgumentException(file + " cannot be read: " + e);
        } catch (JsonParserException e) {
            throw new IllegalArgumentException(file + ':' + e.getLinePosition() + ':' + e.getCharPosition() + ": this is not JSON: " + e.getMessage());
        }
    }
}
