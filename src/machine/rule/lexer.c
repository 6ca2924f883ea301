#include "machine/rule/lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void advance(struct lexer *l, size_t n)
{
	for (; n; n--, l->at++) {
		if (*l->at == '\n') {
			l->line++;
			l->column = 1;
		} else if (((unsigned char)*l->at & 0xc0) !=
			   0x80) { /* not in the middle of a UTF-8 character */
			l->column++;
		}
	}
}

static void skip_space(struct lexer *l)
{
	for (;;) {
		size_t n = strspn(l->at, " \t\r\n");

		if (*l->at == '#')
			n = strcspn(l->at, "\n");
		if (!n)
			return;
		advance(l, n);
	}
}

static bool begins_word(const char *at)
{
	return isalpha((unsigned char)*at) || *at == '_' || *at == '/' || *at == '*' || *at == '?' ||
	       (unsigned char)*at >= 0x80;
}

static size_t word_length(const char *at)
{
	size_t n = 1;

	while (begins_word(at + n) || isdigit((unsigned char)at[n]) || (at[n] && strchr(".-@\\", at[n])))
		n++;
	return n;
}

static struct token take_text(struct lexer *l, struct token t)
{
	size_t n = 1;

	while (l->at[n] && l->at[n] != '"' && l->at[n] != '\n')
		n += l->at[n] == '\\' && l->at[n + 1] && l->at[n + 1] != '\n' ? 2 : 1;
	t.kind = l->at[n] == '"' ? TOKEN_TEXT : TOKEN_UNCLOSED;
	t.text = l->at + 1;
	t.length = n - 1;
	advance(l, n + (l->at[n] == '"'));
	return t;
}

static struct token take_number(struct lexer *l, struct token t)
{
	size_t n = strspn(l->at, "0123456789");
	char digits[64];

	if (l->at[n] == '.')
		n += 1 + strspn(l->at + n + 1, "0123456789");
	t.kind = n < sizeof(digits) ? TOKEN_NUMBER : TOKEN_BAD;
	t.length = n;
	if (t.kind == TOKEN_NUMBER) {
		memcpy(digits, l->at, n);
		digits[n] = '\0';
		t.number = strtod(digits, NULL);
	}
	advance(l, n);
	return t;
}

struct token lexer_next(struct lexer *l)
{
	struct token t;
	size_t n = 1;

	skip_space(l);
	t = (struct token){.kind = TOKEN_SIGN, .text = l->at, .line = l->line, .column = l->column};
	if (!*l->at) {
		t.kind = TOKEN_END;
		return t;
	}
	if (*l->at == '"')
		return take_text(l, t);
	if (isdigit((unsigned char)*l->at) || (*l->at == '.' && isdigit((unsigned char)l->at[1])))
		return take_number(l, t);
	if (begins_word(l->at)) {
		t.kind = TOKEN_WORD;
		n = word_length(l->at);
	} else if (strchr("<>=!", *l->at)) {
		n = 1 + (l->at[1] == '=');
	} else if (!strchr("(),:%-", *l->at)) {
		t.kind = TOKEN_BAD;
	}
	t.length = n;
	advance(l, n);
	return t;
}

bool lexer_token_is(const struct token *t, const char *word)
{
	return (t->kind == TOKEN_WORD || t->kind == TOKEN_SIGN) && strlen(word) == t->length &&
	       memcmp(t->text, word, t->length) == 0;
}

char *lexer_token_copy(const struct token *t)
{
	char *copy = malloc(t->length + 1);
	size_t n = 0;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < t->length; i++) {
		if (t->kind == TOKEN_TEXT && t->text[i] == '\\' && i + 1 < t->length)
			i++;
		copy[n++] = t->text[i];
	}
	copy[n] = '\0';
	return copy;
}
