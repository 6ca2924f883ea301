/* whyslow flame [PROGRAM]: where programs ran and waited, by the stacks that are kept for days. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/rights/write-path.h"
#include "machine/symbol/symbolize.h"
#include "machine/trace/pprof.h"
#include "machine/trace/profile-file.h"
#include "machine/verb/verb.h"
#include "machine/view-waits/flame.h"

#define DAY	    (86400 * NS_PER_SEC)
#define MINUTE	    (60 * NS_PER_SEC)
#define FOR_DEFAULT (10 * MINUTE)
#define BUILD_ID(m) ((struct build_id){.size = (m)->build_id_size})

static const char *arg_at, *arg_since, *arg_until, *arg_against, *arg_format, *arg_output;
static int64_t arg_for;
static bool arg_waits;
static uint64_t arg_top = 20;

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "at", "WHEN", &arg_at, "a day (today, yesterday, 2026-11-20), or a TIME and what follows (--for); default: the last hour"},
	{OPTION_SPAN, 0, "for", "SPAN", &arg_for, "how long from a TIME on (default 10min)"},
	{OPTION_TEXT, 0, "since", "TIME", &arg_since, "start of the window, in place of --at"},
	{OPTION_TEXT, 0, "until", "TIME", &arg_until, "end of the window (default: now)"},
	{OPTION_TEXT, 0, "against", "WHEN", &arg_against, "compare with another day, with a TIME and as much after it, or with a file of pprof's"},
	{OPTION_FLAG, 0, "waits", NULL, &arg_waits, "where threads waited and who woke them, not where they ran"},
	{OPTION_COUNT, 'n', "top", "N", &arg_top, "functions to list (default 20)"},
	{OPTION_TEXT, 'f', "format", "FORMAT", &arg_format, "text, folded (for flame graphs) or pprof (default: text)"},
	{OPTION_TEXT, 'o', "output", "FILE", &arg_output, "where to write (default: standard output)"},
	{},
};

/* A window, and what is known of it. */
struct kept {
	int64_t from, to; /* wall ns */
	struct profile profile;
	char *unit;
};

static void kept_free(struct kept *k)
{
	profile_free(&k->profile);
	free(k->unit);
}

/* --- when --- */

static int invalid_time(const char *text)
{
	return verb_usage_error("flame", "invalid TIME '%s'; expected today, yesterday, -5min, 14:32 or '2026-11-20 14:32:07'", text);
}

static bool is_day(const char *text)
{
	return strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0 || (strlen(text) == strlen("2026-11-20") && !strpbrk(text, ":+@ "));
}

/* A whole day, or `span` from a time on; nothing of the future. */
static int parse_when(const char *text, int64_t span, struct kept *ret)
{
	int64_t now = clock_wall();

	if (clock_parse_time(text, now, &ret->from) < 0)
		return invalid_time(text);
	ret->to = ret->from + (is_day(text) ? DAY : span);
	ret->to = ret->to < now ? ret->to : now;
	return ret->from < ret->to ? EXIT_ANSWERED
				   : verb_usage_error("flame", "'%s' lies in the future", text);
}

static int parse_window(struct kept *ret)
{
	int64_t now = clock_wall();

	if (arg_at && (arg_since || arg_until))
		return verb_usage_error("flame", "--at and --since or --until exclude each other");
	if (arg_at)
		return parse_when(arg_at, arg_for ? arg_for : FOR_DEFAULT, ret);
	if (clock_parse_time(arg_since ? arg_since : "-1h", now, &ret->from) < 0)
		return invalid_time(arg_since);
	if (clock_parse_time(arg_until ? arg_until : "now", now, &ret->to) < 0)
		return invalid_time(arg_until);
	return ret->from < ret->to ? EXIT_ANSWERED : verb_usage_error("flame", "--until lies before --since");
}

/* --- where from --- */

/* A profile of another program: what begins as gzip does. A recording is SQLite's. */
static bool is_pprof(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char magic[2];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) && magic[0] == 0x1f && magic[1] == 0x8b;
}

