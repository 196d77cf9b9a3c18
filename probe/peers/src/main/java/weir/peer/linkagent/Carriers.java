package weir.peer.linkagent;

/** Brings the mark from a request's header into threads and, over Dubbo, into other services. */
final class Carriers {
  private Carriers() {}

  /** At the edge, so it sees all traffic. */
  static final class Servlet extends Listener {
    @Override
    void before(Advice advice) throws Throwable {
      Object request = advice.arguments[0];
      Object baggage = Reflect.call(request, "getHeader", "baggage");
      boolean marked = "true".equals(Reflect.call(request, "getHeader", Pradar.HEADER));
      Pradar.start(marked || baggage != null && baggage.toString().contains("weir.shadow=1"));
    }

    @Override
    void after(Advice advice, Object value) {
      Pradar.end();
    }
  }

  static final class Consumer extends Listener {
    @Override
    void before(Advice advice) throws Throwable {
      if (Pradar.isShadow()) {
        Reflect.call(advice.arguments[0], "setAttachment", Pradar.HEADER, "1");
      }
    }
  }

  /** In a thread of its own, so it sees all traffic. */
  static final class Provider extends Listener {
    @Override
    void before(Advice advice) throws Throwable {
      Pradar.start("1".equals(Reflect.call(advice.arguments[0], "getAttachment", Pradar.HEADER)));
    }

    @Override
    void after(Advice advice, Object value) {
      Pradar.end();
    }
  }
}
