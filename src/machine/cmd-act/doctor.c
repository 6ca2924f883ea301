/* What this kernel and these rights give, and the exact command that fixes each gap. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/system/lockdown.h"
#include "lib/system/urgent.h"
#include "lib/view/json.h"
#include "machine/flight/branches.h"
#include "machine/flight/flight.h"
#include "machine/flight/instructions.h"
#include "machine/recorder/capture.h"
#include "machine/recorder/recorder.h"
#include "machine/sample/source.h"
#include "machine/service/record.h"
#include "machine/verb/verb.h"

static const struct option_row options[] = {{}};

#define CHECKS	     13
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define ROOM_LEAST   16 /* MB: some hours of a recording, and the log of the database next to it */

struct finding_row {
	const struct common *common;
	const char *what;
	bool good;
	char state[800];
	const char *remedy; /* NULL = nothing to do, or nothing can be done */
};

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void check_root(struct finding_row *row)
{
	row->good = geteuid() == 0;
	strcpy(row->state, row->good ? "running as root" : "not root: only your own processes are visible, from /proc");
	row->remedy = "sudo whyslow record    # or: systemctl enable --now whyslow";
}

/* Where BPF programs or trace events do not load. */
static const char *remedy_of_kernel(const char *otherwise)
{
	return geteuid()		      ? "sudo whyslow doctor" :
	       lockdown_is_confidential("/sys") ? "boot without lockdown=confidentiality" :
						otherwise;
}

/* Do the programs of a recorder run here that this user may ask? To load them takes seconds on a busy machine. */
static bool programs_run(const struct common *common)
{
	struct ring *ring;

	if (capture_join_sums(common->config.store_run_dir, &ring) < 0)
		return false;
	ring_close(ring);
	return true;
}

/* Does that recorder read processes by BPF? In words why it does not do so as cheaply as it might. */
static bool processes_are_read(const struct common *common, char *ret_why, size_t size)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	char name[40];

	if (!programs_run(common) || asprintf(&path, "%s/" PROCESS_SOURCE_FILE, common->config.store_run_dir) < 0)
		return false;
	f = fopen(path, "re");
	if (!f || fscanf(f, "%39s\n", name) != 1 || strcmp(name, source_task.name) != 0)
		return false;
	if (!fgets(ret_why, (int)size, f))
		*ret_why = '\0';
	return true;
}

static int try_to_read_processes(char *ret_why, size_t size)
{
	struct source_options options_here = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	const char *why = NULL;
	void *state;
	int r = source_task.open(&options_here, &state, &why);

	if (r == 0)
		source_task.close(state);
	snprintf(ret_why, size, "%s", why ?: "");
	return r;
}

static void check_bpf(struct finding_row *row)
{
	char why[sizeof(row->state)];
	int r = processes_are_read(row->common, why, sizeof(why)) ? 0 : try_to_read_processes(why, sizeof(why));

	row->good = r == 0 && !*why;
	snprintf(row->state, sizeof(row->state), "%s", *why ? why : "the BPF programs load: every process in one pass");
	if (r == 0)
		row->remedy = "boot Linux 6.7 or later, and run the recorder on the host; if you do, please report it, with uname -a";
	else
		row->remedy = remedy_of_kernel("apt-get install linux-image-amd64    # and boot it");
}

/* The initial namespace's number is fixed (PROC_PID_INIT_INO). */
static void check_namespace(struct finding_row *row)
{
	struct stat ns;

	row->good = stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == 0xEFFFFFFC;
	strcpy(row->state, row->good ? "all processes of the machine are visible" :
				       "separate pid namespace: only its processes are visible, with the numbers they have inside it");
	row->remedy = "run the recorder on the host    # or: docker run --pid=host, hostPID: true";
}

static void check_btf(struct finding_row *row)
{
	row->good = exists(KERNEL_TYPES);
	strcpy(row->state, row->good ? "the kernel describes its types (BTF)" : "no BTF: BPF is not available; whyslow reads /proc instead");
	row->remedy = "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's are)";
}

static void check_psi(struct finding_row *row)
{
	row->good = exists("/proc/pressure/cpu");
	strcpy(row->state, row->good ? "pressure stall information is available" :
				       "no pressure stall information: whyslow estimates shortage from delays");
	row->remedy = "add psi=1 to the kernel command line (/etc/default/grub, then update-grub) and reboot";
}

static void check_delays(struct finding_row *row)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/task_delayacct", "re");
	int on = 0;

	row->good = f && fscanf(f, "%d", &on) == 1 && on;
	strcpy(row->state, row->good ? "delay accounting is on" :
			   f	     ? "delay accounting is off: waits for disk and memory are missing (delay.*)" :
				       "this kernel has no delay accounting switch");
	row->remedy = f ? "sysctl -w kernel.task_delayacct=1    # counts for tasks started after it; keep it in /etc/sysctl.d/" :
			  "boot with delayacct, on a kernel with CONFIG_TASK_DELAY_ACCT=y";
}

