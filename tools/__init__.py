"""What `make` calls: one module a command, the rest their parts. Not installed with mi_lib."""
