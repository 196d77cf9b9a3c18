package weir.probe.core;

import java.util.ArrayList;
import java.util.List;
import weir.probe.boot.Mark;

/** What the tests weave. No lambdas or string concatenation, so that it can be told to be an older class file. */
public class Subject implements Runnable {
    public final List<String> seen = new ArrayList<>();

    public int whole(int a) {
        int sum = 0;
        for (int i = 0; i < a; i++) {
            sum += i;
        }
        return sum;
    }

    public static long wide(long a) {
        return a;
    }

    public static double real(double a) {
        return a;
    }

    public String text(String a) {
        return a;
    }

    @Override
    public void run() {
        while (seen.size() < 3) { // the method's first instruction is a jump's target
            seen.add("run");
        }
    }

    public String given(String a) {
        return a;
    }

    public String returned(String a) {
        if (a.isEmpty()) {
            return "empty";
        }
        return a;
    }

    public String called(String a) {
        return a.concat("!");
    }

    public void edge(String a) {
        seen.add(Mark.marked() ? "marked" : "unmarked");
        long wide = a.length();
        try {
            if (a.endsWith("throw")) {
                throw new IllegalArgumentException(a);
            }
        } catch (IllegalStateException e) {
            seen.add(e.getMessage());
        }
        seen.add(Long.toString(wide));
    }

    public String broken() {
        return "business";
    }
}
