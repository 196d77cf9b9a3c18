package shop.stock;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;

/** Starts the stock service. */
@SpringBootApplication(exclude = DataSourceAutoConfiguration.class)
public class StockApplication {
  public static void main(String[] arguments) {
    new SpringApplicationBuilder(StockApplication.class)
        .web(WebApplicationType.NONE)
        .properties("dubbo.application.name=stock", "dubbo.scan.base-packages=shop.stock")
        .run(arguments);
  }
}
