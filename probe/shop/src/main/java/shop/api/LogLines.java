package shop.api;

/** How many lines a service logs for each call: one, or {@code SHOP_LOG_LINES}, since many services are chatty. */
public final class LogLines {
  /** The number. */
  public static final int A_CALL = Integer.parseInt(System.getenv().getOrDefault("SHOP_LOG_LINES", "1"));

  private LogLines() {}
}
