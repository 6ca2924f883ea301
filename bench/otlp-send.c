/* Sends OTLP from standard input to a receiver on this machine: otlp-send PORT TOKEN BYTES_PER_S (0 = as fast as it is taken).
 *
 * The stream is ResourceSpans one after another; BATCH of them make a request, CONNECTIONS of which are under way at a time. What is
 * refused is sent again. Prints requests, refusals, refusals without Retry-After, and the longest wait for an answer in ms.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/net/http-client.h"

#define BATCH	    256
#define CONNECTIONS 4
#define BLOCK_MAX   (1u << 20)
#define PAUSE	    (NS_PER_SEC / 10) /* before what was refused is sent again */

struct sender {
	struct http_client *client;
	pthread_t thread;
	struct str batch; /* handed over: empty = nothing to send */
	bool full, failed;
	uint64_t requests, refused, unsaid;
	int64_t worst;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct sender senders[CONNECTIONS];
	char url[64];
	bool ended;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void wait_for(int64_t ns)
{
	struct timespec t = {ns / NS_PER_SEC, ns % NS_PER_SEC};

	nanosleep(&t, NULL);
}

/* 0 when it is taken. */
static int send_batch(struct sender *s)
{
	struct http_request request = {.url = all.url, .body = s->batch.data, .n = s->batch.len, .content_type = "application/x-protobuf"};

	for (;;) {
		struct http_reply reply = {};
		int64_t began = clock_boot(), took;
		int r = http_send(s->client, &request, &reply);

		took = clock_boot() - began;
		unsigned status = reply.status;
		bool unsaid = !reply.retry_after;

		http_reply_free(&reply);
		if (r < 0) {
			fprintf(stderr, "otlp-send: %s\n", http_client_error(s->client));
			return r;
		}
		if (status == 200) {
			s->requests++;
			s->worst = took > s->worst ? took : s->worst;
			return 0;
		}
		if (status != 429 && status != 503) {
			fprintf(stderr, "otlp-send: answered %u\n", status);
			return -EREMOTEIO;
		}
		s->refused++;
		s->unsaid += unsaid;
		wait_for(PAUSE);
	}
}

static void *run_sender(void *argument)
{
	struct sender *s = argument;

	pthread_mutex_lock(&all.lock);
	while (!s->failed && (s->full || !all.ended)) {
		if (!s->full) {
			pthread_cond_wait(&all.moved, &all.lock);
			continue;
		}
		pthread_mutex_unlock(&all.lock);
		s->failed = send_batch(s) < 0;
		pthread_mutex_lock(&all.lock);
		s->full = false;
		pthread_cond_broadcast(&all.moved);
	}
	pthread_mutex_unlock(&all.lock);
	return NULL;
}

/* To the one that is free; false when nothing will be. */
static bool hand_over(struct str *batch)
{
	bool given = false, alive = true;

	pthread_mutex_lock(&all.lock);
	while (!given && alive) {
		alive = false;
		for (unsigned i = 0; i < CONNECTIONS && !given; i++) {
			struct sender *s = &all.senders[i];

			alive |= !s->failed;
			if (s->full || s->failed)
				continue;
			struct str free_one = s->batch;

			s->batch = *batch;
			*batch = free_one;
			batch->len = 0;
			s->full = given = true;
		}
		if (given)
			pthread_cond_broadcast(&all.moved);
		else if (alive)
			pthread_cond_wait(&all.moved, &all.lock);
	}
	pthread_mutex_unlock(&all.lock);
	return given;
}

/* The length of the ResourceSpans that begins here, its head included; 0 = not all of the head is there. */
static size_t block_length(const uint8_t *at, size_t n)
{
	uint64_t length = 0;

	for (size_t i = 1, shift = 0; i < n && shift < 64; i++, shift += 7) {
		length |= (uint64_t)(at[i] & 127) << shift;
		if (at[i] < 128)
			return length + i + 1;
	}
	return 0;
}

static int send_all(double rate)
{
	static uint8_t data[4 * BLOCK_MAX];
	struct str batch = {};
	size_t at = 0, n = 0, blocks = 0, length;
	int64_t began = clock_boot();
	uint64_t sent = 0;
	ssize_t got = 1;

	while (got > 0 || at < n) {
		length = block_length(data + at, n - at);
		if (!length || length > n - at) {
			memmove(data, data + at, n - at);
			n -= at;
			at = 0;
			got = n < sizeof(data) ? read(STDIN_FILENO, data + n, sizeof(data) - n) : 0;
			if (got > 0)
				n += (size_t)got;
			else if (n)
				return fputs("otlp-send: what comes in is no whole ResourceSpans\n", stderr), -EBADMSG;
			continue;
		}
		str_append(&batch, data + at, length);
		at += length;
		if (++blocks % BATCH && at < n)
			continue;
		if (rate > 0) {
			int64_t ahead = began + (int64_t)((double)sent / rate * 1e9) - clock_boot();

			if (ahead > 0)
				wait_for(ahead);
		}
		sent += batch.len;
		if (batch.error || !hand_over(&batch))
			return -EIO;
	}
	str_free(&batch);
	return 0;
}

int main(int argc, char **argv)
{
	struct http_client_options options = {.token = argc > 2 ? argv[2] : NULL};
	struct sender sum = {};
	int r = 0;

	if (argc != 4) {
		fputs("usage: otlp-send PORT TOKEN BYTES_PER_S\n", stderr);
		return 2;
	}
	snprintf(all.url, sizeof(all.url), "http://127.0.0.1:%s/v1/traces", argv[1]);
	for (unsigned i = 0; r == 0 && i < CONNECTIONS; i++) {
		char *error = NULL;

		r = http_client_open(&options, &all.senders[i].client, &error);
		if (r == 0)
			r = -pthread_create(&all.senders[i].thread, NULL, run_sender, &all.senders[i]);
		if (r < 0)
			fprintf(stderr, "otlp-send: %s\n", error ? error : strerror(-r));
	}
	if (r == 0)
		r = send_all(strtod(argv[3], NULL));
	if (r < 0)
		return 1;
	pthread_mutex_lock(&all.lock);
	all.ended = true;
	pthread_cond_broadcast(&all.moved);
	pthread_mutex_unlock(&all.lock);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct sender *s = &all.senders[i];

		pthread_join(s->thread, NULL);
		http_client_close(s->client);
		str_free(&s->batch);
		r |= s->failed;
		sum.requests += s->requests;
		sum.refused += s->refused;
		sum.unsaid += s->unsaid;
		sum.worst = s->worst > sum.worst ? s->worst : sum.worst;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %.3f\n", sum.requests, sum.refused, sum.unsaid, (double)sum.worst / 1e6);
	return r;
}
