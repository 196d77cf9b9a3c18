package weir.probe.plugin.executors;

import java.util.Arrays;
import java.util.Collection;
import weir.probe.api.Log;
import weir.probe.api.Settings;
import weir.probe.boot.Mark;

/**
 * A thread started by a marked one has the mark for life, except threads of libraries: a pool's worker, an event loop or
 * a housekeeper that a shadow request happens to start first serves business requests later. Not in the list: packages whose classes
 * wrap the caller's own code.
 */
public final class Start {
    private static final String[] LIBRARIES = {"java.", "javax.", "jdk.", "sun.", "com.sun.", "weir.probe.core.", "io.netty.",
        "org.apache.", "org.eclipse.", "com.zaxxer.", "com.alibaba.", "io.lettuce.", "reactor.", "io.undertow.", "okhttp3.",
        "io.grpc.", "ch.qos.logback.", "org.postgresql.", "com.mysql.", "io.micrometer.", "com.netflix.", "kotlinx.",
        "scala.concurrent.", "akka.", "io.vertx.", "io.r2dbc.", "org.jboss.", "org.xnio.", "com.mongodb.", "com.rabbitmq.",
        "org.redisson.", "com.hazelcast.", "com.amazonaws.", "software.amazon.", "org.quartz.", "okio.", "com.mchange.", "com.atomikos.",
        "org.springframework.jms.", "org.springframework.amqp.", "org.springframework.kafka."};
    /** Tasks of the JDK that have a thread each. */
    private static final String[] SINGLE = {"java.util.concurrent.ThreadPerTaskExecutor$", "java.util.concurrent.StructuredTaskScope"};

    private Start() {}

    public static boolean thread(Thread thread) throws ReflectiveOperationException {
        if (thread.getState() != Thread.State.NEW) {
            return false; // the JDK will refuse to start it again
        }
        boolean virtual = thread.getClass().getName().equals("java.lang.VirtualThread")
                || thread.getClass().getName().equals("java.lang.ThreadBuilders$BoundVirtualThread");
        String task = Mark.task(thread).getName();
        boolean single = virtual || Arrays.stream(SINGLE).anyMatch(task::startsWith);
        if (single || inherits(task)) {
            Mark.give(thread);
            if (!single) {
                Log.sometimes("inherits", "a thread of " + task + " has its starter's mark for its life; if it serves business requests"
                        + " as well, name the class in threads_unmarked");
            }
        }
        return false;
    }

    /** Whether what a marked thread starts for longer than a request, a thread or a periodic task of this class, is shadow work. */
    static boolean inherits(String task) {
        for (String prefix : LIBRARIES) {
            if (task.startsWith(prefix)) {
                return false;
            }
        }
        Object configured = Settings.section("threads_unmarked");
        if (configured instanceof Collection) {
            for (Object prefix : (Collection<?>) configured) {
                if (task.startsWith(prefix.toString())) {
                    return false;
                }
            }
        }
        return true;
    }
}
