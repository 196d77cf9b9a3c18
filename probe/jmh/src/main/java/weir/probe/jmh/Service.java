package weir.probe.jmh;

/** The business method whose calls are measured: woven by the mock plugin if the agent is there. */
public class Service {
    private int price = 3;

    public int price(int amount) {
        return price * amount;
    }
}