static int cannot_read(const char *path, int r)
{
	return log_failure(EXIT_CANNOT, "cannot read %s: %s", path, r == -EBADMSG ? "it is not a pprof profile, or it is damaged" : str_error(r));
}

static int load_file(const char *path, const struct profile_wish *wish, struct kept *k)
{
	struct profile_wish whole = *wish;
	int r;

	whole.from = whole.to = 0;
	r = profile_load_file(path, arg_at || arg_since || arg_until ? wish : &whole, &k->profile, &k->unit);
	return r < 0 ? cannot_read(path, r) : EXIT_ANSWERED;
}

static int load_kept(const struct common *common, const struct profile_wish *wish, struct kept *k)
{
	_cleanup_free_ char *folder = profile_folder(common_paths(common).file);
	unsigned damaged = 0;
	int r = folder ? profile_load(folder, wish, &k->profile, &damaged) : -ENOMEM;

	if (damaged)
		log_warning("%u profiles of that time are damaged and were left out", damaged);
	if (r == -ENOENT)
		return log_failure(wish->program ? EXIT_ABSENT : EXIT_CANNOT, "no profile is kept of that time%s", wish->program ? " of such a program" : "; 'ring.keep_profile' must be on, and an idle machine is not profiled");
	k->unit = r == 0 ? strdup("ns") : NULL;
	return r < 0 ? cannot_read(folder ? folder : "the profiles", r) : k->unit ? EXIT_ANSWERED : EXIT_CANNOT;
}

/* The span that is really covered: from the first minute with a row to the last. */
static void clip(struct kept *k)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < k->profile.rows.n; i++) {
		int64_t minute = k->profile.rows.v[i].minute;

		first = minute && minute < first ? minute : first;
		last = minute > last ? minute : last;
	}
	if (!last) {
		k->from = k->to = 0;
		return;
	}
	k->from = k->from > first * MINUTE ? k->from : first * MINUTE;
	k->to = k->to < (last + 1) * MINUTE ? k->to : (last + 1) * MINUTE;
}

/* `file`: of pprof's; NULL = what the recorder keeps. */
static int load(const struct common *common, const char *file, const char *program, struct kept *k)
{
	const struct profile_wish wish = {.from = k->from / MINUTE, .to = (k->to + MINUTE - 1) / MINUTE, .program = program, .viewer = common->viewer};
	int status;

	if (profile_begin(&k->profile) < 0)
		return EXIT_CANNOT;
	status = file ? load_file(file, &wish, k) : load_kept(common, &wish, k);
	if (status == EXIT_ANSWERED)
		clip(k);
	return status;
}

/* --- names --- */

static int name_frame(struct symbolizer *s, struct profile *p, struct profile_frame *f)
{
	_cleanup_str_ struct str text = {};
	struct symbol symbols[8];
	const struct profile_module *m;
	struct code_place place;
	size_t n;

	if (f->name || !f->module)
		return 0;
	m = &p->modules.v[f->module - 1];
	place = (struct code_place){.path = m->path, .build_id = BUILD_ID(m), .offset = f->offset};
	memcpy(place.build_id.bytes, m->build_id, m->build_id_size);
	n = symbolize_place(s, &place, symbols, ARRAY_SIZE(symbols));
	symbol_write(&symbols[n - 1], false, &text);
	return text.error || !text.data ? -ENOMEM : profile_text(p, text.data, &f->name);
}

static int name_frames(struct profile *p)
{
	const struct symbolizer_options o = {.root = "", .proc_root = "/proc"};
	struct symbolizer *s;
	int r = symbolizer_new(&o, &s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->frames.n && r == 0; i++)
		r = name_frame(s, p, &p->frames.v[i]);
	symbolizer_free(s);
	return r;
}

/* --- what comes out --- */

static int write_pprof(struct kept *k, FILE *out)
{
	struct pprof_written nothing = {};
	_cleanup_str_ struct str bytes = {};
	int r = pprof_write(&k->profile, k->from, &nothing, &bytes);

	return r < 0 ? r : fwrite(bytes.data, 1, bytes.len, out) == bytes.len ? 0 : -EIO;
}

