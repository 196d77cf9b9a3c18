package weir.probe.plugin.demo;

import weir.probe.boot.Cut;
import weir.probe.boot.Mark;

/** Handlers for the tests' subject. */
public final class Demo {
    private Demo() {}

    public static boolean fail(Object self) {
        throw new IllegalStateException("broken handler");
    }

    public static boolean cutInt(Object self, int a) {
        return Cut.with(a + 100);
    }

    public static boolean cutLong(long a) {
        return Cut.with(a + 100L);
    }

    public static boolean cutDouble(double a) {
        return Cut.with(a + 100d);
    }

    public static boolean cutText(Object self, String a) {
        return Cut.with(a == null ? null : a + " shadow");
    }

    public static boolean cutVoid(Object self) {
        return true;
    }

    public static String argument(String a) {
        return a + " shadow";
    }

    public static String result(String value, Object self) {
        return value + " shadow";
    }

    public static String operand(String value) {
        return value + " shadow";
    }

    /** An edge whose handlers have the wrong types. */
    public static final class Misfit {
        private Misfit() {}

        public static Object enter(Object self) {
            throw new AssertionError(self);
        }

        public static void exit(Object token, int thrown) {
            throw new AssertionError(token);
        }
    }

    /** An edge: arguments that begin with "mark" are marked, "refuse" is refused. */
    public static final class Edge {
        private Edge() {}

        public static Object enter(Object self, String a) {
            return a.equals("refuse") ? Cut.NOW : a.startsWith("mark") ? Mark.open(new Mark("1")) : null;
        }

        public static void exit(Object token, Throwable thrown) {
            ((Mark.Scope) token).close();
            if (thrown instanceof IllegalArgumentException) {
                throw new IllegalStateException("broken exit");
            }
        }
    }
}
