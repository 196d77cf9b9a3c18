package weir.probe.boot;

/** The second test at a join point, after the folded constant and before the handler. */
public enum Gate {
    /** The thread carries the mark: middleware, and carriers that hand the mark on. */
    MARK,
    /** Some task of this JVM carries a mark: carriers that take the mark up on a thread that has none yet. */
    CAPTURED,
    /** Every call: edges, which set the mark. On when disarmed too, so that marked requests are refused. */
    ALWAYS
}
