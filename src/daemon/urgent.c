#include "daemon/urgent.h"

#include <sched.h>

void urgent_set(bool urgent)
{
	const struct sched_param param = {.sched_priority = urgent ? URGENT_PRIORITY : 0};

	(void)sched_setscheduler(0, urgent ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &param);
}
