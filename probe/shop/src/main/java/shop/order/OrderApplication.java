package shop.order;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;

/** Starts the order service. */
@SpringBootApplication(exclude = DataSourceAutoConfiguration.class)
public class OrderApplication {
  public static void main(String[] arguments) {
    new SpringApplicationBuilder(OrderApplication.class)
        .web(WebApplicationType.NONE)
        .properties("dubbo.application.name=order", "dubbo.scan.base-packages=shop.order")
        .run(arguments);
  }
}
