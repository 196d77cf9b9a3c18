package weir.probe.boot;

/**
 * Shadow work that may not go on: the probe is not armed, a middleware has no ready isolation, or a handler failed on a
 * marked thread. Never thrown to business traffic.
 */
public final class ShadowRefused extends RuntimeException {
    private static final long serialVersionUID = 1;

    public ShadowRefused(String reason) {
        super(reason);
    }

    public ShadowRefused(String reason, Throwable cause) {
        super(reason, cause);
    }
}
