package weir.probe.plugin.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import com.zaxxer.hikari.pool.HikariPool;
import com.zaxxer.hikari.util.DriverDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;

/** A HikariCP pool beside the business's, of the same size and settings. It starts with its first connection. */
public final class HikariShadow implements Shadow.Pool {
    /** The longest wait for a connection. */
    private static final long WAIT_MS = 3_000;

    private final HikariDataSource pool = new HikariDataSource();
    private final ReentrantLock trying = new ReentrantLock();
    private volatile SQLException failure;
    private volatile long failedNs;

    HikariShadow(DataSource business, Physical physical) {
        Sources.ours(pool);
        HikariDataSource source = (HikariDataSource) business;
        pool.setDataSource(physical.as(DataSource.class));
        pool.setPoolName(source.getPoolName() + "-shadow");
        pool.setMaximumPoolSize(source.getMaximumPoolSize());
        pool.setMinimumIdle(0);
        pool.setInitializationFailTimeout(-1);
        pool.setConnectionTimeout(Math.min(source.getConnectionTimeout(), WAIT_MS));
        pool.setIdleTimeout(source.getIdleTimeout());
        pool.setMaxLifetime(source.getMaxLifetime());
        pool.setAutoCommit(source.isAutoCommit());
        pool.setReadOnly(source.isReadOnly());
        pool.setTransactionIsolation(source.getTransactionIsolation());
        pool.setConnectionTestQuery(source.getConnectionTestQuery());
        pool.setConnectionInitSql(source.getConnectionInitSql());
    }

    /** Handler for all threads: a pool keeps house every 30 s. */
    public static boolean see(HikariPool pool) {
        HikariConfig source = pool.config;
        return source instanceof DataSource && Sources.see((DataSource) source);
    }

    static boolean isClosed(DataSource source) {
        return ((HikariDataSource) source).isClosed();
    }

    static String name(DataSource source) {
        return ((HikariDataSource) source).getPoolName();
    }

    static Physical twin(DataSource business, Tables tables) throws SQLException {
        HikariDataSource source = (HikariDataSource) business;
        String url = source.getJdbcUrl();
        DataSource own = source.getDataSource();
        if (own == null && url == null) {
            throw new SQLException("shadow tables need a pool with a jdbcUrl or a dataSource");
        }
        return new Physical(String.valueOf(url), "", "", tables).from(own != null ? own : new DriverDataSource(url,
                source.getDriverClassName(), source.getDataSourceProperties(), source.getUsername(), source.getPassword()));
    }

    /** Once the database is known to be gone, one thread tries again: marked requests wait on threads that business requests need. */
    @Override
    public Connection connection() throws SQLException {
        SQLException before = failure;
        if (before != null && (System.nanoTime() - failedNs < WAIT_MS * 1_000_000 || !trying.tryLock())) {
            throw before;
        }
        try {
            Connection connection = pool.getConnection();
            failure = null;
            return connection;
        } catch (SQLException e) {
            HikariPoolMXBean opened = pool.getHikariPoolMXBean();
            if (opened != null && opened.getTotalConnections() == 0) {
                failedNs = System.nanoTime();
                failure = e;
            }
            throw e;
        } finally {
            if (before != null) {
                trying.unlock();
            }
        }
    }

    @Override
    public void close() {
        pool.close();
    }
}
