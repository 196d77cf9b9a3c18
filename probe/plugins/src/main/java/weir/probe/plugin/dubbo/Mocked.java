package weir.probe.plugin.dubbo;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import weir.probe.api.Log;
import weir.probe.api.Settings;
import weir.probe.api.Values;
import weir.probe.boot.Cut;
import weir.probe.boot.ShadowRefused;

/** A call for which {@code shadow.mock} has a value returns it, and does not leave. */
public final class Mocked {
    private Mocked() {}

    /** Handler, before cluster and filters. */
    public static boolean call(Object proxy, Method method) {
        for (Map<?, ?> entry : Settings.entries("mock", "interface")) {
            Object type = entry.get("interface");
            boolean of = method.getDeclaringClass().getName().equals(type)
                    || Arrays.stream(proxy.getClass().getInterfaces()).anyMatch(each -> each.getName().equals(type));
            if (of && names(entry, method)) {
                try {
                    return Cut.with(Values.make(entry.get("return"), method.getGenericReturnType()));
                } catch (ReflectiveOperationException | RuntimeException e) {
                    String finding = finding(entry, e.getMessage());
                    Log.sometimes("dubbo mock", finding);
                    throw new ShadowRefused(finding);
                }
            }
        }
        return false;
    }

    /** Null if every entry whose interface is at hand yields its value. */
    static String check() {
        for (Map<?, ?> entry : Settings.entries("mock", "interface")) {
            try {
                Method[] methods = Class.forName(entry.get("interface").toString(), false, Mocked.class.getClassLoader()).getMethods();
                Method method = Arrays.stream(methods).filter(each -> names(entry, each)).findAny()
                        .orElseThrow(() -> new IllegalArgumentException("there is no such method"));
                Values.make(entry.get("return"), method.getGenericReturnType());
            } catch (ClassNotFoundException elsewhere) {
                continue;
            } catch (ReflectiveOperationException | RuntimeException e) {
                return finding(entry, e.getMessage());
            }
        }
        return null;
    }

    private static boolean names(Map<?, ?> entry, Method method) {
        String descriptor = MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
        Object name = entry.get("method");
        return method.getName().equals(name) || (method.getName() + descriptor).equals(name);
    }

    private static String finding(Map<?, ?> entry, String problem) {
        return "shadow.mock: " + entry.get("interface") + '#' + entry.get("method") + ": " + problem;
    }
}
