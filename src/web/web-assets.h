/* The web view's files, compiled in (web/pack). */
#pragma once

#include <stddef.h>

struct web_asset {
	const char *path, *type;
	const unsigned char *bytes;
	size_t n;
};

extern const struct web_asset web_assets[];
extern const size_t web_assets_n;
