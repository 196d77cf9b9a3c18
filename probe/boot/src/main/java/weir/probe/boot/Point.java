package weir.probe.boot;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** A join point at run time: its state, its call sites in woven code and its cells in the ledger. */
public final class Point {
    /** What the call sites of a point do. */
    public enum Mode {
        /** Folded to a constant. */
        OFF,
        /** Marked calls go to the handler (all calls, at an edge). */
        ON,
        /** Marked calls are refused: the isolation is gone, but marks are still about. */
        REFUSE
    }

    /** Of the calls that a handler serves, one in this many is timed by each clock, never the first, which loads classes. */
    static final int SAMPLE = 16;
    /** Bit of a time by the clock of CPU that says that its thread was marked. */
    private static final long MARKED = 2;

    public final String plugin;
    public final String id;
    public final Gate gate;
    /** Whether a call that is refused is left out instead, as a line of a log is: nobody expects it to throw. */
    public final boolean drops;
    public final Cells shadow = new Cells();
    public final Cells business;

    private final List<WeakReference<Site>> sites = new ArrayList<>();
    private Mode mode = Mode.OFF;

    Point(String plugin, String id, Gate gate, boolean drops) {
        this.plugin = plugin;
        this.id = id;
        this.gate = gate;
        this.drops = drops;
        business = gate == Gate.ALWAYS ? new Cells(shadow) : new Cells(); // begin() cannot know of which kind a call is
    }

    public String name() {
        return plugin + '/' + id;
    }

    public synchronized Mode mode() {
        return mode;
    }

    /** Woven call sites that have been reached and are still there. */
    public synchronized int sites() {
        return live().size();
    }

    /** Changes what all call sites do; the new state holds on every thread when this returns. */
    public void mode(Mode next) {
        live().forEach(site -> site.prepare(next));
        List<Site> changed;
        synchronized (this) {
            mode = next;
            changed = live();
            changed.forEach(site -> site.become(next));
        }
        if (!changed.isEmpty()) {
            MutableCallSite.syncAll(changed.toArray(new MutableCallSite[0]));
        }
    }

    /** Drops the handlers, so that their class loaders can go. */
    synchronized void forget() {
        live().forEach(Site::forget);
    }

    void add(Site site) {
        site.prepare(mode());
        synchronized (this) {
            live();
            sites.add(new WeakReference<>(site));
            site.become(mode);
        }
    }

    private synchronized List<Site> live() {
        List<Site> live = new ArrayList<>();
        for (Iterator<WeakReference<Site>> references = sites.iterator(); references.hasNext(); ) {
            Site site = references.next().get();
            if (site == null) {
                references.remove();
            } else {
                live.add(site);
            }
        }
        return live;
    }

    /** The test of {@link Gate#MARK}. The counters are a constant of the call site, as this is all that business traffic pays. */
    static boolean marked(long[] counters) {
        long thread = Numbers.current();
        if (Mark.marked(thread)) {
            return true;
        }
        Cells.count(counters, thread);
        return false;
    }

    /** Begins a call of the handler: the time, or 0 if this call is not timed. */
    long begin() {
        if (gate == Gate.ALWAYS || !Mark.marked()) {
            return timed(business.count());
        }
        return timed(shadow.countExactly());
    }

    private static long timed(long call) {
        int turn = (int) call & SAMPLE - 1;
        return turn == 0 ? Clock.elapsed() : turn == SAMPLE / 2 ? Clock.cpu() : 0;
    }

    void end(long start) {
        boolean marked = Mark.marked();
        if (marked && gate == Gate.ALWAYS) {
            shadow.countExactly();
        }
        if (start != 0) {
            (marked ? shadow : business).time(start);
        }
    }

    /** Begins an exit: it is timed if the entry before it was, so that both count as one call. */
    long beginExit() {
        boolean marked = Mark.marked();
        if (((marked && gate != Gate.ALWAYS ? shadow : business).last() & SAMPLE - 1) != SAMPLE / 2) {
            return 0;
        }
        long start = Clock.cpu();
        return Clock.isElapsed(start) ? 0 : marked ? start | MARKED : start & ~MARKED;
    }

    void endExit(long start) {
        if (start != 0) {
            ((start & MARKED) != 0 ? shadow : business).addCpu(start);
        }
    }

    /**
     * A handler threw. A refusal goes to the caller: an edge refuses before its thread is marked. Of other faults a
     * marked thread is refused; an unmarked one goes on as if there were no handler.
     */
    void fault(Throwable thrown) {
        if (thrown instanceof ShadowRefused) {
            throw (ShadowRefused) thrown;
        }
        Probes.faulted(this, thrown);
        if (Mark.marked()) {
            throw new ShadowRefused(name() + " failed: " + thrown); // without the cause: protocols serialize it, and it may not be
        }
    }

    void exitFault(Throwable thrown, Object token) throws Exception {
        Probes.faulted(this, thrown);
        Site.close(token);
    }

    /** Refuses a marked call. */
    void refuse() {
        throw new ShadowRefused(name() + " has no isolation now");
    }

    @Override
    public String toString() {
        return name();
    }

    /** Finds handlers for call sites; the agent's inside has one while it is attached. */
    public interface Handlers {
        /** The handler for a role at a point, of the site's type, or null if it cannot be had. */
        MethodHandle find(Point point, String role, MethodType type, ClassLoader application);

        /** A handler threw on a thread of the application. */
        void faulted(Point point, Throwable thrown);

        /**
         * Carries out {@code arm}, {@code disarm}, {@code silence} or {@code wake}, with a plugin's name for the last two.
         *
         * @throws IllegalArgumentException if it is refused
         */
        String command(String text);
    }
}
