package shop.api;

/** The warehouse; a Dubbo service. */
public interface StockService extends Allocation {
  /** Reserves items and returns how many are left. */
  long reserve(String item, int count);
}
