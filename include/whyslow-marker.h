/* Marks moments of a program on whyslow's time axis of events. One header, C11 or C++11, no library; SPDX: BSD-2-Clause.
 *
 *   #include <whyslow-marker.h>
 *   whyslow_marker("frame 17");                       // a moment
 *   whyslow_marker_begin("load level"); ... whyslow_marker_end("load level");   // a span of this thread
 *
 * A marker is one datagram to the recorder's socket: about two microseconds, never blocks, and is silently lost where no
 * recorder listens (returns -1) or it cannot keep up. Texts are cut at 96 bytes. WHYSLOW_RUN_DIR in the environment names
 * another folder than /run/whyslow.
 */
#ifndef WHYSLOW_MARKER_H
#define WHYSLOW_MARKER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WHYSLOW_MARKER_BEGIN = 2, WHYSLOW_MARKER_END = 4 };

struct whyslow_marker_message {
	uint32_t kind, flags;
	int64_t mark;
	uint64_t time;
	uint32_t thread, length;
	char text[96];
};

/* 0, or -1 where nothing heard it. */
static inline int whyslow_marker_send(unsigned flags, const char *text)
{
	static __thread int fd = -1;
	struct whyslow_marker_message m;
	struct sockaddr_un to;
	struct timespec now;
	const char *folder = getenv("WHYSLOW_RUN_DIR");

	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	memset(&m, 0, sizeof(m));
	memset(&to, 0, sizeof(to));
	to.sun_family = AF_UNIX;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/ring", folder ? folder : "/run/whyslow");
	clock_gettime(CLOCK_MONOTONIC, &now);
	m.kind = 1;
	m.flags = flags;
	m.time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	m.thread = (uint32_t)syscall(SYS_gettid);
	m.length = (uint32_t)strnlen(text, sizeof(m.text));
	memcpy(m.text, text, m.length);
	return sendto(fd, &m, sizeof(m), MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof(to)) == (ssize_t)sizeof(m) ? 0 : -1;
}

static inline int whyslow_marker(const char *text)
{
	return whyslow_marker_send(0, text);
}

static inline int whyslow_marker_begin(const char *text)
{
	return whyslow_marker_send(WHYSLOW_MARKER_BEGIN, text);
}

static inline int whyslow_marker_end(const char *text)
{
	return whyslow_marker_send(WHYSLOW_MARKER_END, text);
}

#endif
