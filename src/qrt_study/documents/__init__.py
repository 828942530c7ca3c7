"""Documents that are written from the code."""
