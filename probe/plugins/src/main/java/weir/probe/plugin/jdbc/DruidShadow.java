package weir.probe.plugin.jdbc;

import com.alibaba.druid.pool.DruidDataSource;
import com.alibaba.druid.stat.DruidDataSourceStatManager;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import javax.sql.DataSource;

/** A Druid pool beside the business's, of the same size and settings. It starts with its first connection. */
final class DruidShadow implements Shadow.Pool {
    private final DruidDataSource pool = new DruidDataSource();

    DruidShadow(DataSource business, Physical physical) {
        Sources.ours(pool);
        DruidDataSource source = (DruidDataSource) business;
        pool.setName(source.getName() + "-shadow");
        pool.setUrl(physical.url());
        pool.setDriver(physical.as(Driver.class));
        pool.setDbType(source.getDbType());
        pool.setMaxActive(source.getMaxActive());
        pool.setMinIdle(0);
        pool.setInitialSize(0);
        pool.setMaxWait(source.getMaxWait());
        pool.setFailFast(true);
        pool.setDefaultAutoCommit(source.isDefaultAutoCommit());
        pool.setDefaultTransactionIsolation(source.getDefaultTransactionIsolation());
        pool.setValidationQuery(source.getValidationQuery());
        pool.setTestOnBorrow(source.isTestOnBorrow());
        pool.setTestWhileIdle(source.isTestWhileIdle());
        pool.setPoolPreparedStatements(source.isPoolPreparedStatements());
        pool.setConnectionInitSqls(new ArrayList<>(source.getConnectionInitSqls()));
    }

    /** Druid's own register of pools that have started. */
    static List<DataSource> registered() {
        List<DataSource> found = new ArrayList<>();
        for (Object each : DruidDataSourceStatManager.getDruidDataSourceInstances()) {
            if (each instanceof DruidDataSource) {
                found.add((DataSource) each);
            }
        }
        return found;
    }

    static boolean isClosed(DataSource source) {
        return ((DruidDataSource) source).isClosed();
    }

    static String name(DataSource source) {
        String name = ((DruidDataSource) source).getName();
        return name == null ? "" : name;
    }

    static Physical twin(DataSource business, Tables tables) {
        DruidDataSource source = (DruidDataSource) business;
        Physical twin = new Physical(source.getRawJdbcUrl(), source.getUsername(), source.getPassword(), tables);
        Properties more = source.getConnectProperties();
        more.stringPropertyNames().forEach(key -> twin.set(key, more.getProperty(key)));
        return twin;
    }

    @Override
    public Connection connection() throws SQLException {
        return pool.getConnection();
    }

    @Override
    public void close() {
        pool.close();
    }
}
