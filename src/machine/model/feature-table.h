/* Every measured quantity, described once.
 *
 * This table is what recorder, store, ranking, command line, documentation and the web read. It is plain macros and
 * needs nothing, so the BPF programs share it: the position of a row in its list is its index in a sample's vector.
 * Stores name features by text, so rows may be added and moved freely; a renamed row loses its history.
 *
 *   F(ID, name, unit, kind, resource, quantum, flags, proof, help)
 *
 * unit      NS, BYTES, COUNT, HZ, MILLIDEGREE, MICROWATT; PERMILLE for shares
 * kind      COUNTER grows and is shown as a rate; GAUGE is a level; SAMPLED_GAUGE is one instant of something fast
 * resource  which kind of shortage a high value is evidence for
 * quantum   values are stored as multiples of this: the only loss of precision
 * flags     how it is read (enum feature_flag), or 0
 * proof     the test that moves it by a known amount (a case of tests/test-movers.c; of the system's: a test of that
 *           name), or "fixture:" and the recorded input that stands in where a machine cannot, or "none"
 */
#pragma once

/* A thread's own: summed over the process's threads, the living and the dead. */
#define THREAD_FEATURES(F)                                                                                           \
	F(CPU_USER, "cpu.user", NS, COUNTER, CPU, 100000, 0, "spin-user", "time in user mode (sampled by the tick)")     \
	F(CPU_SYSTEM, "cpu.system", NS, COUNTER, CPU, 100000, 0, "spin-kernel", "time in the kernel (sampled by the tick)") \
	F(CPU_TIME, "cpu.time", NS, COUNTER, CPU, 10000, READ_FIRST, "spin-user", "time on a CPU, exact (sum_exec_runtime)")     \
	F(CPU_RUN_DELAY, "cpu.run_delay", NS, COUNTER, DELAY, 10000, READ_FIRST, "crowd", "time ready to run but waiting for a CPU") \
	F(CPU_SLICES, "cpu.slices", COUNT, COUNTER, CPU, 1, 0, "sleep-wake", "times put on a CPU")                       \
	F(CPU_MIGRATIONS, "cpu.migrations", COUNT, COUNTER, CPU, 1, 0, "migrate", "moves from one CPU to another")       \
	F(CTX_VOLUNTARY, "ctx.voluntary", COUNT, COUNTER, CPU, 1, 0, "sleep-wake", "switches away because it waited")    \
	F(CTX_INVOLUNTARY, "ctx.involuntary", COUNT, COUNTER, DELAY, 1, 0, "crowd", "switches away because it was preempted") \
	F(FAULTS_MINOR, "faults.minor", COUNT, COUNTER, FAULTS, 1, 0, "touch-memory", "page faults served from memory")  \
	F(FAULTS_MAJOR, "faults.major", COUNT, COUNTER, FAULTS, 1, 0, "map-file", "page faults that had to read a disk") \
	F(IO_READ_CHARS, "io.read_chars", BYTES, COUNTER, IO, 1, 0, "read-cached", "bytes asked for by read calls, cached or not") \
	F(IO_WRITE_CHARS, "io.write_chars", BYTES, COUNTER, IO, 1, 0, "write-file", "bytes given to write calls")        \
	F(IO_READ_CALLS, "io.read_calls", COUNT, COUNTER, IO, 1, 0, "read-cached", "read system calls")                  \
	F(IO_WRITE_CALLS, "io.write_calls", COUNT, COUNTER, IO, 1, 0, "write-file", "write system calls")                \
	F(IO_READ_BYTES, "io.read_bytes", BYTES, COUNTER, IO, 512, READ_FIRST, "read-disk", "bytes fetched from storage")         \
	F(IO_WRITE_BYTES, "io.write_bytes", BYTES, COUNTER, IO, 512, READ_FIRST, "write-file", "bytes dirtied for storage")       \
	F(IO_CANCELLED_BYTES, "io.cancelled_bytes", BYTES, COUNTER, IO, 512, 0, "truncate", "bytes dirtied and then not written (truncated)") \
	F(DELAY_BLOCK, "delay.block", NS, COUNTER, DELAY, 10000, READ_FIRST, "read-disk", "time waiting for block I/O")           \
	F(DELAY_BLOCK_COUNT, "delay.block_count", COUNT, COUNTER, DELAY, 1, 0, "read-disk", "waits for block I/O")       \
	F(DELAY_SWAPIN, "delay.swapin", NS, COUNTER, DELAY, 10000, READ_FIRST, "swap-in", "time waiting for swapped-out pages")      \
	F(DELAY_RECLAIM, "delay.reclaim", NS, COUNTER, DELAY, 10000, READ_FIRST, "swap", "time spent freeing memory before getting any") \
	F(DELAY_THRASHING, "delay.thrashing", NS, COUNTER, DELAY, 10000, READ_FIRST, "thrash", "time waiting for pages that were evicted a moment ago") \
	F(DELAY_COMPACTION, "delay.compaction", NS, COUNTER, DELAY, 10000, 0, "none", "time spent moving pages together") \
	F(DELAY_COW, "delay.cow", NS, COUNTER, DELAY, 10000, 0, "copy-on-write", "time copying pages shared since fork") \
	F(DELAY_IRQ, "delay.irq", NS, COUNTER, DELAY, 10000, 0, "none", "time stolen by interrupts")                     \
	F(WAIT_PREEMPTED, "wait.preempted", NS, COUNTER, DELAY, 100000, 0, "crowd", "time ready to run after another took the CPU (flight recorder)") \
	F(WAIT_QUOTA, "wait.quota", NS, COUNTER, DELAY, 100000, READ_FIRST, "quota", "time its threads were kept from running by a CPU quota (flight recorder)") \
	F(WAIT_LOCK, "wait.lock", NS, COUNTER, DELAY, 100000, READ_FIRST | BOOKED_LATE, "futex", "time waiting for locks, its own and the kernel's (flight recorder)") \
	F(WAIT_CONDITION, "wait.condition", NS, COUNTER, DELAY, 100000, READ_FIRST | BOOKED_LATE | MAY_BE_IDLE, "condition", "time waiting for a signal of another thread: a condition variable, a semaphore, work for a pool (flight recorder)") \
	F(WAIT_DISK, "wait.disk", NS, COUNTER, DELAY, 100000, READ_FIRST | BOOKED_LATE, "read-disk", "time waiting for disks and journals (flight recorder)") \
	F(WAIT_MEMORY, "wait.memory", NS, COUNTER, DELAY, 100000, 0, "thrash", "time in page faults and freeing memory (flight recorder)") \
	F(WAIT_NETWORK, "wait.network", NS, COUNTER, DELAY, 100000, READ_FIRST | BOOKED_LATE | MAY_BE_IDLE, "datagram", "time waiting in calls on network sockets, and polling one connection that it opened (flight recorder)") \
	F(WAIT_PEER, "wait.peer", NS, COUNTER, DELAY, 100000, READ_FIRST | BOOKED_LATE | MAY_BE_IDLE, "pipe", "time waiting for pipes and local sockets, and polling one connection that it opened (flight recorder)") \
	F(WAIT_OTHER, "wait.other", NS, COUNTER, DELAY, 100000, BOOKED_LATE, "none", "time blocked for an unknown reason (flight recorder)") \
	F(CPU_IMPOSED, "cpu.imposed", NS, COUNTER, CPU, 100000, 0, "crowd", "time others waited for the CPU it was on (flight recorder)") \
	F(THREADS, "threads.count", COUNT, GAUGE, THREADS, 1, READ_FIRST, "threads", "threads")                                   \
	F(THREADS_RUNNING, "threads.running", COUNT, SAMPLED_GAUGE, CPU, 1, 0, "run-now", "threads on a CPU at the sample") \
	F(THREADS_RUNNABLE, "threads.runnable", COUNT, SAMPLED_GAUGE, DELAY, 1, 0, "wait-now", "threads waiting for a CPU at the sample") \
	F(THREADS_BLOCKED, "threads.blocked", COUNT, SAMPLED_GAUGE, DELAY, 1, 0, "vfork", "threads in uninterruptible sleep at the sample")

