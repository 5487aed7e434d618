"""The greenhouse: GreenLight's equations compiled to JAX and stepped in lanes."""
