/* Shared by the files of this room only. */
#pragma once

#include <sqlite3.h>

struct store {
	sqlite3 *db;
	char *file;
	char *run_dir;
	char *error;
};
