package weir.peer.linkagent;

/** What woven code calls: the one entry to all listeners. */
public final class Messager {
  /** Tag of a listener that has nothing to do for business traffic. */
  static final int SHADOW_ONLY = 1;

  private static final int CONTINUE = -1;
  private static final int IGNORE = 1;
  private static volatile Handler handler;
  private static volatile boolean optimised;
  private static volatile boolean silent;

  private Messager() {}

  static void start(Handler newHandler, boolean isOptimised) {
    handler = newHandler;
    optimised = isOptimised;
  }

  static Handler handler() {
    return handler;
  }

  /** The silence switch, which only the optimised agent has. */
  static void silence(boolean on) {
    silent = on;
  }

  static boolean optimised() {
    return optimised;
  }

  /** The filter at the very front: whether the listener's chain is to be walked at all. */
  public static int executionTag(int listenerTag) {
    if (!optimised) {
      return CONTINUE;
    }
    return silent || (listenerTag & SHADOW_ONLY) != 0 && !Pradar.isShadow() ? IGNORE : CONTINUE;
  }

  /** Null if the method is to go on. */
  public static Result onBefore(
      Object[] arguments, int id, int tag, Class<?> type, String method, String descriptor, Object target)
      throws Throwable {
    Handler current = handler;
    return current == null || tag == IGNORE
        ? null
        : current.before(id, arguments, type, method, descriptor, target);
  }

  public static void onReturn(Object value, Class<?> type, int id, int tag) throws Throwable {
    Handler current = handler;
    if (current != null && tag != IGNORE) {
      current.end(id, type, value, Event.RETURN);
    }
  }

  public static void onThrows(Throwable thrown, Class<?> type, int id, int tag) throws Throwable {
    Handler current = handler;
    if (current != null && tag != IGNORE) {
      current.end(id, type, thrown, Event.THROWS);
    }
  }
}
