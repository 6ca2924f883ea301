/* The observations of one process while it is looked at: where its threads are, on a CPU and off it. What
 * instruments give and the inspector reads. Shared with the BPF programs: freestanding but for fixed-size
 * types.
 */
#pragma once

#define CAPTURE_KERNEL_FRAMES 64
#define CAPTURE_STACK_MAX     8192 /* bytes of a user stack: 50 frames of normal functions */
#define CAPTURE_REGISTERS     33   /* in DWARF's numbering (machine/symbol/unwind.h) */
#define CAPTURE_USER_FRAMES   127

enum capture_kind {
	CAPTURE_LOOK = 1,   /* a thread as it was at one moment, running or not */
	CAPTURE_SAMPLE = 2, /* a thread on a CPU, at a moment of the sampler's clock */
};

/* States of a look. */
enum capture_state {
	CAPTURE_RUNNING = 0,  /* on a CPU */
	CAPTURE_RUNNABLE = 1, /* waits for a CPU */
	CAPTURE_SLEEPING = 2, /* waits for something and can be interrupted */
	CAPTURE_BLOCKED = 3,  /* uninterruptible: disk, page fault, some locks */
	CAPTURE_STOPPED = 4,
	CAPTURE_STATE_COUNT
};

struct capture_thread {
	unsigned int kind, tid;
	unsigned int state;	     /* of a look */
	int syscall;		     /* number; -1 = none */
	unsigned long long argument; /* the system call's first */
	unsigned long long cpu_ns;   /* CPU time of the thread so far; looks only */
	unsigned long long ready_ns; /* waited for a CPU so far (run_delay) */
	unsigned long long start_ns; /* CLOCK_BOOTTIME */
	char comm[16];
	char waits_in[48];	 /* the kernel's function it waits in, where no system call is known; "" */
	unsigned int n_kernel;	 /* frames, innermost first */
	unsigned int n_user;	 /* frame pointers' frames, innermost first; samples only */
	unsigned int stack_size; /* bytes in `stack`, from the stack pointer upwards */
	unsigned int has_registers;
	unsigned long long registers[CAPTURE_REGISTERS];
	unsigned long long kernel[CAPTURE_KERNEL_FRAMES];
	unsigned char stack[CAPTURE_STACK_MAX];
};

/* Bytes through read and write calls on one file. */
struct capture_file {
	unsigned long long inode, device; /* the kernel's dev_t: major << 20 | minor */
	unsigned long long read_bytes, written_bytes, read_calls, write_calls;
};
