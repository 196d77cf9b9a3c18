package weir.probe.boot;

/**
 * Something that keeps the current thread's mark until it runs, perhaps on another thread: the mark is alive all the while.
 * The first run is under the mark even if shadow traffic is no longer accepted: others may wait for it, or for what it
 * releases, and middleware refuses what it does. Later runs, of periodic tasks, are refused then.
 */
public abstract class Held {
    public final Mark mark;

    /** On a marked thread. */
    protected Held() {
        this(Mark.capture());
    }

    protected Held(Mark mark) {
        this.mark = mark;
        Attached.attach(this, mark);
    }

    /** At the beginning of a run. */
    protected final Mark.Scope open() {
        boolean waited = Attached.of(this) != null;
        Mark.Scope scope = waited ? Mark.resume(mark) : Mark.open(mark);
        Attached.take(this); // last: the mark is alive in one place or the other
        return scope;
    }
}
