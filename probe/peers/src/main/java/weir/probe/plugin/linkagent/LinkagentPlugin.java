package weir.probe.plugin.linkagent;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * LinkAgent's Logback plugin before its optimisation, as a plugin of Weir's probe: what {@code weir cost --probe} and
 * {@code weir ablate --probe} have to find. Three join points, each of which sees all traffic.
 */
public final class LinkagentPlugin implements Plugin {
  @Override
  public String name() {
    return "linkagent";
  }

  @Override
  public String library() {
    return "logback-classic 1.2";
  }

  @Override
  public Role role() {
    return Role.MIDDLEWARE;
  }

  @Override
  public List<JoinPoint> joinPoints() {
    return Arrays.asList(
        point(Chain.REGISTER, "ch.qos.logback.core.spi.AppenderAttachableImpl#appendLoopOnAppenders(Ljava/lang/Object;)I"),
        point(Chain.ROUTE, "ch.qos.logback.core.UnsynchronizedAppenderBase#doAppend(Ljava/lang/Object;)V"),
        point(Chain.MARK, "ch.qos.logback.core.AsyncAppenderBase#append(Ljava/lang/Object;)V"));
  }

  private static JoinPoint point(String id, String target) {
    return JoinPoint.around(id, target, "Chain").passing(JoinPoint.THIS, 0).constant(id).gate(Gate.ALWAYS);
  }
}
