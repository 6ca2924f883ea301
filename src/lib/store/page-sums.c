#include "lib/store/page-sums.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define HEADER	      100 /* bytes at the begin of page 1 */
#define PAGE_SIZE_AT  16  /* 2 bytes, big-endian; 1 = 65536 */
#define RESERVED_AT   20
#define PAGE_MIN      512
#define PAGE_MAX      65536
#define LANES	      4
#define PRIME	      0x9e3779b97f4a7c15u
#define CONTROL	      0x77687300 /* numbers of xFileControl that are ours */
#define CONTROL_THERE (CONTROL + 1)
#define CONTROL_IGNORE (CONTROL + 2)

struct summed_file {
	sqlite3_file base;
	int page;	/* bytes; 0 = not known yet */
	bool summed;	/* the file's pages have checksums */
	bool ignore;
	/* the file of the VFS below follows */
};

static atomic_uint failed;

/* --- the sum --- */

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* The sum of n bytes, a multiple of 8. Each step maps a lane one to one, so what changes in one place always changes the sum; four lanes
 * keep the multiplier busy: 0.5 us a page. */
static uint64_t sum_of(const uint8_t *bytes, int n, uint64_t number)
{
	uint64_t lane[LANES], sum = number * PRIME, word;

	for (int i = 0; i < LANES; i++)
		lane[i] = number + (uint64_t)i;
	for (int at = 0, i = 0; at < n; at += (int)sizeof(word), i = (i + 1) % LANES) {
		memcpy(&word, bytes + at, sizeof(word));
		lane[i] = rotate((lane[i] ^ word) * PRIME, 29);
	}
	for (int i = 0; i < LANES; i++)
		sum = (rotate(sum, 23) ^ lane[i]) * PRIME;
	return sum ^ sum >> 32;
}

/* --- pages --- */

static sqlite3_file *below(sqlite3_file *file)
{
	return (sqlite3_file *)((struct summed_file *)file + 1);
}

