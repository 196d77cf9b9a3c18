package shop.stock;

import com.alibaba.druid.pool.DruidDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.apache.dubbo.config.annotation.DubboService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import shop.api.Allocation;
import shop.api.LogLines;
import shop.api.StockService;

/** Reserves items in the warehouse's table, through Druid. */
@DubboService
public class Stock implements StockService {
  private static final Logger LOG = LoggerFactory.getLogger(Stock.class);
  private static final String RESERVE =
      "update stock set available = available - ? where item = ? returning available";

  private final DruidDataSource database = new DruidDataSource();

  Stock(@Value("${shop.db}") String db) {
    database.setUrl(db);
    database.setMaxActive(20);
    database.setValidationQuery("select 1"); // without it, Druid logs an error for each pool that it starts
  }

  @Override
  public long reserve(String item, int count) {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(RESERVE)) {
      statement.setInt(1, count);
      statement.setString(2, item);
      try (ResultSet result = statement.executeQuery()) {
        if (!result.next()) {
          throw new IllegalArgumentException("no item is named " + item);
        }
        for (int line = 0; line < LogLines.A_CALL; line++) {
          LOG.info("{} {} reserved", count, item);
        }
        return result.getLong(1);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(RESERVE, e);
    }
  }

  @Override
  public long allocated() {
    return Allocation.ofThisJvm();
  }
}
