"""Reference code for the exactness tests: NumPy and SciPy only, nothing shared with the C++ core.

Only `core` and `invariance` import the core: they hand it the oracles' data and read its draws.

partitions   row partitions and the keys under which the sampler reports them
marginal     marginal likelihood of a leaf, by brute force
enumeration  prior masses of row partitions: categorical rules and axis-aligned cuts, exactly
oblique      the same for oblique rules on two continuous columns, by (quasi-)simulation
ranges       range of phi'x over a cell, by vertices and by scipy.optimize.linprog
prior        simulator of the restricted prior of a whole ensemble
reference    a slow Metropolis-Hastings sampler for one tree
columnar     kept ensembles as node tables: traversal and statistics
compare      total variation, two-sample tests and their false-alarm rates
core         the oracles' types to the core's
invariance   prior draw, data, sweeps, prior again
setups       the models for which that is tested
"""
