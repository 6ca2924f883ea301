#include "lib/net/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "lib/data/cleanup.h"
#include "lib/system/library.h"

#define GNUTLS_CALLS(CALL) CALL(gnutls_hash_fast)
struct gnutls {
	GNUTLS_CALLS(LIBRARY_CALL)
};

static const struct library library = LIBRARY("libgnutls.so.30", "libgnutls30", GNUTLS_CALLS);

static void put_hex(const uint8_t *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

int digest_text(const char *text, char ret[DIGEST_TEXT], char **ret_error)
{
	uint8_t bytes[(DIGEST_TEXT - 1) / 2];
	struct gnutls gnutls;
	int r = library_load(&library, &gnutls, ret_error);

	if (r < 0)
		return r;
	if (gnutls.gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), bytes) < 0)
		return -EIO;
	put_hex(bytes, sizeof(bytes), ret);
	return 0;
}

int digest_make_secret(char ret[SECRET_TEXT])
{
	uint8_t bytes[(SECRET_TEXT - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	put_hex(bytes, sizeof(bytes), ret);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

bool digest_is_of_secret(const char *known, const char *given)
{
	size_t n = strlen(known), given_n = strlen(given);
	unsigned difference = n != given_n;

	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)known[i] ^ (unsigned char)given[given_n ? i % given_n : 0];
	return difference == 0;
}
