package weir.probe.plugin.mock;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.Map;
import weir.probe.api.Values;
import weir.probe.boot.Cut;

/** Makes the value that a mocked method returns from the JSON of its entry. */
public final class Returned {
    private Returned() {}

    /** Handler. */
    public static boolean value(String target) throws ReflectiveOperationException {
        return Cut.with(Values.make(entry(target).get("return"), type(target)));
    }

    /** Null if every entry whose class is at hand yields its value. */
    public static String check() {
        for (Map<?, ?> entry : Entry.all()) {
            String target = Entry.target(entry);
            try {
                Values.make(entry.get("return"), type(target));
            } catch (ClassNotFoundException elsewhere) {
                continue;
            } catch (ReflectiveOperationException | RuntimeException e) {
                return target + ": " + e.getMessage();
            }
        }
        return null;
    }

    private static Map<?, ?> entry(String target) {
        for (Map<?, ?> entry : Entry.all()) {
            if (Entry.target(entry).equals(target)) {
                return entry;
            }
        }
        throw new IllegalStateException(target + " is no longer configured");
    }

    private static Type type(String target) throws ReflectiveOperationException {
        int hash = target.indexOf('#');
        int end = target.indexOf('(');
        String name = target.substring(hash + 1, end < 0 ? target.length() : end);
        Type found = null;
        for (Method method : Class.forName(target.substring(0, hash), false, Returned.class.getClassLoader()).getDeclaredMethods()) {
            if (method.getName().equals(name) && !method.isBridge() && (end < 0 || descriptor(method).equals(target.substring(end)))) {
                if (found != null && !found.equals(method.getGenericReturnType())) {
                    throw new IllegalArgumentException("methods of that name return different types: give a descriptor");
                }
                found = method.getGenericReturnType();
            }
        }
        if (found == null) {
            throw new IllegalArgumentException("there is no such method");
        }
        return found;
    }

    private static String descriptor(Method method) {
        return java.lang.invoke.MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
    }
}
