package weir.probe.control;

import com.grack.nanojson.JsonObject;

/** A request that is not carried out: an answer of type {@code application/problem+json} (RFC 9457). */
final class Problem extends Exception {
    private static final long serialVersionUID = 1;

    final int status;
    private final String hint;
    /** What is told beside: the report of a refused arming. */
    final transient JsonObject more = new JsonObject();

    Problem(int status, String detail, String hint) {
        super(detail, null, false, false);
        this.status = status;
        this.hint = hint;
    }

    Answer answer() {
        JsonObject body = new JsonObject();
        body.put("type", "about:blank");
        body.put("title", Answer.reason(status));
        body.put("status", status);
        body.put("detail", getMessage());
        if (hint != null) {
            body.put("hint", hint);
        }
        body.putAll(more);
        return new Answer(status, "application/problem+json", body, null);
    }
}
