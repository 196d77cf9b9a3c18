package weir.probe.boot;

/**
 * Cutting a method short by a returned value. A handler of an entry returns {@code Cut.with(value)}; the woven method
 * then returns what {@link #take} yields. An exception as the signal would cost a stack trace and could be caught on
 * its way by the very method that it is to leave.
 */
public final class Cut {
    /** What a handler of {@code around} returns to leave a void method at once. */
    public static final Cut NOW = new Cut();

    private static final ThreadLocal<Object> VALUE = new ThreadLocal<>();

    private Cut() {}

    /** Leaves the method with {@code value}; null and boxed numbers are fine. */
    public static boolean with(Object value) {
        VALUE.set(value);
        return true;
    }

    static Object take() {
        Object value = VALUE.get();
        VALUE.remove();
        return value;
    }
}