/* The process's, whatever its threads do. */
#define PROCESS_FEATURES(F)                                                                                          \
	F(MEM_ANON, "mem.anon", BYTES, GAUGE, MEMORY, 4096, READ_FIRST, "touch-memory", "resident memory of its own (heap, stacks)") \
	F(MEM_FILE, "mem.file", BYTES, GAUGE, MEMORY, 4096, 0, "map-file", "resident pages of mapped files")             \
	F(MEM_SHMEM, "mem.shmem", BYTES, GAUGE, MEMORY, 4096, READ_FIRST | OF_EACH, "shared-memory", "resident shared memory and tmpfs pages") \
	F(MEM_SWAP, "mem.swap", BYTES, GAUGE, MEMORY, 4096, 0, "swap", "memory moved out to swap")                       \
	F(MEM_VIRTUAL, "mem.virtual", BYTES, GAUGE, MEMORY, 4096, 0, "map-anonymous", "address space")                   \
	F(MEM_DATA, "mem.data", BYTES, GAUGE, MEMORY, 4096, 0, "map-anonymous", "private writable address space")        \
	F(MEM_STACK, "mem.stack", BYTES, GAUGE, MEMORY, 4096, 0, "deep-stack", "address space of stacks that grow")      \
	F(MEM_LOCKED, "mem.locked", BYTES, GAUGE, MEMORY, 4096, READ_FIRST, "lock-memory", "memory that must not be swapped out") \
	F(MEM_PAGE_TABLES, "mem.page_tables", BYTES, GAUGE, MEMORY, 4096, 0, "touch-memory", "memory taken by page tables") \
	F(MEM_PEAK, "mem.peak", BYTES, GAUGE, OTHER, 4096, 0, "touch-memory", "most resident memory so far")             \
	F(HANDLES_FILES, "handles.files", COUNT, GAUGE, HANDLES, 1, READ_FIRST, "open-files", "open file descriptors")            \
	F(HANDLES_SOCKETS, "handles.sockets", COUNT, GAUGE, HANDLES, 1, 0, "open-sockets", "open sockets")               \
	F(SCHED_NICE, "sched.nice", COUNT, GAUGE, OTHER, 1, READ_FIRST | OF_EACH, "nice", "nice value of the main thread")                  \
	F(SCHED_POLICY, "sched.policy", COUNT, GAUGE, OTHER, 1, OF_EACH, "policy", "scheduling policy (0 normal, 1 FIFO, 2 RR, 3 batch, 5 idle, 6 deadline)") \
	F(OOM_SCORE_ADJ, "mem.oom_score_adj", COUNT, GAUGE, OTHER, 1, OF_EACH, "oom-score", "how willingly the OOM killer takes it") \
	F(QUOTA_THROTTLED, "quota.throttled", NS, COUNTER, DELAY, 10000, READ_FIRST, "quota", "time its control group was held back by a CPU quota") \
	F(QUOTA_PERIODS, "quota.periods", COUNT, COUNTER, DELAY, 1, 0, "quota", "periods in which its control group used up its CPU quota") \
	F(NET_RX_BYTES, "net.rx_bytes", BYTES, COUNTER, NETWORK, 1, READ_FIRST, "socket", "bytes received from sockets")          \
	F(NET_TX_BYTES, "net.tx_bytes", BYTES, COUNTER, NETWORK, 1, READ_FIRST, "socket", "bytes sent to sockets")                \
	F(NET_RX_CALLS, "net.rx_calls", COUNT, COUNTER, NETWORK, 1, READ_FIRST, "socket", "receives from sockets")                \
	F(NET_TX_CALLS, "net.tx_calls", COUNT, COUNTER, NETWORK, 1, READ_FIRST, "socket", "sends to sockets")                     \
	F(CHILDREN_SHORT, "children.short", COUNT, COUNTER, CPU, 1, READ_FIRST, "children", "children that lived for less than one sample") \
	F(CHILDREN_CPU, "children.cpu", NS, COUNTER, CPU, 10000, READ_FIRST, "children", "CPU time of children that lived for less than one sample") \
	F(GPU_TIME, "gpu.time", NS, COUNTER, OTHER, 10000, 0, "fixture:drm", "time on GPU engines (DRM fdinfo)")         \
	F(GPU_MEMORY, "gpu.memory", BYTES, GAUGE, OTHER, 4096, 0, "fixture:drm", "GPU memory resident (DRM fdinfo)")

