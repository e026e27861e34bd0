"""What methods that march waves in time share: sources, receivers, peaks, pictures, series, ranks, coupling."""
