#include "machine/agent/realtime-kit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/system/urgent.h"

#define KIT	    "org.freedesktop.RealtimeKit1"
#define KIT_PATH    "/org/freedesktop/RealtimeKit1"
#define PATIENCE    1000000 /* us for each answer */
#define WITHOUT_END 100000  /* us of CPU time without a pause; the kit grants nothing to the one that may use more than 200,000 */

static void lose_priority(int number)
{
	int error = errno;

	(void)number;
	(void)urgent_set(false);
	errno = error;
}

/* The kernel sends SIGXCPU at the soft limit, each second of CPU time, and SIGKILL at the hard one: the kit looks at that. */
static int limit_use(rlim_t most)
{
	const struct sigaction action = {.sa_handler = lose_priority, .sa_flags = SA_RESTART};
	const struct rlimit limit = {.rlim_cur = most < WITHOUT_END ? most : WITHOUT_END, .rlim_max = most};

	if (sigaction(SIGXCPU, &action, NULL) < 0 || setrlimit(RLIMIT_RTTIME, &limit) < 0)
		return -errno;
	return 0;
}

static int read_number(sd_bus *system, const char *name, char type, void *ret)
{
	return sd_bus_get_property_trivial(system, KIT, KIT_PATH, KIT, name, NULL, type, ret);
}

static int call(sd_bus *system, int32_t priority)
{
	sd_bus_message *question = NULL;
	int r = sd_bus_message_new_method_call(system, &question, KIT, KIT_PATH, KIT, "MakeThreadRealtime");

	if (r >= 0)
		r = sd_bus_message_append(question, "tu", (uint64_t)gettid(), (uint32_t)priority);
	if (r >= 0)
		r = sd_bus_call(system, question, 0, NULL, NULL);
	sd_bus_message_unref(question);
	return r < 0 ? r : 0;
}

static int ask(sd_bus *system)
{
	int64_t most = 0;
	int32_t priority = 0;
	int r = read_number(system, "MaxRealtimePriority", 'i', &priority);

	if (r >= 0)
		r = read_number(system, "RTTimeUSecMax", 'x', &most);
	if (r >= 0 && (priority <= 0 || most <= 0))
		r = -EPERM;
	if (r >= 0)
		r = limit_use((rlim_t)most);
	if (r >= 0)
		r = call(system, priority);
	return r < 0 ? r : priority;
}

int realtime_kit_ask(sd_bus *system)
{
	uint64_t usual;
	int r = sd_bus_get_method_call_timeout(system, &usual);

	if (r >= 0)
		r = sd_bus_set_method_call_timeout(system, PATIENCE);
	if (r < 0)
		return r;
	r = ask(system);
	(void)sd_bus_set_method_call_timeout(system, usual);
	return r;
}
