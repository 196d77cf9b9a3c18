package weir.probe.plugin.mock;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import weir.probe.api.Settings;

/** An entry of the configuration. */
final class Entry {
    private Entry() {}

    /** Those that name a class; others name an interface, and belong to the library that calls it. */
    static List<Map<?, ?>> all() {
        List<Map<?, ?>> all = new ArrayList<>();
        Object section = Settings.section("mock");
        for (Object entry : section instanceof Collection ? (Collection<?>) section : new ArrayList<>()) {
            if (((Map<?, ?>) entry).containsKey("class")) {
                all.add((Map<?, ?>) entry);
            }
        }
        return all;
    }

    static String target(Map<?, ?> entry) {
        return entry.get("class") + "#" + entry.get("method");
    }
}
