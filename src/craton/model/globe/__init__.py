"""The Earth as a whole: radial models, its figure, chunks and the cubed sphere."""
