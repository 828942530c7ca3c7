"""Tables of the paper: DataFrame in, CSV, LaTeX and Markdown out."""
