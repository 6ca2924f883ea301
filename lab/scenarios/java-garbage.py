"""A Java program has a heap that is hardly larger than what it keeps: it collects garbage all the time."""
from resources import CPU, FAULTS, MEMORY, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | MEMORY | FAULTS | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "threads", "kernel-work"}
NEEDS = ("java",)
PROGRAM = """import java.util.ArrayDeque;
public class Orders {
    public static void main(String[] words) {
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        for (long i = 0; ; i++) {
            kept.add(new byte[200]);
            if (kept.size() > 200000) kept.remove();
        }
    }
}
"""


def inject(stage, chance):
    collector = chance.choice(("ParallelGC", "G1GC"))
    return [stage.start("java", "-Xmx64m", f"-XX:+Use{collector}", "-XX:-UseGCOverheadLimit", stage.script("Orders.java", PROGRAM), name="orders")]
