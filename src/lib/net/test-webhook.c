#include "lib/data/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/net/webhook.h"

/* A server that gives its answers one after the other, and keeps what it was sent last. */
struct hearer {
	int fd;
	pthread_t thread;
	const char *const *answers; /* NULL-terminated */
	unsigned heard;
	char request[4096];
	char url[64];
};

static void hear(struct hearer *h, int fd, const char *answer)
{
	size_t n = 0;
	ssize_t k;

	/* the body ends with the JSON's brace */
	while ((k = read(fd, h->request + n, sizeof(h->request) - 1 - n)) > 0) {
		n += (size_t)k;
		h->request[n] = '\0';
		if (strstr(h->request, "\r\n\r\n") && h->request[n - 1] == '}')
			break;
	}
	if (write(fd, answer, strlen(answer)) > 0)
		h->heard++;
	close(fd);
}

static void *hear_all(void *argument)
{
	struct hearer *h = argument;

	for (size_t i = 0; h->answers[i]; i++) {
		int fd = accept(h->fd, NULL, NULL);

		if (fd < 0)
			break;
		hear(h, fd, h->answers[i]);
	}
	return NULL;
}

static void begin(struct hearer *h, const char *const *answers)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(address);

	*h = (struct hearer){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .answers = answers};
	assert_int_equal(bind(h->fd, (struct sockaddr *)&address, n), 0);
	assert_int_equal(listen(h->fd, 4), 0);
	assert_int_equal(getsockname(h->fd, (struct sockaddr *)&address, &n), 0);
	snprintf(h->url, sizeof(h->url), "http://127.0.0.1:%u/hooks/secret", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&h->thread, NULL, hear_all, h), 0);
}

static void end(struct hearer *h)
{
	shutdown(h->fd, SHUT_RDWR);
	pthread_join(h->thread, NULL);
	close(h->fd);
}

static void what_happened_arrives(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 204 Fine\r\nConnection: close\r\n\r\n", NULL};
	_cleanup_free_ char *error = NULL;
	struct hearer h;

	begin(&h, answers);
	assert_int_equal(webhook_post(h.url, "{\"event\": \"begin\"}", &error), 0);
	end(&h);
	assert_int_equal(strncmp(h.request, "POST /hooks/secret HTTP/1.1\r\n", 29), 0);
	assert_non_null(strcasestr(h.request, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(h.request, "\r\n\r\n{\"event\": \"begin\"}"));
}

static void a_busy_server_is_asked_again(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 503 Later\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
					      "HTTP/1.1 200 Fine\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", NULL};
	_cleanup_free_ char *error = NULL;
	struct hearer h;

	begin(&h, answers);
	assert_int_equal(webhook_post(h.url, "{}", &error), 0);
	end(&h);
	assert_int_equal(h.heard, 2);
}

static void one_that_refuses_is_not_asked_again_and_its_address_not_told(void **state)
{
	static const char *const answers[] = {"HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
					      "HTTP/1.1 200 Fine\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", NULL};
	_cleanup_free_ char *error = NULL;
	struct hearer h;

	begin(&h, answers);
	assert_int_equal(webhook_post(h.url, "{}", &error), -EACCES);
	end(&h);
	assert_int_equal(h.heard, 1);
	assert_non_null(error);
	assert_null(strstr(error, "secret"));
}

RUN_TESTS(cmocka_unit_test(what_happened_arrives), cmocka_unit_test(a_busy_server_is_asked_again),
	  cmocka_unit_test(one_that_refuses_is_not_asked_again_and_its_address_not_told))
