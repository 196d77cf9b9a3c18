package weir.probe.plugin.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.sql.DataSource;
import weir.probe.api.Settings;
import weir.probe.boot.Mark;

/** The shadow of one data source: ready, or the finding for which it is refused. */
final class Shadow {
    /** For both databases to answer. */
    private static final long LIMIT_S = 15;

    /** Hands out connections in a library's own type. */
    interface Pool {
        Connection connection() throws SQLException;

        void close();
    }

    final long revision = Settings.revision();
    final String finding;
    private final Tables tables;
    private final Pool pool;

    private Shadow(String finding, Tables tables, Pool pool) {
        this.finding = finding;
        this.tables = tables;
        this.pool = pool;
    }

    /** Never throws: what goes wrong is the finding. */
    static Shadow open(DataSource source) {
        FutureTask<Shadow> task = new FutureTask<>(() -> compare(source));
        try (Mark.Scope hidden = Mark.open(null)) { // the thread would inherit the mark
            Thread thread = new Thread(task, "weir-probe-jdbc");
            thread.setDaemon(true);
            thread.start();
            return task.get(LIMIT_S, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            return refused(source, "its databases do not answer within " + LIMIT_S + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return refused(source, "interrupted");
        } catch (ExecutionException e) {
            return refused(source, e.getCause().toString());
        }
    }

    private static Shadow compare(DataSource source) throws SQLException {
        Facts business;
        try (Connection connection = source.getConnection()) {
            business = Facts.of(connection);
        } catch (SQLException e) {
            return refused(source, "the business database cannot be asked: " + e.getMessage());
        }
        Map<?, ?> entry = entry(business.url, name(source));
        if (entry == null) {
            return refused(source, "no shadow is configured for " + business.shortUrl() + " (shadow.jdbc)");
        }
        Map<?, ?> database = (Map<?, ?>) entry.get("shadow");
        if (database == null) {
            return tables(source, business, ((Map<?, ?>) entry.get("tables")));
        }
        Physical physical = new Physical(text(database, "url"), text(database, "user"), text(database, "password"), null);
        Facts shadow;
        try (Connection connection = physical.open()) {
            shadow = Facts.of(connection);
        } catch (SQLException e) {
            return refused(source, "the shadow database cannot be reached: " + e.getMessage());
        }
        if (shadow.identity.equals(business.identity)) {
            return refused(source, "the shadow database is the business database: " + shadow.identity);
        }
        String missing = missing(business.tables, shadow.tables, "");
        if (!missing.isEmpty()) {
            return refused(source, "the shadow database has another schema: it lacks " + missing);
        }
        return new Shadow(null, null, pool(source, physical));
    }

    /** Shadow tables: a plain source's own connections are wrapped, pools get one beside them. */
    private static Shadow tables(DataSource source, Facts business, Map<?, ?> configured) throws SQLException {
        String suffix = text(configured, "suffix");
        if (suffix.isEmpty()) {
            return refused(source, "shadow tables need a suffix");
        }
        Map<String, Map<String, String>> twins = new TreeMap<>();
        business.tables.forEach((table, columns) -> {
            if (table.endsWith(suffix)) {
                twins.put(table.substring(0, table.length() - suffix.length()), columns);
            }
        });
        Map<String, Map<String, String>> shadowed = new TreeMap<>(business.tables);
        shadowed.keySet().retainAll(twins.keySet());
        if (shadowed.isEmpty()) {
            return refused(source, "no table has a shadow table " + suffix);
        }
        String missing = missing(shadowed, twins, suffix);
        if (!missing.isEmpty()) {
            return refused(source, "shadow tables differ: missing " + missing);
        }
        Tables tables = new Tables(shadowed.keySet(), suffix);
        if (isPool(source)) {
            return new Shadow(null, tables, pool(source, Physical.twin(source, tables)));
        }
        return new Shadow(null, tables, null);
    }

    Connection connection(DataSource source) throws SQLException {
        return pool == null ? (Connection) Hidden.wrap(source.getConnection(), tables) : pool.connection();
    }

    void close() {
        if (pool != null) {
            pool.close();
        }
    }

    static boolean isPool(DataSource source) {
        return isA(source, "com.zaxxer.hikari.HikariDataSource") || isA(source, "com.alibaba.druid.pool.DruidDataSource");
    }

    static boolean isClosed(DataSource source) {
        return isA(source, "com.zaxxer.hikari.HikariDataSource") ? HikariShadow.isClosed(source)
                : isA(source, "com.alibaba.druid.pool.DruidDataSource") && DruidShadow.isClosed(source);
    }

    private static Pool pool(DataSource source, Physical physical) {
        if (isA(source, "com.zaxxer.hikari.HikariDataSource")) {
            return new HikariShadow(source, physical);
        }
        return isA(source, "com.alibaba.druid.pool.DruidDataSource") ? new DruidShadow(source, physical) : physical;
    }

    static String name(DataSource source) {
        return isA(source, "com.zaxxer.hikari.HikariDataSource") ? HikariShadow.name(source)
                : isA(source, "com.alibaba.druid.pool.DruidDataSource") ? DruidShadow.name(source) : "";
    }

    private static boolean isA(Object object, String type) {
        for (Class<?> at = object.getClass(); at != null; at = at.getSuperclass()) {
            if (at.getName().equals(type)) {
                return true;
            }
        }
        return false;
    }

    /** The configured entry for a URL (with or without its parameters) or a pool's name; {@code *} is for all others. */
    private static Map<?, ?> entry(String url, String name) {
        Object section = Settings.section("jdbc");
        Set<String> names = new HashSet<>(java.util.Arrays.asList(url, Facts.shortUrl(url), name));
        Map<?, ?> others = null;
        for (Object each : section instanceof List ? (List<?>) section : java.util.Collections.emptyList()) {
            Map<?, ?> entry = (Map<?, ?>) each;
            if (names.contains(text(entry, "business"))) {
                return entry;
            }
            others = "*".equals(entry.get("business")) ? entry : others;
        }
        return others;
    }

    /** What of {@code wanted} is not in {@code there}, the first few. */
    private static String missing(Map<String, Map<String, String>> wanted, Map<String, Map<String, String>> there, String suffix) {
        Set<String> missing = new java.util.TreeSet<>();
        wanted.forEach((table, columns) -> {
            Map<String, String> found = there.get(table);
            if (found == null) {
                missing.add(table + suffix);
            } else {
                columns.forEach((column, type) -> {
                    if (!type.equals(found.get(column))) {
                        missing.add(table + suffix + '.' + column + ' ' + type);
                    }
                });
            }
        });
        return missing.size() <= 5 ? String.join(", ", missing)
                : String.join(", ", new java.util.ArrayList<>(missing).subList(0, 5)) + " and " + (missing.size() - 5) + " more";
    }

    private static String text(Map<?, ?> map, String key) {
        Object value = map == null ? null : map.get(key);
        return value == null ? "" : value.toString();
    }

    private static Shadow refused(DataSource source, String finding) {
        String name = name(source);
        String whole = "jdbc" + (name.isEmpty() ? "" : ' ' + name) + ": " + finding;
        return new Shadow(Settings.withoutSecrets(whole), null, null);
    }
}
