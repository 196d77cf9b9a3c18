package weir.probe.control;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import com.grack.nanojson.JsonWriter;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import weir.probe.core.Source;

/** Requests of the probe to others: Weir's control, a collector of metrics. */
final class Web {
    private static final int TIMEOUT_MS = 3_000;

    private Web() {}

    /** Posts JSON; the answer, which may be empty. */
    static JsonObject post(String url, Map<String, String> headers, JsonObject body) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection(Proxy.NO_PROXY);
        connection.setConnectTimeout(TIMEOUT_MS);
        connection.setReadTimeout(TIMEOUT_MS);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setDoOutput(true);
        connection.setRequestProperty("Content-Type", "application/json");
        headers.forEach(connection::setRequestProperty);
        connection.getOutputStream().write(JsonWriter.string(body).getBytes(StandardCharsets.UTF_8));
        int status = connection.getResponseCode();
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        byte[] bytes = in == null ? new byte[0] : Source.all(in);
        if (status >= 300) {
            String text = new String(bytes, StandardCharsets.UTF_8);
            throw new IOException("status " + status + ' ' + text.substring(0, Math.min(200, text.length())));
        }
        try {
            return bytes.length == 0 ? new JsonObject() : JsonParser.object().from(new String(bytes, StandardCharsets.UTF_8));
        } catch (JsonParserException e) {
            throw new IOException("the answer is not JSON: " + e.getMessage());
        }
    }
}
