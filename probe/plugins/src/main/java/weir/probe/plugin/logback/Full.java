package weir.probe.plugin.logback;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.rolling.TriggeringPolicyBase;
import java.io.File;

/** Says when a shadow file is full. Logback's own policy of the kind has another signature in each of its versions. */
final class Full extends TriggeringPolicyBase<ILoggingEvent> {
    /** Lines between two looks at the file. */
    private static final int EVERY = 64;

    private final long bytes;
    private int lines;

    Full(long bytes) {
        this.bytes = bytes;
    }

    /** Called under a lock. */
    @Override
    public boolean isTriggeringEvent(File file, ILoggingEvent event) {
        return ++lines % EVERY == 0 && file.length() >= bytes;
    }
}
