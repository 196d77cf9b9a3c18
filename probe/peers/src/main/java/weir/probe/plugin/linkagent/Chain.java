package weir.probe.plugin.linkagent;

import weir.peer.linkagent.Planted;
import weir.probe.boot.Cut;

/** Handlers that walk LinkAgent's chain, as the code does that LinkAgent weaves. */
public final class Chain {
  static final String REGISTER = "REGISTER";
  static final String ROUTE = "ROUTE";
  static final String MARK = "MARK";

  private Chain() {}

  public static Object enter(String id, Object target, Object argument) throws Throwable {
    Planted point = Planted.valueOf(id);
    return point.enter(target, argument) ? Cut.NOW : point;
  }

  public static void exit(Object token, Throwable thrown) throws Throwable {
    if (token != Cut.NOW) {
      ((Planted) token).exit(thrown);
    }
  }
}
