/* A user's verdict on an answer. */
#pragma once

/* Persisted: never renumber. */
enum feedback { FEEDBACK_NONE = 0, FEEDBACK_RIGHT = 1, FEEDBACK_WRONG = 2, FEEDBACK_FIXED = 3 };
