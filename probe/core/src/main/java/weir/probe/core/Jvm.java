package weir.probe.core;

import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import weir.probe.boot.Probes;

/** What differs between JDK 8 and later ones: modules, and how a class gets into a loader. */
final class Jvm {
    private final Instrumentation instrumentation;
    private Method define;

    Jvm(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
    }

    /** 8, 11, 17... */
    static int version() {
        return Integer.parseInt(System.getProperty("java.specification.version").replaceFirst("^1\\.", ""));
    }

    /** Opens {@code java.lang}, to define helpers and give a mark to a thread that starts, and {@code java.net}, for streams' sockets. */
    void open() throws ReflectiveOperationException {
        Method module;
        try {
            module = Class.class.getMethod("getModule");
        } catch (NoSuchMethodException java8) {
            return;
        }
        Object base = module.invoke(Object.class);
        Set<Object> probe = new HashSet<>();
        probe.add(module.invoke(Probes.class));
        probe.add(module.invoke(Jvm.class));
        Map<String, Set<?>> opens = new HashMap<>();
        opens.put("java.lang", probe);
        opens.put("java.net", probe);
        for (Method redefine : Instrumentation.class.getMethods()) {
            if (redefine.getName().equals("redefineModule")) {
                redefine.invoke(instrumentation, base, Collections.emptySet(), Collections.emptyMap(), opens,
                        Collections.emptySet(), Collections.emptyMap());
            }
        }
    }

    /** Defines a class in a loader of the application, or in the bootstrap loader (null) beside {@link Probes}. */
    void define(String name, byte[] bytes, ClassLoader loader) throws ReflectiveOperationException {
        try {
            if (loader != null) {
                if (define == null) {
                    define = ClassLoader.class.getDeclaredMethod("defineClass", String.class, byte[].class, int.class, int.class);
                    define.setAccessible(true);
                }
                define.invoke(loader, name, bytes, 0, bytes.length);
                return;
            }
            Method byLookup;
            try {
                byLookup = MethodHandles.Lookup.class.getMethod("defineClass", byte[].class);
            } catch (NoSuchMethodException java8) {
                Class<?> unsafe = Class.forName("sun.misc.Unsafe");
                java.lang.reflect.Field instance = unsafe.getDeclaredField("theUnsafe");
                instance.setAccessible(true);
                unsafe.getMethod("defineClass", String.class, byte[].class, int.class, int.class, ClassLoader.class,
                        ProtectionDomain.class).invoke(instance.get(null), name, bytes, 0, bytes.length, null, null);
                return;
            }
            byLookup.invoke(Probes.lookup(), (Object) bytes);
        } catch (java.lang.reflect.InvocationTargetException e) {
            if (!(e.getCause() instanceof LinkageError)) {
                throw e;
            }
            Class.forName(name, false, loader); // defined by an earlier attach: the bytes are the same
        }
    }
}
