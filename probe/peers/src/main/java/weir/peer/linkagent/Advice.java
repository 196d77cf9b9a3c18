package weir.peer.linkagent;

import java.lang.reflect.Method;

/** A call of a woven method as listeners see it. */
final class Advice {
  final int invokeId;
  final Method behavior;
  final Object target;
  final Object[] arguments;
  private Advice top;
  private Advice parent;
  private boolean cut;
  private Object cutResult;

  Advice(int invokeId, Method behavior, Object target, Object[] arguments) {
    this.invokeId = invokeId;
    this.behavior = behavior;
    this.target = target;
    this.arguments = arguments;
  }

  void applyBefore(Advice outer) {
    parent = outer == null ? this : outer;
    top = outer == null ? this : outer.top;
  }

  boolean isCut() {
    return cut;
  }

  Object cutResult() {
    return cutResult;
  }

  /** Ends the method at once with this result: by a flag, or by an exception before the optimisation. */
  void returnImmediately(Object result) throws ProcessControl {
    if (!Messager.optimised()) {
      throw new ProcessControl(result);
    }
    cut = true;
    cutResult = result;
  }
}
