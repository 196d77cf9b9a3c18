package weir.probe.plugin.jdbc;

import static weir.probe.api.JoinPoint.THIS;

import java.util.ArrayList;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * Marked threads get their connections from a pool of the shadow database; business connections are never wrapped. With
 * shadow tables that pool's connections lead to the business database and rewrite each statement.
 *
 * <p>One {@code get} for each library, where its connections are handed out. Beside it a {@code see} where that is rare,
 * at a pool's housekeeping or an unpooled connection: the check before arming compares with the business database, so it
 * has to know the data sources before any marked call. Druid keeps a register of its own.
 *
 * <p>Refused: other pools and {@code XADataSource}s that open a connection on a marked thread, as they would lend it to
 * business calls later. Not seen: what such pools have open already, connections got before the thread was marked, and
 * {@code DriverManager} called directly, which the socket guard refuses.
 */
public final class JdbcPlugin implements Plugin {
    private static final String HIKARI = "com.zaxxer.hikari.HikariDataSource";
    private static final String DRUID = "com.alibaba.druid.pool.DruidDataSource";
    /** Data sources without a pool; all their {@code getConnection}s are covered. */
    private static final String[][] PLAIN = {
        {"postgresql", "org.postgresql.ds.common.BaseDataSource"},
        {"h2", "org.h2.jdbcx.JdbcDataSource"},
        {"mysql", "com.mysql.cj.jdbc.MysqlDataSource"},
        {"spring", "org.springframework.jdbc.datasource.AbstractDriverBasedDataSource"},
    };

    @Override
    public String name() {
        return "jdbc";
    }

    @Override
    public String library() {
        return "HikariCP 2.7 to 6, Druid 1.1 and 1.2, data sources of PostgreSQL 42, MySQL 8 and 9, H2 1.4 and 2, Spring 4 to 6";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        List<JoinPoint> points = new ArrayList<>();
        points.add(JoinPoint.enter("hikari", HIKARI + "#getConnection()Ljava/sql/Connection;", "Sources.get").passing(THIS)
                .expecting(HIKARI + ".close()V", "com.zaxxer.hikari.HikariConfig.setInitializationFailTimeout(J)V"));
        points.add(JoinPoint.enter("hikari-see", "com.zaxxer.hikari.pool.HikariPool#logPoolState([Ljava/lang/String;)V",
                "HikariShadow.see").passing(THIS).gate(Gate.ALWAYS));
        points.add(JoinPoint.enter("druid", DRUID + "#getConnection(J)*", "Sources.get").passing(THIS)
                .expecting("com.alibaba.druid.pool.DruidAbstractDataSource.setDriver(Ljava/sql/Driver;)V",
                        "com.alibaba.druid.stat.DruidDataSourceStatManager.getDruidDataSourceInstances()Ljava/util/Set;"));
        points.add(JoinPoint.enter("hikari-close", HIKARI + "#close()V", "Sources.closed").passing(THIS).gate(Gate.ALWAYS));
        points.add(JoinPoint.enter("druid-close", DRUID + "#close()V", "Sources.closed").passing(THIS).gate(Gate.ALWAYS));
        for (String[] plain : PLAIN) {
            points.add(JoinPoint.enter(plain[0], plain[1] + "#getConnection", "Sources.get").passing(THIS));
            points.add(JoinPoint.enter(plain[0] + "-see", plain[1] + "#getConnection", "Sources.see").passing(THIS).gate(Gate.ALWAYS));
        }
        return points;
    }

    @Override
    public String check() {
        return "Sources";
    }
}
