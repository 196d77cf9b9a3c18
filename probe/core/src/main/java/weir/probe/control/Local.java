package weir.probe.control;

import com.grack.nanojson.JsonObject;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.URL;
import java.security.SecureRandom;
import weir.probe.api.Log;
import weir.probe.core.Config;
import weir.probe.core.Probe;
import weir.probe.core.Service;

/** The local service: HTTP on loopback, the file that tells where, and the report to Weir's control. */
public final class Local implements Service {
    static final String VERSION = "0.1.0";

    private Server server;
    private Registration registration;
    private Announcer announcer;
    private Thread masks;
    private Thread announcing;
    private Thread hook;

    @Override
    public void start(Probe probe) throws IOException {
        Config config = probe.config();
        String token = String.format("%064x", new BigInteger(256, new SecureRandom()));
        InetAddress address = InetAddress.getByName(config.text("bind", "WEIR_PROBE_BIND", "127.0.0.1"));
        JsonObject about = new JsonObject();
        about.put("app", config.app);
        about.put("pid", Host.pid());
        about.put("host", Host.name());
        about.put("jvm", System.getProperty("java.vm.name") + ' ' + System.getProperty("java.version"));
        about.put("version", VERSION);
        about.put("started_ms", System.currentTimeMillis());
        Api api = new Api(probe, new JsonObject(about));
        int port = config.number("port", "WEIR_PROBE_PORT", 0);
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("port is `" + port + "`: expected 0 to 65535");
        }
        try {
            server = new Server(address, port, token, api);
        } catch (IOException e) {
            throw new IOException("no command reaches this probe: it cannot listen on " + address.getHostAddress() + ':' + port + ": " + e.getMessage());
        }
        about.put("address", address.getHostAddress());
        about.put("port", server.port());
        about.put("token", token);
        try {
            registration = new Registration(config.text("dir", "WEIR_PROBE_DIR", "/tmp/weir-probe-" + Host.uid()), about);
            hook = new Thread(this::unregister, "weir-probe-exit");
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IOException e) {
            Log.line("commands on this machine do not find this JVM: " + e);
        }
        String control = config.url("control", "WEIR_PROBE_CONTROL");
        if (control != null && control.startsWith("http:") && !InetAddress.getByName(new URL(control).getHost()).isLoopbackAddress()) {
            throw new IllegalArgumentException("control is `" + control + "`: expected https:// outside this machine, as a token is sent");
        }
        if (control != null) {
            announcer = new Announcer(control, config.text("control_token", "WEIR_PROBE_CONTROL_TOKEN", null),
                    config.number("control_lost_s", 35.0), about, probe, api);
        }
        masks = Server.start("weir-probe-masks", () -> run(api.mask::watch));
        if (announcer != null) { // on a thread of its own: control may be slow
            announcing = Server.start("weir-probe-announcer", () -> run(announcer::watch));
        }
    }

    /** Work that waits, until it is interrupted. */
    private interface Watch {
        void run() throws InterruptedException;
    }

    private static void run(Watch watch) {
        try {
            watch.run();
        } catch (InterruptedException e) {
            // the probe leaves
        }
    }

    private void unregister() {
        try {
            registration.close();
        } catch (IOException e) {
            // a later probe sweeps it away
        }
    }

    @Override
    public void close() throws Exception {
        for (Thread thread : new Thread[] {masks, announcing}) {
            if (thread != null) {
                thread.interrupt();
            }
        }
        if (registration != null) {
            registration.close();
            Runtime.getRuntime().removeShutdownHook(hook);
        }
        if (server != null) {
            server.close();
        }
    }
}
