"""A program starts hundreds of threads, each of which wakes up all the time."""
GROUP = "six"
FEATURES = {"threads.count", "threads.runnable", "threads.running", "cpu.slices", "ctx.voluntary"}


def inject(stage):
    return [stage.start("swarm", 500, 150, 10)]
