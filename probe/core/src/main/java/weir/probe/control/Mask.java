package weir.probe.control;

import java.util.Collection;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import weir.probe.core.Loaded;
import weir.probe.core.Probe;

/**
 * Plugins that are silent for a while, to measure what the others cost. They wake by themselves when the time is over:
 * a measurement that is killed leaves nothing behind.
 */
final class Mask {
    static final String WHY = "masked for a measurement";

    private final Probe probe;
    private final Set<String> off = new TreeSet<>();
    private long until;

    Mask(Probe probe) {
        this.probe = probe;
    }

    /** Silences exactly these plugins; those that are not on for another reason stay as they are. */
    synchronized void set(Collection<String> wanted, long forMs) {
        until = System.nanoTime() + forMs * 1_000_000;
        for (String plugin : new TreeSet<>(off)) {
            if (!wanted.contains(plugin)) {
                off.remove(plugin);
                probe.wake(plugin, WHY);
            }
        }
        for (Loaded loaded : probe.plugins()) {
            String name = loaded.plugin.name();
            if (wanted.contains(name) && loaded.state() == Loaded.State.ON) {
                off.add(name);
                probe.silence(name, WHY);
            }
        }
    }

    /** Leaves a plugin as somebody else has switched it. */
    synchronized void forget(String plugin) {
        off.remove(plugin);
    }

    synchronized Set<String> off() {
        return new TreeSet<>(off);
    }

    /** Ends the mask when its time is over. */
    synchronized void tick() {
        if (!off.isEmpty() && System.nanoTime() - until > 0) {
            set(Collections.emptySet(), 0);
        }
    }
}
