package weir.probe.core;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import weir.probe.api.Log;
import weir.probe.api.Plugin.Role;
import weir.probe.api.Settings;
import weir.probe.boot.Gate;
import weir.probe.boot.Mark;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;

/**
 * The probe's state in this JVM. Leaving {@code ARMED} is safe at once for business traffic and for shadow traffic
 * under way: middleware refuses marked calls, and is folded away when the last mark has gone.
 */
public final class Probe implements Point.Handlers {
    /** States of the whole probe. */
    public enum State {
        /** All join points are constants, as if there were no probe: a mark that arrives is not seen either. */
        SILENT,
        /** Edges alone are on, to refuse shadow traffic. */
        DISARMED,
        ARMED
    }

    /** A plugin's answer to the check before arming. */
    public static final class Check {
        public final String plugin;
        public final boolean ok;
        public final String finding;

        Check(String plugin, String finding) {
            this.plugin = plugin;
            this.ok = finding.isEmpty();
            this.finding = finding;
        }

        @Override
        public String toString() {
            return plugin + ": " + (ok ? "ready" : finding);
        }
    }

    private final Config config;
    /** Guarded by this. */
    private final List<String> broken;
    private final Map<String, Loaded> plugins = new LinkedHashMap<>();
    private volatile State state = State.SILENT;
    private volatile String reason = "starting";
    private volatile List<Check> report = Collections.emptyList();
    /** One check at a time; taken before the lock of this, which is never held while a check waits for a server. */
    private final Object checking = new Object();
    /** How often the state was switched: a check arms what it has found, and not what came after. Guarded by this. */
    private long switches;

    /** @param broken what is wrong with the configuration: it cannot be armed then */
    Probe(Config config, Collection<Loaded> loaded, List<String> broken) {
        this.config = config;
        this.broken = broken;
        for (Loaded plugin : loaded) {
            plugins.put(plugin.plugin.name(), plugin);
        }
    }

    public Config config() {
        return config;
    }

    public State state() {
        return state;
    }

    /** What led to the state, in words. */
    public String reason() {
        return reason;
    }

    public Collection<Loaded> plugins() {
        return Collections.unmodifiableCollection(plugins.values());
    }

    /** The last report of {@link #arm}. */
    public List<Check> report() {
        return report;
    }

    /** Whether shadow traffic is accepted: armed, and every isolation at hand is on. */
    public boolean ready() {
        return state == State.ARMED && plugins.values().stream().noneMatch(Probe::gap);
    }

    /** Runs every plugin's check, and arms if none finds anything; if one does, shadow traffic is refused. */
    public List<Check> arm(String why) {
        return arm(why, -1);
    }

    /** The same, unless somebody has switched the state since it was that of {@link #disarm}'s number. */
    public List<Check> arm(String why, long since) {
        synchronized (checking) {
            long before;
            List<Check> checks = new ArrayList<>();
            synchronized (this) {
                before = since < 0 ? switches : since;
                broken.forEach(finding -> checks.add(new Check("configuration", finding)));
            }
            long revision = Settings.revision();
            check(checks);
            synchronized (this) {
                if (before != switches || revision != Settings.revision()) {
                    checks.add(new Check("probe", "it was switched or configured during the check, which says nothing any more"));
                }
                report = Collections.unmodifiableList(checks);
                if (checks.stream().allMatch(check -> check.ok)) {
                    enter(State.ARMED, why);
                } else if (state == State.ARMED && before == switches) {
                    enter(State.DISARMED, "the check has findings");
                }
                return report;
            }
        }
    }

    private void check(List<Check> checks) {
        for (Loaded plugin : plugins.values()) {
            List<String> findings = new ArrayList<>();
            if (gap(plugin)) {
                findings.add("it is " + plugin.state().name().toLowerCase(java.util.Locale.ROOT) + ": " + plugin.reason());
            } else if (plugin.isWoven()) {
                findings = plugin.findings();
            }
            checks.add(new Check(plugin.plugin.name(), String.join("; ", findings)));
        }
    }

    /** Returns the number of this switch. */
    public synchronized long disarm(String why) {
        enter(State.DISARMED, why);
        return switches;
    }

    public void silence(String why) {
        enter(State.SILENT, why);
    }

    /** Leaves silence; what was armed before has to be armed again. */
    public synchronized void wake(String why) {
        if (state == State.SILENT) {
            enter(State.DISARMED, why);
        }
    }

    /** @return false if there is no such plugin */
    public boolean silence(String plugin, String why) {
        return turn(plugin, Loaded.State.ON, Loaded.State.SILENT, why);
    }

    /** Wakes a plugin that was silenced, or one that was switched off for its faults. */
    public boolean wake(String plugin, String why) {
        Loaded loaded = plugins.get(plugin);
        if (loaded != null && loaded.faults.getAndSet(0) > 0) {
            turn(plugin, Loaded.State.OFF, Loaded.State.ON, "");
        }
        return turn(plugin, Loaded.State.SILENT, Loaded.State.ON, "");
    }

    private synchronized boolean turn(String plugin, Loaded.State from, Loaded.State to, String why) {
        Loaded loaded = plugins.get(plugin);
        if (loaded != null && loaded.state() == from) {
            loaded.state(to, why);
            apply();
        }
        return loaded != null;
    }

    private synchronized void enter(State next, String why) {
        if (next != state) {
            Log.line(next.name().toLowerCase(java.util.Locale.ROOT) + ": " + why);
        }
        state = next;
        reason = why;
        switches++;
        apply();
    }

