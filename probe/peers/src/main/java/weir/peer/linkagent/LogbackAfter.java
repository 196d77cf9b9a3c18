package weir.peer.linkagent;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** One join point that business traffic does not reach: shadow events go to the shadow appenders instead. */
final class LogbackAfter extends Listener {
  private final Map<Object, List<Object>> shadows = new ConcurrentHashMap<>();
  private volatile Method doAppend;

  @Override
  void before(Advice advice) throws Exception {
    Object attachable = advice.target;
    List<Object> own = shadows.get(attachable);
    if (own == null) {
      own = new ArrayList<>();
      for (Object appender : ShadowAppenders.of(attachable)) {
        Object shadow = ShadowAppenders.shadow(appender);
        if (shadow != null) {
          own.add(shadow);
        }
      }
      shadows.put(attachable, own);
    }
    for (Object shadow : own) {
      if (doAppend == null) {
        ClassLoader loader = shadow.getClass().getClassLoader();
        doAppend = loader.loadClass("ch.qos.logback.core.Appender").getMethod("doAppend", Object.class);
      }
      doAppend.invoke(shadow, advice.arguments[0]);
    }
    advice.returnImmediately(1);
  }
}
