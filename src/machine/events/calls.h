/* System calls by number, as far as it matters what a thread that sleeps in them waits for: C(x86-64, arm64, call).
 * CALL_BY_FILE: what kind of file the first argument is decides. -1 = the architecture has none. Freestanding: of the machine
 * that this is compiled for, for the BPF programs and for user space. */
#pragma once

#include "machine/events/classify.h"

#define CALL_BY_FILE 64
#define CALLS_MAX    512
#define CALLS_ROOM   (2 * CALLS_MAX) /* rows of a table: the second half has the calls of the other architecture alone, never looked up */

#define CALLS(C)                                                                                      \
	C(0, 63, CALL_BY_FILE)	   /* read */                                                         \
	C(1, 64, CALL_BY_FILE)	   /* write */                                                        \
	C(2, -1, CALL_FILE)	   /* open */                                                         \
	C(257, 56, CALL_FILE)	   /* openat */                                                       \
	C(437, 437, CALL_FILE)	   /* openat2 */                                                      \
	C(3, 57, CALL_FILE)	   /* close */                                                        \
	C(4, -1, CALL_FILE)	   /* stat */                                                         \
	C(6, -1, CALL_FILE)	   /* lstat */                                                        \
	C(262, 79, CALL_FILE)	   /* newfstatat */                                                   \
	C(332, 291, CALL_FILE)	   /* statx */                                                        \
	C(7, -1, CALL_POLL)	   /* poll */                                                         \
	C(271, 73, CALL_POLL)	   /* ppoll */                                                        \
	C(23, -1, CALL_POLL)	   /* select */                                                       \
	C(270, 72, CALL_POLL)	   /* pselect6 */                                                     \
	C(232, -1, CALL_POLL)	   /* epoll_wait */                                                   \
	C(281, 22, CALL_POLL)	   /* epoll_pwait */                                                  \
	C(441, 441, CALL_POLL)	   /* epoll_pwait2 */                                                 \
	C(208, 4, CALL_POLL)	   /* io_getevents */                                                 \
	C(333, 292, CALL_POLL)	   /* io_pgetevents */                                                \
	C(426, 426, CALL_POLL)	   /* io_uring_enter */                                               \
	C(16, 29, CALL_BY_FILE)	   /* ioctl */                                                        \
	C(17, 67, CALL_BY_FILE)	   /* pread64 */                                                      \
	C(18, 68, CALL_BY_FILE)	   /* pwrite64 */                                                     \
	C(19, 65, CALL_BY_FILE)	   /* readv */                                                        \
	C(20, 66, CALL_BY_FILE)	   /* writev */                                                       \
	C(295, 69, CALL_BY_FILE)   /* preadv */                                                       \
	C(296, 70, CALL_BY_FILE)   /* pwritev */                                                      \
	C(327, 286, CALL_BY_FILE)  /* preadv2 */                                                      \
	C(328, 287, CALL_BY_FILE)  /* pwritev2 */                                                     \
	C(40, 71, CALL_BY_FILE)	   /* sendfile */                                                     \
	C(275, 76, CALL_BY_FILE)   /* splice */                                                       \
	C(276, 77, CALL_BY_FILE)   /* tee */                                                          \
	C(278, 75, CALL_BY_FILE)   /* vmsplice */                                                     \
	C(326, 285, CALL_BY_FILE)  /* copy_file_range */                                              \
	C(24, 124, CALL_YIELD)	   /* sched_yield */                                                  \
	C(26, 227, CALL_FILE)	   /* msync */                                                        \
	C(74, 82, CALL_FILE)	   /* fsync */                                                        \
	C(75, 83, CALL_FILE)	   /* fdatasync */                                                    \
	C(162, 81, CALL_FILE)	   /* sync */                                                         \
	C(306, 267, CALL_FILE)	   /* syncfs */                                                       \
	C(277, 84, CALL_FILE)	   /* sync_file_range */                                              \
	C(76, 45, CALL_FILE)	   /* truncate */                                                     \
	C(77, 46, CALL_FILE)	   /* ftruncate */                                                    \
	C(285, 47, CALL_FILE)	   /* fallocate */                                                    \
	C(78, -1, CALL_FILE)	   /* getdents */                                                     \
	C(217, 61, CALL_FILE)	   /* getdents64 */                                                   \
	C(82, -1, CALL_FILE)	   /* rename */                                                       \
	C(264, 38, CALL_FILE)	   /* renameat */                                                     \
	C(316, 276, CALL_FILE)	   /* renameat2 */                                                    \
	C(83, -1, CALL_FILE)	   /* mkdir */                                                        \
	C(258, 34, CALL_FILE)	   /* mkdirat */                                                      \
	C(84, -1, CALL_FILE)	   /* rmdir */                                                        \
	C(87, -1, CALL_FILE)	   /* unlink */                                                       \
	C(263, 35, CALL_FILE)	   /* unlinkat */                                                     \
	C(34, -1, CALL_SIGNAL)	   /* pause */                                                        \
	C(130, 133, CALL_SIGNAL)   /* rt_sigsuspend */                                                \
	C(128, 137, CALL_SIGNAL)   /* rt_sigtimedwait */                                              \
	C(35, 101, CALL_SLEEP)	   /* nanosleep */                                                    \
	C(230, 115, CALL_SLEEP)	   /* clock_nanosleep */                                              \
	C(42, 203, CALL_SOCKET)	   /* connect */                                                      \
	C(43, 202, CALL_ACCEPT)	   /* accept */                                                       \
	C(288, 242, CALL_ACCEPT)   /* accept4 */                                                      \
	C(44, 206, CALL_BY_FILE)   /* sendto */                                                       \
	C(45, 207, CALL_BY_FILE)   /* recvfrom */                                                     \
	C(46, 211, CALL_BY_FILE)   /* sendmsg */                                                      \
	C(47, 212, CALL_BY_FILE)   /* recvmsg */                                                      \
	C(299, 243, CALL_BY_FILE)  /* recvmmsg */                                                     \
	C(307, 269, CALL_BY_FILE)  /* sendmmsg */                                                     \
	C(58, -1, CALL_CHILD)	   /* vfork */                                                        \
	C(56, 220, CALL_CHILD)	   /* clone: sleeps only with CLONE_VFORK */                          \
	C(435, 435, CALL_CHILD)	   /* clone3 */                                                       \
	C(61, 260, CALL_CHILD)	   /* wait4 */                                                        \
	C(247, 95, CALL_CHILD)	   /* waitid */                                                       \
	C(65, 193, CALL_MESSAGE)   /* semop */                                                        \
	C(220, 192, CALL_MESSAGE)  /* semtimedop */                                                   \
	C(69, 189, CALL_MESSAGE)   /* msgsnd */                                                       \
	C(70, 188, CALL_MESSAGE)   /* msgrcv */                                                       \
	C(242, 182, CALL_MESSAGE)  /* mq_timedsend */                                                 \
	C(243, 183, CALL_MESSAGE)  /* mq_timedreceive */                                              \
	C(72, 25, CALL_FILE_LOCK)  /* fcntl: sleeps in F_SETLKW only */                               \
	C(73, 32, CALL_FILE_LOCK)  /* flock */                                                        \
	C(202, 98, CALL_FUTEX)	   /* futex */                                                        \
	C(449, 449, CALL_FUTEX)	   /* futex_waitv */                                                  \
	C(455, 455, CALL_FUTEX)	   /* futex_wait */                                                   \
	C(187, 213, CALL_FILE)	   /* readahead */                                                    \
	C(59, 221, CALL_FILE)	   /* execve */                                                       \
	C(322, 281, CALL_FILE)	   /* execveat */

