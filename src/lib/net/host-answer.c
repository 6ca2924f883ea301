#include "lib/net/host-answer.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"

void host_answer_free(struct host_answer *a)
{
	json_decref(a->why);
	FREE_ALL(a->recorder, a->error);
	*a = (struct host_answer){};
}
