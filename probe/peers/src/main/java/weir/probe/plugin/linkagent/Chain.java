package weir.probe.plugin.linkagent;

import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.spi.FilterReply;
import weir.peer.linkagent.Planted;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;

/** Handlers that walk LinkAgent's chain, as the code does that LinkAgent weaves. */
@SuppressWarnings("unchecked")
public final class Chain {
  static final String REGISTER = "REGISTER";
  static final String ROUTE = "ROUTE";
  static final String MARK = "MARK";

  /** Shadow appenders stay among the business ones while the plugin is masked, and must then write nothing. */
  private static final class Masked extends Filter<Object> {
    @Override
    public FilterReply decide(Object event) {
      return Mark.marked() ? FilterReply.NEUTRAL : FilterReply.DENY;
    }
  }

  static {
    Planted.onShadow(shadow -> ((UnsynchronizedAppenderBase<Object>) shadow).addFilter(new Masked()));
  }

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