static bool is_header(const uint8_t *bytes, int n, sqlite3_int64 at)
{
	static const char magic[] = "SQLite format 3"; /* with its zero */

	return at == 0 && n >= HEADER && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* SQLite refuses other sizes than powers of two. */
static void learn(struct summed_file *f, const uint8_t *header)
{
	int size = header[PAGE_SIZE_AT] << 8 | header[PAGE_SIZE_AT + 1];

	size = size == 1 ? PAGE_MAX : size;
	f->page = size >= PAGE_MIN && (size & (size - 1)) == 0 ? size : 0;
	f->summed = f->page && header[RESERVED_AT] == PAGE_SUM_BYTES;
}

/* None: another program wrote the page. */
static bool has_sum(const struct summed_file *f, const uint8_t *bytes, const uint8_t *sum, sqlite3_int64 at)
{
	static const uint8_t none[PAGE_SUM_BYTES];
	uint64_t is = sum_of(bytes, f->page - PAGE_SUM_BYTES, (uint64_t)(at / f->page));

	return memcmp(&is, sum, sizeof(is)) == 0 || memcmp(none, sum, sizeof(none)) == 0;
}

/* Page 1 that says it has no checksum, and has that of a page that says so. */
static bool has_lost_its_mark(const struct summed_file *f, uint8_t *page)
{
	const uint8_t was = page[RESERVED_AT];
	uint64_t sum;

	page[RESERVED_AT] = PAGE_SUM_BYTES;
	sum = sum_of(page, f->page - PAGE_SUM_BYTES, 0);
	page[RESERVED_AT] = was;
	return memcmp(&sum, page + f->page - PAGE_SUM_BYTES, sizeof(sum)) == 0;
}

/* Newer versions of SQLite read large values past its cache: all of a page but what is reserved. */
static bool is_intact(struct summed_file *f, uint8_t *bytes, int n, sqlite3_int64 at)
{
	uint8_t sum[PAGE_SUM_BYTES];

	if (!f->page || at % f->page != 0)
		return true;
	if (!f->summed)
		return at != 0 || n != f->page || !has_lost_its_mark(f, bytes);
	if (n == f->page)
		return has_sum(f, bytes, bytes + n - PAGE_SUM_BYTES, at);
	if (n != f->page - PAGE_SUM_BYTES)
		return true;
	return below(&f->base)->pMethods->xRead(below(&f->base), sum, PAGE_SUM_BYTES, at + n) == SQLITE_OK && has_sum(f, bytes, sum, at);
}

/* --- what SQLite calls --- */

static int close_file(sqlite3_file *file)
{
	return below(file)->pMethods->xClose(below(file));
}

static void forget_sum(const struct summed_file *f, uint8_t *bytes, int n)
{
	if (f->summed && n == f->page)
		memset(bytes + n - PAGE_SUM_BYTES, 0, PAGE_SUM_BYTES);
}

/* SQLite gets the page without its sum, and so none goes into the log: pages that another program brings from there into the file
 * have none, and not that of what was on them before. */
static int read_file(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
	struct summed_file *f = (struct summed_file *)file;
	int code = below(file)->pMethods->xRead(below(file), bytes, n, at);

	if (code != SQLITE_OK)
		return code;
	if (is_header(bytes, n, at))
		learn(f, bytes);
	if (!f->ignore && !is_intact(f, bytes, n, at)) {
		atomic_fetch_add(&failed, 1);
		return SQLITE_CORRUPT;
	}
	forget_sum(f, bytes, n);
	return SQLITE_OK;
}

/* The sum is in SQLite's own page, where nothing else is, while it is written. */
static int write_file(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
	struct summed_file *f = (struct summed_file *)file;
	uint64_t sum;
	int code;

	if (is_header(bytes, n, at))
		learn(f, bytes);
	if (f->summed && n == f->page) {
		sum = sum_of(bytes, n - PAGE_SUM_BYTES, (uint64_t)(at / f->page));
		memcpy((uint8_t *)bytes + n - PAGE_SUM_BYTES, &sum, sizeof(sum));
	}
	code = below(file)->pMethods->xWrite(below(file), bytes, n, at);
	forget_sum(f, (uint8_t *)bytes, n);
	return code;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
	return below(file)->pMethods->xTruncate(below(file), size);
}

static int sync_file(sqlite3_file *file, int flags)
{
	return below(file)->pMethods->xSync(below(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return below(file)->pMethods->xFileSize(below(file), ret);
}

static int lock_file(sqlite3_file *file, int level)
{
	return below(file)->pMethods->xLock(below(file), level);
}

static int unlock_file(sqlite3_file *file, int level)
{
	return below(file)->pMethods->xUnlock(below(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *ret)
{
	return below(file)->pMethods->xCheckReservedLock(below(file), ret);
}

static int file_control(sqlite3_file *file, int what, void *data)
{
	struct summed_file *f = (struct summed_file *)file;

	switch (what) {
	case CONTROL_THERE:
		*(bool *)data = f->summed;
		return SQLITE_OK;
	case CONTROL_IGNORE:
		f->ignore = *(const bool *)data;
		return SQLITE_OK;
	default:
		return below(file)->pMethods->xFileControl(below(file), what, data);
	}
}

static int sector_size(sqlite3_file *file)
{
	return below(file)->pMethods->xSectorSize(below(file));
}

static int device_characteristics(sqlite3_file *file)
{
	return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
	return below(file)->pMethods->xShmMap(below(file), region, size, extend, ret);
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return below(file)->pMethods->xShmLock(below(file), offset, n, flags);
}

static void shm_barrier(sqlite3_file *file)
{
	below(file)->pMethods->xShmBarrier(below(file));
}

static int shm_unmap(sqlite3_file *file, int delete)
{
	return below(file)->pMethods->xShmUnmap(below(file), delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, /* 3 would map pages into memory without xRead */
	.xClose = close_file,
	.xRead = read_file,
	.xWrite = write_file,
	.xTruncate = truncate_file,
	.xSync = sync_file,
	.xFileSize = file_size,
	.xLock = lock_file,
	.xUnlock = unlock_file,
	.xCheckReservedLock = check_reserved_lock,
	.xFileControl = file_control,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = device_characteristics,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

size_t page_sums_room(void)
{
	return sizeof(struct summed_file);
}

/* Journals, logs and temporary files stay as they are. */
int page_sums_open(sqlite3_vfs *standard, sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	int code;

	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return standard->xOpen(vfs, name, file, flags, ret_flags);
	*(struct summed_file *)file = (struct summed_file){};
	memset(below(file), 0, (size_t)standard->szOsFile);
	code = standard->xOpen(vfs, name, below(file), flags, ret_flags);
	file->pMethods = below(file)->pMethods ? &methods : NULL;
	return code;
}

/* --- what the room calls --- */

void page_sums_begin(sqlite3 *db)
{
	int n = PAGE_SUM_BYTES;

	(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &n);
}

bool page_sums_are_there(sqlite3 *db)
{
	bool there = false;

	return sqlite3_file_control(db, "main", CONTROL_THERE, &there) == SQLITE_OK && there;
}

void page_sums_ignore(sqlite3 *db, bool on)
{
	(void)sqlite3_file_control(db, "main", CONTROL_IGNORE, &on);
}

unsigned page_sums_failed(void)
{
	return atomic_load(&failed);
}