#define SYSTEM_FEATURES(F)                                                                                           \
	F(PSI_CPU_SOME, "psi.cpu.some", NS, COUNTER, CPU, 1000, 0, "fixture:psi", "time in which some task waited for a CPU") \
	F(PSI_IO_SOME, "psi.io.some", NS, COUNTER, IO, 1000, 0, "fixture:psi", "time in which some task waited for I/O") \
	F(PSI_IO_FULL, "psi.io.full", NS, COUNTER, IO, 1000, 0, "fixture:psi", "time in which all tasks waited for I/O") \
	F(PSI_MEMORY_SOME, "psi.memory.some", NS, COUNTER, MEMORY, 1000, 0, "fixture:psi", "time in which some task waited for memory") \
	F(PSI_MEMORY_FULL, "psi.memory.full", NS, COUNTER, MEMORY, 1000, 0, "fixture:psi", "time in which all tasks waited for memory") \
	F(PSI_IRQ_FULL, "psi.irq.full", NS, COUNTER, CPU, 1000, 0, "fixture:psi", "time taken from all tasks by interrupts") \
	F(RUN_QUEUE, "tasks.runnable", COUNT, SAMPLED_GAUGE, CPU, 1, 0, "fixture:stat", "tasks running or ready to run")  \
	F(TASKS_BLOCKED, "tasks.blocked", COUNT, SAMPLED_GAUGE, IO, 1, 0, "fixture:stat", "tasks waiting for I/O")        \
	F(FORKS, "tasks.forks", COUNT, COUNTER, CPU, 1, 0, "fixture:stat", "processes and threads created")              \
	F(CONTEXT_SWITCHES, "tasks.switches", COUNT, COUNTER, CPU, 1, 0, "fixture:stat", "context switches")             \
	F(INTERRUPTS, "tasks.interrupts", COUNT, COUNTER, CPU, 1, 0, "fixture:stat", "interrupts")                       \
	F(SYS_MEM_TOTAL, "memory.total", BYTES, GAUGE, MEMORY, 4096, 0, "fixture:meminfo", "memory in the machine")      \
	F(SYS_MEM_FREE, "memory.free", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:meminfo", "memory not used for anything") \
	F(SYS_MEM_AVAILABLE, "memory.available", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:meminfo", "memory available without swapping") \
	F(SYS_MEM_CACHED, "memory.cached", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:meminfo", "page cache")              \
	F(SYS_MEM_DIRTY, "memory.dirty", BYTES, GAUGE, IO, 4096, 0, "fixture:meminfo", "written data not yet on disk")   \
	F(SYS_MEM_WRITEBACK, "memory.writeback", BYTES, GAUGE, IO, 4096, 0, "fixture:meminfo", "data on its way to disk") \
	F(SYS_MEM_ANON, "memory.anon", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:meminfo", "memory of processes")         \
	F(SYS_MEM_SLAB, "memory.slab", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:meminfo", "memory of the kernel's caches") \
	F(SYS_SWAP_TOTAL, "swap.total", BYTES, GAUGE, MEMORY, 4096, 0, "fixture:meminfo", "swap space")                  \
	F(SYS_SWAP_FREE, "swap.free", BYTES, GAUGE, MEMORY, 4096, 0, "fixture:meminfo", "swap space not used")           \
	F(SYS_SWAP_IN, "swap.in", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "pages read back from swap")           \
	F(SYS_SWAP_OUT, "swap.out", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "pages moved out to swap")           \
	F(SYS_PAGE_IN, "disk.page_in", BYTES, COUNTER, IO, 1024, 0, "fixture:vmstat", "bytes read by the paging system") \
	F(SYS_PAGE_OUT, "disk.page_out", BYTES, COUNTER, IO, 1024, 0, "fixture:vmstat", "bytes written by the paging system") \
	F(SYS_FAULTS_MAJOR, "memory.faults_major", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "page faults that had to read a disk") \
	F(SYS_SCAN_KSWAPD, "reclaim.scan_kswapd", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "pages looked at by kswapd") \
	F(SYS_SCAN_DIRECT, "reclaim.scan_direct", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "pages looked at by processes short of memory") \
	F(SYS_STEAL_PAGES, "reclaim.freed", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "pages freed by reclaim")    \
	F(SYS_ALLOC_STALL, "reclaim.stalls", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "allocations that had to wait for reclaim") \
	F(SYS_REFAULTS, "reclaim.refaults", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "evicted pages needed again at once") \
	F(SYS_OOM_KILLS, "memory.oom_kills", COUNT, COUNTER, MEMORY, 1, 0, "fixture:vmstat", "processes killed for memory") \
	F(SYS_TCP_RETRANS, "tcp.retransmits", COUNT, COUNTER, NETWORK, 1, 0, "fixture:snmp", "TCP segments sent again")  \
	F(SYS_TCP_OUT, "tcp.segments_out", COUNT, COUNTER, NETWORK, 1, 0, "fixture:snmp", "TCP segments sent")           \
	F(SYS_TCP_OPENS, "tcp.connects", COUNT, COUNTER, NETWORK, 1, 0, "fixture:snmp", "TCP connections opened")        \
	F(SYS_TCP_DROPS, "tcp.listen_drops", COUNT, COUNTER, NETWORK, 1, 0, "fixture:snmp", "TCP connections dropped because a server did not accept") \
	F(SYS_TCP_HANDSHAKES, "tcp.handshakes", COUNT, COUNTER, NETWORK, 1, 0, "source-connect", "TCP connections that were answered, or given up") \
	F(SYS_TCP_HANDSHAKE_TIME, "tcp.handshake_time", NS, COUNTER, NETWORK, 10000, 0, "source-connect", "time from the first SYN to the answer, added up") \
	F(SYS_TCP_HANDSHAKE_LONGEST, "tcp.handshake_longest", NS, GAUGE, NETWORK, 10000, 0, "source-connect", "the slowest TCP connection that was opened since the last sample") \
	F(SYS_PROCESSES, "tasks.processes", COUNT, GAUGE, OTHER, 1, 0, "children", "processes seen at the sample")       \
	F(SYS_THREADS, "tasks.threads", COUNT, GAUGE, THREADS, 1, 0, "threads", "threads seen at the sample")            \
	F(PROBE_WAKEUP, "probe.wakeup", NS, GAUGE, CPU, 100000, 0, "test-probe", "how late a program of normal priority was woken") \
	F(PROBE_READ, "probe.read", NS, GAUGE, IO, 100000, 0, "test-probe", "how long a small read past the cache took (only under pressure)") \
	F(PROBE_FORK, "probe.fork", NS, GAUGE, MEMORY, 100000, 0, "test-probe", "how long it took to start and end a process (only under pressure)") \
	F(SYS_LOST_EXITS, "recorder.lost_exits", COUNT, COUNTER, OTHER, 1, 0, "source-task", "process exits the recorder had no room for") \
	F(SYS_FOLDED_NAMES, "recorder.folded_names", COUNT, COUNTER, OTHER, 1, 0, "model-name-limit", "programs recorded together because too many were new")

#define CPU_FEATURES(F)                                                                                              \
	F(CORE_USER, "core.user", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time in user mode")                      \
	F(CORE_NICE, "core.nice", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time in user mode of niced tasks")       \
	F(CORE_SYSTEM, "core.system", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time in the kernel")                 \
	F(CORE_IDLE, "core.idle", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time idle")                              \
	F(CORE_IOWAIT, "core.iowait", NS, COUNTER, IO, 100000, 0, "fixture:stat", "time idle while a task waited for a disk") \
	F(CORE_IRQ, "core.irq", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time in interrupt handlers")               \
	F(CORE_SOFTIRQ, "core.softirq", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time in soft interrupts")          \
	F(CORE_STEAL, "core.steal", NS, COUNTER, CPU, 100000, 0, "fixture:stat", "time taken by the hypervisor")         \
	F(CORE_FREQUENCY, "core.frequency", HZ, GAUGE, CPU, 10000000, 0, "fixture:cpufreq", "clock frequency")           \
	F(CORE_THROTTLES, "core.throttles", COUNT, COUNTER, CPU, 1, 0, "fixture:cpufreq", "slowed down for heat")

#define DISK_FEATURES(F)                                                                                             \
	F(DISK_READS, "disk.reads", COUNT, COUNTER, IO, 1, 0, "fixture:diskstats", "reads completed")                    \
	F(DISK_READ_BYTES, "disk.read_bytes", BYTES, COUNTER, IO, 512, 0, "fixture:diskstats", "bytes read")             \
	F(DISK_READ_TIME, "disk.read_time", NS, COUNTER, IO, 1000000, 0, "fixture:diskstats", "time all reads took, added up") \
	F(DISK_WRITES, "disk.writes", COUNT, COUNTER, IO, 1, 0, "fixture:diskstats", "writes completed")                 \
	F(DISK_WRITE_BYTES, "disk.write_bytes", BYTES, COUNTER, IO, 512, 0, "fixture:diskstats", "bytes written")        \
	F(DISK_WRITE_TIME, "disk.write_time", NS, COUNTER, IO, 1000000, 0, "fixture:diskstats", "time all writes took, added up") \
	F(DISK_QUEUE, "disk.queue", COUNT, SAMPLED_GAUGE, IO, 1, 0, "fixture:diskstats", "requests in flight at the sample") \
	F(DISK_BUSY, "disk.busy", NS, COUNTER, IO, 1000000, 0, "fixture:diskstats", "time with at least one request in flight") \
	F(DISK_WAIT, "disk.wait", NS, COUNTER, IO, 1000000, 0, "fixture:diskstats", "request time, weighted by the queue") \
	F(DISK_FLUSHES, "disk.flushes", COUNT, COUNTER, IO, 1, 0, "fixture:diskstats", "cache flushes completed")

#define FILESYSTEM_FEATURES(F)                                                                                       \
	F(FS_SIZE, "fs.size", BYTES, GAUGE, OTHER, 4096, 0, "fixture:mounts", "size")                                    \
	F(FS_FREE, "fs.free", BYTES, GAUGE, OTHER, 65536, 0, "fixture:mounts", "space left to users")                    \
	F(FS_FILES_FREE, "fs.files_free", COUNT, GAUGE, OTHER, 16, 0, "fixture:mounts", "files that can still be created")

#define INTERFACE_FEATURES(F)                                                                                        \
	F(IF_RX_BYTES, "if.rx_bytes", BYTES, COUNTER, NETWORK, 1, 0, "fixture:netdev", "bytes received")                 \
	F(IF_TX_BYTES, "if.tx_bytes", BYTES, COUNTER, NETWORK, 1, 0, "fixture:netdev", "bytes sent")                     \
	F(IF_RX_PACKETS, "if.rx_packets", COUNT, COUNTER, NETWORK, 1, 0, "fixture:netdev", "packets received")           \
	F(IF_TX_PACKETS, "if.tx_packets", COUNT, COUNTER, NETWORK, 1, 0, "fixture:netdev", "packets sent")               \
	F(IF_ERRORS, "if.errors", COUNT, COUNTER, NETWORK, 1, 0, "fixture:netdev", "packets damaged, both ways")         \
	F(IF_DROPS, "if.drops", COUNT, COUNTER, NETWORK, 1, 0, "fixture:netdev", "packets dropped, both ways")

#define CGROUP_FEATURES(F)                                                                                           \
	F(CG_CPU, "cgroup.cpu", NS, COUNTER, CPU, 10000, 0, "fixture:cgroup", "CPU time")                                \
	F(CG_THROTTLED, "cgroup.throttled", NS, COUNTER, DELAY, 10000, 0, "fixture:cgroup", "time held back by its quota") \
	F(CG_THROTTLES, "cgroup.throttles", COUNT, COUNTER, DELAY, 1, 0, "fixture:cgroup", "periods cut short by its quota") \
	F(CG_MEMORY, "cgroup.memory", BYTES, GAUGE, MEMORY, 65536, 0, "fixture:cgroup", "memory charged to it")          \
	F(CG_MEMORY_LIMIT, "cgroup.memory_limit", BYTES, GAUGE, OTHER, 4096, 0, "fixture:cgroup", "its memory limit")    \
	F(CG_MEMORY_HIGH, "cgroup.memory_high", COUNT, COUNTER, MEMORY, 1, 0, "fixture:cgroup", "times it was slowed down for memory") \
	F(CG_MEMORY_MAX, "cgroup.memory_max", COUNT, COUNTER, MEMORY, 1, 0, "fixture:cgroup", "times it ran into its memory limit") \
	F(CG_REFAULTS, "cgroup.refaults", COUNT, COUNTER, MEMORY, 1, 0, "fixture:cgroup", "pages that it evicted and needed again at once") \
	F(CG_OOM_KILLS, "cgroup.oom_kills", COUNT, COUNTER, MEMORY, 1, 0, "fixture:cgroup", "processes of it killed for memory") \
	F(CG_PSI_CPU, "cgroup.psi_cpu", NS, COUNTER, CPU, 10000, 0, "fixture:cgroup", "time in which some task of it waited for a CPU") \
	F(CG_PSI_IO, "cgroup.psi_io", NS, COUNTER, IO, 10000, 0, "fixture:cgroup", "time in which some task of it waited for I/O") \
	F(CG_PSI_MEMORY, "cgroup.psi_memory", NS, COUNTER, MEMORY, 10000, 0, "fixture:cgroup", "time in which some task of it waited for memory")

#define SENSOR_FEATURES(F)                                                                                           \
	F(SENSOR_TEMPERATURE, "sensor.temperature", MILLIDEGREE, GAUGE, OTHER, 500, 0, "fixture:thermal", "temperature") \
	F(SENSOR_POWER_LIMIT, "sensor.power_limit", MICROWATT, GAUGE, OTHER, 1000, 0, "fixture:thermal", "power the machine allows itself")

#define FEATURE_ID_(id, ...) FEATURE_##id,

/* Indices into a sample's vector, one enumeration for each kind of entity. */
enum process_feature {
	THREAD_FEATURES(FEATURE_ID_) THREAD_FEATURE_COUNT,
	FEATURE_PROCESS_FIRST_ = THREAD_FEATURE_COUNT - 1,
	PROCESS_FEATURES(FEATURE_ID_) PROCESS_FEATURE_COUNT,
};
enum system_feature { SYSTEM_FEATURES(FEATURE_ID_) SYSTEM_FEATURE_COUNT };
enum cpu_feature { CPU_FEATURES(FEATURE_ID_) CPU_FEATURE_COUNT };
enum disk_feature { DISK_FEATURES(FEATURE_ID_) DISK_FEATURE_COUNT };
enum filesystem_feature { FILESYSTEM_FEATURES(FEATURE_ID_) FILESYSTEM_FEATURE_COUNT };
enum interface_feature { INTERFACE_FEATURES(FEATURE_ID_) INTERFACE_FEATURE_COUNT };
enum cgroup_feature { CGROUP_FEATURES(FEATURE_ID_) CGROUP_FEATURE_COUNT };
enum sensor_feature { SENSOR_FEATURES(FEATURE_ID_) SENSOR_FEATURE_COUNT };

#define FEATURES_MAX 128 /* as many as a feature_set has bits (feature.h) */
