package weir.probe.plugin.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/**
 * A shadow connection and what comes of it. Each call runs without the mark, so the driver's sockets, timers and log
 * lines are its own; statements are rewritten if the shadow has tables only.
 */
final class Hidden implements InvocationHandler {
    private static final Set<String> TAKE_SQL = new HashSet<>(Arrays.asList("prepareStatement", "prepareCall", "nativeSQL",
            "execute", "executeQuery", "executeUpdate", "executeLargeUpdate", "addBatch"));
    private static final Map<Class<?>, Class<?>[]> INTERFACES = new ConcurrentHashMap<>();
    /** The same without the driver's own, whose methods take statements that would not be rewritten. */
    private static final Map<Class<?>, Class<?>[]> STANDARD = new ConcurrentHashMap<>();

    private final Object target;
    private final Tables tables;

    private Hidden(Object target, Tables tables) {
        this.target = target;
        this.tables = tables;
    }

    static Object wrap(Object target, Tables tables) {
        Class<?>[] interfaces = tables == null ? INTERFACES.computeIfAbsent(target.getClass(), type -> interfaces(type, ""))
                : STANDARD.computeIfAbsent(target.getClass(), type -> interfaces(type, "java.sql."));
        return Proxy.newProxyInstance(Hidden.class.getClassLoader(), interfaces, new Hidden(target, tables));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "equals":
                return proxy == arguments[0];
            case "hashCode":
                return System.identityHashCode(proxy);
            case "isWrapperFor":
                if (((Class<?>) arguments[0]).isInstance(proxy)) {
                    return true;
                }
                break;
            case "unwrap":
                if (((Class<?>) arguments[0]).isInstance(proxy)) {
                    return proxy;
                }
                if (tables != null) {
                    throw new ShadowRefused("jdbc: shadow traffic may not unwrap a connection that has shadow tables: its statements would not be rewritten");
                }
                break;
            default:
        }
        Object[] given = arguments == null ? null : arguments.clone();
        for (int i = 0; given != null && i < given.length; i++) {
            given[i] = bare(given[i]);
        }
        if (tables != null && given != null && given.length > 0 && given[0] instanceof String && TAKE_SQL.contains(method.getName())) {
            given[0] = tables.rewrite((String) given[0]);
        }
        Object result;
        try (Mark.Scope hidden = Mark.open(null)) {
            result = method.invoke(target, given);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
        Class<?> type = method.getReturnType();
        return result != null && type.isInterface() && type.getName().startsWith("java.sql.") ? wrap(result, tables) : result;
    }

    private static Object bare(Object argument) {
        if (argument != null && Proxy.isProxyClass(argument.getClass())) {
            InvocationHandler handler = Proxy.getInvocationHandler(argument);
            return handler instanceof Hidden ? ((Hidden) handler).target : argument;
        }
        return argument;
    }

    private static Class<?>[] interfaces(Class<?> type, String prefix) {
        Set<Class<?>> all = new LinkedHashSet<>();
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Class<?> each : at.getInterfaces()) {
                add(each, prefix, all);
            }
        }
        return all.toArray(new Class<?>[0]);
    }

    /** An interface, or those that it extends if it is not of the package. */
    private static void add(Class<?> each, String prefix, Set<Class<?>> all) {
        if (Modifier.isPublic(each.getModifiers()) && each.getName().startsWith(prefix)) {
            all.add(each);
        } else {
            for (Class<?> above : each.getInterfaces()) {
                add(above, prefix, all);
            }
        }
    }
}
