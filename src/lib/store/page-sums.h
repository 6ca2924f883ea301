/* Checksums of the pages of an SQLite file: what a disk, a cable or a hand changed is an error when it is read, and not an answer.
 *
 * A file that whyslow makes reserves the last 8 bytes of every page (SQLITE_FCNTL_RESERVE_BYTES; byte 20 of the file says so). A VFS
 * whose xOpen is page_sums_open() writes a checksum of the page and its number there; a page that is read from the file and has another
 * one is SQLITE_CORRUPT. Files without these bytes (of whyslow before format 6, or of '.recover') are read as they are,
 * and so are pages whose 8 bytes are zero: another program wrote them (SQLite's own 'sqlite3' that takes in a log, or VACUUM). The log (FILE-wal) has SQLite's own checksums. They find accidents, and protect from no attack: who can write a file can also sum it.
 * SQLite's cksumvfs does the same in an extension; here the page's number counts, too, and so does byte 20. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_SUM_BYTES 8

/* Bytes that a VFS adds to its szOsFile. */
size_t page_sums_room(void);
/* As xOpen of a VFS; the files are those of `standard`, whose xOpen gets `vfs`. */
int page_sums_open(sqlite3_vfs *standard, sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags);

/* Lets the pages of a new file have checksums. Nothing happens to one that has pages already. */
void page_sums_begin(sqlite3 *db);
/* Whether the pages of the handle's file have checksums; false for an empty file. */
bool page_sums_are_there(sqlite3 *db);
/* While on, damaged pages are read as they are: to delete what is on them, or to read what has a checksum of its own. */
void page_sums_ignore(sqlite3 *db, bool on);
/* How often a damaged page was read, by any handle of this process. */
unsigned page_sums_failed(void);
