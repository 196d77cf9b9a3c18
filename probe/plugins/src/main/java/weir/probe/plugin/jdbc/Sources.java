package weir.probe.plugin.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import javax.sql.DataSource;
import weir.probe.api.Log;
import weir.probe.api.Settings;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** The application's data sources, and the shadow of each. */
public final class Sources {
    private static final String DRUID = "com.alibaba.druid.pool.DruidDataSource";

    /** Beginnings of class names of pools that keep the connections they open. */
    private static final String[] POOLS = {"org.apache.commons.dbcp", "org.apache.tomcat.dbcp", "org.apache.tomcat.jdbc.pool", "com.zaxxer.hikari.pool.",
        "com.alibaba.druid.pool.", "com.mchange.", "com.atomikos.", "com.arjuna.", "io.agroal.", "oracle.ucp.", "org.vibur.", "com.jolbox.",
        "bitronix.", "org.postgresql.ds.PGPooling", "org.apache.commons.pool"};

    private static final Map<DataSource, Shadow> SHADOWS = new WeakHashMap<>();
    private static final Set<DataSource> SEEN = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    /** Pools that shadows have made: of the same classes, so woven too. */
    private static final Set<Object> OURS = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private Sources() {}

    /** Handler for marked threads: the connection of the source's shadow. */
    public static boolean get(Object given) throws Exception {
        if (OURS.contains(given)) {
            return false;
        }
        if (!(given instanceof DataSource)) { // such as PostgreSQL's for XA
            throw kept(given.getClass().getName());
        }
        DataSource source = (DataSource) given;
        if (!Shadow.isPool(source)) {
            refusePools();
        }
        Shadow shadow = shadow(source);
        if (shadow.finding != null) {
            throw new ShadowRefused(shadow.finding);
        }
        // Without the mark: what the pool and the driver start now (fillers, timers) serves business calls as well.
        try (Mark.Scope hidden = Mark.open(null)) {
            return Cut.with(shadow.connection(source));
        } catch (SQLException e) { // the database's fault, not the handler's
            String finding = Settings.withoutSecrets("jdbc: no shadow connection: " + e.getMessage());
            Log.sometimes("jdbc", finding);
            throw new ShadowRefused(finding);
        }
    }

    /** Refuses a connection to who would keep it: a pool on the way here, or what has a physical connection made. */
    private static void refusePools() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            if (Arrays.stream(POOLS).anyMatch(frame.getClassName()::startsWith)
                    || frame.getMethodName().matches("getXAConnection|getPooledConnection")) {
                throw kept(frame.getClassName());
            }
        }
    }

    private static ShadowRefused kept(String pool) {
        String finding = "jdbc: " + pool + " opens a connection for itself, which it would lend to business calls";
        Log.sometimes("jdbc pool", finding);
        return new ShadowRefused(finding);
    }

    /** Handler for all threads: a pool that closes. Its shadow's connections may take seconds to come back. */
    public static boolean closed(DataSource source) {
        if (SEEN.remove(source)) {
            try (Mark.Scope hidden = Mark.open(null)) {
                Thread thread = new Thread(() -> forget(source), "weir-probe-jdbc");
                thread.setDaemon(true);
                thread.start();
            }
        }
        return false;
    }

    /** Handler for all threads. */
    public static boolean see(Object source) {
        if (source instanceof DataSource && !SEEN.contains(source) && !OURS.contains(source)) {
            SEEN.add((DataSource) source);
        }
        return false;
    }

    /** Opens the shadow of each known data source anew and compares it with the business database. */
    public static String check() throws Exception {
        if (isLoaded(DRUID)) {
            DruidShadow.registered().forEach(Sources::see);
        }
        Map<String, Boolean> findings = new LinkedHashMap<>();
        List<DataSource> known;
        synchronized (SEEN) {
            known = new ArrayList<>(SEEN);
        }
        for (DataSource source : known) {
            forget(source);
            if (Shadow.isClosed(source)) { // unseen, or seen again while it closed
                SEEN.remove(source);
                continue;
            }
            Shadow shadow = shadow(source);
            if (shadow.finding != null) {
                findings.put(shadow.finding, true);
            }
        }
        return findings.isEmpty() ? null : String.join("; ", findings.keySet());
    }

    /** Closes all shadow pools. */
    public static void close() {
        List<DataSource> known;
        synchronized (SHADOWS) {
            known = new ArrayList<>(SHADOWS.keySet());
        }
        known.forEach(Sources::forget);
    }

    static void ours(Object pool) {
        OURS.add(pool);
    }

    private static void forget(DataSource source) {
        Shadow old;
        synchronized (SHADOWS) {
            old = SHADOWS.remove(source);
        }
        if (old != null) {
            old.close();
        }
    }

    /** The source's shadow under the configuration in force; one that was refused stays so until the next check. */
    private static Shadow shadow(DataSource source) {
        see(source);
        synchronized (SHADOWS) {
            Shadow known = SHADOWS.get(source);
            if (known != null && known.revision == Settings.revision()) {
                return known;
            }
            if (known != null) {
                known.close();
            }
            Shadow shadow = Shadow.open(source);
            SHADOWS.put(source, shadow);
            return shadow;
        }
    }

    static boolean isLoaded(String type) {
        try {
            Class.forName(type, false, Sources.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
