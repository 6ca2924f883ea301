"""A program reads a big file in small pieces from the disk, past the cache, at little CPU."""
GROUP = "six"
FEATURES = {"io.read_bytes", "io.read_chars", "io.read_calls", "delay.block", "delay.block_count"}


def inject(stage):
    return [stage.start("dd", f"if={stage.work}/archive", "of=/dev/null", "bs=4k", "iflag=direct")]
