/* A process that waits for a name server, with its query on the stack. */
#include "lib/data/test.h"

#include <arpa/inet.h>
#include <resolv.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/name-query.h"
#include "machine/answer-live/process-memory.h"

/* A name server that answers nothing. */
static int begin_silence(struct sockaddr_in *ret)
{
	socklen_t length = sizeof(*ret);
	int door = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(door, (struct sockaddr *)ret, length), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)ret, &length), 0);
	return door;
}

/* By glibc's resolver, as programs ask. */
static pid_t begin_client(const struct sockaddr_in *server)
{
	unsigned char answer[512];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	res_init();
	_res.nscount = 1;
	_res.nsaddr_list[0] = *server;
	_res.retrans = 60;
	res_query("shop-1.example.test", 1, 1, answer, sizeof(answer));
	_exit(0);
}

static void the_name_that_is_asked_for(void **state)
{
	_cleanup_(process_memory_free) struct process_memory memory = {};
	char name[NAME_MAX_LENGTH] = "";
	struct sockaddr_in server;
	int door = begin_silence(&server);
	pid_t client = begin_client(&server);
	bool found = false;

	if (access("/proc/self/syscall", R_OK) < 0)
		skip();
	for (int i = 0; i < 1000 && !found; i++) {
		struct live_thread t;

		usleep(5000);
		if (live_thread_read("/proc", (unsigned)client, (unsigned)client, &t) < 0 || !t.call || strcmp(t.call, "poll") != 0)
			continue;
		t.memory = &memory;
		found = name_query_find("/proc", &t, name);
	}
	kill(client, SIGKILL);
	waitpid(client, NULL, 0);
	close(door);
	assert_true(found);
	assert_string_equal(name, "shop-1.example.test");
}

static void who_asks_for_nothing(void **state)
{
	char name[NAME_MAX_LENGTH];
	struct live_thread t;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	usleep(100000);
	assert_int_equal(live_thread_read("/proc", (unsigned)pid, (unsigned)pid, &t), 0);
	assert_false(name_query_find("/proc", &t, name));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

RUN_TESTS(cmocka_unit_test(the_name_that_is_asked_for), cmocka_unit_test(who_asks_for_nothing))
