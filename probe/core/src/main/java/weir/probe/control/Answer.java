package weir.probe.control;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonWriter;
import java.nio.charset.StandardCharsets;

/** An answer of the local service. */
final class Answer {
    final int status;
    private final String type;
    final JsonObject body;
    private final String tag;

    Answer(int status, String type, JsonObject body, String tag) {
        this.status = status;
        this.type = type;
        this.body = body;
        this.tag = tag;
    }

    static Answer of(JsonObject body) {
        return new Answer(200, "application/json", body, null);
    }

    /** With an entity tag: a revision. */
    static Answer of(JsonObject body, long revision) {
        return new Answer(200, "application/json", body, "\"" + revision + '"');
    }

    static String reason(int status) {
        switch (status) {
            case 200: return "OK";
            case 400: return "Bad Request";
            case 401: return "Unauthorized";
            case 404: return "Not Found";
            case 405: return "Method Not Allowed";
            case 409: return "Conflict";
            case 411: return "Length Required";
            case 412: return "Precondition Failed";
            case 413: return "Content Too Large";
            case 415: return "Unsupported Media Type";
            case 421: return "Misdirected Request";
            case 422: return "Unprocessable Content";
            case 431: return "Request Header Fields Too Large";
            default: return "Internal Server Error";
        }
    }

    byte[] bytes() {
        byte[] text = (JsonWriter.string(body) + '\n').getBytes(StandardCharsets.UTF_8);
        String head = "HTTP/1.1 " + status + ' ' + reason(status) + "\r\nContent-Type: " + type + "\r\nContent-Length: "
                + text.length + "\r\nCache-Control: no-store\r\nConnection: close\r\n"
                + (status == 401 ? "WWW-Authenticate: Bearer realm=\"weir-probe\"\r\n" : "")
                + (tag == null ? "" : "ETag: " + tag + "\r\n") + "\r\n";
        byte[] all = java.util.Arrays.copyOf(head.getBytes(StandardCharsets.ISO_8859_1), head.length() + text.length);
        System.arraycopy(text, 0, all, head.length(), text.length);
        return all;
    }
}
