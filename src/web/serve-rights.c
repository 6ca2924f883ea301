/* A server that root starts by hand gives root's rights up once it listens. */
#include "web/serve-verb.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/system/program.h"

#define WEB_USER "whyslow-web" /* packaging/whyslow.sysusers */

static int take_user(const struct passwd *p, struct serve_user *ret)
{
	*ret = (struct serve_user){.uid = p->pw_uid, .gid = p->pw_gid};
	snprintf(ret->name, sizeof(ret->name), "%s", p->pw_name);
	snprintf(ret->home, sizeof(ret->home), "%s", p->pw_dir);
	return 0;
}

static const struct passwd *caller_of_sudo(void)
{
	const char *text = getenv("SUDO_UID");
	uint64_t uid;

	return text && str_parse_u64(text, &uid) == 0 && uid > 0 && uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;
}

int serve_choose_user(const char *named, struct serve_user *ret, char **ret_error)
{
	const struct passwd *p = named ? getpwnam(named) : caller_of_sudo();

	if (named && !p)
		return str_fail(ret_error, -ENOENT, "there is no user '%s'", named);
	if (!p)
		p = getpwnam(WEB_USER);
	if (!p)
		p = getpwnam("nobody");
	return p ? take_user(p, ret) : str_fail(ret_error, -ENOENT, "there is no user '" WEB_USER "': name one with --user");
}

/* Answers come from processes of this program. Its folder may be one that only root enters (a source tree in /root): the kernel executes
 * /proc/self/exe all the same, and the program that it loads is held open for it across the change of user. */
static int hold_program(void)
{
	Dl_info info;
	int fd;

	if (!dladdr((void *)serve_become, &info) || !info.dli_fname)
		return -ENOENT;
	fd = open(info.dli_fname, O_RDONLY); /* the processes that answer inherit it */
	if (fd < 0)
		return -errno;
	return setenv(PROGRAM_HELD, STR_TEXT(PATH_MAX, HELD_FOLDER "%d", fd), 1) < 0 ? -errno : 0;
}

static int check_program(const struct serve_user *user, char **ret_error)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	if (access(path, X_OK) == 0 || (getenv(PROGRAM_HELD) && access("/proc/self/exe", X_OK) == 0))
		return 0;
	return str_fail(ret_error, -errno, "the user %s may not run %s: install it, or stay root with --user root", user->name, path);
}

int serve_become(const struct serve_user *user, char **ret_error)
{
	if (user->uid == 0)
		return 0;
	(void)hold_program(); /* where that fails check_program() says what to do */
	setenv("HOME", user->home, 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	if (initgroups(user->name, user->gid) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return str_fail(ret_error, -errno, "cannot become the user %s: %s", user->name, strerror(errno));
	if (setuid(0) == 0)
		return str_fail(ret_error, -EPERM, "cannot drop root's rights");
	return check_program(user, ret_error);
}
