"""Which features count as right for which kind of trouble."""
CPU = {"cpu.time", "cpu.user", "cpu.system", "cpu.imposed"}
SWITCHING = {"cpu.slices", "ctx.voluntary", "threads.runnable", "threads.running", "cpu.migrations"}
READING = {"io.read_bytes", "io.read_chars", "io.read_calls", "delay.block", "delay.block_count", "wait.disk"}
WRITING = {"io.write_bytes", "io.write_chars", "io.write_calls", "delay.block", "delay.block_count", "wait.disk"}
MEMORY = {"mem.anon", "mem.swap", "mem.data", "mem.virtual", "mem.page_tables", "faults.minor", "faults.major", "delay.swapin",
          "delay.reclaim", "delay.thrashing", "wait.memory"}
FAULTS = {"faults.minor", "faults.major"}
LOCKS = {"wait.lock", "wait.other"}
CHILDREN = {"children.short", "children.cpu", "tasks.forks"}
NETWORK = {"net.tx_bytes", "net.tx_calls", "net.rx_bytes", "net.rx_calls"}
