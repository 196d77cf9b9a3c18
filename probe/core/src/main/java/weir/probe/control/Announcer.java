package weir.probe.control;

import com.grack.nanojson.JsonObject;
import java.io.IOException;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import weir.probe.api.Log;
import weir.probe.core.Probe;

/**
 * Tells Weir's control of this probe, again and again; the answer has the shadow configuration, if there is another one.
 * Whoever armed the probe through control cannot disarm it while control is gone. It then disarms itself, once: whoever arms it
 * afterwards uses its own service, and knows that control is gone.
 */
final class Announcer {
    private static final long EVERY_MS = 10_000;
    private static final long RETRY_MS = 2_000;

    private final String url;
    private final Map<String, String> headers;
    private final JsonObject about;
    private final Probe probe;
    private final Api api;
    private String failure = "";
    private long refused;
    private final double lostS;
    private long answeredNs = System.nanoTime();
    private boolean lost;

    Announcer(String control, String token, double lostS, JsonObject about, Probe probe, Api api) {
        this.url = control.replaceFirst("/+$", "") + "/api/v1/probes";
        this.headers = token == null ? Collections.emptyMap() : Collections.singletonMap("Authorization", "Bearer " + token);
        this.lostS = lostS;
        this.about = new JsonObject(about);
        this.probe = probe;
        this.api = api;
    }

    /** Announces until it is interrupted. */
    void watch() throws InterruptedException {
        while (true) {
            announce();
            Thread.sleep(failure.isEmpty() ? EVERY_MS : RETRY_MS);
        }
    }

    private void announce() {
        about.put("state", probe.state().name().toLowerCase(Locale.ROOT));
        about.put("ready", probe.ready());
        about.put("shadow_revision", api.controlRevision());
        try {
            JsonObject answer = Web.post(url, headers, about);
            outcome("");
            JsonObject shadow = answer.getObject("shadow");
            if (shadow != null && answer.getLong("shadow_revision") != refused) {
                take(shadow, answer.getLong("shadow_revision"));
            }
        } catch (IOException | RuntimeException e) {
            outcome(e.toString());
        }
    }

    private void take(JsonObject shadow, long revision) {
        try {
            api.replace(shadow, revision, null);
        } catch (Problem e) {
            refused = revision;
            Log.line("revision " + revision + " of control's shadow configuration is refused: " + e.getMessage());
        }
    }

    /** One line for each change, not one for each attempt. */
    private void outcome(String now) {
        if (now.isEmpty() != failure.isEmpty()) {
            Log.line(now.isEmpty() ? "control at " + url + " answers again" : "control at " + url + " does not take this probe: " + now);
        }
        failure = now;
        if (now.isEmpty()) {
            answeredNs = System.nanoTime();
            lost = false;
        } else if (!lost && lostS > 0 && System.nanoTime() - answeredNs >= lostS * 1e9) {
            lost = true;
            if (probe.state() == Probe.State.ARMED) {
                probe.disarm("control has not taken this probe for " + Math.round(lostS) + " s: " + now);
            }
        }
    }
}
