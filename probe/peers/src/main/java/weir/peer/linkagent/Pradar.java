package weir.peer.linkagent;

/** The thread's invocation context, of which only the mark is needed here. */
final class Pradar {
  static final String HEADER = "p-pradar-cluster-test";
  static final String PREFIX = "PT_";

  private static final ThreadLocal<boolean[]> CONTEXT = new ThreadLocal<>();

  private Pradar() {}

  static boolean isShadow() {
    boolean[] context = CONTEXT.get();
    return context != null && context[0];
  }

  static void start(boolean shadow) {
    CONTEXT.set(new boolean[] {shadow});
  }

  static void end() {
    CONTEXT.remove();
  }
}
