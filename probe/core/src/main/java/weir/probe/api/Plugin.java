package weir.probe.api;

import java.util.List;
import weir.probe.boot.Gate;

/**
 * What the probe knows of one library. The class has a public constructor without parameters, is named in
 * {@code plugins.txt}, and must not touch the library: only its handlers do, which are loaded once for each class loader
 * of the application that has the library.
 */
public interface Plugin {
    /** What a plugin is to shadow traffic, and by that the gate of its join points. */
    enum Role {
        /** Sets the mark from what arrives. */
        EDGE(Gate.ALWAYS),
        /** Isolates what shadow traffic touches; while it is off, shadow traffic is refused. */
        MIDDLEWARE(Gate.MARK),
        /** Hands the mark on to another thread. */
        CARRIER(Gate.MARK);

        public final Gate gate;

        Role(Gate gate) {
            this.gate = gate;
        }
    }

    /** Name in configuration and ledger, and the last part of its package {@code weir.probe.plugin.<name>}. */
    String name();

    /** The library for people, with the supported versions: {@code logback 1.1 to 1.5}. */
    String library();

    Role role();

    /** The join points; one, unless the class's documentation says why. */
    List<JoinPoint> joinPoints();

    /** Members without which the handlers would fail: {@code owner.name(descriptor)}, or a class. */
    default List<String> expects() {
        return java.util.Collections.emptyList();
    }

    /**
     * Handler class with {@code public static String check()}, run once for each class loader with woven classes before
     * arming: null if the isolation is ready, else the finding. Null if there is nothing to check. The class may also have
     * {@code public static void close()}, called when the probe leaves, and {@code public static String run(String)}, which
     * carries out the command {@code run plugin text}.
     */
    default String check() {
        return null;
    }
}
