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
        notifyAll();
    }

    /** Leaves a plugin as somebody else has switched it. */
    synchronized void forget(String plugin) {
        off.remove(plugin);
    }

    synchronized Set<String> off() {
        return new TreeSet<>(off);
    }

    /** Ends masks when their time is over; without one, it sleeps. */
    synchronized void watch() throws InterruptedException {
        while (true) {
            long left = until - System.nanoTime();
            if (off.isEmpty()) {
                wait();
            } else if (left > 0) {
                wait(left / 1_000_000 + 1);
            } else {
                set(Collections.emptySet(), 0);
            }
        }
    }
}
