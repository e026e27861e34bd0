"""Parts of grids and meshes on several ranks: what is cut, shared and exchanged."""
