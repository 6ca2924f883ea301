#include "view/json.h"

#include <errno.h>

int json_print(json_t *root, size_t flags, FILE *out)
{
	int r;

	if (!root)
		return -ENOMEM;
	r = json_dumpf(root, out, flags);
	json_decref(root);
	fputc('\n', out);
	return r < 0 ? -EIO : 0;
}
