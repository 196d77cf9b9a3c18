package weir.probe.core;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import weir.probe.api.Log;
import weir.probe.api.Plugin;
import weir.probe.api.Settings;
import weir.probe.boot.Clock;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.control.AutoSilence;
import weir.probe.control.Local;
import weir.probe.control.Otlp;

/** Starts the agent's inside, and ends it: weaves, states, services. */
public final class Core implements AutoCloseable {
    /** How often the state is looked after while marks are to go, and otherwise: a look locks every join point. */
    private static final long TICK_MS = 50;
    private static final long IDLE_MS = 1_000;
    /** How long leaving waits for marked work to end. */
    private static final long DRAIN_MS = 10_000;
    private static final String REFUSED = "; shadow traffic is refused until this is changed and the JVM restarted";

    private final Instrumentation instrumentation;
    private final Weaver weaver;
    private final Probe probe;
    private final List<Service> services = new ArrayList<>();
    private final Thread drain;
    private volatile boolean closed;

    private Core(Instrumentation instrumentation, Source source, String arguments) throws Exception {
        this.instrumentation = instrumentation;
        List<String> broken = new ArrayList<>();
        Config config = config(arguments, broken);
        try {
            config.check(config.shadow());
            Settings.replace(config.shadow());
        } catch (IllegalArgumentException e) {
            broken.add(e.getMessage());
        }
        if (!config.shadowTraffic) {
            broken.add("shadow_traffic is `never`: this JVM takes business traffic only");
        }
        Jvm jvm = new Jvm(instrumentation);
        jvm.open();
        List<Loaded> plugins = plugins(source, config, broken);
        probe = new Probe(config, plugins, broken);
        broken.forEach(each -> Log.line(each + REFUSED));
        weaver = new Weaver(plugins, jvm);
        Probes.attach(probe, this);
        weaver.loadPlatform();
        instrumentation.addTransformer(weaver, true);
        retransform();
        probe.wake("started");
        if (config.state == Probe.State.SILENT) {
            probe.silence("configured");
        } else if (config.state == Probe.State.ARMED) {
            probe.arm("configured").stream().filter(check -> !check.ok)
                    .forEach(check -> Log.line("not armed: " + check));
        }
        drain = new Thread(this::drain, "weir-probe");
        drain.setDaemon(true);
        drain.start();
        for (Service service : services()) {
            services.add(service);
            try {
                service.start(probe);
            } catch (IllegalArgumentException e) {
                Log.line(e.getMessage() + REFUSED);
                probe.broken(e.getMessage());
            } catch (Exception e) {
                Log.line(e.getMessage());
            }
        }
    }

    /** Called by the agent through reflection. */
    public static void start(Instrumentation instrumentation, Source source, String arguments) throws Exception {
        new Core(instrumentation, source, arguments);
    }

    /** All parts that run beside the probe. */
    private static List<Service> services() {
        return Arrays.asList(new Local(), new AutoSilence(), new Otlp());
    }

    /** The configuration, or defaults and what is wrong: without a probe, marked requests would be served as business traffic. */
    private static Config config(String arguments, List<String> broken) {
        try {
            return Config.read(arguments, System.getenv());
        } catch (IllegalArgumentException e) {
            broken.add(e.getMessage());
            return Config.none();
        }
    }

    private static List<Loaded> plugins(Source source, Config config, List<String> broken) throws IOException {
        Map<String, Source> sources = new LinkedHashMap<>();
        for (String line : new String(source.read("plugins.txt"), StandardCharsets.UTF_8).split("\n")) {
            if (!line.trim().isEmpty()) {
                sources.put(line.trim(), source);
            }
        }
        config.plugins().forEach((name, value) -> {
            if (value instanceof String) {
                sources.put(name, new Jar((String) value));
            } else if (!sources.containsKey(name)) {
                broken.add("plugins." + name + ": there is no such plugin, only " + String.join(", ", sources.keySet()));
            }
        });
        List<Loaded> plugins = new ArrayList<>();
        sources.forEach((name, from) -> {
            try {
                Class<?> type = new HandlerLoader(name, from, null).loadClass(
                        "weir.probe.plugin." + name + '.' + Character.toUpperCase(name.charAt(0)) + name.substring(1) + "Plugin");
                Loaded loaded = new Loaded((Plugin) type.getConstructor().newInstance(), from);
                if (!config.on(name)) {
                    loaded.state(Loaded.State.OFF, "configured");
                }
                plugins.add(loaded);
            } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
                broken.add("plugins." + name + " cannot be loaded: " + (e.getCause() == null ? e : e.getCause()));
            }
        });
        return plugins;
    }

    /** Brings classes that are loaded already to their present form. */
    private void retransform() {
        List<Class<?>> wanted = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (weaver.wants(loaded.getName()) && instrumentation.isModifiableClass(loaded)) {
                wanted.add(loaded);
            }
        }
        // Each call stops all threads and visits all classes. JDK 8 and 11 do that once for each class they are given: with 20,000
        // classes loaded, they stop for 26 ms together, 5 ms one by one. 17 and later take 4 ms for both.
        if (Jvm.version() < 17) {
            wanted.forEach(this::retransform);
            return;
        }
        try {
            if (!wanted.isEmpty()) {
                instrumentation.retransformClasses(wanted.toArray(new Class<?>[0]));
            }
        } catch (UnmodifiableClassException | LinkageError | UnsupportedOperationException together) {
            wanted.forEach(this::retransform);
        }
    }

    private void retransform(Class<?> loaded) {
        try {
            instrumentation.retransformClasses(loaded);
        } catch (UnmodifiableClassException | LinkageError | UnsupportedOperationException e) {
            weaver.failed(loaded.getName(), e);
        }
    }

    private void drain() {
        Clock.open();
        while (!closed) {
            boolean waits = false;
            try {
                waits = probe.apply();
            } catch (RuntimeException | LinkageError e) { // and again at the next look
                Log.sometimes("apply", "the state cannot be brought to all join points: " + e);
            }
            try {
                Thread.sleep(waits ? TICK_MS : IDLE_MS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Leaves the JVM as it was: refuses shadow traffic, silences, takes the join points out, ends all threads. */
    @Override
    public void close() throws Exception {
        probe.silence("leaving");
        for (int waited = 0; Mark.live() > 0 && waited < DRAIN_MS; waited += TICK_MS) {
            Thread.sleep(TICK_MS);
        }
        if (Mark.live() > 0) {
            throw new IllegalStateException(Mark.live() + " marked tasks are under way, which would be business traffic without the"
                    + " probe: it stays, silent, and refuses what they do");
        }
        for (Service service : services) {
            service.close();
        }
        probe.plugins().forEach(plugin -> plugin.ask("close"));
        closed = true;
        drain.interrupt();
        drain.join(1000);
        instrumentation.removeTransformer(weaver);
        retransform();
        Probes.detach();
        Log.line("left");
    }
}
