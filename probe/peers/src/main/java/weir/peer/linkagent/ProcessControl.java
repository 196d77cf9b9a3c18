package weir.peer.linkagent;

/** Cuts a method short: thrown through the listener's chain before the optimisation. As in LinkAgent it has no stack trace. */
final class ProcessControl extends Exception {
  final transient Object result;

  ProcessControl(Object result) {
    this.result = result;
  }

  @Override
  public Throwable fillInStackTrace() {
    return this;
  }
}
