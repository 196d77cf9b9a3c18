package weir.peer.linkagent;

/** What a woven method returns instead of going on. */
public final class Result {
  final Object value;

  Result(Object value) {
    this.value = value;
  }
}
