package weir.probe.boot;

import static java.lang.invoke.MethodHandles.catchException;
import static java.lang.invoke.MethodHandles.collectArguments;
import static java.lang.invoke.MethodHandles.constant;
import static java.lang.invoke.MethodHandles.dropArguments;
import static java.lang.invoke.MethodHandles.foldArguments;
import static java.lang.invoke.MethodHandles.guardWithTest;
import static java.lang.invoke.MethodHandles.identity;
import static java.lang.invoke.MethodHandles.permuteArguments;
import static java.lang.invoke.MethodType.methodType;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;

/**
 * One {@code invokedynamic} in woven code. Its target is the whole gate: a constant when off; else
 * {@code mark ? handler : constant}. One instruction at the method's entry does the work of a gate, a branch and a call,
 * and the JIT folds the arguments' loads away with the rest.
 */
final class Site extends MutableCallSite {
    private static final MethodHandle MARKED = own(Point.class, "marked", boolean.class, long[].class);
    private static final MethodHandle BEGIN = virtual("begin", long.class);
    private static final MethodHandle END = virtual("end", void.class, long.class);
    private static final MethodHandle BEGIN_EXIT = virtual("beginExit", long.class);
    private static final MethodHandle END_EXIT = virtual("endExit", void.class, long.class);
    private static final MethodHandle FAULT = virtual("fault", void.class, Throwable.class);
    private static final MethodHandle EXIT_FAULT = virtual("exitFault", void.class, Throwable.class, Object.class);
    private static final MethodHandle REFUSE = virtual("refuse", void.class);
    private static final MethodHandle HOLDS_MARK = own(Mark.class, "marked", boolean.class);
    private static final MethodHandle CAPTURED = own(Mark.class, "captured", boolean.class);
    private static final MethodHandle OPENED = own(Site.class, "opened", boolean.class, Object.class);
    private static final MethodHandle CLOSE = own(Site.class, "close", void.class, Object.class);

    private final Point point;
    private final String role;
    private final ClassLoader application;
    private final MethodHandle off;
    private MethodHandle handler;

    /** @param application the loader of the woven class, held by it as this site is */
    Site(Point point, String role, MethodType type, ClassLoader application) {
        super(type);
        this.point = point;
        this.role = role;
        this.application = application;
        off = off(type);
        setTarget(off);
    }

    /** Finds the handler, outside the point's lock: this may load classes of the application. */
    void prepare(Point.Mode mode) {
        if (mode == Point.Mode.ON) {
            handler();
        }
    }

    void become(Point.Mode mode) {
        setTarget(target(mode));
    }

    void forget() {
        handler = null;
        setTarget(off);
    }

    private MethodHandle target(Point.Mode mode) {
        if (role.equals("exit")) {
            // Follows the token alone: what an entry opened is closed whatever has become of the point since.
            MethodHandle handler = handler();
            return handler == null ? off : guardWithTest(OPENED, closing(timed(handler, BEGIN_EXIT, END_EXIT)), off);
        }
        MethodHandle handler = mode == Point.Mode.ON ? handler() : null;
        if (mode == Point.Mode.OFF || handler == null && point.gate != Gate.MARK) {
            return off;
        }
        if (handler == null) { // REFUSE, or ON without a handler
            MethodHandle refusal = point.drops ? ignoring(type(), constant(boolean.class, true)) : foldArguments(off, REFUSE.bindTo(point));
            return guardWithTest(HOLDS_MARK, refusal, off);
        }
        MethodHandle body = guarded(timed(handler, BEGIN, END));
        return point.gate == Gate.ALWAYS ? body
                : guardWithTest(point.gate == Gate.MARK ? MARKED.bindTo(point.business.stripes) : CAPTURED, body, off);
    }

    private MethodHandle handler() {
        if (handler == null) {
            handler = Probes.find(point, role, type(), application);
        }
        return handler;
    }

    /** Handler between {@code before}, which yields a time, and {@code after}, which takes it. */
    private MethodHandle timed(MethodHandle handler, MethodHandle before, MethodHandle after) {
        Class<?> result = type().returnType();
        int count = type().parameterCount();
        MethodHandle end = after.bindTo(point);
        if (result != void.class) { // (result, start) -> result
            end = foldArguments(dropArguments(identity(result), 1, long.class), dropArguments(end, 0, result));
        }
        MethodHandle measured = collectArguments(end, 0, handler); // (arguments..., start)
        int[] startFirst = new int[count + 1];
        for (int i = 0; i < count; i++) {
            startFirst[i] = i + 1;
        }
        MethodType type = type().insertParameterTypes(0, long.class);
        return foldArguments(permuteArguments(measured, type, startFirst), before.bindTo(point));
    }

    /** Handler whose exceptions end in {@link Point#fault}. */
    private MethodHandle guarded(MethodHandle handler) {
        MethodHandle instead = dropArguments(off, 0, Throwable.class);
        return catchException(handler, Throwable.class, foldArguments(instead, FAULT.bindTo(point)));
    }

    /** Handler of an exit; if it throws, the token is closed all the same and nobody is told but the agent. */
    private MethodHandle closing(MethodHandle handler) {
        MethodHandle instead = dropArguments(EXIT_FAULT.bindTo(point), 2, type().parameterList().subList(1, type().parameterCount()));
        return catchException(handler, Throwable.class, instead);
    }

    private MethodHandle off(MethodType type) {
        switch (role) {
            case "enter":
                return ignoring(type, constant(boolean.class, false));
            case "around":
                return ignoring(type, constant(Object.class, null));
            case "exit":
                return dropArguments(CLOSE, 1, type.parameterList().subList(1, type.parameterCount()));
            default: // argument, result, operand: the first argument is the value that may be replaced
                return dropArguments(identity(type.returnType()), 1, type.parameterList().subList(1, type.parameterCount()));
        }
    }

    private static MethodHandle ignoring(MethodType type, MethodHandle constant) {
        return dropArguments(constant.asType(methodType(type.returnType())), 0, type.parameterList());
    }

    static boolean opened(Object token) {
        return token != null;
    }

    static void close(Object token) throws Exception {
        if (token instanceof AutoCloseable) {
            ((AutoCloseable) token).close();
        }
    }

    private static MethodHandle virtual(String name, Class<?> result, Class<?>... parameters) {
        try {
            return MethodHandles.lookup().findVirtual(Point.class, name, methodType(result, parameters));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle own(Class<?> owner, String name, Class<?> result, Class<?>... parameters) {
        try {
            return MethodHandles.lookup().findStatic(owner, name, methodType(result, parameters));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
