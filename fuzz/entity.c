/* A stored description: what can be read is written as the same again, and has a program and a label. */
#include <stdlib.h>

#include "fuzz/target.h"
#include "machine/model/entity.h"

static void check(const struct entity_info *info)
{
	struct str written = {}, again = {};
	struct entity_info copy;
	struct reader in;

	entity_info_write(info, &written);
	in = (struct reader){(const uint8_t *)written.data, (const uint8_t *)written.data + written.len, false};
	if (written.error || entity_info_read(&in, &copy) < 0)
		abort();
	entity_info_write(&copy, &again);
	if (again.len != written.len)
		abort();
	free(entity_program(&copy));
	free(entity_label(&copy));
	entity_info_free(&copy);
	str_free(&written);
	str_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct reader in = {bytes, bytes + n, false};
	struct entity_info info;

	if (entity_info_read(&in, &info) == 0) {
		check(&info);
		entity_info_free(&info);
	}
	return 0;
}
