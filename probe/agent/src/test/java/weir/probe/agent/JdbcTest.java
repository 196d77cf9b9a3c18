package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.alibaba.druid.pool.DruidDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.ds.PGSimpleDataSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/** Rows of marked threads are in the shadow database alone, and every shadow that is none is found before arming. */
class JdbcTest {
    private static final String TABLES = "create table orders (id int primary key, item varchar(40))";

    @TempDir
    Path dir;

    @Test
    void h2_rows_of_marked_threads_are_in_the_shadow_database_alone() throws Exception {
        isolated("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1", "jdbc:h2:mem:shadow;DB_CLOSE_DELAY=-1");
    }

    @Test
    void postgresql_rows_of_marked_threads_are_in_the_shadow_database_alone() throws Exception {
        assumeTrue(Servers.hasPostgres(), "PostgreSQL is not installed");
        try (Servers server = Servers.postgres(dir)) {
            databases(server);
            isolated(url(server, "shop"), url(server, "shadow"));
        }
    }

    @Test
    void postgresql_shadow_tables_take_the_rows_of_marked_threads() throws Exception {
        assumeTrue(Servers.hasPostgres(), "PostgreSQL is not installed");
        try (Servers server = Servers.postgres(dir)) {
            databases(server);
            server.psql("shop", TABLES.replace("orders", "orders_x"));
            run("{\"business\": \"*\", \"tables\": {\"suffix\": \"_x\"}}", "tables", url(server, "shop"), url(server, "shop"));
        }
    }

    @Test
    void a_shadow_that_is_none_is_found_and_refused() throws Exception {
        String h2 = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";
        refused("jdbc:h2:mem:shop;MODE=MySQL;DB_CLOSE_DELAY=-1", h2, "is the business database");
        refused("jdbc:h2:mem:empty;DB_CLOSE_DELAY=-1", h2, "another schema: it lacks orders");
        refused("jdbc:h2:tcp://127.0.0.1:1/gone", h2, "cannot be reached");
        refused("jdbc:nobody:x", h2, "No suitable driver");
        assumeTrue(Servers.hasPostgres(), "PostgreSQL is not installed");
        try (Servers server = Servers.postgres(dir)) {
            databases(server);
            server.psql("shadow", "alter table orders alter column item type text");
            String business = url(server, "shop");
            refused(business.replace("127.0.0.1", "localhost") + "&ApplicationName=other", business, "is the business database");
            refused(url(server, "shadow"), business, "another schema: it lacks orders.item varchar");
            refused(business.replace(String.valueOf(server.port), "1"), business, "cannot be reached");
        }
    }

