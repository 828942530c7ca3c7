"""What tests share: hand-made tables, stand-ins for servers, calls of Snakemake and of a browser."""
