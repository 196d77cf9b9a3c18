package weir.probe.plugin.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What a database says of itself: which one it is, and its columns. */
final class Facts {
    /**
     * Product, and the query whose row tells this database from all others, by whatever URL it is reached. For H2 a memory
     * database is told from others of this JVM, which is as far as it reaches.
     */
    private static final String[][] IDENTITIES = {
        {"postgresql", "select (select system_identifier from pg_control_system()), (select oid from pg_database "
                + "where datname = current_database())"},
        {"mysql", "select @@server_uuid, database()"},
        {"mariadb", "select @@hostname, @@port, @@datadir, database()"},
        {"h2", "select coalesce(database_path(), 'memory'), database()"},
    };

    final String url;
    final String identity;
    /** Types by column, by table; names in lower case. */
    final Map<String, Map<String, String>> tables = new TreeMap<>();

    private Facts(String url, String identity) {
        this.url = url;
        this.identity = identity;
    }

    static Facts of(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        Facts facts = new Facts(data.getURL(), identity(connection, data.getDatabaseProductName()));
        try (ResultSet columns = data.getColumns(connection.getCatalog(), connection.getSchema(), null, null)) {
            while (columns.next()) {
                facts.tables.computeIfAbsent(columns.getString("TABLE_NAME").toLowerCase(Locale.ROOT), table -> new TreeMap<>())
                        .put(columns.getString("COLUMN_NAME").toLowerCase(Locale.ROOT), columns.getString("TYPE_NAME"));
            }
        }
        return facts;
    }

    private static String identity(Connection connection, String product) throws SQLException {
        for (String[] known : IDENTITIES) {
            if (!product.toLowerCase(Locale.ROOT).contains(known[0])) {
                continue;
            }
            try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(known[1])) {
                row.next();
                StringBuilder identity = new StringBuilder(product);
                for (int i = 1; i <= row.getMetaData().getColumnCount(); i++) {
                    identity.append(' ').append(row.getString(i));
                }
                return identity.toString();
            }
        }
        throw new SQLException("the probe cannot tell one " + product + " database from another");
    }

    String shortUrl() {
        return shortUrl(url);
    }

    /** Without parameters, which may hold a password. */
    static String shortUrl(String url) {
        return url.split("[?;]", 2)[0];
    }
}
