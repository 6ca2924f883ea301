/* A token file, as a server and as a client reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/target.h"
#include "lib/data/cleanup.h"
#include "lib/net/users.h"

static void count(void *data, const struct listed_token *token)
{
	*(size_t *)data += token->name[0] != '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	_cleanup_close_ int fd = memfd_create("tokens", MFD_CLOEXEC);
	_cleanup_free_ char *server_error = NULL, *client_error = NULL;
	struct credentials who = {};
	struct users *users;
	struct user user;
	char path[32];
	size_t named = 0;

	if (fd < 0 || fchmod(fd, 0600) < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (users_open(path, false, &users, &server_error) == 0) {
		(void)users_check(users, "0123456789abcdef0123456789abcdef", &user);
		users_each(users, count, &named);
		users_free(users);
	}
	if (user_credentials_read(path, &who, &client_error) == 0)
		user_credentials_free(&who);
	return 0;
}
