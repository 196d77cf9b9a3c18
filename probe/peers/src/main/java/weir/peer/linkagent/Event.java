package weir.peer.linkagent;

/** What happened at a join point; made anew each time. */
final class Event {
  static final int BEFORE = 1;
  static final int RETURN = 2;
  static final int THROWS = 4;
  /** A listener cut the method short: stacks have to be set right. */
  static final int IMMEDIATELY_RETURN = 8;

  final int type;
  final int processId;
  final int invokeId;
  final Class<?> owner;
  final String method;
  final String descriptor;
  final Object target;
  final Object[] arguments;
  final Object outcome;

  Event(int type, int processId, int invokeId, Object outcome) {
    this(type, processId, invokeId, null, null, null, null, null, outcome);
  }

  Event(
      int type, int processId, int invokeId, Class<?> owner, String method, String descriptor, Object target,
      Object[] arguments, Object outcome) {
    this.type = type;
    this.processId = processId;
    this.invokeId = invokeId;
    this.owner = owner;
    this.method = method;
    this.descriptor = descriptor;
    this.target = target;
    this.arguments = arguments;
    this.outcome = outcome;
  }
}
