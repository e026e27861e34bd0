"""Elements and their points: geometry, order in memory, material at nodes, the parts of ranks."""
