package weir.probe.boot;

/**
 * The current thread's mark, kept by a task that runs later, perhaps on another thread: it is alive as long as the task may run.
 * The first run is under the mark even if shadow traffic is no longer accepted: others may wait for it, or for what it
 * releases, and middleware refuses what it does. Later runs, of periodic tasks, are refused then.
 */
public final class Held {
    public final Mark mark;

    /** On a marked thread. */
    public Held() {
        this(Mark.capture());
    }

    public Held(Mark mark) {
        this.mark = mark;
        Attached.attach(this, mark);
    }

    /** Whether this would be a later run, and is refused now. */
    public boolean isOver() {
        return Attached.of(this) == null && !Mark.accepting();
    }

    /** At the beginning of a run. */
    public Mark.Scope open() {
        Mark.Scope scope = Attached.of(this) != null ? Mark.resume(mark) : Mark.open(mark);
        Attached.take(this); // last: the mark is alive in one place or the other
        return scope;
    }
}
