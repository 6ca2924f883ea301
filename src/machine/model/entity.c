#include "machine/model/entity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

void entity_info_free(struct entity_info *info)
{
	FREE_ALL(info->name, info->exe, info->cmdline, info->unit, info->container);
	*info = (struct entity_info){};
}

static int copy_text(const char *from, char **to)
{
	if (!from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

int entity_info_copy(const struct entity_info *info, struct entity_info *ret)
{
	struct entity_info copy = *info;

	copy.name = copy.exe = copy.cmdline = copy.unit = copy.container = NULL;
	if (copy_text(info->name, &copy.name) < 0 || copy_text(info->exe, &copy.exe) < 0 ||
	    copy_text(info->cmdline, &copy.cmdline) < 0 || copy_text(info->unit, &copy.unit) < 0 ||
	    copy_text(info->container, &copy.container) < 0) {
		entity_info_free(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static void write_text(struct str *out, const char *text)
{
	str_put_blob(out, text ? text : "", text ? strlen(text) : 0);
}

void entity_info_write(const struct entity_info *info, struct str *out)
{
	str_put_varint(out, info->id);
	str_put_varint(out, info->kind);
	str_put_varint(out, info->pid);
	str_put_varint(out, info->parent);
	str_put_varint(out, info->uid);
	str_put_varint(out, info->flags);
	str_put_varint(out, info->start);
	feature_set_write(info->present, out);
	write_text(out, info->name);
	write_text(out, info->exe);
	write_text(out, info->cmdline);
	write_text(out, info->unit);
	write_text(out, info->container);
}

/* An absent text was written as an empty one. */
static char *read_optional(struct reader *in)
{
	char *text = reader_printable(in);

	if (text && !*text) {
		free(text);
		return NULL;
	}
	return text;
}

int entity_info_read(struct reader *in, struct entity_info *ret)
{
	struct entity_info info = {};

	info.id = (uint32_t)reader_varint(in);
	info.kind = (enum entity_kind)reader_varint(in);
	info.pid = (uint32_t)reader_varint(in);
	info.parent = (uint32_t)reader_varint(in);
	info.uid = (uint32_t)reader_varint(in);
	info.flags = (uint32_t)reader_varint(in);
	info.start = reader_varint(in);
	info.present = feature_set_read(in);
	info.name = read_optional(in);
	info.exe = read_optional(in);
	info.cmdline = read_optional(in);
	info.unit = read_optional(in);
	info.container = read_optional(in);
	if (in->bad || !info.id || info.kind < ENTITY_PROCESS || info.kind >= ENTITY_KIND_END) {
		entity_info_free(&info);
		return -EBADMSG;
	}
	*ret = info;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool entity_is_interpreter(const char *name)
{
	static const char *const names[] = {"python", "perl", "ruby", "node", "java", "bash", "dash", "sh", "zsh", "ksh", "fish", "php"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(name, names[i], n) == 0 && strspn(name + n, "0123456789.") == strlen(name + n))
			return true;
	}
	return false;
}

static bool is_word(const char *word, const char *const *words, size_t n)
{
	return ANY_WHERE(i, n, str_starts(word, words[i]) && strchr(" ", word[strlen(words[i])]));
}

/* Options whose value is the next word. */
static bool takes_value(const char *option, bool java)
{
	static const char *const of_java[] = {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens", "--add-exports"};
	static const char *const of_others[] = {"--rcfile", "--init-file", "-o", "-O", "-W", "-X", "-r", "--require", "--import"};

	return java ? is_word(option, of_java, ARRAY_SIZE(of_java)) : is_word(option, of_others, ARRAY_SIZE(of_others));
}

/* A file without its folder, "Main" of org.example.Main; *ret_n = 0: an open file that has only a number does not count. */
static const char *name_of_word(const char *word, const char *end, bool java, size_t *ret_n)
{
	const char *slash, *dot;

	if (str_starts(word, "/dev/fd/") || str_starts(word, "/proc/self/fd/") || str_starts(word, "/dev/stdin"))
		return word;
	slash = memrchr(word, '/', (size_t)(end - word));
	word = slash && slash + 1 < end ? slash + 1 : word;
	dot = java ? memrchr(word, '.', (size_t)(end - word)) : NULL;
	if (dot && dot + 1 < end && !is_word(dot + 1, (const char *const[]){"jar", "war", "java"}, 3))
		word = dot + 1;
	*ret_n = (size_t)(end - word);
	return word;
}

/* The first argument that is not an option: a file, a module, a class; *ret_n = 0 where there is none. */
static const char *script_of(const char *cmdline, bool java, size_t *ret_n)
{
	const char *word = strchr(cmdline, ' ');
	bool is_value = false;

	*ret_n = 0;
	while (word) {
		const char *end = strchrnul(++word, ' ');

		if (*word != '-' && end > word && !is_value)
			return name_of_word(word, end, java, ret_n);
		if (!java && (str_starts(word, "-c ") || str_starts(word, "-e ")))
			return word; /* inline text: no name */
		is_value = !is_value && takes_value(word, java);
		word = *end ? end : NULL;
	}
	return NULL;
}

static const char *script_of_info(const struct entity_info *info, size_t *ret_n)
{
	*ret_n = 0;
	return info->cmdline && entity_is_interpreter(base_name(info->exe)) ? script_of(info->cmdline, str_starts(base_name(info->exe), "java"), ret_n) : NULL;
}

bool entity_is_prompt(const struct entity_info *info)
{
	size_t n;

	return info->exe && info->cmdline && entity_is_interpreter(base_name(info->exe)) && !script_of(info->cmdline, false, &n);
}

bool entity_is_script(const struct entity_info *info)
{
	size_t n;

	return info->exe && script_of_info(info, &n) && n;
}

/* "kworker/u4:2-events" -> "kworker", "session-12.scope" -> "session-N.scope": one history for all of them */
static void put_without_numbers(struct str *out, const char *text)
{
	bool in_number = false;

	for (; *text; text++) {
		if (isdigit((unsigned char)*text)) {
			if (!in_number)
				str_putc(out, 'N');
			in_number = true;
		} else {
			str_putc(out, *text);
			in_number = false;
		}
	}
}

#define COMM_LONGEST 15 /* of TASK_COMM_LEN without its end */

/* The last part of the first argument; without arguments one of length 0. */
static const char *first_argument(const struct entity_info *info, size_t *ret_n)
{
	const char *first = info->cmdline ? info->cmdline : "", *slash = memrchr(first, '/', *ret_n = strcspn(first, " "));

	if (!slash)
		return first;
	*ret_n -= (size_t)(slash + 1 - first);
	return slash + 1;
}

/* Under which name it was started, where that is not its file's: one file may have several (links, programs that are many in
 * one), and the kernel tells the one it was found by last: Debian's redis-server is redis-check-rdb to it. The first argument
 * alone may be anything; the kernel's short name says the same where a file of that name was executed. NULL = its file's name. */
static const char *started_as(const struct entity_info *info, size_t *ret_n)
{
	const char *first, *comm = info->name;
	size_t n, known;

	if (!info->cmdline || !comm || !info->exe || entity_is_interpreter(base_name(info->exe)) || str_starts(info->cmdline, "/proc/"))
		return NULL;
	first = first_argument(info, &n);
	known = strlen(comm);
	if (!n || known != (n < COMM_LONGEST ? n : COMM_LONGEST) || strncmp(first, comm, known) != 0)
		return NULL;
	*ret_n = n;
	return first;
}

/* A program that was executed from memory has no file whose name people know: the first argument is all that names it. */
static const char *started_from_memory(const struct entity_info *info, size_t *ret_n)
{
	const char *first = first_argument(info, ret_n);

	return str_starts(info->exe, "/memfd:") && *ret_n ? first : NULL;
}

/* A process that has named itself like a program, or whose arguments no longer say how it was started, is what `ps` calls it. Where the
 * arguments of an interpreter are not known, its short name says the same: that of a text which was started by its name. */
static bool names_itself(const struct entity_info *info)
{
	const char *comm = info->name, *file = base_name(info->exe);

	return comm && strcmp(comm, "exe") != 0 && (!info->cmdline || !entity_is_interpreter(file)) && strncmp(comm, file, COMM_LONGEST) != 0 && islower((unsigned char)*comm) &&
	       !comm[strspn(comm, "abcdefghijklmnopqrstuvwxyz0123456789._-")];
}

/* An interpreter is called as it was started: many systems have another shell as sh, and a version in the name of python3's file. */
static const char *interpreter_name(const struct entity_info *info, size_t *ret_n)
{
	const char *file = base_name(info->exe), *first = info->cmdline ? info->cmdline + (*info->cmdline == '-') : "";
	size_t n = strcspn(first, " ");
	const char *slash = memrchr(first, '/', n);
	char name[COMM_LONGEST + 1];

	n -= slash ? (size_t)(slash + 1 - first) : 0;
	first = slash ? slash + 1 : first;
	snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : 0, first);
	*ret_n = entity_is_interpreter(file) && entity_is_interpreter(name) ? n : strlen(file);
	return entity_is_interpreter(file) && entity_is_interpreter(name) ? first : file;
}

/* A text that an interpreter runs may say itself what it is: "npm ci" is the title and the short name of a node. */
static bool has_title(const struct entity_info *info)
{
	const char *title = info->cmdline, *comm = info->name;
	char word[COMM_LONGEST + 1];
	size_t n = comm ? strcspn(comm, " ") : 0;

	if (!title || !n || n > COMM_LONGEST || strcspn(title, " ") != n || strncmp(title, comm, n) != 0)
		return false;
	memcpy(word, comm, n);
	word[n] = '\0';
	return !entity_is_interpreter(word);
}

static bool same_text(const char *text, const char *who)
{
	return text && strcmp(text, who) == 0;
}

/* Is it one of the parts between separators? */
static bool has_part(const char *text, const char *separators, const char *part)
{
	size_t n = strlen(part);

	for (const char *at = text; at && *at; at += strcspn(at, separators), at += *at != '\0')
		if (strcspn(at, separators) == n && strncmp(at, part, n) == 0)
			return n > 0;
	return false;
}

/* "nginx" for "nginx.service", and the last part of a control group's path. */
static bool is_unit(const char *unit, const char *who)
{
	const char *last = unit ? base_name(unit) : NULL;
	size_t n = strlen(who);

	return last && strncmp(last, who, n) == 0 && (!last[n] || strcmp(last + n, ".service") == 0);
}

char *entity_place(const struct entity_info *info)
{
	const char *container = info->container, *name = container ? strrchr(container, '/') : NULL, *part = info->unit ? strrchr(info->unit, '/') : NULL;
	char *text;
	int r;

	part = part ? part + 1 : info->unit;
	if (name && !str_starts(container, "pod"))
		r = asprintf(&text, "pod %.*s (%s)", (int)(name - container), container, name + 1);
	else if (container)
		r = asprintf(&text, "container %s", name ? name + 1 : container);
	else /* a tool that gives its groups numbers has no name for them */
		return part && part[strspn(part, "0123456789abcdef-")] ? strdup(part) : NULL;
	return r < 0 ? NULL : text;
}

bool entity_matches(const struct entity_info *info, const char *who)
{
	_cleanup_free_ char *label = NULL;
	uint64_t pid;

	if (str_parse_u64(who, &pid) == 0)
		return info->pid == pid;
	if (same_text(info->unit, who) || same_text(info->name, who) || same_text(info->exe, who))
		return true;
	label = entity_label(info);
	return same_text(label, who) || has_part(label, " ", who) || (info->exe && same_text(base_name(info->exe), who)) || has_part(info->container, "/:", who) || is_unit(info->unit, who) ||
	       (strchr(who, '/') && has_part(info->cmdline, " ", who));
}

/* Of a command line the name under which it was started, where its file has another. */
static void hide_arguments(struct entity_info *info)
{
	size_t n;
	const char *name = started_as(info, &n);

	if (name && strlen(base_name(info->exe)) == n && strncmp(name, base_name(info->exe), n) == 0)
		name = NULL;
	if (name) {
		memmove(info->cmdline, name, n);
		info->cmdline[n] = '\0';
		return;
	}
	free(info->cmdline);
	info->cmdline = NULL;
}

/* What is not a process belongs to the machine. */
bool entity_is_visible(const struct entity_info *info, const struct viewer *v)
{
	return !entity_is_program(info) || visibility(v, DATUM_PROCESS, info->uid) != SHOWN_NOT;
}

void entity_hide(struct entity_info *info, const struct viewer *v)
{
	if (!entity_is_program(info))
		return;
	if (visibility(v, DATUM_COMMAND_LINE, info->uid) != SHOWN_WHOLE)
		hide_arguments(info);
	visibility_cut(v, DATUM_EXECUTABLE, info->uid, &info->exe);
	visibility_cut(v, DATUM_UNIT, info->uid, &info->unit);
	visibility_cut(v, DATUM_UNIT, info->uid, &info->container);
}

static void put_label(struct str *out, const struct entity_info *info)
{
	const char *script, *name;
	size_t n;

	if (info->flags & ENTITY_IS_KERNEL_THREAD) {
		size_t stem = strcspn(info->name ? info->name : "", "/:");

		str_append(out, info->name, stem);
		return;
	}
	if (!info->exe) {
		str_puts(out, info->name ? info->name : "?");
		return;
	}
	name = started_as(info, &n) ?: started_from_memory(info, &n);
	if (name) {
		str_append(out, name, n);
		return;
	}
	if (entity_is_interpreter(base_name(info->exe)) && has_title(info)) {
		str_puts(out, info->name);
		return;
	}
	name = names_itself(info) ? info->name : interpreter_name(info, &n);
	str_append(out, name, name == info->name ? strlen(name) : n);
	script = script_of_info(info, &n);
	if (script && n) {
		bool is_module = script - info->cmdline > 3 && strncmp(script - 4, " -m ", 4) == 0 && !str_starts(base_name(info->exe), "java");

		str_puts(out, is_module ? " -m " : " ");
		str_append(out, script, n);
	}
}

char *entity_label(const struct entity_info *info)
{
	struct str out = {};

	put_label(&out, info);
	return out.error ? (str_free(&out), NULL) : out.data;
}

char *entity_plain_label(const struct entity_info *info)
{
	struct entity_info hidden = *info;
	_cleanup_free_ char *cmdline = info->cmdline ? strdup(info->cmdline) : NULL;

	hidden.cmdline = cmdline;
	hide_arguments(&hidden);
	cmdline = hidden.cmdline;
	return entity_label(&hidden);
}

char *entity_program(const struct entity_info *info)
{
	struct str out = {};
	const char *script;
	size_t n = 0;

	if (info->exe) {
		str_puts(&out, info->exe);
		script = script_of_info(info, &n);
		if (script && n) {
			str_putc(&out, ' ');
			str_append(&out, script, n);
		}
	} else {
		put_label(&out, info);
	}
	str_putc(&out, '|');
	if (info->unit)
		put_without_numbers(&out, info->unit);
	return out.error ? (str_free(&out), NULL) : out.data;
}

struct entity *entity_new(enum entity_kind kind, const char *name)
{
	size_t n;
	struct entity *e;

	features_of(kind, &n);
	e = calloc(1, sizeof(*e) + n * sizeof(e->previous[0]));
	if (!e)
		return NULL;
	e->info.kind = kind;
	e->info.name = strdup(name);
	e->fresh = true;
	if (!e->info.name) {
		free(e);
		return NULL;
	}
	return e;
}

void entity_free(struct entity *e)
{
	if (!e)
		return;
	entity_info_free(&e->info);
	free(e);
}

static void replace(struct entity *e, char **field, char *text)
{
	if (!text)
		return;
	if (*field && strcmp(*field, text) == 0) {
		free(text);
		return;
	}
	free(*field);
	*field = text;
	e->changed = true;
}

void entity_describe(struct entity *e, char *exe, char *cmdline, char *unit, char *container)
{
	replace(e, &e->info.exe, exe);
	replace(e, &e->info.cmdline, cmdline);
	replace(e, &e->info.unit, unit);
	replace(e, &e->info.container, container);
}

#define RECORDER_NAME "whyslow" /* as the program calls its process */

bool entity_name_is_ours(const char *name)
{
	return strcmp(name, RECORDER_NAME) == 0 || str_starts(name, RECORDER_NAME "-");
}

bool entity_is_of_recorder(const struct entity *e, const struct entity *parent, uint32_t recorder)
{
	bool is_child = e->info.parent == recorder || (parent && parent->info.flags & ENTITY_IS_SELF);

	return e->info.pid == recorder || (is_child && entity_name_is_ours(e->info.name));
}

bool entity_asks(const struct entity_info *info)
{
	return info->flags & ENTITY_IS_SELF || (entity_is_program(info) && entity_name_is_ours(info->name));
}

struct entity *entity_new_process(const struct process_birth *b)
{
	struct entity *e = entity_new(ENTITY_PROCESS, b->name);

	if (!e)
		return NULL;
	e->info.pid = b->pid;
	e->info.parent = b->parent;
	e->info.start = b->start;
	e->born = b->was_seen_to_start;
	if (b->is_kernel_thread)
		e->info.flags |= ENTITY_IS_KERNEL_THREAD;
	if (!e->born)
		e->info.flags |= ENTITY_WAS_RUNNING;
	if (entity_is_of_recorder(e, b->parent_entity, b->recorder))
		e->info.flags |= ENTITY_IS_SELF;
	return e;
}
