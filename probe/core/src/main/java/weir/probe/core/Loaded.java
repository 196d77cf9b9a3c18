package weir.probe.core;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.api.Settings;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;

/** A plugin in this JVM: its state, its join points, and its handlers for each class loader of the application. */
public final class Loaded {
    /** Why a plugin does what it does. */
    public enum State {
        ON,
        /** Silenced by request. */
        SILENT,
        /** Off by configuration, or after too many faults. */
        OFF,
        /** The classes at hand are not those that it was written for. */
        MISMATCH
    }

    public final Plugin plugin;
    public final Map<Point, JoinPoint> points = new LinkedHashMap<>();
    /** Methods woven, by join point. */
    public final Map<Point, AtomicInteger> woven = new LinkedHashMap<>();
    final AtomicInteger faults = new AtomicInteger();
    private final Source source;
    private final Map<ClassLoader, WeakReference<HandlerLoader>> loaders = new WeakHashMap<>();
    private volatile State state = State.ON;
    private volatile String reason = "";
    private volatile String version = "";

    Loaded(Plugin plugin, Source source) {
        this.plugin = plugin;
        this.source = source;
        for (JoinPoint joinPoint : plugin.joinPoints()) {
            Point point = Probes.point(plugin.name(), joinPoint.id, joinPoint.gateOr(plugin.role().gate), joinPoint.drops());
            points.put(point, joinPoint);
            woven.put(point, new AtomicInteger());
        }
    }

    public State state() {
        return state;
    }

    /** Why it is not {@link State#ON}, in words. */
    public String reason() {
        return reason;
    }

    /** The library's version as its jar is named, or empty. */
    public String version() {
        return version;
    }

    public boolean isWoven() {
        return woven.values().stream().anyMatch(count -> count.get() > 0);
    }

    void state(State next, String why) {
        state = next;
        reason = why;
    }

    void found(String found) {
        version = found;
    }

    MethodHandle handler(Point point, String role, ClassLoader application) throws ReflectiveOperationException {
        JoinPoint joinPoint = points.get(point);
        String path = role.equals("around") || role.equals("exit")
                ? joinPoint.handler + (role.equals("around") ? ".enter" : ".exit") : joinPoint.handler;
        int dot = path.lastIndexOf('.');
        MethodHandle handle = MethodHandles.publicLookup().unreflect(method(path.substring(0, dot), path.substring(dot + 1), application));
        return joinPoint.constant() == null || role.equals("exit") ? handle
                : MethodHandles.insertArguments(handle, 0, joinPoint.constant());
    }

    /** What the plugin's check finds amiss, for each loader that has woven classes. */
    List<String> findings() {
        return ask("check");
    }

    /** Calls a static method of the checking class, if there is one, for each loader that has woven classes; gathers what it says. */
    List<String> ask(String name, Object... arguments) {
        List<String> findings = new ArrayList<>();
        List<ClassLoader> applications;
        synchronized (loaders) {
            applications = new ArrayList<>(loaders.keySet());
        }
        for (ClassLoader application : applications) {
            if (plugin.check() == null) {
                break;
            }
            try {
                Object finding = method(plugin.check(), name, application).invoke(null, arguments);
                if (finding != null) {
                    findings.add(Settings.withoutSecrets(finding.toString()));
                }
            } catch (NoSuchMethodException e) {
                if (name.equals("check")) {
                    findings.add("the check failed: " + e);
                }
            } catch (InvocationTargetException e) {
                findings.add(Settings.withoutSecrets("the " + name + " failed: " + e.getCause()));
            } catch (ReflectiveOperationException | LinkageError e) {
                findings.add("the " + name + " failed: " + e);
            }
        }
        return findings;
    }

    /** Notes that a class of this loader is woven. */
    void sees(ClassLoader application) {
        synchronized (loaders) {
            loaders.computeIfAbsent(application, a -> new WeakReference<>(null));
        }
    }

    private Method method(String type, String name, ClassLoader application) throws ReflectiveOperationException {
        for (Method method : loader(application).loadClass("weir.probe.plugin." + plugin.name() + '.' + type).getMethods()) {
            if (method.getName().equals(name)) {
                return method;
            }
        }
        throw new NoSuchMethodException(type + '.' + name);
    }

    /** The handlers' loader, held by their call sites alone: it goes with the application's classes. */
    private HandlerLoader loader(ClassLoader application) {
        synchronized (loaders) {
            WeakReference<HandlerLoader> known = loaders.get(application);
            HandlerLoader loader = known == null ? null : known.get();
            if (loader == null) {
                loader = new HandlerLoader(plugin.name(), source, application);
                loaders.put(application, new WeakReference<>(loader));
            }
            return loader;
        }
    }
}
