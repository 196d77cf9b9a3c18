package weir.probe.plugin.servlet;

import java.io.IOException;
import java.util.Enumeration;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import weir.probe.api.Log;
import weir.probe.api.Wire;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/**
 * Marks the thread for a marked request. A mark that cannot be read is answered with 400, one that is not accepted now
 * with 503; the application sees neither.
 */
public final class MarkedRequest {
    private MarkedRequest() {}

    public static Object enter(Request request, Response response) {
        try {
            Mark mark = Wire.read(name -> lines(request, name));
            if (mark == null) {
                return null;
            }
            if ("websocket".equalsIgnoreCase(request.getHeader("Upgrade"))) {
                throw new ShadowRefused("shadow traffic is refused: a WebSocket's messages would not be marked");
            }
            return new Entered(Mark.open(mark), request);
        } catch (IllegalArgumentException unreadable) {
            return refuse(response, 400, "the request is refused: " + unreadable.getMessage());
        } catch (ShadowRefused refused) {
            return refuse(response, 503, refused.getMessage());
        } catch (RuntimeException | LinkageError fault) {
            if (Wire.mayBeMarked(request::getHeader)) {
                return refuse(response, 503, "shadow traffic is refused: the probe failed: " + fault);
            }
            throw fault;
        }
    }

    public static void exit(Object entered, Throwable thrown) {
        ((Entered) entered).close();
    }

    public static String check() {
        return Wire.check();
    }

    /** Leaves the request: with its status at least, if the application's valves have begun a response. */
    private static Object refuse(Response response, int status, String reason) {
        Log.sometimes("servlet " + status, reason);
        try {
            response.setStatus(status);
            response.setContentType("text/plain;charset=UTF-8");
            response.setContentLength(reason.length() + 1);
            response.getWriter().write(reason + '\n');
        } catch (IOException | RuntimeException e) {
            Log.sometimes("servlet answer", "the refusal could not be written: " + e);
        }
        return Cut.NOW;
    }

    private static String lines(Request request, String name) {
        String first = request.getHeader(name);
        if (first == null) {
            return null;
        }
        Enumeration<String> lines = request.getHeaders(name);
        lines.nextElement();
        if (!lines.hasMoreElements()) {
            return first;
        }
        StringBuilder all = new StringBuilder(first);
        while (lines.hasMoreElements()) {
            all.append(',').append(lines.nextElement());
        }
        return all.toString();
    }
}