static int print(const struct common *common, struct kept *k, struct kept *base, FILE *out)
{
	const struct flame_options o = {arg_waits, arg_top};
	const struct flame_window w = {&k->profile, k->from, k->to, k->unit}, other = {&base->profile, base->from, base->to, base->unit};
	const struct flame_window *compared = base->unit ? &other : NULL;

	if (common->json)
		return flame_json(&w, compared, &o, out);
	if (!arg_format || strcmp(arg_format, "text") == 0)
		return flame_text(&w, compared, &o, out);
	return strcmp(arg_format, "folded") == 0 ? flame_folded(&w, &o, out) : write_pprof(k, out);
}

static int write_out(const struct common *common, struct kept *k, struct kept *base)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_fclose_ FILE *file = arg_output ? write_path_stream(arg_output, 'x', &error) : NULL;
	int r;

	if (arg_output && !file)
		return log_failure(EXIT_CANNOT, "%s", error ? error : strerror(errno));
	r = print(common, k, base, file ? file : stdout);
	if (r == 0 && fflush(file ? file : stdout) != 0)
		r = -errno;
	if (r < 0)
		log_error("cannot write the answer: %s", strerror(-r));
	return r < 0 ? EXIT_CANNOT : k->profile.rows.n ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}

/* --- the verb --- */

static int check(const struct common *common, int argc, char **argv)
{
	bool text = !arg_format || strcmp(arg_format, "text") == 0;

	if (argc > 2)
		return verb_usage_error("flame", "takes one program at most: '%s'", argv[2]);
	if (!text && strcmp(arg_format, "folded") != 0 && strcmp(arg_format, "pprof") != 0)
		return verb_usage_error("flame", "invalid --format '%s'; expected text, folded or pprof", arg_format);
	if (arg_against && !text)
		return verb_usage_error("flame", "--against needs --json or the text; pprof itself compares with -diff_base");
	if (common->for_client && (arg_output || (arg_against && strchr(arg_against, '/'))))
		return verb_usage_error("flame", "the recorder reads and writes no files for other users: redirect the output, or read a file with --from");
	return EXIT_ANSWERED;
}

static int load_base(const struct common *common, const char *program, const struct kept *k, struct kept *base)
{
	const char *file = !common->for_client && is_pprof(arg_against) ? arg_against : NULL;
	int status = file ? EXIT_ANSWERED : parse_when(arg_against, k->to - k->from, base);

	if (status == EXIT_ANSWERED)
		status = load(common, file, program, base);
	return status;
}

static int run(struct common *common, int argc, char **argv)
{
	const char *program = argc == 2 ? argv[1] : NULL, *from = common->from_file;
	_cleanup_(kept_free) struct kept k = {}, base = {};
	int status = check(common, argc, argv);

	if (status == EXIT_ANSWERED)
		status = parse_window(&k);
	if (status == EXIT_ANSWERED)
		status = load(common, from && is_pprof(from) ? from : NULL, program, &k);
	if (status == EXIT_ANSWERED && arg_against)
		status = load_base(common, program, &k, &base);
	if (status != EXIT_ANSWERED)
		return status;
	if (name_frames(&k.profile) < 0 || (base.unit && name_frames(&base.profile) < 0))
		return log_failure(EXIT_CANNOT, "out of memory");
	return write_out(common, &k, &base);
}

const struct verb verb_flame = {
	.name = "flame",
	.group = "Details",
	.words = "[PROGRAM] ",
	.help = "where programs ran and waited, by the stacks of the last days",
	.about = "Adds up the stacks that the recorder samples, by function: where programs ran, or with --waits where they waited.",
	.examples = (const struct example[]){
		{"whyslow flame", "the last hour"},
		{"whyslow flame nginx --at yesterday", "one program, on one day"},
		{"whyslow flame nginx --at today --against yesterday", "which functions take more than yesterday?"},
		{"whyslow flame nginx -f pprof -o nginx.pb", "a file for pprof"},
		{}},
	.options = options,
	.remote = true,
	.run = run,
};
