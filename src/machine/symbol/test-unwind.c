#include "machine/symbol/test-stress.h"

#include <linux/elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "machine/symbol/symbolize.h"
#include "machine/symbol/unwind.h"

#define STACK 16384

#if defined(__x86_64__)
static void registers_of(const struct user_regs_struct *u, uint64_t *r)
{
	const uint64_t in_order[] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp, u->r8,
				     u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15, u->rip};

	memcpy(r, in_order, sizeof(in_order));
}
#else
static void registers_of(const struct user_regs_struct *u, uint64_t *r)
{
	memcpy(r, u->regs, sizeof(u->regs));
	r[UNWIND_SP] = u->sp;
	r[UNWIND_PC] = u->pc;
}
#endif

/* The thread of a running program that was started last, stopped for a moment. */
static pid_t last_thread(pid_t pid)
{
	char command[128];
	int tid = 0;
	FILE *f;

	snprintf(command, sizeof(command), "ls /proc/%d/task | sort -n | tail -1", pid);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%d", &tid), 1);
	pclose(f);
	return tid;
}

static size_t snapshot(pid_t tid, uint64_t *registers, uint8_t *stack)
{
	struct user_regs_struct user;
	struct iovec set = {&user, sizeof(user)}, local = {stack, STACK}, remote;
	ssize_t n;

	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, NULL, __WALL), tid);
	assert_int_equal(ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &set), 0);
	registers_of(&user, registers);
	remote = (struct iovec){(void *)registers[UNWIND_SP], STACK}; /* NOLINT(performance-no-int-to-ptr) */
	do {
		n = process_vm_readv(tid, &local, 1, &remote, 1, 0);
		local.iov_len = remote.iov_len /= 2; /* a short stack ends before */
	} while (n < 0 && remote.iov_len);
	assert_true(n > 0);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return (size_t)n;
}

/* The chain as text: "spin < work < busy_start < start_thread < ..." */
static void chain_of(const char *program, const char *words, struct str *out)
{
	struct symbolizer_options options = {.root = ""};
	struct stress stress = stress_start(program, words);
	uint64_t registers[UNWIND_REGISTERS], frames[64];
	uint8_t stack[STACK];
	size_t n, bytes;
	struct unwinder *u;
	struct symbolizer *s;
	struct modules m;
	bool complete;

	usleep(100000);
	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	bytes = snapshot(last_thread(stress.pid), registers, stack);
	assert_int_equal(unwinder_new(&m, &u), 0);
	assert_int_equal(symbolizer_new(&options, &s), 0);
	n = unwind(u, registers, stack, bytes, frames, 64, &complete);
	str_clear(out);
	for (size_t i = 0; i < n; i++) {
		struct symbol symbol[1];

		symbolize_process(s, &m, frames[i], symbol, 1);
		str_puts(out, i ? " < " : "");
		symbol_write(symbol, false, out);
	}
	unwinder_free(u);
	symbolizer_free(s);
	modules_free(&m);
	stress_stop(&stress);
}

static void without_frame_pointers(void **state)
{
	struct str chain = {};

	chain_of(STRESS "/stress-nofp", "busy 1", &chain);
	assert_non_null(strstr(chain.data, "spin < work < busy_start < "));
	str_free(&chain);
}

static void statically_linked(void **state)
{
	struct str chain = {};

	chain_of(STRESS "/stress-static", "busy 1", &chain);
	assert_non_null(strstr(chain.data, "spin < work < busy_start < start_thread"));
	str_free(&chain);
}

static void a_blocked_thread_through_the_c_library(void **state)
{
	struct str chain = {};

	chain_of(STRESS "/stress-nofp", "lock 1", &chain);
	assert_non_null(strstr(chain.data, " < lock_start < "));
	str_free(&chain);
}

static void rubbish_on_the_stack_ends_the_walk(void **state)
{
	struct stress stress = stress_start(STRESS "/stress-nofp", "busy 1");
	uint64_t registers[UNWIND_REGISTERS], frames[16];
	uint8_t stack[STACK];
	struct unwinder *u;
	struct modules m;
	size_t bytes;
	bool complete;

	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	bytes = snapshot(last_thread(stress.pid), registers, stack);
	assert_int_equal(unwinder_new(&m, &u), 0);
	srandom(3);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t changed[UNWIND_REGISTERS];

		memcpy(changed, registers, sizeof(changed));
		stack[(size_t)random() % 512] = (uint8_t)random();
		if (i % 3 == 0)
			changed[(size_t)random() % UNWIND_REGISTERS] = (uint64_t)random() << 20;
		assert_in_range(unwind(u, changed, stack, bytes, frames, 16, &complete), 1, 16);
	}
	unwinder_free(u);
	modules_free(&m);
	stress_stop(&stress);
}

static pid_t server_of(pid_t other)
{
	char path[64];
	int pid = 0, server = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1)
		server = pid != other ? pid : server;
	fclose(f);
	return server;
}

/* It dies of a file, as libdw of a hostile one: the walk has its first frame, and the file is handed to no other server. */
static void a_server_that_dies_costs_one_file(void **state)
{
	struct stress stress = stress_start(STRESS "/stress-nofp", "busy 1");
	uint64_t registers[UNWIND_REGISTERS], frames[16];
	uint8_t stack[STACK];
	struct unwinder *u;
	struct modules m;
	size_t bytes;
	bool complete;

	assert_int_equal(modules_read("/proc", (uint32_t)stress.pid, &m), 0);
	bytes = snapshot(last_thread(stress.pid), registers, stack);
	assert_int_equal(unwinder_new(&m, &u), 0);
	assert_true(unwind(u, registers, stack, bytes, frames, 16, &complete) > 1);
	for (unsigned i = 1; i <= 8; i++) {
		if (server_of(stress.pid))
			kill(server_of(stress.pid), SIGKILL);
		assert_int_equal(unwind(u, registers, stack, bytes - 8 * i, frames, 16, &complete), 1);
		assert_int_equal(frames[0], registers[UNWIND_PC]);
		assert_false(complete);
		(void)unwind(u, registers, stack, bytes - 8 * i, frames, 16, &complete);
	}
	/* after a few of them no more are started */
	assert_int_equal(server_of(stress.pid), 0);
	assert_non_null(unwinder_damaged(u, 0));
	unwinder_free(u);
	modules_free(&m);
	stress_stop(&stress);
}

RUN_TESTS(cmocka_unit_test(without_frame_pointers), cmocka_unit_test(statically_linked),
	  cmocka_unit_test(a_blocked_thread_through_the_c_library),
	  cmocka_unit_test(rubbish_on_the_stack_ends_the_walk), cmocka_unit_test(a_server_that_dies_costs_one_file))
