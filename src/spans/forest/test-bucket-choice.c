#include "lib/data/test.h"

#include <string.h>

#include "spans/forest/bucket-choice.h"

static uint32_t text(struct names *names, const char *s)
{
	return names_text(names, s, strlen(s));
}

/* hardware=gen5, workload=d4: "api create vm" */
static void make_bucket(struct forest *f, struct bucket *b)
{
	assert_non_null(f->names = names_new());
	f->dimensions[f->n_dimensions++] = text(f->names, "hardware");
	f->dimensions[f->n_dimensions++] = text(f->names, "workload");
	b->values[0] = text(f->names, "gen5");
	b->values[1] = text(f->names, "d4");
	b->entry = text(f->names, "api create vm");
}

static void all_pairs_must_agree(void **state)
{
	static const struct {
		struct bucket_choice choice;
		bool chosen;
	} cases[] = {
		{{}, true},
		{{.where = "hardware=gen5"}, true},
		{{.where = "workload=d4,hardware=gen5"}, true},
		{{.where = "workload=d4,hardware=gen6"}, false},
		{{.where = "hardware=gen"}, false},
		{{.where = "hardware=gen50"}, false},
		{{.where = "hard=gen5"}, false},
		{{.where = "region=eu"}, false},
		{{.where = "hardware"}, false},
		{{.entry = "create"}, true},
		{{.entry = "delete"}, false},
		{{.where = "hardware=gen5", .entry = "delete"}, false},
	};
	struct forest f = {};
	struct bucket b = {};

	make_bucket(&f, &b);
	assert_true(bucket_is_chosen(NULL, &f, &b));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(bucket_is_chosen(&cases[i].choice, &f, &b), cases[i].chosen);
	names_free(f.names);
}

RUN_TESTS(cmocka_unit_test(all_pairs_must_agree))
