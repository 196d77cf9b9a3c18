package shop.order;

import com.zaxxer.hikari.HikariDataSource;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.dubbo.config.annotation.DubboReference;
import org.apache.dubbo.config.annotation.DubboService;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import shop.api.Allocation;
import shop.api.LogLines;
import shop.api.OrderService;
import shop.api.StockService;

/** Places orders by every middleware that the probe isolates; the audit and the event go through a pool. */
@DubboService
public class Order implements OrderService {
  private static final Logger LOG = LoggerFactory.getLogger(Order.class);

  private final ExecutorService pool = Executors.newFixedThreadPool(16);
  private final HikariDataSource database = new HikariDataSource();
  private final RedisCommands<String, String> redis;
  /** Null without a broker. */
  private final KafkaProducer<String, String> events;

  @DubboReference(url = "${shop.stock}")
  private StockService stock;

  Order(@Value("${shop.db}") String db, @Value("${shop.redis}") String redis, @Value("${shop.kafka}") String kafka) {
    database.setJdbcUrl(db);
    database.setMaximumPoolSize(20);
    this.redis = RedisClient.create(redis).connect().sync();
    StringSerializer text = new StringSerializer();
    events = kafka.isEmpty() ? null : new KafkaProducer<>(Map.of("bootstrap.servers", kafka), text, text);
  }

  @Override
  public long place(String customer, String item, int count) {
    Future<?> audited = pool.submit(() -> insert("insert into audit (note) values (?)", customer + " wants " + item));
    redis.incr("orders");
    long left = stock.reserve(item, count);
    redis.set("stock:" + item, Long.toString(left));
    long id = insert("insert into orders (customer, item, count) values (?, ?, ?)", customer, item, count);
    if (events != null) {
      pool.execute(() -> events.send(new ProducerRecord<>("orders", item, id + " " + customer)));
    }
    for (int line = 0; line < LogLines.A_CALL; line++) {
      LOG.info("order {} of {}: {} {}, {} left", id, customer, count, item, left);
    }
    try {
      audited.get();
      return id;
    } catch (ExecutionException | InterruptedException e) {
      throw new IllegalStateException("the audit of order " + id + " failed", e);
    }
  }

  private long insert(String sql, Object... values) {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(sql + " returning id")) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      try (ResultSet result = statement.executeQuery()) {
        result.next();
        return result.getLong(1);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(sql, e);
    }
  }

  @Override
  public long allocated() {
    return Allocation.ofThisJvm() + stock.allocated();
  }
}
