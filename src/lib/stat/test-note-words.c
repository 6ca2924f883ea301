#include "lib/stat/note-words.h"

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

/* The editor hangs when the disk is short; whatever word stands in every note says nothing, and a pair that occurs once neither. */
static void a_word_goes_with_its_symptom(void **state)
{
	static const struct noted_incident incidents[] = {
		{"the Editor hangs", "disk"}, {"editor again, the whole morning", "disk"}, {"the editor", "disk"}, {"EDITOR! the usual", "disk"},
		{"the video stutters", "cpu"}, {"the video", "cpu"}, {"video, the 4711 one", "cpu"}, {"the call stutters", "network"},
		{NULL, "disk"}, {"the editor", NULL},
	};
	struct note_words w;

	assert_int_equal(note_words_find(incidents, ARRAY_SIZE(incidents), &w), 0);
	assert_int_equal(w.incidents, 8);
	assert_int_equal(w.list.n, 2);
	assert_string_equal(w.list.v[0].word, "editor");
	assert_string_equal(w.list.v[0].symptom, "disk");
	assert_int_equal(w.list.v[0].both, 4);
	assert_string_equal(w.list.v[1].word, "video");
	assert_string_equal(w.list.v[1].symptom, "cpu");
	assert_int_equal(w.list.v[1].with_word, 3);
	note_words_free(&w);
}

static void without_notes_there_is_nothing(void **state)
{
	struct note_words w;

	assert_int_equal(note_words_find(NULL, 0, &w), 0);
	assert_int_equal(w.list.n, 0);
	note_words_free(&w);
}

RUN_TESTS(cmocka_unit_test(a_word_goes_with_its_symptom), cmocka_unit_test(without_notes_there_is_nothing))
