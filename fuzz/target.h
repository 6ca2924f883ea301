/* One input to one parser, as libFuzzer calls it. Returns 0. A parser may refuse it, and must not crash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
