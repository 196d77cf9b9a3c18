package weir.probe.plugin.mock;

import java.util.Map;

/** An entry of the configuration. */
final class Entry {
    private Entry() {}

    static String target(Map<?, ?> entry) {
        return entry.get("class") + "#" + entry.get("method");
    }
}
