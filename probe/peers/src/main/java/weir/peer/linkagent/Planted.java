package weir.peer.linkagent;

import java.util.function.Consumer;

/** LinkAgent's three join points of Logback before its optimisation, for woven code of another agent. */
public enum Planted {
  REGISTER("ch.qos.logback.core.spi.AppenderAttachableImpl", "appendLoopOnAppenders", "(Ljava/lang/Object;)I",
      new LogbackBefore.Register()),
  ROUTE("ch.qos.logback.core.UnsynchronizedAppenderBase", "doAppend", "(Ljava/lang/Object;)V", new LogbackBefore.Route()),
  MARK("ch.qos.logback.core.AsyncAppenderBase", "append", "(Ljava/lang/Object;)V", new LogbackBefore.MarkEvent());

  private final String name;
  private final String method;
  private final String descriptor;
  private final Listener listener;
  private volatile Class<?> type;

  static {
    Messager.start(new Handler(), false);
    for (Planted point : values()) {
      Messager.handler().activate(point.ordinal(), point.listener);
    }
  }

  Planted(String name, String method, String descriptor, Listener listener) {
    this.name = name;
    this.method = method;
    this.descriptor = descriptor;
    this.listener = listener;
  }

  /** What is done with each shadow appender before it starts. */
  public static void onShadow(Consumer<Object> made) {
    ShadowAppenders.made = made;
  }

  /** Whether the method is to be left. */
  public boolean enter(Object target, Object argument) throws Throwable {
    Class<?> owner = type;
    if (owner == null) {
      type = owner = Class.forName(name, false, target.getClass().getClassLoader());
    }
    return Messager.onBefore(new Object[] {argument}, ordinal(), 0, owner, method, descriptor, target) != null;
  }

  public void exit(Throwable thrown) throws Throwable {
    if (thrown == null) {
      Messager.onReturn(null, type, ordinal(), 0);
    } else {
      Messager.onThrows(thrown, type, ordinal(), 0);
    }
  }
}
