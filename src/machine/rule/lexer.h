/* Words of the rules' language, with where they stand. Shared by the files of this room only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_NUMBER, TOKEN_SIGN, TOKEN_UNCLOSED, TOKEN_BAD };

struct token {
	enum token_kind kind;
	const char *text; /* into the source; of TEXT without its quotes */
	size_t length;
	double number;
	unsigned line, column; /* from 1; columns are characters */
};

struct lexer {
	const char *at;
	unsigned line, column;
};

struct token lexer_next(struct lexer *l);
bool lexer_token_is(const struct token *t, const char *word);
/* A copy of its text, quotes resolved (\" and \\). NULL without memory. */
char *lexer_token_copy(const struct token *t);
