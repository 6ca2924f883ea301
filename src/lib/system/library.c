#include "lib/system/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "lib/data/str.h"

int library_load(const struct library *library, void *table, char **ret_error)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return str_fail(ret_error, -ENOENT, "%s cannot be loaded: apt-get install %s", library->file, library->package);
	for (size_t i = 0; library->names[i]; i++) {
		void *address = dlsym(handle, library->names[i]);

		if (!address)
			return str_fail(ret_error, -ENOENT, "%s is too old (it has no %s): apt-get install %s", library->file,
					library->names[i], library->package);
		memcpy((char *)table + i * sizeof(address), &address, sizeof(address));
	}
	return 0;
}
