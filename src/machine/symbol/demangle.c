#include <libiberty/demangle.h>
#include <string.h>

#include "machine/symbol/symbolize.h"

#define MANGLED_MAX 4096 /* templates of templates: beyond it nothing reads the name */

char *symbol_demangle(const char *name)
{
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	return strlen(name) > MANGLED_MAX ? NULL : cplus_demangle(name, DMGL_AUTO);
}
