/* Somebody's virus scanner: whatever is saved in a folder is read and looked at; then "NAME.clean" appears.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "pace.h"

#define BLOCK	     65536
#define PER_BLOCK    (NS_PER_MS) /* of computing */
#define CLEAN	     ".clean"
#define NAME_LONGEST 200

static void look_at(const char *name)
{
	static char block[BLOCK];
	char clean[NAME_LONGEST + sizeof(CLEAN)];
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && read(fd, block, sizeof(block)) > 0)
		compute(PER_BLOCK);
	close(fd);
	snprintf(clean, sizeof(clean), "%s" CLEAN, name);
	close(open(clean, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static bool is_worth_it(const char *name)
{
	size_t n = strlen(name), suffix = strlen(CLEAN);

	return n < NAME_LONGEST && (n < suffix || strcmp(name + n - suffix, CLEAN) != 0);
}

int main(int argc, char **argv)
{
	char events[16384] __attribute__((aligned(8)));
	int fd = inotify_init1(IN_CLOEXEC);

	if (argc != 2 || chdir(argv[1]) < 0 || inotify_add_watch(fd, ".", IN_CLOSE_WRITE) < 0) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	for (;;) {
		ssize_t n = read(fd, events, sizeof(events));
		const struct inotify_event *e;

		if (n <= 0)
			return 1;
		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const struct inotify_event *)&events[at];
			if (e->len && is_worth_it(e->name))
				look_at(e->name);
		}
	}
}
