"""Cases by module: what is measured; each module has PARTS, functions of a `bench.harness.Report` by name."""
