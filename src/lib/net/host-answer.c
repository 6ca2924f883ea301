#include "lib/net/host-answer.h"

#include <stdlib.h>

void host_answer_free(struct host_answer *a)
{
	json_decref(a->why);
	free(a->recorder);
	free(a->error);
	*a = (struct host_answer){};
}
