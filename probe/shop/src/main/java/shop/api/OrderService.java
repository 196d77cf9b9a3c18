package shop.api;

/** Orders; a Dubbo service. */
public interface OrderService extends Allocation {
  /** Places an order and returns its number. */
  long place(String customer, String item, int count);
}
