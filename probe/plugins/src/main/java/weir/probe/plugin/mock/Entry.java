package weir.probe.plugin.mock;

import java.util.List;
import java.util.Map;
import weir.probe.api.Settings;

/** An entry of the configuration. */
final class Entry {
    private Entry() {}

    /** Those that name a class; others name an interface, and belong to the library that calls it. */
    static List<Map<?, ?>> all() {
        return Settings.entries("mock", "class");
    }

    static String target(Map<?, ?> entry) {
        return entry.get("class") + "#" + entry.get("method");
    }
}
