package weir.probe.api;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The shadow configuration, one section for each plugin; replaced as a whole with each revision. */
public final class Settings {
    private static volatile Map<String, Object> shadow = Collections.emptyMap();
    private static volatile long revision;

    private Settings() {}

    /** A plugin's value in the shadow configuration (a map, list, string, number or boolean of JSON), or null. */
    public static Object section(String plugin) {
        return shadow.get(plugin);
    }

    /** Of a plugin's section that is a list of objects, those with a key. */
    public static List<Map<?, ?>> entries(String plugin, String key) {
        List<Map<?, ?>> entries = new ArrayList<>();
        Object section = section(plugin);
        for (Object entry : section instanceof Collection ? (Collection<?>) section : entries) {
            if (((Map<?, ?>) entry).containsKey(key)) {
                entries.add((Map<?, ?>) entry);
            }
        }
        return entries;
    }

    /** A string within a plugin's section. */
    public static String text(String plugin, String key, String otherwise) {
        Object section = section(plugin);
        Object value = section instanceof Map ? ((Map<?, ?>) section).get(key) : null;
        return value == null ? otherwise : value.toString();
    }

    /** Grows with each change; handlers that cache what they have read compare it. */
    public static long revision() {
        return revision;
    }

    public static Map<String, Object> all() {
        return shadow;
    }

    /** A text for people, without the passwords of URLs that exceptions of drivers repeat. */
    public static String withoutSecrets(String text) {
        return text.replaceAll("(://[^\\s/@:]*):[^\\s/@]*@", "$1:...@")
                .replaceAll("(?i)\\b(password|passwd|pwd|secret|token)=[^&;,\\s'\"]*", "$1=...");
    }

    /** Puts a new configuration in force. */
    public static synchronized void replace(Map<String, Object> next) {
        shadow = Collections.unmodifiableMap(next);
        revision++;
    }
}
