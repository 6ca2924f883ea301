/* How a process gives up its rights, for good. */
#pragma once

/* Sanitizers map terabytes of shadow, and report on descriptor 2: built with one, memory has no bound, and that stays. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

#define SANDBOX_SOCKET 3 /* where a sandbox's socket is, in its child */

/* Keeps `socket` as descriptor 3 and closes all others. 0 or -errno; after an error the process is to end. */
int sandbox_enter(int socket);
