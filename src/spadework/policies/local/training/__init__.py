"""The update: rows into packs, loss, gradients and the optimiser's step."""
