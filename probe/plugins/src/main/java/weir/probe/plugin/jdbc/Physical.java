package weir.probe.plugin.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import javax.sql.DataSource;
import weir.probe.boot.Mark;

/**
 * Opens connections to the shadow's database; the pool of a source without one. For the pools of others it plays a data
 * source or a driver. Its connections hide the mark while the driver works: that is how they claim their sockets.
 */
final class Physical implements Shadow.Pool, InvocationHandler {
    private final String url;
    private final Properties properties = new Properties();
    private final Tables tables;
    private DataSource source;

    Physical(String url, String user, String password, Tables tables) {
        this.url = url;
        this.tables = tables;
        set("user", user);
        set("password", password);
    }

    /** The way in which a pool opens its connections. */
    static Physical twin(DataSource pool, Tables tables) throws SQLException {
        return pool.getClass().getName().contains("ruid") ? DruidShadow.twin(pool, tables) : HikariShadow.twin(pool, tables);
    }

    Physical set(String property, String value) {
        if (value != null && !value.isEmpty()) {
            properties.setProperty(property, value);
        }
        return this;
    }

    /** Connections of a data source in place of the URL's. */
    Physical from(DataSource other) {
        source = other;
        return this;
    }

    String url() {
        return url;
    }

    Connection open() throws SQLException {
        try (Mark.Scope hidden = Mark.open(null)) {
            Connection connection = source == null ? DriverManager.getConnection(url, properties) : source.getConnection();
            return (Connection) Hidden.wrap(connection, tables);
        }
    }

    @Override
    public Connection connection() throws SQLException {
        return open();
    }

    @Override
    public void close() {
        // nothing is pooled
    }

    /** This as a {@code DataSource} or a {@code Driver}. */
    <T> T as(Class<T> role) {
        return role.cast(Proxy.newProxyInstance(Physical.class.getClassLoader(), new Class<?>[] {role}, this));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws SQLException {
        switch (method.getName()) {
            case "getConnection":
            case "connect":
                return open();
            case "equals":
                return proxy == arguments[0];
            case "hashCode":
                return System.identityHashCode(proxy);
            case "toString":
                return "weir shadow of " + Facts.shortUrl(url);
            case "acceptsURL":
                return true;
            default: // versions, log writers, time-outs
                Class<?> type = method.getReturnType();
                return type == boolean.class ? (Object) false : type == int.class ? (Object) 1 : null;
        }
    }
}
