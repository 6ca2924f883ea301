#include "model/board.h"

#include <stdlib.h>

void curve_free(struct curve *c)
{
	free(c->low);
	free(c->mean);
	free(c->high);
	*c = (struct curve){};
}