static void check_cgroups(struct finding_row *row)
{
	row->good = exists("/sys/fs/cgroup/cgroup.controllers");
	strcpy(row->state, row->good			       ? "control groups v2" :
			   exists("/sys/fs/cgroup/memory") ? "control groups v1: pressure of each group is missing" :
							     "no control groups");
	row->remedy = "boot with systemd.unified_cgroup_hierarchy=1";
}

static void check_lock(struct finding_row *row)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	row->good = geteuid() == 0 || limit.rlim_cur == RLIM_INFINITY;
	strcpy(row->state, row->good ? "memory can be locked" : "memory cannot be locked: samples may come late under pressure");
	row->remedy = "ulimit -l unlimited    # or run the recorder as a service";
}

/* Tried in a process of its own: this one keeps its priority. */
static bool may_be_urgent(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(urgent_set(true) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void check_urgency(struct finding_row *row)
{
	row->good = may_be_urgent();
	strcpy(row->state, row->good ? "samples and answers have real-time priority" :
				       "no real-time priority: samples and answers are late on an overloaded machine");
	row->remedy = geteuid() ? "sudo whyslow doctor" : "sysctl kernel.sched_rt_runtime_us=950000    # and give the control group a share: cpu.rt_runtime_us";
}

/* MB that the recorder may still write next to the recording; -1 = not known. */
static int64_t room_beside(const char *file)
{
	struct statvfs fs;

	if (statvfs(file, &fs) < 0)
		return -1;
	return (int64_t)((geteuid() ? fs.f_bavail : fs.f_bfree) * fs.f_frsize >> 20);
}

static void check_disk(struct finding_row *row)
{
	struct store_paths paths = common_paths(row->common);
	_cleanup_free_ char *error = NULL;
	int64_t from = 0, to = 0, left;
	struct store *store;
	int r = store_open(&paths, STORE_READ, &store, &error);

	row->remedy = "make start    # or: systemctl enable --now whyslow, or: whyslow record";
	if (r < 0) {
		snprintf(row->state, sizeof(row->state), "%s", error ? error : strerror(-r));
		return;
	}
	r = store_extent(store, &from, &to);
	store_close(store);
	row->good = r == 0 && to && clock_wall() - to < 60 * NS_PER_SEC;
	if (to)
		snprintf(row->state, sizeof(row->state), "%s recorded in %s, the last %s ago",
			 CLOCK_SPAN(to - from), row->common->config.store_file,
			 CLOCK_SPAN(clock_wall() - to));
	else
		snprintf(row->state, sizeof(row->state), "%s holds nothing yet", row->common->config.store_file);
	left = room_beside(row->common->config.store_file);
	if (row->good && left >= 0 && left < ROOM_LEAST) {
		row->good = false;
		snprintf(row->state, sizeof(row->state), "%s: %" PRId64 " MB are free on its disk; data that does not fit stays in memory",
			 row->common->config.store_file, left);
		row->remedy = "free some space, or lower store.max_size";
	}
}

static void check_clock(struct finding_row *row)
{
	struct store_paths paths = common_paths(row->common);
	_cleanup_free_ struct clock_step *steps = NULL;
	_cleanup_free_ char *error = NULL;
	const int64_t now = clock_wall();
	char words[120], at[40];
	struct store *store;
	size_t n = 0;
	int r = store_open(&paths, STORE_READ, &store, &error);

	row->good = true;
	strcpy(row->state, "the recording shows no step of the clock");
	row->remedy = "set the clock    # e.g. timedatectl set-ntp true; no recording is deleted because of it";
	if (r < 0)
		return;
	r = store_clock_steps(store, row->common->from_file ? 0 : now, clock_boot(), &steps, &n);
	store_close(store);
	if (r < 0 || !n)
		return;
	row->good = steps[n - 1].to != now || steps[n - 1].step > 0; /* forward it may be a recorder that does not run */
	clock_step_words(&steps[n - 1], words, sizeof(words));
	clock_format_local(steps[n - 1].from, at, sizeof(at));
	if (n > 1)
		snprintf(row->state, sizeof(row->state), "%zu steps of the clock in the recording, the last at %s: %s", n, at, words);
	else
		snprintf(row->state, sizeof(row->state), "%s: %s", at, words);
}

/* missing: a line each. why: why ftrace is used; NULL = it is not. */
static void list_missing(const char *why, const char *missing, char *to, size_t size)
{
	_cleanup_str_ struct str text = {};

	if (why)
		str_printf(&text, "uses ftrace, because %s; ftrace does not record: ", why);
	else
		str_puts(&text, "not available on this kernel: ");
	for (size_t n; *missing; missing += n + (missing[n] == '\n')) {
		n = strcspn(missing, "\n");
		str_printf(&text, "%.*s%s", (int)n, missing, missing[n] && missing[n + 1] ? "; " : "");
	}
	snprintf(to, size, "%s", text.error ? "no memory" : text.data);
}

/* What the flight recorder cannot know here, in one line; nothing can be done about an older kernel but a newer one. */
static void check_ring(struct finding_row *row)
{
	struct flight_options alone = {.ring = {.sums_only = true}};
	bool by_ring = programs_run(row->common);
	_cleanup_free_ char *missing = NULL;
	const char *why = NULL;
	struct flight *flight;

	if (by_ring) {
		missing = ring_missing();
	} else if (flight_open(&alone, &flight, &why) < 0) {
		snprintf(row->state, sizeof(row->state), "%s", why ? why : "no memory");
		row->remedy = remedy_of_kernel("boot a kernel with BTF, 6.1 or later (Debian's are)");
		return;
	} else {
		missing = flight_missing(flight);
		by_ring = flight_ring(flight);
		flight_close(flight);
	}
	row->good = !missing;
	if (!by_ring)
		row->remedy = exists(KERNEL_TYPES) ? "please report it, with uname -a" : "boot a kernel with BTF, 6.1 or later (Debian's are)";
	if (row->good)
		strcpy(row->state, "every switch, wake-up, interrupt and request can be recorded");
	else
		list_missing(by_ring ? NULL : why, missing, row->state, sizeof(row->state));
}

/* How `inspect` can follow a program's way; each machine has one. */
static void check_tracing(struct finding_row *row)
{
	struct samples_units units;
	unsigned branches = branches_recorded("/sys", &units);

	row->good = true;
	if (!instructions_missing("/sys"))
		strcpy(row->state, "'inspect --instructions' traces every instruction (Intel PT)");
	else if (branches)
		snprintf(row->state, sizeof(row->state), "'inspect --steps' counts the branches that the CPU records, %u at a time (LBR)", branches);
	else
		strcpy(row->state, "'inspect --steps' works by single steps: this CPU shows no trace (Intel PT) and no record of branches (LBR)");
}

static void check_all(const struct common *common, struct finding_row rows[CHECKS])
{
	static const struct {
		const char *what;
		void (*check)(struct finding_row *row);
	} checks[CHECKS] = {
		{"rights", check_root}, {"btf", check_btf}, {"bpf", check_bpf}, {"pressure", check_psi}, {"delays", check_delays},
		{"cgroups", check_cgroups}, {"locking", check_lock}, {"recording", check_disk}, {"namespace", check_namespace},
		{"events", check_ring}, {"priority", check_urgency}, {"tracing", check_tracing}, {"clock", check_clock},
	};

	memset(rows, 0, CHECKS * sizeof(*rows));
	for (size_t i = 0; i < CHECKS; i++) {
		rows[i].what = checks[i].what;
		rows[i].common = common;
		checks[i].check(&rows[i]);
	}
}

static void print_json(const struct finding_row rows[CHECKS])
{
	json_print(json_pack("{s:s, s:o}", "schema", "whyslow.doctor/1", "checks", JSON_FIRST(x, rows, CHECKS, json_pack("{s:s, s:b, s:s, s:s?}", "what",
		x->what, "good", x->good, "state", x->state, "remedy", x->good ? NULL : x->remedy))), JSON_INDENT(1), stdout);
}

static int run(struct common *common, int argc, char **argv)
{
	struct finding_row rows[CHECKS];
	struct utsname kernel;
	size_t gaps = 0;

	if (argc > 1)
		return verb_usage_error("doctor", "unexpected argument '%s'", argv[1]);
	check_all(common, rows);
	for (size_t i = 0; i < CHECKS; i++)
		gaps += !rows[i].good;
	if (common->json) {
		print_json(rows);
		return EXIT_ANSWERED;
	}
	uname(&kernel);
	printf("Linux %s, whyslow " WHYSLOW_VERSION "\n", kernel.release);
	for (size_t i = 0; i < CHECKS; i++) {
		printf("  %-4s %-10s %s\n", rows[i].good ? "ok" : "GAP", rows[i].what, rows[i].state);
		if (!rows[i].good && rows[i].remedy)
			printf("       %-10s -> %s\n", "", rows[i].remedy);
	}
	puts(gaps ? "'whyslow features' lists what can be measured now." : "Nothing is missing.");
	return EXIT_ANSWERED;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.group = "Administration",
	.words = "",
	.help = "check what this kernel and these rights provide, and how to fix each gap",
	.about = "Lists what this kernel, its settings and these rights let whyslow measure, and for each gap the command that closes it.",
	.examples = (const struct example[]){
		{"whyslow doctor", "what is missing here?"},
		{"sudo whyslow doctor", "the same for the recorder, which runs as root"},
		{}},
	.options = options,
	.run = run,
};
