package weir.probe.boot;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;

/**
 * Threads' own numbers. Taken from the field: applications can override {@code getId}, also with something that changes, and
 * {@code threadId} came with JDK 19.
 */
final class Numbers {
    private static final MethodHandle NUMBER = number();

    private Numbers() {}

    static long current() {
        return of(Thread.currentThread());
    }

    static long of(Thread thread) {
        try {
            return (long) NUMBER.invokeExact(thread);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle number() {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        try {
            Field field = Thread.class.getDeclaredField("tid");
            field.setAccessible(true); // the agent has opened java.lang to this package
            return lookup.unreflectGetter(field);
        } catch (ReflectiveOperationException | RuntimeException otherJvm) {
            try {
                return lookup.findVirtual(Thread.class, "getId", MethodType.methodType(long.class));
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }
}