/* Those that give data away to what their first argument is: C(x86-64, arm64). Who sleeps in one does so because there is no room. */
#define CALLS_THAT_GIVE(C)                                                                              \
	C(1, 64)    /* write */                                                                        \
	C(18, 68)   /* pwrite64 */                                                                     \
	C(20, 66)   /* writev */                                                                       \
	C(296, 70)  /* pwritev */                                                                      \
	C(328, 287) /* pwritev2 */                                                                     \
	C(40, 71)   /* sendfile */                                                                     \
	C(278, 75)  /* vmsplice */                                                                     \
	C(44, 206)  /* sendto */                                                                       \
	C(46, 211)  /* sendmsg */                                                                      \
	C(307, 269) /* sendmmsg */                                                                     \
	C(69, 189)  /* msgsnd */                                                                       \
	C(242, 182) /* mq_timedsend */

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define CALL_ROW(x86, arm, call) [(arm) < 0 ? CALLS_MAX + (x86) : (arm)] = (call),
#define CALL_NUMBER_FUTEX 98
#define CALL_NUMBER_RESTART 128
#define CALL_NUMBER_POLL (-3) /* there are only the newer ones */
#define CALL_NUMBER_PPOLL 73
#define CALL_NUMBER_SELECT (-3)
#define CALL_NUMBER_PSELECT 72
#define CALL_NUMBER_EPOLL (-3)
#define CALL_NUMBER_EPOLL_P 22
#else
#define CALL_ROW(x86, arm, call) [(x86) < 0 ? CALLS_MAX + (arm) : (x86)] = (call),
#define CALL_NUMBER_FUTEX 202
#define CALL_NUMBER_RESTART 219
#define CALL_NUMBER_POLL 7
#define CALL_NUMBER_PPOLL 271
#define CALL_NUMBER_SELECT 23
#define CALL_NUMBER_PSELECT 270
#define CALL_NUMBER_EPOLL 232
#define CALL_NUMBER_EPOLL_P 281
#endif
#define CALL_NUMBER_EPOLL_P2 441
