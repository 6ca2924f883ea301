"""Which features count as right for which kind of trouble."""
CPU = {"cpu.time", "cpu.user", "cpu.system", "cpu.imposed"}
SWITCHING = {"cpu.slices", "ctx.voluntary", "threads.runnable", "threads.running", "cpu.migrations"}
READING = {"io.read_bytes", "io.read_chars", "io.read_calls", "delay.block", "delay.block_count", "wait.disk"}
WRITING = {"io.write_bytes", "io.write_chars", "io.write_calls", "delay.block", "delay.block_count", "wait.disk"}
MEMORY = {"mem.anon", "mem.swap", "mem.data", "mem.virtual", "mem.page_tables", "faults.minor", "faults.major", "delay.swapin",
          "delay.reclaim", "delay.thrashing", "wait.memory"}
FAULTS = {"faults.minor", "faults.major"}
LOCKS = {"wait.lock", "wait.condition", "wait.other"}
CHILDREN = {"children.short", "children.cpu", "tasks.forks"}
NETWORK = {"net.tx_bytes", "net.tx_calls", "net.rx_bytes", "net.rx_calls"}

# of the resource that is truly short: what of a scenario's FEATURES is of another one is tolerable and no more
STRICT = {
    "cpu": CPU | CHILDREN | {"threads.runnable", "threads.running", "quota.throttled", "wait.quota", "cgroup.throttled",
                             "cgroup.throttles", "sched.nice", "sched.policy"},
    "io": READING | WRITING,
    "memory": MEMORY | READING | {"mem.shmem", "mem.file"},
    "network": NETWORK | {"wait.network", "handles.sockets"},
    "delay": LOCKS | {"wait.peer", "wait.network"},
    "handles": {"handles.files", "handles.sockets"},
    "faults": CPU | FAULTS,
    "threads": CPU | {"threads.count", "threads.runnable", "threads.running"},
    "other": set(),
}
