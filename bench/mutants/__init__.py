"""Mutants: faults put into craton one at a time, and how many of them each tier of the tests finds.

    python -m bench.mutants.choose    choose 200 single-line faults: bench/mutants/mutants.json (needs `pip install cosmic-ray`)
    python -m bench.mutants.cover     run the tests once, keep which of them reach which lines (needs `pip install coverage`)
    python -m bench.mutants.find      run, for each mutant, the tests that reach it: bench/results/mutants.json

All from the root of a checkout. `--help` of each says how to share the work.
"""
