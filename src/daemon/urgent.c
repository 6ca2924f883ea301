#include "daemon/urgent.h"

#include <errno.h>
#include <sched.h>

int urgent_set(bool urgent)
{
	const struct sched_param param = {.sched_priority = urgent ? URGENT_PRIORITY : 0};

	return sched_setscheduler(0, urgent ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &param) < 0 ? -errno : 0;
}
