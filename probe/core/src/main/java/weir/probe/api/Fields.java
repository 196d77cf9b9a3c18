package weir.probe.api;

import java.lang.reflect.Field;

/** Private fields of classes in {@code java.lang} and {@code java.net}, which are open to this class and not to handlers. */
public final class Fields {
    private Fields() {}

    /** The value of a field that the object's class declares, or one above it. */
    public static Object get(Object of, String name) throws ReflectiveOperationException {
        for (Class<?> type = of.getClass(); ; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(of);
            } catch (NoSuchFieldException e) {
                if (type.getSuperclass() == null) {
                    throw e;
                }
            }
        }
    }
}