    @Test
    @Tag("slow")
    void a_shadow_database_that_ends_is_told_and_business_goes_on() throws Exception {
        int port = Servers.free();
        String shadow = "jdbc:h2:tcp://127.0.0.1:" + port + "/mem:shadow;DB_CLOSE_DELAY=-1";
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"shadow\": {\"jdbc\": [{\"business\": \"*\", \"shadow\": {\"url\": \"" + shadow + "\"}}]}}").getBytes());
        String out = Jvms.of(System.getProperty("java.home")).agent("config=" + config).run(Ends.class, String.valueOf(port), shadow);
        assertTrue(out.contains("weir-probe: jdbc: no shadow connection"), out);
    }

    private static void databases(Servers server) throws Exception {
        server.psql("postgres", "create database shop owner shop", "create database shadow owner shop");
        server.psql("shop", TABLES);
        server.psql("shadow", TABLES);
    }

    private static String url(Servers server, String database) {
        return "jdbc:postgresql://127.0.0.1:" + server.port + '/' + database + "?user=shop";
    }

    private void isolated(String business, String shadow) throws Exception {
        run("{\"business\": \"*\", \"shadow\": {\"url\": \"" + shadow + "\"}}", "isolated", business, shadow);
    }

    private void refused(String shadow, String business, String finding) throws Exception {
        String out = run("{\"business\": \"*\", \"shadow\": {\"url\": \"" + shadow + "\"}}", "refused", business, shadow);
        assertTrue(out.contains(finding), out);
    }

    private String run(String entry, String... arguments) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"shadow\": {\"jdbc\": [" + entry + "]}}").getBytes());
        return Jvms.of(System.getProperty("java.home")).agent("config=" + config).run(Program.class, arguments);
    }

    /** Its shadow database ends while it is armed. */
    static final class Ends {
        public static void main(String[] arguments) throws Exception {
            String business = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";
            org.h2.tools.Server server = org.h2.tools.Server.createTcpServer("-tcpPort", arguments[0], "-ifNotExists").start();
            Program.execute(DriverManager.getConnection(business), TABLES);
            Program.execute(DriverManager.getConnection(arguments[1]), TABLES);
            List<DataSource> sources = Arrays.asList(Program.plain(business), Program.hikari(business), Program.druid(business));
            for (DataSource source : sources) {
                Program.execute(source.getConnection(), "select 1");
            }
            Thread.sleep(300); // HikariCP's first housekeeping
            System.out.println(Probes.command("arm"));
            for (int round = 0; round < 3; round++) {
                for (DataSource source : sources) {
                    try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                        Program.execute(source.getConnection(), "insert into orders values (" + sources.indexOf(source) + ", 'shadow')");
                        Jvms.check(round == 0, source + " takes a row after its shadow database has ended");
                    } catch (ShadowRefused | SQLException refused) {
                        Jvms.check(round > 0, source + ": " + refused);
                    }
                    Program.execute(source.getConnection(), "select 1");
                }
                server.stop();
            }
            Program.check(Program.items(business, "orders"), new ArrayList<>());
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            String business = arguments[1];
            boolean h2 = business.startsWith("jdbc:h2");
            if (h2) {
                execute(DriverManager.getConnection(business), TABLES);
            }
            if (h2 && arguments[0].equals("isolated")) {
                execute(DriverManager.getConnection(arguments[2]), TABLES);
            }
            List<DataSource> sources = Arrays.asList(plain(business), hikari(business), druid(business));
            int id = 0;
            for (DataSource source : sources) {
                execute(source.getConnection(), arguments[0].equals("refused") ? "select 1"
                        : "insert into orders values (" + id++ + ", 'business')");
            }
            Thread.sleep(300); // HikariCP's first housekeeping
            String armed = Probes.command("arm");
            System.out.println(armed);
            if (arguments[0].equals("refused")) {
                for (String name : new String[] {"jdbc:", "jdbc hikari:", "jdbc druid:"}) {
                    Jvms.check(armed.contains(name), "no finding for " + name);
                }
                try {
                    Mark.open(new Mark("1"));
                    throw new AssertionError("a mark is accepted");
                } catch (ShadowRefused expected) {
                    return;
                }
            }
            boolean tables = arguments[0].equals("tables");
            List<String> wanted = new ArrayList<>();
            for (DataSource source : sources) {
                String before = source.getClass().getSimpleName();
                try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                    execute(source.getConnection(), "insert into orders values (" + id + ", 'shadow')");
                    try (Connection connection = source.getConnection(); Statement statement = connection.createStatement()) {
                        connection.setAutoCommit(false);
                        statement.execute("delete from orders where item = 'shadow'");
                        connection.rollback();
                        connection.setAutoCommit(true);
                    }
                    try (Connection connection = source.getConnection();
                            java.sql.PreparedStatement update = connection.prepareStatement("update orders set item = ? where id = ?")) {
                        update.setString(1, "shadow-" + before);
                        update.setInt(2, id++);
                        Jvms.check(update.executeUpdate() == 1, before + " does not find its row");
                    }
                    if (tables) {
                        try (Connection connection = source.getConnection()) {
                            connection.unwrap(org.postgresql.core.BaseConnection.class).execSQLUpdate("delete from orders");
                            throw new AssertionError(before + " yields a connection that takes statements as they are");
                        } catch (ShadowRefused | SQLException expected) {
                            // not an interface of java.sql
                        }
                        try {
                            execute(source.getConnection(), "insert into stock values (1)");
                            throw new AssertionError("a table without a shadow table is written");
                        } catch (ShadowRefused | SQLException expected) { // Druid wraps what its driver throws
                            Throwable refusal = expected instanceof ShadowRefused ? expected : expected.getCause();
                            Jvms.check(refusal.getMessage().contains("stock has no shadow table"), refusal.getMessage());
                        }
                    }
                }
                wanted.add("shadow-" + before);
                try (Connection connection = source.getConnection()) {
                    Jvms.check(!java.lang.reflect.Proxy.isProxyClass(connection.getClass()), "a business connection is wrapped");
                    Jvms.check(!java.lang.reflect.Proxy.isProxyClass(connection.getMetaData().getConnection().getClass())
                            || h2, "a business connection is wrapped within");
                }
            }
            check(items(business, "orders"), Arrays.asList("business", "business", "business"));
            check(items(arguments[2], tables ? "orders_x" : "orders"), wanted);
            if (!h2) {
                org.postgresql.xa.PGXADataSource other = new org.postgresql.xa.PGXADataSource();
                other.setURL(business);
                try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                    other.getXAConnection();
                    throw new AssertionError("a pool that the probe does not know has got a shadow connection");
                } catch (ShadowRefused expected) {
                    Jvms.check(expected.getMessage().contains("would lend to business calls"), expected + " " + expected.getCause());
                }
            }
            ((HikariDataSource) sources.get(1)).close();
            for (int i = 0; i < 200 && !threads("hikari-shadow").isEmpty(); i++) {
                Thread.sleep(50);
            }
            Jvms.check(threads("hikari-shadow").isEmpty(), "the shadow of a closed pool stays: " + threads("hikari-shadow"));
            Jvms.check(Probes.command("arm").startsWith("armed"), "a closed pool is asked");
            Probes.command("silence");
            execute(sources.get(2).getConnection(), "insert into orders values (99, 'after')");
            System.out.println(Probes.command("leave"));
            Jvms.check(threads("-shadow").isEmpty(), "the shadow pool's threads stay: " + threads("-shadow"));
            System.exit(0);
        }

        private static List<String> threads(String part) {
            List<String> names = new ArrayList<>();
            Thread.getAllStackTraces().keySet().forEach(thread -> names.add(thread.getName()));
            names.removeIf(name -> !name.contains(part));
            return names;
        }

        private static void check(List<String> found, List<String> wanted) {
            Jvms.check(found.equals(wanted), found + " instead of " + wanted);
        }

        private static DataSource plain(String url) {
            if (url.startsWith("jdbc:h2")) {
                JdbcDataSource source = new JdbcDataSource();
                source.setURL(url);
                return source;
            }
            PGSimpleDataSource source = new PGSimpleDataSource();
            source.setURL(url);
            return source;
        }

        private static DataSource hikari(String url) {
            HikariConfig config = new HikariConfig();
            config.setPoolName("hikari");
            config.setJdbcUrl(url);
            config.setMaximumPoolSize(2);
            return new HikariDataSource(config);
        }

        private static DataSource druid(String url) {
            DruidDataSource source = new DruidDataSource();
            source.setName("druid");
            source.setUrl(url);
            source.setMaxActive(2);
            return source;
        }

        private static void execute(Connection connection, String sql) throws SQLException {
            try (Connection closed = connection; Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }

        private static List<String> items(String url, String table) throws SQLException {
            List<String> items = new ArrayList<>();
            try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("select item from " + table + " order by id")) {
                while (rows.next()) {
                    items.add(rows.getString(1));
                }
            }
            return items;
        }
    }
}
