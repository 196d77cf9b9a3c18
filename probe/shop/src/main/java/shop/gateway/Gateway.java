package shop.gateway;

import org.apache.dubbo.config.annotation.DubboReference;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import shop.api.Allocation;
import shop.api.OrderService;

/** HTTP in front of the orders: Spring MVC on Tomcat. */
@SpringBootApplication
@RestController
public class Gateway {
  @DubboReference(url = "${shop.order}")
  private OrderService orders;

  public static void main(String[] arguments) {
    new SpringApplicationBuilder(Gateway.class).properties("dubbo.application.name=gateway", "dubbo.scan.base-packages=shop.gateway").run(arguments);
  }

  @GetMapping("/order")
  public String order(
      @RequestParam(defaultValue = "anna") String customer,
      @RequestParam(defaultValue = "item-1") String item,
      @RequestParam(defaultValue = "1") int count) {
    return "order " + orders.place(customer, item, count) + "\n";
  }

  @GetMapping("/allocated")
  public long allocated() {
    return Allocation.ofThisJvm() + orders.allocated();
  }
}
