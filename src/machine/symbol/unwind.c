#include "machine/symbol/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "machine/symbol/unwind-server.h"

#define PATIENCE     (10 * NS_PER_SEC) /* for one stack: a dozen files may be opened for the first */
#define RESTARTS_MAX 3		       /* hostile files, each of which ends a server, of one process */

#define WALKED_MAX   8192	       /* chains kept, of at most 2 KiB each */

struct chain {
	bool complete;
	size_t n;
	uint64_t frames[];
};

struct unwinder {
	const struct modules *modules;
	struct sandbox sandbox;
	struct unwind_server server; /* the child's */
	struct str request, answer;
	struct hmap refused;
	struct hmap walked; /* (two hashes of registers and stack) -> struct chain: a thread that waits looks the same each time */
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
	hmap_free_values(&u->walked);
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
	uint64_t index = reader_varint(question);

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

static struct chain *take_chain(struct reader *answer, size_t max)
{
	bool complete = reader_varint(answer);
	size_t size;
	const char *bytes = str_read_blob(answer, &size);
	struct chain *c;

	if (!bytes || !size || size % sizeof(c->frames[0]) || size / sizeof(c->frames[0]) > max)
		return NULL;
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->complete = complete;
	c->n = size / sizeof(c->frames[0]);
	memcpy(c->frames, bytes, size);
	return c;
}

/* Eight bytes at a time: of a stack of 8 KiB it costs a microsecond, a walk thirty. A process that makes two of its own
 * stacks hash in the same way confuses its own chains. */
static uint64_t hash_words(uint64_t hash, const void *bytes, size_t n, uint64_t factor)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; n >= sizeof(word); at += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 29;
	}
	return n ? hash ^ hmap_hash_bytes(at, n) : hash;
}

static struct chain *walk(struct unwinder *u, const uint64_t *registers, const void *stack, size_t n, size_t max)
{
	struct reader answer;

	str_clear(&u->request);
	(void)str_put_varint(&u->request, max);
	(void)str_put_blob(&u->request, registers, UNWIND_REGISTERS * sizeof(registers[0]));
	(void)str_put_blob(&u->request, stack, n);
	return ask(u, &answer) == 0 ? take_chain(&answer, max) : NULL;
}

static struct chain *find_chain(struct unwinder *u, const uint64_t *registers, const void *stack, size_t n, size_t max)
{
	const uint64_t factors[] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
	uint64_t keys[2];
	struct chain *c;

	for (int i = 0; i < 2; i++)
		keys[i] = hash_words(hash_words(max, registers, UNWIND_REGISTERS * sizeof(registers[0]), factors[i]), stack, n, factors[i]);
	c = hmap_get(&u->walked, keys[0], keys[1]);
	if (c)
		return c;
	c = walk(u, registers, stack, n, max);
	if (u->walked.n >= WALKED_MAX)
		hmap_free_values(&u->walked);
	return hmap_keep(&u->walked, keys[0], keys[1], c);
}

size_t unwind(struct unwinder *u, const uint64_t registers[UNWIND_REGISTERS], const void *stack, size_t n,
	      uint64_t *ret, size_t max, bool *ret_complete)
{
	const struct chain *c = find_chain(u, registers, stack, n, max < UNWIND_FRAMES_MAX ? max : UNWIND_FRAMES_MAX);

	*ret_complete = c && c->complete;
	ret[0] = registers[UNWIND_PC];
	if (!c)
		return 1;
	memcpy(ret, c->frames, c->n * sizeof(ret[0]));
	return c->n;
}
