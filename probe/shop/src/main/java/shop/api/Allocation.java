package shop.api;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What the benchmark reads before and after a load. */
public interface Allocation {
  /** Bytes that the live threads of this service, and of those that it calls, have allocated. */
  long allocated();

  /** The share of this JVM. */
  static long ofThisJvm() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long sum = 0;
    for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
      sum += Math.max(bytes, 0);
    }
    return sum;
  }
}
