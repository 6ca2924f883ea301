/* The amounts tests/mover.c moves and tests/test-movers.c expects. */
#pragma once

#define MOVER_SPIN_NS	    400000000ll
#define MOVER_CROWD	    4
#define MOVER_SLEEPS	    200
#define MOVER_MIGRATIONS    100
#define MOVER_THREADS	    50
#define MOVER_MEMORY	    (64u << 20)
#define MOVER_SMALL	    (16u << 20)
#define MOVER_ADDRESSES	    (256u << 20)
#define MOVER_LOCKED	    (1u << 20)
#define MOVER_MAPPED	    (4u << 20)
#define MOVER_THRASHED	    (24u << 20)
#define MOVER_BLOCK	    (16 << 10)
#define MOVER_CALLS	    512
#define MOVER_MESSAGE	    1000
#define MOVER_HANDLES	    100
#define MOVER_NICE	    7
#define MOVER_OOM_SCORE	    500
#define MOVER_QUOTA_SPIN_NS 55000000ll
#define MOVER_CHILDREN	    100
#define MOVER_CHILD_NS	    3000000ll
#define MOVER_WAIT_NS	    100000000ll
