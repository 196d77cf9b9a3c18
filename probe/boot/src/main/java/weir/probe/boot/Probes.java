package weir.probe.boot;

import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The join points of this JVM, and the bootstrap method of their call sites. The one root from which the classes that
 * stay when the agent leaves reach those that go.
 */
public final class Probes {
    /** Changes with every incompatible change of this package: a JVM keeps the first version that it has seen. */
    public static final int VERSION = 4;

    private static final Map<String, Point> POINTS = new ConcurrentHashMap<>();
    private static final MethodHandle TAKE;
    private static volatile Point.Handlers handlers;
    private static volatile AutoCloseable attached;

    static {
        try {
            TAKE = MethodHandles.lookup().findStatic(Cut.class, "take", MethodType.methodType(Object.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private Probes() {}

    /** Bootstrap method of all woven {@code invokedynamic}s; never throws but for broken bytecode. */
    public static CallSite link(MethodHandles.Lookup caller, String role, MethodType type, String point) {
        if (role.equals("take")) {
            return new ConstantCallSite(TAKE.asType(type));
        }
        Site site = new Site(POINTS.get(point), role, type, caller.lookupClass().getClassLoader());
        POINTS.get(point).add(site);
        return site;
    }

    /** The join point of that name, made if it is new to this JVM. */
    public static Point point(String plugin, String id, Gate gate) {
        return point(plugin, id, gate, false);
    }

    public static Point point(String plugin, String id, Gate gate, boolean drops) {
        return POINTS.computeIfAbsent(plugin + '/' + id, name -> new Point(plugin, id, gate, drops));
    }

    public static Collection<Point> points() {
        return new ArrayList<>(POINTS.values());
    }

    /** Zeroes the ledger. */
    public static void reset() {
        for (Point point : POINTS.values()) {
            point.business.reset();
            point.shadow.reset();
        }
    }

    /** Whether marks may be opened. */
    public static void accept(boolean on) {
        Mark.accept(on);
    }

    public static void attach(Point.Handlers inside, AutoCloseable agent) {
        handlers = inside;
        attached = agent;
    }

    /** Carries out a command of {@link Point.Handlers#command}, or {@code leave}; returns what came of it. */
    public static String command(String text) throws Exception {
        Point.Handlers inside = handlers;
        if (inside == null) {
            throw new IllegalStateException("not attached");
        }
        if (text.equals("leave")) {
            leave();
            return "left";
        }
        return inside.command(text);
    }

    /** Ends the attached agent, if there is one. */
    public static void leave() throws Exception {
        AutoCloseable agent = attached;
        if (agent != null) {
            agent.close(); // ends in detach, unless marked tasks are under way
        }
    }

    public static boolean isAttached() {
        return attached != null;
    }

    /** Lets go of everything that the agent's inside has given. */
    public static void detach() {
        accept(false);
        handlers = null; // first: switching off must not look for handlers
        attached = null;
        for (Point point : POINTS.values()) {
            point.mode(Point.Mode.OFF);
            point.forget();
        }
    }

    static MethodHandle find(Point point, String role, MethodType type, ClassLoader application) {
        Point.Handlers inside = handlers;
        return inside == null ? null : inside.find(point, role, type, application);
    }

    static void faulted(Point point, Throwable thrown) {
        Point.Handlers inside = handlers;
        if (inside != null) {
            inside.faulted(point, thrown);
        }
    }

    /** Defines a class of this package in the bootstrap loader (Java 9 and later). */
    public static MethodHandles.Lookup lookup() {
        return MethodHandles.lookup();
    }
}
