package weir.peer.linkagent;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Three join points for one purpose. Shadow appenders are added to the business ones, so that every event, of
 * business traffic too, is offered to both and cut off at one of them.
 */
final class LogbackBefore {
  private static final long SCAN_MS = 30_000;
  private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
  private static final Map<Key, Boolean> EVENT_MARKS = new ConcurrentHashMap<>();

  private LogbackBefore() {}

  /** An event, by identity, that may be collected. */
  private static final class Key extends WeakReference<Object> {
    private final int hash;

    Key(Object event, ReferenceQueue<Object> queue) {
      super(event, queue);
      hash = System.identityHashCode(event);
    }

    @Override
    public int hashCode() {
      return hash;
    }

    @Override
    public boolean equals(Object other) {
      return this == other || other instanceof Key && get() != null && get() == ((Key) other).get();
    }
  }

  /** Looks from time to time whether an appender has no shadow yet. */
  static final class Register extends Listener {
    private final Map<Object, Long> scanned = new ConcurrentHashMap<>();

    @Override
    void before(Advice advice) throws Exception {
      Object attachable = advice.target;
      long now = System.currentTimeMillis();
      Long last = scanned.get(attachable);
      if (last != null && now - last <= SCAN_MS || scanned.put(attachable, now) != last) {
        return;
      }
      for (Object appender : new ArrayList<>(ShadowAppenders.of(attachable))) {
        Object shadow = ShadowAppenders.shadow(appender);
        if (shadow != null && shadow != appender) {
          Class<?> type = appender.getClass().getClassLoader().loadClass("ch.qos.logback.core.Appender");
          Reflect.invoke(attachable, "addAppender", new Class<?>[] {type}, shadow);
        }
      }
    }
  }

  /** Cuts off business events at shadow appenders, and shadow events at business appenders. */
  static final class Route extends Listener {
    @Override
    void before(Advice advice) throws Exception {
      String type = advice.target.getClass().getName();
      if (type.equals(ShadowAppenders.ASYNC) || type.equals("ch.qos.logback.classic.sift.SiftingAppender")) {
        return;
      }
      boolean shadow = ShadowAppenders.isShadow(advice.target);
      boolean marked = Pradar.isShadow() || EVENT_MARKS.getOrDefault(new Key(advice.arguments[0], null), false);
      if (shadow != marked) {
        advice.returnImmediately(null);
      }
    }
  }

  /** An event that another thread writes takes the mark along. */
  static final class MarkEvent extends Listener {
    @Override
    void before(Advice advice) {
      for (Object gone = GONE.poll(); gone != null; gone = GONE.poll()) {
        EVENT_MARKS.remove(gone);
      }
      EVENT_MARKS.put(new Key(advice.arguments[0], GONE), Pradar.isShadow());
    }
  }
}
