/* Fisher's exact test of a two-by-two table, one-sided. */
#pragma once

/* Among `all` things `first` are of one kind and `second` of another: the chance that at least `both` are of both kinds, if the kinds have nothing to
 * do with each other (hypergeometric; Fisher 1935). 0..1; 1 for numbers that cannot be. */
double fisher_p(unsigned both, unsigned first, unsigned second, unsigned all);
