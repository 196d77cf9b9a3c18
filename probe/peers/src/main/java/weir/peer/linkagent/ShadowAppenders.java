package weir.peer.linkagent;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The shadow of each appender: a file beside the business file, with ".shadow" behind its name. */
final class ShadowAppenders {
  static final String ASYNC = "ch.qos.logback.classic.AsyncAppender";

  private static final Object NONE = new Object();
  private static final Map<Object, Object> SHADOWS = new ConcurrentHashMap<>();
  /** Is given each shadow appender before it starts. */
  static volatile Consumer<Object> made = shadow -> {};

  private ShadowAppenders() {}

  static String name(Object appender) throws Exception {
    return String.valueOf(Reflect.call(appender, "getName"));
  }

  static boolean isShadow(Object appender) throws Exception {
    return name(appender).startsWith(Pradar.PREFIX);
  }

  static List<?> of(Object attachable) throws ReflectiveOperationException {
    return (List<?>) Reflect.field(attachable, "appenderList");
  }

  /** Null if the appender has none, as a console. */
  static Object shadow(Object appender) throws Exception {
    if (isShadow(appender)) {
      return appender;
    }
    Object shadow = SHADOWS.get(appender);
    if (shadow == null) {
      shadow = make(appender);
      SHADOWS.put(appender, shadow == null ? NONE : shadow);
    }
    return shadow == NONE ? null : shadow;
  }

  private static Object make(Object appender) throws Exception {
    Class<?> type = appender.getClass();
    ClassLoader loader = type.getClassLoader();
    if (type.getName().equals(ASYNC)) {
      // As in LinkAgent before the optimisation, the queue is shared, and what it feeds is routed by the event's mark.
      return Messager.optimised() ? async(appender, type, loader) : null;
    }
    if (!loader.loadClass("ch.qos.logback.core.FileAppender").isInstance(appender)) {
      return null;
    }
    Object shadow = bare(appender, type, loader);
    Reflect.call(shadow, "setFile", Reflect.call(appender, "getFile") + ".shadow");
    Class<?> encoder = loader.loadClass("ch.qos.logback.core.encoder.Encoder");
    Reflect.invoke(shadow, "setEncoder", new Class<?>[] {encoder}, Reflect.call(appender, "getEncoder"));
    Reflect.call(shadow, "start");
    return shadow;
  }

  private static Object async(Object appender, Class<?> type, ClassLoader loader) throws Exception {
    Object shadow = bare(appender, type, loader);
    Class<?>[] argument = {loader.loadClass("ch.qos.logback.core.Appender")};
    for (Object inner : of(Reflect.field(appender, "aai"))) {
      Object innerShadow = shadow(inner);
      if (innerShadow != null) {
        Reflect.invoke(shadow, "addAppender", argument, innerShadow);
      }
    }
    Reflect.call(shadow, "start");
    return shadow;
  }

  private static Object bare(Object appender, Class<?> type, ClassLoader loader) throws Exception {
    Object shadow = type.getConstructor().newInstance();
    Reflect.call(shadow, "setName", Pradar.PREFIX + name(appender));
    Class<?>[] context = {loader.loadClass("ch.qos.logback.core.Context")};
    Reflect.invoke(shadow, "setContext", context, Reflect.call(appender, "getContext"));
    made.accept(shadow);
    return shadow;
  }
}
