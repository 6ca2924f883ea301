#include "symbol/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "symbol/unwind-server.h"

#define PATIENCE     (10 * NS_PER_SEC) /* for one stack: a dozen files may be opened for the first */
#define RESTARTS_MAX 3		       /* hostile files, each of which ends a server, of one process */

struct unwinder {
	const struct modules *modules;
	struct sandbox sandbox;
	struct unwind_server server; /* the child's */
	struct str request, answer;
	struct hmap refused;
	VEC(const char *) damaged;
	uint32_t wanted; /* the file last handed over, + 1: to blame if the server dies */
	unsigned restarts;
};

int unwinder_new(const struct modules *modules, struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->modules = modules;
	u->server = (struct unwind_server){.modules = modules, .refused = &u->refused};
	u->request.max = SANDBOX_MESSAGE_MAX;
	*ret = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	sandbox_stop(&u->sandbox);
	str_free(&u->request);
	str_free(&u->answer);
	hmap_free(&u->refused);
	VEC_FREE(u->damaged);
	free(u);
}

const char *unwinder_damaged(const struct unwinder *u, size_t index)
{
	return index < u->damaged.n ? u->damaged.v[index] : NULL;
}

static int provide_module(void *data, struct reader *question)
{
	struct unwinder *u = data;
	uint64_t index = read_varint(question);

	if (question->bad || index >= u->modules->modules.n || hmap_get(&u->refused, index, 0))
		return -EINVAL;
	u->wanted = (uint32_t)index + 1;
	return modules_open(u->modules, &u->modules->modules.v[index]);
}

static void refuse_wanted(struct unwinder *u)
{
	u->restarts++;
	if (!u->wanted || hmap_get(&u->refused, u->wanted - 1, 0))
		return;
	(void)hmap_put(&u->refused, u->wanted - 1, 0, u);
	(void)VEC_PUSH(u->damaged, u->modules->modules.v[u->wanted - 1].path);
	u->wanted = 0;
}

static int ask(struct unwinder *u, struct reader *ret)
{
	const struct sandbox_call call = {.request = &u->request, .provider = provide_module, .data = u, .patience = PATIENCE};
	int r = 0;

	if (u->sandbox.pid <= 0)
		r = u->restarts > RESTARTS_MAX ? -EPERM : sandbox_start(unwind_server_handle, &u->server, &u->sandbox);
	if (r < 0)
		return r;
	r = sandbox_call(&u->sandbox, &call, &u->answer);
	if (r < 0)
		refuse_wanted(u);
	*ret = (struct reader){(const uint8_t *)u->answer.data, (const uint8_t *)u->answer.data + u->answer.len, false};
	return r;
}

static size_t take_frames(struct reader *answer, uint64_t *ret, size_t max, bool *ret_complete)
{
	bool complete = read_varint(answer);
	size_t n;
	const char *bytes = read_blob(answer, &n);

	if (!bytes || !n || n % sizeof(*ret) || n / sizeof(*ret) > max)
		return 0;
	memcpy(ret, bytes, n);
	*ret_complete = complete;
	return n / sizeof(*ret);
}

size_t unwind(struct unwinder *u, const uint64_t registers[UNWIND_REGISTERS], const void *stack, size_t n,
	      uint64_t *ret, size_t max, bool *ret_complete)
{
	struct reader answer;
	size_t found = 0;

	*ret_complete = false;
	str_clear(&u->request);
	(void)str_put_varint(&u->request, max < UNWIND_FRAMES_MAX ? max : UNWIND_FRAMES_MAX);
	(void)str_put_blob(&u->request, registers, UNWIND_REGISTERS * sizeof(registers[0]));
	(void)str_put_blob(&u->request, stack, n);
	if (ask(u, &answer) == 0)
		found = take_frames(&answer, ret, max, ret_complete);
	if (found)
		return found;
	ret[0] = registers[UNWIND_PC];
	return 1;
}
