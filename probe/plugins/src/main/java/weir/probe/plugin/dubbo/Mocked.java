package weir.probe.plugin.dubbo;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
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
    public static boolean call(Method method) {
        Object section = Settings.section("mock");
        for (Object each : section instanceof Collection ? (Collection<?>) section : Collections.emptyList()) {
            Map<?, ?> entry = (Map<?, ?>) each;
            if (method.getDeclaringClass().getName().equals(entry.get("interface")) && names(entry.get("method"), method)) {
                try {
                    return Cut.with(Values.make(entry.get("return"), method.getGenericReturnType()));
                } catch (ReflectiveOperationException | RuntimeException e) {
                    String finding = "shadow.mock: " + entry.get("interface") + '#' + entry.get("method") + ": " + e.getMessage();
                    Log.sometimes("dubbo mock", finding);
                    throw new ShadowRefused(finding, e);
                }
            }
        }
        return false;
    }

    private static boolean names(Object configured, Method method) {
        String descriptor = MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
        return method.getName().equals(configured) || (method.getName() + descriptor).equals(configured);
    }
}
