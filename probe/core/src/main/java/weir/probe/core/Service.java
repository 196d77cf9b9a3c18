package weir.probe.core;

/** A part of the agent that runs beside the probe: local HTTP, reporting. Listed in {@link Core}. */
public interface Service extends AutoCloseable {
    void start(Probe probe) throws Exception;
}
