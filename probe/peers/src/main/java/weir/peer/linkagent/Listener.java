package weir.peer.linkagent;

/** What a plugin does at a join point. */
abstract class Listener {
  void before(Advice advice) throws Throwable {}

  void after(Advice advice, Object value) throws Throwable {}
}
