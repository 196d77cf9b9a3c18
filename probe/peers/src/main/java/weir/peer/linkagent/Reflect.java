package weir.peer.linkagent;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** The application's classes are not the agent's, so all of them are used like this. */
final class Reflect {
  private Reflect() {}

  static Object call(Object target, String name, String... arguments) throws Exception {
    Class<?>[] types = new Class<?>[arguments.length];
    java.util.Arrays.fill(types, String.class);
    return invoke(target, name, types, (Object[]) arguments);
  }

  static Object invoke(Object target, String name, Class<?>[] types, Object... arguments) throws Exception {
    Method method = target.getClass().getMethod(name, types);
    method.setAccessible(true);
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(name + " of " + target.getClass(), e.getCause());
    }
  }

  static Object field(Object target, String name) throws ReflectiveOperationException {
    for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field.get(target);
        }
      }
    }
    throw new NoSuchFieldException(target.getClass() + " has no field " + name);
  }
}