    /** Brings all join points to what the states ask for; true if some wait for marks to go. */
    synchronized boolean apply() {
        boolean ready = ready();
        if (!ready) {
            Probes.accept(false); // first: no mark begins while isolation goes
        }
        boolean marks = Mark.live() > 0;
        boolean waits = false;
        for (Loaded plugin : plugins.values()) {
            waits |= marks && state != State.ARMED;
            for (Point point : plugin.points.keySet()) {
                Point.Mode next = mode(plugin, point, marks);
                if (point.mode() != next) {
                    point.mode(next);
                }
            }
        }
        if (ready) {
            Probes.accept(true); // last: all isolation is on
            if (!ready()) { // a class that was loaded meanwhile does not fit
                Probes.accept(false);
            }
        }
        return waits || marks && !ready;
    }

    private Point.Mode mode(Loaded plugin, Point point, boolean marks) {
        Role role = plugin.plugin.role();
        if (role == Role.MIDDLEWARE && point.gate == Gate.ALWAYS) { // sees the instances that a check asks about, and ends its own marks
            boolean seeing = plugin.state() == Loaded.State.ON && state != State.SILENT;
            return seeing || marks ? Point.Mode.ON : Point.Mode.OFF;
        }
        boolean carries = role == Role.EDGE && point.gate != Gate.ALWAYS || plugin.points.get(point).isLasting();
        return carries ? carrying(plugin, marks) : mode(plugin, marks);
    }

    private Point.Mode mode(Loaded plugin, boolean marks) {
        boolean on = plugin.state() == Loaded.State.ON;
        switch (plugin.plugin.role()) {
            case EDGE:
                // Off for its faults it is called all the same: it may yet see a mark, which is not accepted then.
                return (on || plugin.state() == Loaded.State.OFF) && state != State.SILENT ? Point.Mode.ON : Point.Mode.OFF;
            case CARRIER:
                return carrying(plugin, marks);
            default:
                return on && state == State.ARMED ? Point.Mode.ON : marks ? Point.Mode.REFUSE : Point.Mode.OFF;
        }
    }

    /** As long as there are marks, whatever the state: work that lost its mark would be business. */
    private Point.Mode carrying(Loaded plugin, boolean marks) {
        boolean on = plugin.state() == Loaded.State.ON && state == State.ARMED;
        return on || marks && plugin.state() != Loaded.State.MISMATCH ? Point.Mode.ON : Point.Mode.OFF;
    }

    /** Whether shadow traffic would not be seen, would pass a library, or lose its mark, for want of this plugin. */
    private static boolean gap(Loaded plugin) {
        return plugin.state() != Loaded.State.ON && (plugin.isWoven() || plugin.state() == Loaded.State.MISMATCH);
    }

    /** Something in the configuration has proved wrong after all. */
    synchronized void broken(String finding) {
        broken.add(finding);
        if (state == State.ARMED) {
            disarm(finding);
        }
    }

    @Override
    public MethodHandle find(Point point, String role, MethodType type, ClassLoader application) {
        Loaded plugin = plugins.get(point.plugin);
        try {
            return plugin == null || !plugin.points.containsKey(point) ? null
                    : plugin.handler(point, role, application).asType(type);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) { // it would leave through the woven method
            off(plugin, "no handler for " + point.name() + ": " + e);
            return null;
        }
    }

    @Override
    public void faulted(Point point, Throwable thrown) {
        Loaded plugin = plugins.get(point.plugin);
        if (plugin != null && plugin.faults.incrementAndGet() == config.faults) {
            off(plugin, point.name() + " threw " + thrown + ", the " + config.faults + "th fault");
        }
    }

    @Override
    public String command(String text) {
        String[] words = text.trim().split(" +", 2);
        String why = "by command";
        switch (words[0]) {
            case "arm":
                List<Check> checks = arm(why);
                return state.name().toLowerCase(java.util.Locale.ROOT) + ' ' + checks;
            case "disarm":
                disarm(why);
                break;
            case "silence":
            case "wake":
                boolean silence = words[0].equals("silence");
                Loaded named = words.length == 2 ? plugins.get(words[1]) : null;
                if (silence && named != null && named.plugin.role() == Role.EDGE) {
                    throw new IllegalArgumentException(
                            words[1] + " is an edge: without it shadow traffic is served as business traffic; silence the whole probe");
                }
                if (words.length == 2) {
                    if (!(silence ? silence(words[1], why) : wake(words[1], why))) {
                        throw new IllegalArgumentException("no plugin " + words[1] + ", only " + String.join(", ", plugins.keySet()));
                    }
                    return words[1] + ' ' + plugins.get(words[1]).state().name().toLowerCase(java.util.Locale.ROOT);
                }
                if (silence) {
                    silence(why);
                } else {
                    wake(why);
                }
                break;
            case "run":
                if (words.length < 2) {
                    throw new IllegalArgumentException("run: expected a plugin and what it is to run");
                }
                return run(words[1]);
            default:
                throw new IllegalArgumentException("unknown command `" + text + '`');
        }
        return state.name().toLowerCase(java.util.Locale.ROOT);
    }

    /** Hands {@code plugin text} to the plugin's {@code run}. */
    private String run(String text) {
        String[] words = text.split(" +", 2);
        Loaded plugin = plugins.get(words[0]);
        if (plugin == null || plugin.plugin.check() == null) {
            throw new IllegalArgumentException("no plugin " + words[0] + " that runs anything");
        }
        return String.join("; ", plugin.ask("run", words.length == 2 ? words[1] : ""));
    }

    private void off(Loaded plugin, String why) {
        plugin.state(Loaded.State.OFF, why);
        Log.line("plugin " + plugin.plugin.name() + " is off: " + why);
        Thread switching = new Thread(this::apply, "weir-probe-off"); // not on the application's thread: it may hold locks
        switching.setDaemon(true);
        switching.start();
    }
}
