"""What the book needs beside `mi_lib`: claims, experiments, data sets, stored results, figures.

Not part of the installed library. Imports go one way: book, companion, `mi_lib`.
"""
