#include "lib/net/certificate.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/log.h"
#include "lib/system/library.h"

#define PEM_MAX (1 << 20)
#define KEY_OTHERS 037 /* mode bits; a group may read: Debian keeps keys in root:ssl-cert 0640 */
#define SOON	(21 * 86400 * NS_PER_SEC) /* time to have another one made */

#define GNUTLS_CALLS(CALL) \
	CALL(gnutls_x509_crt_init) CALL(gnutls_x509_crt_deinit) CALL(gnutls_x509_crt_import) CALL(gnutls_x509_crt_get_expiration_time)
struct gnutls {
	GNUTLS_CALLS(LIBRARY_CALL)
};

static const struct library library = LIBRARY("libgnutls.so.30", "libgnutls30", GNUTLS_CALLS);

static int pem_take(FILE *f, const char *file, char **ret, char **ret_error)
{
	_cleanup_free_ char *text = malloc(PEM_MAX);
	size_t n;

	if (!text)
		return -ENOMEM;
	n = fread(text, 1, PEM_MAX - 1, f);
	text[n] = '\0';
	if (!strstr(text, "-----BEGIN "))
		return str_fail(ret_error, -EINVAL, "%s is not a PEM file", file);
	*ret = TAKE(text);
	return 0;
}

int certificate_read_pem(const char *file, char **ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");

	if (!f)
		return str_fail(ret_error, -errno, "cannot read %s: %s", file, strerror(errno));
	return pem_take(f, file, ret, ret_error);
}

int certificate_read_key(const char *file, char **ret, char **ret_error)
{
	_cleanup_fclose_ FILE *f = fopen(file, "re");
	struct stat s;

	if (!f || fstat(fileno(f), &s) < 0)
		return str_fail(ret_error, -errno, "cannot read %s: %s", file, strerror(errno));
	if (s.st_mode & KEY_OTHERS)
		return str_fail(ret_error, -EACCES, "other users may read or change the key %s: run 'chmod 600 %s', and replace the key "
				"if they had the time to copy it", file, file);
	return pem_take(f, file, ret, ret_error);
}

/* -1 = no certificate, as GnuTLS has it. */
static time_t end_of(const struct gnutls *g, char *pem)
{
	gnutls_datum_t text = {.data = (unsigned char *)pem, .size = (unsigned)strlen(pem)};
	gnutls_x509_crt_t certificate;
	time_t end = -1;

	if (g->gnutls_x509_crt_init(&certificate) < 0)
		return -1;
	if (g->gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM) == 0)
		end = g->gnutls_x509_crt_get_expiration_time(certificate);
	g->gnutls_x509_crt_deinit(certificate);
	return end;
}

int certificate_end(const char *file, int64_t *ret_wall_ns, char **ret_error)
{
	_cleanup_free_ char *pem = NULL;
	struct gnutls gnutls;
	time_t end;
	int r = certificate_read_pem(file, &pem, ret_error);

	r = r ?: library_load(&library, &gnutls, ret_error);
	if (r < 0)
		return r;
	end = end_of(&gnutls, pem);
	if (end < 0)
		return str_fail(ret_error, -EINVAL, "%s has no certificate", file);
	*ret_wall_ns = end > INT64_MAX / NS_PER_SEC ? INT64_MAX : end * NS_PER_SEC;
	return 0;
}

void certificate_warning(int64_t end, int64_t now, struct str *out)
{
	char when[48], left[32];

	if (end > now && end - now >= SOON)
		return;
	clock_format_local(end, when, sizeof(when));
	if (end <= now)
		str_printf(out, "expired on %s: clients refuse it", when);
	else
		str_printf(out, "expires in %s, on %s", clock_format_span(end - now, left, sizeof(left)),
			   when);
}

void certificate_warn(const char *file)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_str_ struct str warning = {};
	int64_t end;

	if (!file || certificate_end(file, &end, &error) < 0)
		return;
	certificate_warning(end, clock_wall(), &warning);
	if (warning.len)
		log_warning("the certificate %s %s", file, warning.data);
}
